/** Nodes by state, in the words of the Cluster Autoscaler; what the status and the metrics both show. Pure. */
import type { NodeGroupId, NodeName } from '../domain/ids.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { Node } from '../domain/node.ts';
import type { Observation } from '../domain/observation.ts';
import { hasTaint, TO_BE_DELETED_TAINT } from '../domain/taint.ts';

/** The five of `registered` exclude each other. */
export interface NodeCounts {
  readonly registered: number;
  readonly ready: number;
  readonly unready: number;
  /** Not ready, and young enough that this is no fault. */
  readonly notStarted: number;
  /** Registered, and its machine is deallocated. */
  readonly suspended: number;
  readonly beingDeleted: number;
  /** Machines that exist or come and are no nodes yet. */
  readonly unregistered: number;
  /** The same, for longer than a node may take to join. */
  readonly longUnregistered: number;
}

export interface CountedNodes {
  readonly total: NodeCounts;
  readonly byGroup: ReadonlyMap<NodeGroupId, NodeCounts>;
}

export interface CountInput {
  readonly observation: Observation;
  readonly state: LoopState;
  /** How long a node may take to join and to become ready, milliseconds. */
  readonly maxProvisionMs: number;
}

type Tally = { -readonly [Key in keyof NodeCounts]: NodeCounts[Key] };
type NodeKind = 'ready' | 'unready' | 'notStarted' | 'suspended' | 'beingDeleted';

/** Every node of the cluster counts in the total, of our groups or not. */
export function countNodes(input: CountInput): CountedNodes {
  const { observation } = input;
  const total = nothing();
  const byGroup = new Map<NodeGroupId, Tally>(observation.cloud.groups.map((group) => [group.id, nothing()]));
  const deallocated = deallocatedInstances(observation);
  for (const [name, node] of observation.cluster.nodes) {
    const kind = kindOf(node, input, deallocated);
    const group = observation.cloud.groupOfNode.get(name);
    const tally = group === undefined ? undefined : byGroup.get(group);
    for (const counts of tally === undefined ? [total] : [total, tally]) {
      counts.registered += 1;
      counts[kind] += 1;
    }
  }
  const known = new Set(observation.cloud.instanceOfNode.values());
  for (const group of observation.cloud.groups) {
    const tally = byGroup.get(group.id) ?? nothing();
    countUnregistered(group, tally, { known, oldestMs: observation.nowMs - input.maxProvisionMs });
    total.unregistered += tally.unregistered;
    total.longUnregistered += tally.longUnregistered;
  }
  return { total, byGroup };
}

function kindOf(node: Node, { observation, state, maxProvisionMs }: CountInput, deallocated: ReadonlySet<NodeName>): NodeKind {
  if (node.deletionAtMs !== undefined || state.deleting.has(node.name) || hasTaint(node.taints, TO_BE_DELETED_TAINT)) return 'beingDeleted';
  if (node.readiness.ready) return 'ready';
  if (deallocated.has(node.name)) return 'suspended';
  return observation.nowMs - node.createdAtMs < maxProvisionMs ? 'notStarted' : 'unready';
}

function deallocatedInstances({ cloud }: Observation): ReadonlySet<NodeName> {
  const keys = new Set(
    cloud.groups.flatMap((group) => (group.instances ?? []).flatMap(({ key, state }) => (state === 'deallocated' ? [key] : []))),
  );
  return new Set([...cloud.instanceOfNode].flatMap(([name, key]) => (keys.has(key) ? [name] : [])));
}

/** Machines that are leaving, failed or stopped are not on their way to become nodes. */
function countUnregistered(
  group: NodeGroup,
  tally: Tally,
  joined: { readonly known: ReadonlySet<string>; readonly oldestMs: number },
): void {
  for (const { key, state, firstSeenMs } of group.instances ?? []) {
    if (joined.known.has(key) || (state !== 'creating' && state !== 'running' && state !== 'unknown')) continue;
    if (firstSeenMs < joined.oldestMs) tally.longUnregistered += 1;
    else tally.unregistered += 1;
  }
}

function nothing(): Tally {
  return { registered: 0, ready: 0, unready: 0, notStarted: 0, suspended: 0, beingDeleted: 0, unregistered: 0, longUnregistered: 0 };
}

/** The Cluster Autoscaler's limits: `--ok-total-unready-count` and `--max-total-unready-percentage`. */
const OK_UNREADY_NODES = 3;
const MAX_UNREADY_SHARE = 0.45;

/** Too many nodes unready at once is a fault of something larger. */
export function isHealthy({ unready, registered }: NodeCounts): boolean {
  return unready <= OK_UNREADY_NODES || unready <= MAX_UNREADY_SHARE * registered;
}
