/**
 * Chooses the node a group's template is learned from: most device pools first, then by name, so that every loop chooses the
 * same. Pure.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { exemplaryFromMs, isBeingRemoved } from './from-node.ts';

export interface ExemplaryNodes {
  readonly good: ReadonlyMap<NodeGroupId, Node>;
  /** For groups without a good node: a node that is unready, cordoned, or ready for too short a time. */
  readonly fallback: ReadonlyMap<NodeGroupId, Node>;
  /** When the next node that is too new becomes exemplary, in milliseconds since the epoch. The result is valid until then. */
  readonly validUntilMs: number;
}

interface ExemplaryNodesInput {
  readonly nodes: ReadonlyMap<NodeName, Node>;
  readonly groupOfNode: ReadonlyMap<NodeName, NodeGroupId>;
  /** Resource indexes of the devices that the group's size has. */
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
    const isExemplary = sinceMs !== undefined && sinceMs <= nowMs;
    if (sinceMs !== undefined && !isExemplary) validUntilMs = Math.min(validUntilMs, sinceMs);
    keepBetter(isExemplary ? good : others, group, node);
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

/** Before its drivers are up, a node looks like one without devices. */
function devicePoolCount({ devices }: Node): number {
  return devices?.pools.length ?? 0;
}
