/** What repacks under way mean for single nodes. Must not know how a set is found. */
import { podName, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Pod } from '../../domain/pod.ts';
import type { RunningRepack } from '../../domain/repack.ts';

export interface RepackedNodes {
  /** Nodes that are removed now, however much of them is used, and the condition of those that are sick. */
  readonly removing: ReadonlyMap<NodeName, string | undefined>;
  /** The repack that the node was added for, and whose pods have yet to come to it. */
  readonly addedFor: (node: NodeName, group: NodeGroupId) => RunningRepack | undefined;
}

const NONE: RepackedNodes = { removing: new Map(), addedFor: () => undefined };

export function repackedNodes({ repacks: { running } }: Pick<LoopState, 'repacks'>): RepackedNodes {
  if (running.length === 0) return NONE;
  const removing = running.filter(({ stage }) => stage === 'draining').flatMap(({ set }) => set.remove);
  const adding = running.filter(({ stage, set }) => stage !== 'checked' && set.add !== undefined);
  return {
    removing: new Map(removing.map(({ node, condition }) => [node, condition])),
    addedFor: (node, group) => adding.find(({ set, before }) => set.add?.group === group && !before.includes(node)),
  };
}

/** A pod that runs for too short a time to be moved: it may have been moved already. undefined: there is none. */
export function youngPod(movable: readonly Pod[], minPodAgeMs: number, nowMs: number): string | undefined {
  const young = movable.find(({ createdAtMs }) => nowMs - createdAtMs < minPodAgeMs);
  return young === undefined ? undefined : podName(young);
}
