/** Why a pod of a DaemonSet waits on the node that is its only place, and which pods would have to leave that node. No pod is moved for it. */
import { podName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { compareText } from '../../../lib/comparison.ts';
import { checkPodDrain } from '../../../scheduling/drainability/drainability.ts';
import { drainContext, drainRulesOf, type DrainContext } from '../../../scheduling/drainability/drain-rule.ts';
import { staticRefusals } from '../../../scheduling/snapshot/node-only-fit.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { amountsOf } from '../amounts.ts';
import { describeFit } from '../describe-reasons.ts';

type Input = Pick<ScaleUpInput, 'observation' | 'policy' | 'names'>;

/** Of more pods than these the sentence names the number. */
const MOST_NAMED = 3;

interface Shortage {
  readonly index: number;
  /** What is missing, in the units of resource vectors. */
  readonly missing: number;
  readonly text: string;
}

/** Describes one pod after another, without a full stop. undefined: it is no DaemonSet's pod, or nothing of this is known to be why it waits. */
export function daemonWaits(input: Input): (pod: Pod) => string | undefined {
  let context: DrainContext | undefined;
  const drain = (): DrainContext => {
    const { observation, policy } = input;
    return (context ??= drainContext(observation.cluster, drainRulesOf(policy), observation.nowMs));
  };
  return (pod) => describeWait(pod, input, drain);
}

function describeWait(pod: Pod, input: Input, drain: () => DrainContext): string | undefined {
  const name = pod.daemonSet ? ownNode(pod) : undefined;
  if (name === undefined) return undefined;
  const node = input.observation.cluster.nodes.get(name);
  if (node === undefined) return `its node ${name} is gone`;
  const refusals = staticRefusals(pod.shape, node);
  if (refusals.length > 0) return `its node ${name} refuses it: ${refusals.map(describeRefusal).join(', and ')}`;
  const short = shortagesOn(node, pod, input);
  if (short.length === 0) return undefined;
  return `its node ${name} is full (${short.map(({ text }) => text).join(', ')}): ${whoMoves(pod, short, { pods: podsOn(node, input.observation.cluster.podsByNode), drain: drain() })}`;
}

function describeRefusal(reason: FitReason): string {
  return reason.kind === 'untolerated-taint' ? `taint ${reason.taint} is not tolerated` : describeFit(reason);
}

/** The DaemonSet controller pins each pod to its node by name. */
function ownNode({ shape: { nodeAffinity = [] } }: Pod): string | undefined {
  const fields = nodeAffinity.flatMap((term) => term.fields);
  return fields.find(({ key, operator, values }) => key === 'metadata.name' && operator === 'In' && values.length === 1)?.values[0];
}

function shortagesOn(node: Node, pod: Pod, { observation, names }: Input): readonly Shortage[] {
  const others = podsOn(node, observation.cluster.podsByNode);
  return [...pod.shape.requests].flatMap((needs, index) => {
    const used = others.reduce((sum, { shape }) => sum + (shape.requests[index] ?? 0), 0);
    const free = Math.max(0, (node.allocatable[index] ?? 0) - used);
    if (needs <= free) return [];
    const { what, texts } = amountsOf(names.nameOf(index), [needs, free]);
    return [{ index, missing: needs - free, text: `it needs ${texts[0]} ${what}, the node has ${texts[1]}` }];
  });
}

function podsOn(node: Node, podsByNode: Input['observation']['cluster']['podsByNode']): readonly Pod[] {
  return (podsByNode.get(node.name) ?? []).filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed');
}

/**
 * The pods of least priority whose room is enough. kube-scheduler makes room by itself only among pods of a lower priority than the waiting
 * one (pkg/scheduler/framework/preemption, 1.37), so the priority of the DaemonSet is named if theirs is not lower.
 */
function whoMoves(
  pod: Pod,
  short: readonly Shortage[],
  { pods, drain }: { readonly pods: readonly Pod[]; readonly drain: DrainContext },
): string {
  const movable = pods.filter((other) => {
    const { kind } = checkPodDrain(other, drain);
    return other.deletionAtMs === undefined && (kind === 'move' || kind === 'expendable');
  });
  const leaving = fewest(movable, short);
  if (leaving === undefined) return 'the pods there that may be moved do not leave enough room';
  const names = leaving.map(podName).sort(compareText);
  const few = `${names.length === 1 ? 'pod' : 'pods'} ${names.join(', ')}`;
  const who = names.length > MOST_NAMED ? `${names.length} pods, ${names[0]} among them,` : few;
  const moves = `if ${who} moved, it would run`;
  const [own, theirs] = [priorityOf(pod), Math.max(...leaving.map(priorityOf))];
  return theirs < own
    ? `${moves}; kube-scheduler preempts pods of a lower priority unless something keeps it from that`
    : `${moves}; with a priority above ${theirs} for its DaemonSet, kube-scheduler would make that room`;
}

/** One pod if one is enough, the smallest of the least priority; else pods in the order of their priorities, the largest first. */
function fewest(movable: readonly Pod[], short: readonly Shortage[]): readonly Pod[] | undefined {
  const share = ({ shape }: Pod): number => short.reduce((sum, { index, missing }) => sum + (shape.requests[index] ?? 0) / missing, 0);
  const isEnough = (pods: readonly Pod[]): boolean =>
    short.every(({ index, missing }) => pods.reduce((sum, { shape }) => sum + (shape.requests[index] ?? 0), 0) >= missing);
  const ordered = (pods: readonly Pod[], largestFirst: 1 | -1): readonly Pod[] =>
    pods.toSorted(
      (left, right) =>
        priorityOf(left) - priorityOf(right) || (share(right) - share(left)) * largestFirst || compareText(podName(left), podName(right)),
    );
  const [alone] = ordered(
    movable.filter((pod) => isEnough([pod])),
    -1,
  );
  if (alone !== undefined) return [alone];
  const taken: Pod[] = [];
  for (const pod of ordered(
    movable.filter((each) => share(each) > 0),
    1,
  )) {
    taken.push(pod);
    if (isEnough(taken)) return taken;
  }
  return undefined;
}

function priorityOf({ shape }: Pod): number {
  return shape.priority ?? 0;
}
