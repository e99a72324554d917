/** Whose node has fallen silent: of a machine that is listed without its view nothing else tells that it may not run any more. */
import type { InstanceKey } from '../../domain/ids.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from './ownership.ts';
import type { Registration } from './registry.ts';

/** A node that is younger may still be starting. */
const STARTING_MS = 5 * 60_000;

/** Machines of VMs pools whose nodes are not ready, those that start left out: only their views tell whether they run. */
export function silentMachines(
  { groupOfNode, instanceOfNode }: Ownership,
  { byId }: Registration,
  { nodes }: ClusterView,
  nowMs: number,
): ReadonlySet<InstanceKey> {
  const silent = new Set<InstanceKey>();
  if (![...byId.values()].some(({ kind }) => kind === 'vms-pool')) return silent;
  for (const [name, id] of groupOfNode) {
    const node = nodes.get(name);
    const key = instanceOfNode.get(name);
    if (node === undefined || key === undefined || node.readiness.ready || byId.get(id)?.kind !== 'vms-pool') continue;
    if (nowMs - node.createdAtMs >= STARTING_MS) silent.add(key);
  }
  return silent;
}
