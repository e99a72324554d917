/** The answer about a node as text. */
import type { NodeAnswer } from '../../planning/explain/answers/node-answer.ts';
import type { NamedWriter } from '../../planning/explain/answers/taint-writers.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import { formatMoment, formatSpan } from '../../planning/explain/spans.ts';
import { describeDiscount, formatPerHour } from '../../planning/explain/amounts.ts';
import type { TextLook } from './answer-facts.ts';
import { removalAdviceParts } from './fix-text.ts';
import { facts, paragraph } from '../../cli/text/text-layout.ts';

export function nodeParts(answer: NodeAnswer, look: TextLook): readonly string[] {
  const { nowMs, width, currency } = look;
  const { pool, vmSize, zone, perHour, discount, requested, utilization, threshold, nextCheck, blocker } = answer;
  const place = [
    pool ?? 'no managed pool',
    vmSize,
    zone === undefined ? undefined : `zone ${zone}`,
    perHour === undefined ? undefined : `${formatPerHour(perHour, currency)}${describeDiscount(discount)}`,
  ];
  if (answer.stoppedSince !== undefined)
    return [
      paragraph(answer.sentence, width),
      facts([['Pool', place.filter((part) => part !== undefined && part !== '').join(', ')]], width),
    ];
  const share = utilization === undefined ? '' : `; ${percent(utilization)} decides`;
  return [
    paragraph(answer.sentence, width),
    ...removalAdviceParts(answer.advice, look),
    facts(
      [
        ['Pool', place.filter((part) => part !== undefined && part !== '').join(', ')],
        [
          'Requested',
          `${percent(requested.cpu)} of CPU, ${percent(requested.memory)} of memory${share}; a candidate below ${percent(threshold)}`,
        ],
        ['Unneeded', describeUnneeded(answer, nowMs)],
        ['Blocked by', blocker === undefined ? '' : `pod ${blocker.pod} (${blocker.reason}): ${blocker.detail}`],
        ['Next check', nextCheck === undefined ? 'in every loop' : formatMoment(Date.parse(nextCheck), nowMs)],
        ['Health', answer.health ?? ''],
        ['State', answer.ready ? 'ready' : 'not ready'],
        ['Taints', describeTaints(answer, nowMs)],
        ['Pods', describePods(answer.pods)],
      ],
      width,
    ),
  ];
}

function describeUnneeded({ unneededSince, removableAfterMs, verdict }: NodeAnswer, nowMs: number): string {
  const after = `removable after ${formatSpan(removableAfterMs)}`;
  if (unneededSince !== undefined) return `since ${formatMoment(Date.parse(unneededSince), nowMs)}; ${after}`;
  return `${verdict === 'unknown' ? 'unknown' : 'no timer runs'}; ${after} of being unneeded`;
}

function describeTaints({ taints, cordoned, cordonedBy }: NodeAnswer, nowMs: number): string {
  const list =
    taints.length === 0 ? 'none' : taints.map(({ taint, ...writer }) => `${taint} (${describeWriter(writer, nowMs)})`).join(', ');
  if (!cordoned) return `${list}; not cordoned`;
  return `${list}; cordoned${cordonedBy === undefined ? '' : ` ${describeWriter(cordonedBy, nowMs)}`}`;
}

function describeWriter({ by, at }: NamedWriter, nowMs: number): string {
  return `by ${by === 'autoscaler' ? 'the ' : ''}${by}${at === undefined ? '' : ` at ${formatMoment(Date.parse(at), nowMs)}`}`;
}

function describePods(pods: readonly string[]): string {
  return pods.length === 0 ? 'none' : `${pods.length}: ${namePools(pods)}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
