/** Why a pod of a DaemonSet waits on the node that is its only place, and which pods would have to leave that node. */
import { podName } from '../../../domain/ids.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { compareText } from '../../../lib/comparison.ts';
import { checkPodDrain } from '../../../scheduling/drainability/drainability.ts';
import { drainContext, drainRulesOf, type DrainContext } from '../../../scheduling/drainability/drain-rule.ts';
import { staticRefusals } from '../../../scheduling/snapshot/node-only-fit.ts';
import { askerPriority, fewestPods, missingFor, ownNode, podsOn, type Shortage } from '../../scale-down/room/room-asks.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { amountsOf } from '../amounts.ts';
import { describeFit } from '../describe-reasons.ts';

type Input = Pick<ScaleUpInput, 'observation' | 'policy' | 'names' | 'state'>;

/** Of more pods than these the sentence names the number. */
const MOST_NAMED = 3;

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
  const others = podsOn(node, input.observation.cluster.podsByNode);
  const short = missingFor({ node, wanted: pod.shape.requests, others });
  if (short.length === 0) return undefined;
  const what = short.map((one) => describeShortage(one, input.names)).join(', ');
  return `its node ${name} is full (${what}): ${whoMoves(pod, short, { pods: others, drain: drain() })}${roomMade(name, input)}`;
}

/** What is done about a full node where that is on, as a further part of a sentence. */
export function roomMade(node: string, { state }: Pick<Input, 'state'>): string {
  const why = state.repacks.rooms.get(node)?.why;
  return why === undefined ? '' : `; room there: ${why}`;
}

function describeRefusal(reason: FitReason): string {
  return reason.kind === 'untolerated-taint' ? `taint ${reason.taint} is not tolerated` : describeFit(reason);
}

/** With both numbers in one unit. */
export function describeShortage({ index, needs, free }: Shortage, names: ResourceNames): string {
  const { what, texts } = amountsOf(names.nameOf(index), [needs, Math.max(0, free)]);
  return `it needs ${texts[0]} ${what}, the node has ${texts[1]}`;
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
  const leaving = fewestPods(movable, short);
  if (leaving === undefined) return 'the pods there that may be moved do not leave enough room';
  const names = leaving.map(podName).sort(compareText);
  const few = `${names.length === 1 ? 'pod' : 'pods'} ${names.join(', ')}`;
  const who = names.length > MOST_NAMED ? `${names.length} pods, ${names[0]} among them,` : few;
  const moves = `if ${who} moved, it would run`;
  const [own, theirs] = [askerPriority(pod), Math.max(...leaving.map(askerPriority))];
  return theirs < own
    ? `${moves}; kube-scheduler preempts pods of a lower priority unless something keeps it from that`
    : `${moves}; with a priority above ${theirs} for its DaemonSet, kube-scheduler would make that room`;
}
