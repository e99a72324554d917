/** Events of a scale-up, made from plan rows and outcomes, in the words of the Cluster Autoscaler's events. Pure. */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Increase, ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { GroupRefusal } from '../../domain/reasons.ts';
import { smallestFix } from './refusal-class.ts';
import type { AutoscalerEvent } from '../../domain/ports/records.ts';
import type { IncreaseRecord } from '../../domain/loop-report.ts';
import { compareText } from '../../lib/comparison.ts';
import { describeFit, describeSkip } from './describe-reasons.ts';

/** The ConfigMap that carries events about groups. The Cluster Autoscaler uses the same name. */
export const STATUS_NAME = 'cluster-autoscaler-status';

/** One event per pod that no node group can help: each reason with the number of its groups, and the smallest fix. */
export function podsWithoutScaleUpEvents(plan: ScaleUpPlan): readonly AutoscalerEvent[] {
  return [...plan.verdicts].flatMap(([pod, verdict]) =>
    verdict.kind === 'helpless' && pod.injected !== true
      ? [podEvent(pod, 'NotTriggerScaleUp', `pod didn't trigger scale-up: ${countReasons(verdict.byGroup)}${describeFix(verdict.byGroup)}`)]
      : [],
  );
}

/** The same for buffers. Their pods do not exist, so one event on the buffer stands for all of them. */
export function buffersWithoutScaleUpEvents(plan: ScaleUpPlan): readonly AutoscalerEvent[] {
  const first = new Map<string, AutoscalerEvent>();
  for (const [pod, verdict] of plan.verdicts) {
    const uid = pod.controller?.uid ?? '';
    if (pod.holds !== 'buffer' || verdict.kind !== 'helpless' || first.has(uid)) continue;
    const why = `${countReasons(verdict.byGroup)}${describeFix(verdict.byGroup)}`;
    first.set(uid, bufferEvent(pod, 'NotTriggerScaleUp', `capacity buffer didn't trigger scale-up: ${why}`));
  }
  return [...first.values()];
}

function describeFix(refusals: readonly GroupRefusal[]): string {
  const fix = smallestFix(refusals);
  return fix === undefined ? '' : `. Possible fix: ${fix}`;
}

export function countReasons(refusals: readonly GroupRefusal[]): string {
  const counts = new Map<string, number>();
  for (const refusal of refusals) {
    const reasons = new Set([...(refusal.skip === undefined ? [] : [describeSkip(refusal.skip)]), ...(refusal.fit ?? []).map(describeFit)]);
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  if (counts.size === 0) return 'there is no node group';
  const ordered = [...counts].sort(([left, leftCount], [right, rightCount]) => rightCount - leftCount || compareText(left, right));
  return ordered.map(([reason, count]) => `${count} ${reason}`).join(', ');
}

/** Events of one capacity write: on its pods if it was accepted, and on the status ConfigMap. A conflict has no event. */
export function increaseEvents(record: IncreaseRecord, group: NodeGroup | undefined, namespace: string): readonly AutoscalerEvent[] {
  const { increase, outcome } = record;
  const step = describeIncrease(increase, group);
  if (outcome.kind === 'accepted') {
    const real = increase.pods.filter((pod) => pod.injected !== true);
    const pods = real.map((pod) => podEvent(pod, 'TriggeredScaleUp', `pod triggered scale-up: [{${step}}]`));
    const buffers = new Map(increase.pods.filter(({ holds }) => holds === 'buffer').map((pod) => [pod.controller?.uid, pod]));
    const asking = [...buffers.values()].map((pod) =>
      bufferEvent(pod, 'TriggeredScaleUp', `capacity buffer triggered scale-up: [{${step}}]`),
    );
    const { group: name, from, to } = increase;
    const most = group === undefined ? '' : ` (max: ${group.maxSize})`;
    const message = `Scale-up: group ${name} size set to ${to} instead of ${from}${most}`;
    return [...pods, ...asking, statusEvent(namespace, 'Normal', 'ScaledUpGroup', message)];
  }
  if (outcome.kind !== 'failed') return [];
  const message = `Scale-up failed for group ${increase.group}: ${outcome.error.message.replace(/[.\s]+$/, '')} (${step})`;
  return [statusEvent(namespace, 'Warning', 'FailedToScaleUpGroup', message)];
}

function describeIncrease(increase: Increase, group: NodeGroup | undefined): string {
  return `${increase.group} ${increase.from}->${increase.to}${group === undefined ? '' : ` (max: ${group.maxSize})`}`;
}

function podEvent(pod: Pod, reason: string, message: string): AutoscalerEvent {
  return { subject: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid }, type: 'Normal', reason, message };
}

function bufferEvent({ namespace, controller }: Pod, reason: string, message: string): AutoscalerEvent {
  const { name = '', uid = '' } = controller ?? {};
  return { subject: { kind: 'CapacityBuffer', namespace, name, uid }, type: 'Normal', reason, message };
}

function statusEvent(namespace: string, type: AutoscalerEvent['type'], reason: string, message: string): AutoscalerEvent {
  return { subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type, reason, message };
}
