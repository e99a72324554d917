/** Which node speaks for its group. Of those that may the one with most pools of devices, and of these the first by name, so that the answer is the same in every loop. Pure. */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { exemplaryFromMs, isBeingRemoved } from './from-node.ts';

export interface ExemplaryNodes {
  readonly good: ReadonlyMap<NodeGroupId, Node>;
  /** Of groups without a good one: a node that is unready or cordoned, or ready for too short a time. */
  readonly fallback: ReadonlyMap<NodeGroupId, Node>;
  /** When a node that is too new by now is old enough: the answer holds until then, milliseconds since the epoch. */
  readonly validUntilMs: number;
}

export interface ExemplaryNodesInput {
  readonly nodes: ReadonlyMap<NodeName, Node>;
  readonly groupOfNode: ReadonlyMap<NodeName, NodeGroupId>;
  /** Indexes of the devices that the group's size promises. */
  readonly devicesOf: (group: NodeGroupId) => readonly number[];
  readonly nowMs: number;
}

export function findExemplaryNodes({ nodes, groupOfNode, devicesOf, nowMs }: ExemplaryNodesInput): ExemplaryNodes {
  const good = new Map<NodeGroupId, Node>();
  const others = new Map<NodeGroupId, Node>();
  let validUntilMs = Infinity;
  for (const [name, group] of groupOfNode) {
    const node = nodes.get(name);
    if (node === undefined || isBeingRemoved(node)) continue;
    const sinceMs = exemplaryFromMs(node, devicesOf(group));
    const speaks = sinceMs !== undefined && sinceMs <= nowMs;
    if (sinceMs !== undefined && !speaks) validUntilMs = Math.min(validUntilMs, sinceMs);
    keepBetter(speaks ? good : others, group, node);
  }
  return { good, fallback: new Map([...others].filter(([group]) => !good.has(group))), validUntilMs };
}

function keepBetter(nodes: Map<NodeGroupId, Node>, group: NodeGroupId, node: Node): void {
  const rival = nodes.get(group);
  if (
    rival === undefined ||
    devicePoolCount(node) > devicePoolCount(rival) ||
    (devicePoolCount(node) === devicePoolCount(rival) && node.name < rival.name)
  )
    nodes.set(group, node);
}

/** A node whose drivers have not come up looks like one without devices. */
function devicePoolCount({ devices }: Node): number {
  return devices?.pools.length ?? 0;
}
