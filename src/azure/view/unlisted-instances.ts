/** Lists of machines that a look at the groups shows to be worth their price: new machines are awaited, or a node has none listed. */
import type { NodeName, InstanceKey } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import type { RegisteredGroup, Registration } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { mayBeListed } from '../inventory/list-timing.ts';

export class UnlistedInstances {
  readonly #store: AzureInventory;
  /** Nodes that have no listed machine, asked for once per list. */
  readonly #askedFor = new Map<string, { readonly listedAtMs: number; readonly names: ReadonlySet<NodeName> }>();

  constructor(store: AzureInventory) {
    this.#store = store;
  }

  /** Nodes that joined since the last list. One that is older has no machine, and no further list will show one. */
  requestUnlisted({ unlisted }: Ownership, { nodes }: ClusterView): void {
    for (const [key, names] of unlisted) {
      const listedAtMs = this.#store.instancesListedAtMs(key) ?? Number.NEGATIVE_INFINITY;
      const asked = this.#askedFor.get(key);
      const isNew = names.some((name) => {
        const node = nodes.get(name);
        return node !== undefined && mayBeListed(node, listedAtMs) && (asked?.listedAtMs !== listedAtMs || !asked.names.has(name));
      });
      if (!isNew) continue;
      this.#askedFor.set(key, { listedAtMs, names: new Set(names) });
      this.#store.requestInstanceList(key);
    }
  }

  /** Machines that were asked for show up, fail or come to rest within minutes: look more often until they have. */
  requestWhileSettling({ kind, key }: RegisteredGroup, group: NodeGroup, nowMs: number): void {
    const { target, instances, instancesObservedAtMs: listedAtMs } = group;
    if (kind === 'vms-pool') this.#store.vmsPools.watchForeignOperation(key, nowMs);
    if (!target.known || instances === undefined || listedAtMs === undefined) return;
    const alive = instances.filter(({ state }) => state !== 'deleting');
    const creating = alive.filter(({ state }) => state === 'creating' || state === 'unknown').length;
    const awaited = { nowMs, listedAtMs, creating, missing: target.value - alive.length };
    if (this.#store.changes.listTiming.isListDue(key, awaited)) this.#store.requestInstanceList(key);
  }
}

// Whose node has fallen silent: of a machine that is listed without its view nothing else tells that it may not run any more.

/** A node that is younger may still be starting. */
const STARTING_MS = 5 * 60_000;

/** Machines of VMs pools whose nodes are not ready, those that start left out: only their views tell whether they run. */
export function silentInstances(
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
