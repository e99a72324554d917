/**
 * The nodes of each group, and the one that its next node is like: most device pools first, then by name, so that every loop chooses the
 * same.
 * Idea: evidence.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import { isBeingRemoved, type Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Ownership } from '../groups/node-ownership.ts';
import { exemplaryFromMs, showsNextNode } from './from-node.ts';

/** What one view shows of all nodes. */
export interface SeenNodes {
  readonly cluster: ClusterView;
  /** The same object while no node has another group. */
  readonly ownership: Pick<Ownership, 'groupOfNode' | 'instanceOfNode'>;
  /** Resource indexes of the devices that the group's size has. */
  readonly devicesOf: (group: NodeGroupId) => readonly number[];
  /** Where the devices are from: another object if they may have changed. */
  readonly catalog: unknown;
  readonly nowMs: number;
}

/** The nodes of one group. */
export interface GroupNodes {
  readonly all: readonly Node[];
  /** Those that show what the next node is like, or will when they are settled. */
  readonly settling: readonly Node[];
  /** A settled node. */
  readonly exemplar: Node | undefined;
  /** Without an exemplar: a node that is unready, cordoned, or ready for too short a time. */
  readonly fallback: Node | undefined;
}

export interface NodesOfGroups {
  readonly seen: Pick<SeenNodes, 'ownership' | 'catalog'> & Pick<ClusterView, 'nodes'>;
  readonly groups: ReadonlyMap<NodeGroupId, GroupNodes>;
  /** When the next node that is too new becomes exemplary, in milliseconds since the epoch. The result is valid until then. */
  readonly validUntilMs: number;
}

/** Returns the last result while it is valid. */
export function nodesOfGroups(last: NodesOfGroups | undefined, seen: SeenNodes): NodesOfGroups {
  if (last !== undefined && isMadeFrom(last, seen) && seen.nowMs < last.validUntilMs) return last;
  const { ownership, catalog, devicesOf, nowMs } = seen;
  const { nodes } = seen.cluster;
  const members = new Map<NodeGroupId, Node[]>();
  for (const [name, group] of ownership.groupOfNode) {
    const node = nodes.get(name);
    if (node === undefined) continue;
    const known = members.get(group);
    if (known === undefined) members.set(group, [node]);
    else known.push(node);
  }
  const found = [...members].map(([group, all]) => [group, groupNodes(all, devicesOf(group), nowMs)] as const);
  const validUntilMs = found.reduce((untilMs, [, { nextMs }]) => Math.min(untilMs, nextMs), Infinity);
  return { seen: { nodes, ownership, catalog }, groups: new Map(found), validUntilMs };
}

function isMadeFrom({ seen }: NodesOfGroups, { cluster, ownership, catalog }: SeenNodes): boolean {
  return seen.nodes === cluster.nodes && seen.ownership === ownership && seen.catalog === catalog;
}

/** `nextMs`: when another node may be the exemplar. */
function groupNodes(all: readonly Node[], devices: readonly number[], nowMs: number): GroupNodes & { readonly nextMs: number } {
  let exemplar: Node | undefined;
  let other: Node | undefined;
  let nextMs = Infinity;
  for (const node of all) {
    if (isBeingRemoved(node)) continue;
    const sinceMs = exemplaryFromMs(node, devices);
    if (sinceMs !== undefined && sinceMs <= nowMs) exemplar = better(exemplar, node);
    else {
      other = better(other, node);
      nextMs = Math.min(nextMs, sinceMs ?? Infinity);
    }
  }
  return { all, settling: all.filter(showsNextNode), exemplar, fallback: exemplar === undefined ? other : undefined, nextMs };
}

function better(rival: Node | undefined, node: Node): Node {
  if (rival === undefined) return node;
  const more = devicePoolCount(node) - devicePoolCount(rival);
  return more > 0 || (more === 0 && node.name < rival.name) ? node : rival;
}

/** Before its drivers are up, a node looks like one without devices. */
function devicePoolCount({ devices }: Node): number {
  return devices.pools.length;
}
