/**
 * Whether the pods of a node may be moved. An ordered list of rules: the first that decides wins, and a pod without a decision may be
 * moved. The order is the Cluster Autoscaler's (its documented drain rules). Must not know where the pods would run instead.
 */
import { defined } from '../../lib/defined.ts';
import { podName } from '../../domain/ids.ts';
import type { Blocker } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import {
  daemonSetPod,
  disruptionBudget,
  expendable,
  gangMinimum,
  localStorage,
  longTerminating,
  mirrorPod,
  notSafeToEvict,
  onCompletion,
  replicaCount,
  replicated,
  safeToEvict,
  systemPod,
  terminalPod,
} from './drain-rules.ts';
import type { DrainContext, DrainRule, DrainVerdict } from './drain-rule.ts';

const RULES: readonly DrainRule[] = [
  mirrorPod,
  longTerminating,
  expendable,
  replicaCount,
  daemonSetPod,
  safeToEvict,
  terminalPod,
  onCompletion,
  replicated,
  systemPod,
  notSafeToEvict,
  gangMinimum,
  localStorage,
  disruptionBudget,
];

const MOVE: DrainVerdict = { kind: 'move' };

/** What a drain would do with this pod, and why. */
export function checkPodDrain(pod: Pod, context: DrainContext): DrainVerdict {
  for (const rule of RULES) {
    const verdict = rule(pod, context);
    if (verdict !== undefined) return verdict;
  }
  return MOVE;
}

/** The pods of one node, by what a drain does with them. */
export interface NodeDrain {
  readonly movable: readonly Pod[];
  /** DaemonSet pods: removed with the node, evicted if the policy says so, and need no other node. */
  readonly daemons: readonly Pod[];
  /** Pods with a priority below the cutoff: evicted, and need no other node. */
  readonly expendables: readonly Pod[];
  /** Pods that the drain waits for: the node is not removed before they have finished. */
  readonly waiting: readonly Pod[];
  readonly blocker: Blocker | undefined;
  /** Whether every blocker is a budget that is exhausted only for the moment. */
  readonly passing: boolean;
}

/** Checks all pods of a node. The named blocker is a lasting one if there is one; of equals the first by name. */
export function checkNodeDrain(pods: readonly Pod[], context: DrainContext): NodeDrain {
  const movable: Pod[] = [];
  const daemons: Pod[] = [];
  const expendables: Pod[] = [];
  const waiting: Pod[] = [];
  let worst: FoundBlocker | undefined;
  for (const pod of pods) {
    const verdict = checkPodDrain(pod, context);
    if (verdict.kind === 'move') movable.push(pod);
    else if (verdict.kind === 'daemon-set') daemons.push(pod);
    else if (verdict.kind === 'expendable') expendables.push(pod);
    else if (verdict.kind === 'wait-for-completion') waiting.push(pod);
    else if (verdict.kind === 'block') worst = worseBlocker(worst, { pod: podName(pod), ...verdict });
  }
  const blocker =
    worst === undefined
      ? undefined
      : { pod: worst.pod, reason: worst.reason, detail: worst.detail, ...defined({ untilMs: worst.untilMs }) };
  return { movable, daemons, expendables, waiting, blocker, passing: worst?.passing ?? false };
}

type FoundBlocker = Blocker & { readonly passing: boolean };

function worseBlocker(left: FoundBlocker | undefined, right: FoundBlocker): FoundBlocker {
  if (left === undefined) return right;
  if (left.passing !== right.passing) return left.passing ? right : left;
  return left.pod <= right.pod ? left : right;
}
