/** Since when the same cause has kept each node that could otherwise be removed: a pod, or a lack of room for its pods. */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import type { UnremovableReason } from '../../domain/reasons.ts';

/** Only candidates get as far as these: their utilization is below the threshold. */
const BLOCKED: ReadonlySet<UnremovableReason> = new Set([
  'BlockedByPod',
  'BlockedByOnCompletionPod',
  'NoPlaceToMovePods',
  'RecentlyUnremovable',
]);

export interface BlockedNode {
  readonly node: NodeName;
  readonly uid: string;
  /** The code of the pod's reason, else that of the node's. */
  readonly reason: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
}

export class BlockedNodes {
  #known: ReadonlyMap<NodeName, BlockedNode> = new Map();

  /** Returns all blocked nodes. Without a plan for removals, the earlier ones. */
  observe({ observation, scaleDown }: LoopReport): ReadonlyMap<NodeName, BlockedNode> {
    // A loop that removes nothing says nothing about single nodes.
    if (observation === undefined || scaleDown === undefined || scaleDown.inhibited !== undefined) return this.#known;
    const now = new Map<NodeName, BlockedNode>();
    for (const entry of scaleDown.kept) {
      const uid = observation.cluster.nodes.get(entry.node)?.uid;
      // guard: a node that is kept free on purpose is reported by no event
      if (uid !== undefined && BLOCKED.has(entry.reason) && entry.cause !== 'RoomKeptFree')
        now.set(entry.node, this.#blocked(entry, uid, observation.nowMs));
    }
    this.#known = now;
    return now;
  }

  #blocked(entry: UnremovableNode, uid: string, nowMs: number): BlockedNode {
    const { node, blocker, detail = '' } = entry;
    const known = this.#known.get(node);
    const before = known?.uid === uid ? known : undefined;
    const reason = reasonOf(entry, before);
    const cause = blocker === undefined ? (before?.detail ?? detail) : `pod ${blocker.pod}: ${blocker.detail}`;
    return { node, uid, reason, detail: cause, sinceMs: before?.reason === reason ? before.sinceMs : nowMs };
  }
}

/** A check that is remembered from an earlier loop has the reason of that check. */
function reasonOf({ reason, blocker }: UnremovableNode, before: BlockedNode | undefined): string {
  if (blocker !== undefined) return blocker.reason;
  return reason === 'RecentlyUnremovable' ? (before?.reason ?? 'NoPlaceToMovePods') : reason;
}
