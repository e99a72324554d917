/**
 * Which reads of Azure one loop wants, from what it sees of the cluster and of the groups: a node has no listed instance, a node is silent,
 * pods wait for a quota that another process read, new instances are expected, or a list that rests may show something new.
 * Idea: want.
 */
import type { NodeName, InstanceKey } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import type { RegisteredGroup, Registration } from '../groups/registry.ts';
import { wantNewInstances } from '../inventory/azure-reads.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { restSigns, type BuiltGroup } from './group-signs.ts';
import { foldName, parseProviderId } from '../arm/resource-ids.ts';
import { poolOf } from '../rows/tags.ts';
import { poolSizeKey } from '../rows/vms-pool.ts';

/** Labels that AKS gives every node. */
const POOL_LABEL = 'kubernetes.azure.com/agentpool';
const SIZE_LABEL = 'node.kubernetes.io/instance-type';

/** How far the cluster's clock may be behind ours, including the whole seconds of its time stamps. */
const CLOCK_SKEW_MS = 5_000;

/** What one loop sees. */
export interface SeenByLoop {
  readonly ownership: Ownership;
  readonly registration: Registration;
  readonly cluster: ClusterView;
  readonly nowMs: number;
}

export class WantedReads {
  readonly #store: AzureInventory;
  /** Nodes without a listed instance, requested once per list. */
  readonly #requested = new Map<string, { readonly listedAtMs: number; readonly names: ReadonlySet<NodeName> }>();

  constructor(store: AzureInventory) {
    this.#store = store;
  }

  /** What nodes and pods make worth reading. `moved`: machines whose power their list does not show. To be called before the groups are made of what is known. */
  fromCluster(seen: SeenByLoop, moved: ReadonlySet<InstanceKey>): void {
    this.#wantUnlisted(seen);
    // guard: usages that another process read keep no pod from a node before a read of our own
    this.#store.usageDoubt.noteWaitingPods(seen.cluster.pendingPods.length);
    this.#store.lists.noteSilent(new Set([...silentInstances(seen), ...moved]));
  }

  /** What the groups make worth reading, as this loop sees them. */
  fromGroups(built: readonly BuiltGroup[], { ownership, cluster, nowMs }: SeenByLoop): void {
    for (const { input, group } of built) this.#wantWhileSettling(input.group, group, nowMs);
    this.#store.rest?.observe(restSigns(this.#store, built, ownership, cluster));
  }

  /**
   * Wants the instances of nodes that joined since the last list: singly by the nodes' provider ids, or by one list if they are many.
   * An older unlisted node has no instance, and no further read will show one.
   */
  #wantUnlisted({ ownership, registration, cluster: { nodes } }: SeenByLoop): void {
    for (const [key, names] of this.#unlistedOf(ownership, registration, nodes)) {
      const listedAtMs = this.#store.lists.listedAtMs(key) ?? Number.NEGATIVE_INFINITY;
      const requested = this.#requested.get(key);
      const joined = names.flatMap((name) => {
        const node = nodes.get(name);
        const isNew = requested?.listedAtMs !== listedAtMs || !requested.names.has(name);
        return node !== undefined && isNew && mayBeListed(node, listedAtMs) ? [node] : [];
      });
      if (joined.length === 0) continue;
      this.#requested.set(key, { listedAtMs, names: new Set(names) });
      this.#read(key, joined);
    }
  }

  /** Unlisted nodes by group. That of a virtual machine with an id of its own is guessed from labels: the read shows it. */
  #unlistedOf(
    { unlisted, unlistedVms }: Ownership,
    registration: Registration,
    nodes: ClusterView['nodes'],
  ): ReadonlyMap<string, readonly NodeName[]> {
    if (unlistedVms.length === 0) return unlisted;
    const byGroup = new Map(unlisted);
    const poolGroups = this.#flexibleSets(registration);
    for (const name of unlistedVms) {
      const { [POOL_LABEL]: pool = '', [SIZE_LABEL]: size = '' } = nodes.get(name)?.labels ?? {};
      const key = [poolSizeKey(pool, size), poolGroups.get(foldName(pool)) ?? ''].find((each) => registration.groups.has(each));
      if (key !== undefined) byGroup.set(key, [...(byGroup.get(key) ?? []), name]);
    }
    return byGroup;
  }

  /** The keys of Flexible sets by the folded names of their pools. */
  #flexibleSets({ groups }: Registration): ReadonlyMap<string, string> {
    const sets = [...groups.keys()].flatMap((key) => this.#store.scaleSets.get(key)?.value ?? []);
    const flexible = sets.filter(({ orchestration }) => orchestration === 'Flexible');
    return new Map(flexible.map(({ name, tags }) => [foldName(poolOf(tags) ?? ''), foldName(name)]));
  }

  #read(group: string, joined: readonly Node[]): void {
    const keys = joined.flatMap(({ providerId }) => {
      const parsed = parseProviderId(providerId);
      return parsed.ok ? [parsed.ref.key] : [];
    });
    const { reads } = this.#store;
    if (!wantNewInstances(reads, group, { keys, needsList: false })) reads.want({ what: 'instances', group });
  }

  /** New instances appear, fail or settle within minutes. Lists are read more often until they have. */
  #wantWhileSettling({ kind, key }: RegisteredGroup, group: NodeGroup, nowMs: number): void {
    const { target, instances, instancesObservedAtMs: listedAtMs } = group;
    if (kind === 'vms-pool') this.#store.vmsPools.watchForeignOperation(key, nowMs);
    if (!target.known || instances === undefined || listedAtMs === undefined) return;
    const alive = instances.filter(({ state }) => state !== 'deleting');
    const creating = alive.filter(({ state }) => state === 'creating' || state === 'unknown').length;
    const awaited = { nowMs, listedAtMs, creating, missing: target.value - alive.length };
    if (this.#store.increases.isListDue(key, awaited)) this.#store.reads.want({ what: 'instances', group: key });
  }
}

/** Whether the next list may show this node's instance: the node joined after the last list began. */
export function mayBeListed(node: { readonly createdAtMs: number }, listedAtMs: number): boolean {
  return node.createdAtMs > listedAtMs - CLOCK_SKEW_MS;
}

/** A younger node may still be starting. */
const STARTING_MS = 5 * 60_000;

/**
 * Instances of VMs pools with an unready node, except starting ones. Their list has no instance view, so only a separate read
 * shows whether they run.
 */
export function silentInstances({
  ownership: { groupOfNode, instanceOfNode },
  registration: { byId },
  cluster: { nodes },
  nowMs,
}: SeenByLoop): ReadonlySet<InstanceKey> {
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
