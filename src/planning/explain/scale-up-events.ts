/** Events of a scale-up, made from plan rows and outcomes, in the words of the Cluster Autoscaler's events. Pure. */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Increase, ScaleUpPlan } from '../../domain/plan.ts';
import { membershipOf, type PodGroups } from '../../domain/workloads.ts';
import type { GangShortfall, PodVerdict } from '../../domain/reasons.ts';
import type { AutoscalerEvent, EventVerdict } from '../../domain/ports/records.ts';
import type { IncreaseRecord } from '../../domain/loop-report.ts';
import { shownText } from '../../lib/shown-text.ts';
import { type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import { isForHeadroom, isHeadroom, roomOwner } from '../state/assumed-pods.ts';
import { correlationIdOf } from '../state/failed-increases.ts';
import { describeShortfall } from './describe-reasons.ts';
import { namePools, poolRows, type PoolRow } from './pool-rows.ts';

/** The ConfigMap that carries events about groups. The Cluster Autoscaler uses the same name. */
export const STATUS_NAME = 'cluster-autoscaler-status';

/** The API server refuses longer notes. */
const MOST_CHARACTERS = 1024;

interface SimulatedAdvice {
  /** Sets of changes. */
  readonly tried: number;
  /** Absent if none of them works. */
  readonly fix?: { readonly text: string };
}

export interface UnhelpedPodsInput {
  readonly plan: ScaleUpPlan;
  readonly groups: readonly NodeGroup[];
  /** What helps, by verdict. If a verdict is absent, nothing was simulated for it, and nothing is advised. */
  readonly advice: ReadonlyMap<PodVerdict, SimulatedAdvice>;
}

/** Each of them may need a text of its own about every pool. */
const PODS_PER_STEP = 8;

/**
 * One event per pod that no node group can help: the fix that was simulated, and every pool with its obstacles. Pods that start together have
 * one for all, on their group.
 */
export function* podsWithoutScaleUpEvents({ plan, ...input }: UnhelpedPodsInput): SlicedWork<readonly AutoscalerEvent[]> {
  const why = whyUnhelped(input);
  const events: AutoscalerEvent[] = [];
  const told = new Set<PodVerdict>();
  const describe = ([pod, verdict]: readonly [Pod, PodVerdict]): void => {
    if (verdict.kind !== 'helpless' || !isReal(pod) || told.has(verdict)) return;
    const { text, identity } = why(verdict);
    if (verdict.gang !== undefined) {
      // guard: what keeps a group of pods from starting is said once
      told.add(verdict);
      events.push({ ...gangEvent(verdict.gang, text), verdict: identity });
      return;
    }
    events.push({ ...podEvent(pod, 'NotTriggerScaleUp', `pod didn't trigger scale-up: ${text}`), verdict: identity });
  };
  yield* visitInSlices(plan.verdicts, describe, PODS_PER_STEP);
  return events;
}

/** The same for buffers. Their pods do not exist, so one event on the buffer stands for all of them. */
export function buffersWithoutScaleUpEvents({ plan, ...input }: UnhelpedPodsInput): readonly AutoscalerEvent[] {
  const why = whyUnhelped(input);
  const first = new Map<string, AutoscalerEvent>();
  for (const [pod, verdict] of plan.verdicts) {
    const uid = pod.controller?.uid ?? '';
    // guard: headroom that finds no place is no event
    if (pod.origin !== 'buffer' || isHeadroom(pod) || verdict.kind !== 'helpless' || first.has(uid)) continue;
    first.set(uid, bufferEvent(pod, 'NotTriggerScaleUp', `capacity buffer didn't trigger scale-up: ${why(verdict).text}`));
  }
  return [...first.values()];
}

type Helpless = Extract<PodVerdict, { readonly kind: 'helpless' }>;

/** Equal pods share a verdict, so each text is made once. */
function whyUnhelped({ groups, advice }: Omit<UnhelpedPodsInput, 'plan'>): (verdict: Helpless) => DescribedVerdict {
  const byId = new Map(groups.map((group) => [group.id as string, group]));
  const made = new Map<Helpless, DescribedVerdict>();
  return (verdict) => {
    const described = made.get(verdict) ?? describeVerdict(verdict, byId, advice.get(verdict));
    made.set(verdict, described);
    return described;
  };
}

interface DescribedVerdict {
  readonly text: string;
  readonly identity: EventVerdict;
}

const MAX_QUOTE_BYTES = 300;

/** Azure's own sentence on a group that would take the pod and backs off; on one of them, since causes are mostly common. */
function quoteAzure({ byGroup }: Helpless): string {
  for (const { group, skip, fit = [] } of byGroup) {
    if (skip?.kind !== 'backoff' || skip.message === undefined || fit.length > 0) continue;
    return `. Last failure of ${group}${nameRequest(skip.correlationId)}: ${shownText(skip.message, MAX_QUOTE_BYTES)}`;
  }
  return '';
}

function nameRequest(correlationId: string | undefined): string {
  return correlationId === undefined ? '' : ` (correlation id ${correlationId})`;
}

function describeVerdict(verdict: Helpless, groups: ReadonlyMap<string, NodeGroup>, advice: SimulatedAdvice | undefined): DescribedVerdict {
  const { byGroup } = verdict;
  if (byGroup.length === 0) return { text: 'there is no node group', identity: { reasons: '' } };
  const who = verdict.gang === undefined ? 'this pod' : 'the others';
  const count =
    byGroup.length === 1 ? `the only pool cannot take ${who} now` : `${byGroup.length} of ${byGroup.length} pools cannot take ${who} now`;
  const fix = advice?.fix === undefined ? '' : ` Fix that works: ${advice.fix.text}.`;
  const quote = quoteAzure(verdict);
  const rows = poolRows(byGroup, groups);
  const text = `${cutRows(`${count}.${fix}`, rows, MOST_CHARACTERS - 100 - quote.length - (verdict.gang?.title.length ?? 0))}${quote}`;
  return { text, identity: { reasons: withoutNumbers(rows), fix: advice?.fix?.text } };
}

/** Use of quotas and limits grows from loop to loop, and ages do. */
function withoutNumbers(rows: readonly PoolRow[]): string {
  return rows.map(({ pools, obstacles }) => `${pools.join(', ')}: ${obstacles.join(', and ').replace(/\d+(\.\d+)?/g, '#')}`).join('; ');
}

/** Whole rows only: a number that is cut would be another number. */
function cutRows(beginning: string, rows: readonly PoolRow[], most: number): string {
  let text = beginning;
  for (const [at, { pools, obstacles }] of rows.entries()) {
    const next = `${text}${at === 0 ? ' ' : '; '}${namePools(pools)}: ${obstacles.join(', and ')}`;
    const left = rows.slice(at).reduce((sum, row) => sum + row.pools.length, 0);
    if (next.length > most) return `${text}${at === 0 ? ' ' : '; '}and ${left} more pools`;
    text = next;
  }
  return text;
}

/** Events of one capacity write: on its pods if it was accepted, and on the status ConfigMap. A conflict has no event. */
export function increaseEvents(
  record: IncreaseRecord,
  group: NodeGroup | undefined,
  namespace: string,
  podGroups: PodGroups | undefined,
): readonly AutoscalerEvent[] {
  const { increase, outcome } = record;
  const step = describeIncrease(increase, group);
  if (outcome.kind === 'accepted') {
    const real = increase.pods.filter(isReal);
    const describe = (pod: Pod): string => `pod triggered scale-up: [{${step}}]${describeMembership(pod, podGroups)}`;
    // guard: a pod of a group that is placed as a whole says how it is planned
    const pods = real.map((pod) => podEvent(pod, 'TriggeredScaleUp', describe(pod)));
    const buffers = new Map(increase.pods.filter(({ origin }) => origin === 'buffer').map((pod) => [pod.controller?.uid, pod]));
    const asking = [...buffers.values()].map((pod) =>
      isHeadroom(pod)
        ? statusEvent(namespace, 'Normal', 'HeadroomRequested', `${roomOwner(pod)} triggered scale-up: [{${step}}]`)
        : bufferEvent(pod, 'TriggeredScaleUp', `capacity buffer triggered scale-up: [{${step}}]`),
    );
    const { group: name, from, to } = increase;
    const most = group === undefined ? '' : ` (max: ${group.maxSize})`;
    const message = `Scale-up: group ${name} size set to ${to} instead of ${from}${most}`;
    return [...pods, ...asking, statusEvent(namespace, 'Normal', 'ScaledUpGroup', message)];
  }
  if (outcome.kind !== 'failed') return [];
  const request = nameRequest(correlationIdOf(outcome.error));
  const message = `Scale-up failed for group ${increase.group}${request}: ${outcome.error.message.replace(/[.\s]+$/, '')} (${step})`;
  // guard: a refusal of headroom alone is no warning
  if (isForHeadroom(increase)) return [statusEvent(namespace, 'Normal', 'HeadroomNotAdded', message)];
  return [statusEvent(namespace, 'Warning', 'FailedToScaleUpGroup', message)];
}

function describeIncrease(increase: Increase, group: NodeGroup | undefined): string {
  return `${increase.group} ${increase.from}->${increase.to}${group === undefined ? '' : ` (max: ${group.maxSize})`}`;
}

function podEvent(pod: Pod, reason: string, message: string): AutoscalerEvent {
  return { subject: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid }, type: 'Normal', reason, message };
}

function gangEvent(gang: GangShortfall, text: string): AutoscalerEvent {
  const { kind, namespace, name, uid } = gang;
  const message = `pod group didn't trigger scale-up: ${describeShortfall(gang)}; ${text}`;
  return { subject: { kind, namespace, name, uid }, type: 'Normal', reason: 'NotTriggerScaleUp', message };
}

function bufferEvent(pod: Pod, reason: string, message: string): AutoscalerEvent {
  const { namespace, controller: { name = '', uid = '' } = {} } = pod;
  return { subject: { kind: 'CapacityBuffer', namespace, name, uid }, type: 'Normal', reason, message };
}

function statusEvent(namespace: string, type: AutoscalerEvent['type'], reason: string, message: string): AutoscalerEvent {
  return { subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type, reason, message };
}

/** Said with an increase, thus not in each loop. Empty for a pod that starts alone. */
function describeMembership(pod: Pod, podGroups: PodGroups | undefined): string {
  const { gang: title } = pod.shape;
  if (title === undefined) return '';
  if (podGroups === undefined) return `; planned as an ordinary pod although it belongs to ${title}`;
  const membership = membershipOf(pod, podGroups);
  return membership.kind === 'gang' ? `; ${title} starts with ${membership.gang.minCount} pods together` : '';
}
