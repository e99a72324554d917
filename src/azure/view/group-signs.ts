/** What the view of one loop shows of each group's rest: what Azure counts, what it listed and what joined the cluster. Decides nothing. */
import type { GroupSigns } from '../agents/rest-rule.ts';
import type { RestSigns } from '../agents/rest-watch.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import { isOperationRunning } from '../groups/vms-pool-groups.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { isSettled } from '../rows/agent-pool.ts';
import { isUpdating } from '../rows/scale-set.ts';
import type { GroupInput } from './group-input.ts';

export interface BuiltGroup {
  readonly input: GroupInput;
  readonly group: NodeGroup;
}

interface NodeCounts {
  nodes: number;
  readyNodes: number;
}

export function restSigns(store: AzureInventory, built: readonly BuiltGroup[], ownership: Ownership, cluster: ClusterView): RestSigns {
  const counts = countNodes(ownership, cluster);
  return {
    groups: new Map(built.map((one) => [one.input.group.key, signsOf(store, one, counts.get(one.group.id))])),
    vmsGroups: built.flatMap(({ input: { group } }) => (group.kind === 'vms-pool' ? [group.key] : [])),
    pendingPods: cluster.pendingPods.length,
  };
}

function signsOf(store: AzureInventory, { input, group }: BuiltGroup, counted: NodeCounts | undefined): GroupSigns {
  const { key, kind } = input.group;
  const { target, instances = [] } = group;
  return {
    tag: kind === 'vms-pool' ? store.vmsPools.sizes.get(key)?.etag : input.row?.etag,
    listedTag: store.rest?.listedTag(key),
    isChanging: !target.known || !target.confirmed || store.changes.inFlight(key) > 0 || hasOperation(input),
    capacity: target.known ? target.value : undefined,
    listed: instances.length,
    running: instances.filter(({ state }) => state === 'running').length,
    nodes: counted?.nodes ?? 0,
    readyNodes: counted?.readyNodes ?? 0,
  };
}

function hasOperation({ row, size, pool }: GroupInput): boolean {
  if (row !== undefined && isUpdating(row.value)) return true;
  return (size !== undefined && isOperationRunning(size)) || (pool !== undefined && !isSettled(pool.provisioningState));
}

function countNodes({ groupOfNode, instanceOfNode }: Ownership, { nodes }: ClusterView): ReadonlyMap<NodeGroupId, NodeCounts> {
  const counts = new Map<NodeGroupId, NodeCounts>();
  for (const [name, id] of groupOfNode) {
    const counted = counts.get(id) ?? { nodes: 0, readyNodes: 0 };
    counts.set(id, counted);
    counted.nodes += 1;
    if (nodes.get(name)?.readiness.ready === true && instanceOfNode.has(name)) counted.readyNodes += 1;
  }
  return counts;
}
