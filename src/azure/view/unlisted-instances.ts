/** Requests lists of instances when they are worth a call: new instances are expected, or a node has no listed instance. */
import type { NodeName, InstanceKey } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import type { RegisteredGroup, Registration } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { mayBeListed } from '../inventory/list-timing.ts';

export class UnlistedInstances {
  readonly #store: AzureInventory;
  /** Nodes without a listed instance, requested once per list. */
  readonly #requested = new Map<string, { readonly listedAtMs: number; readonly names: ReadonlySet<NodeName> }>();

  constructor(store: AzureInventory) {
    this.#store = store;
  }

  /**
   * Requests a list for nodes that joined since the last one. An older unlisted node has no instance, and no further list will
   * show one.
   */
  requestUnlisted({ unlisted }: Ownership, { nodes }: ClusterView): void {
    for (const [key, names] of unlisted) {
      const listedAtMs = this.#store.instancesListedAtMs(key) ?? Number.NEGATIVE_INFINITY;
      const requested = this.#requested.get(key);
      const isNew = names.some((name) => {
        const node = nodes.get(name);
        return node !== undefined && mayBeListed(node, listedAtMs) && (requested?.listedAtMs !== listedAtMs || !requested.names.has(name));
      });
      if (!isNew) continue;
      this.#requested.set(key, { listedAtMs, names: new Set(names) });
      this.#store.requestInstanceList(key);
    }
  }

  /** New instances appear, fail or settle within minutes. Lists are read more often until they have. */
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

/** A younger node may still be starting. */
const STARTING_MS = 5 * 60_000;

/**
 * Instances of VMs pools with an unready node, except starting ones. Their list has no instance view, so only a separate read
 * shows whether they run.
 */
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
