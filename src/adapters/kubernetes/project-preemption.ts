/**
 * Whether the platform has announced that it takes a node's machine back. On AKS the node problem detector asks the
 * machine's metadata service for scheduled events and writes what it hears as a node condition, whose name has changed
 * with its versions; the cloud controller keeps the same news as a taint.
 */
import type { Node } from '../../domain/node.ts';
import { timeOf, type ConditionJson, type NodeJson, type TaintJson } from './api-json.ts';

/** True of a machine that is taken back, and of no other event. */
const PREEMPT_CONDITIONS: ReadonlySet<string> = new Set(['PreemptScheduled', 'PreemptionScheduled']);
/** True for every kind of event; only the message tells which. */
const ANY_EVENT = 'VMEventScheduled';
const PREEMPT_MESSAGE = /\bPreempt Scheduled\b/i;
const NOT_BEFORE = /Preempt Scheduled:\s*(\w{3},\s+\d{1,2}\s+\w{3}\s+\d{4}\s+[\d:]{7,8}\s+(?:GMT|UTC))/i;
const DRAINING_TAINT = { key: 'cloudprovider.azure.microsoft.com/draining', value: 'spot-eviction' };
/** What Azure promises at least. Used where the notice does not say when. */
const LEAST_NOTICE_MS = 30_000;

/** Empty when nothing was announced. */
export function preemptionOf({ spec, status }: NodeJson): Pick<Node, 'preemption'> {
  const condition = (status?.conditions ?? []).find(announces);
  if (condition !== undefined) return announced(condition.type ?? '', timeOf(condition.lastTransitionTime) ?? 0, condition.message);
  const taint = (spec?.taints ?? []).find(isDraining);
  return taint === undefined ? {} : announced(`taint ${DRAINING_TAINT.key}`, timeOf(taint.timeAdded) ?? 0, undefined);
}

function announces({ type = '', status, message = '' }: ConditionJson): boolean {
  return status === 'True' && (PREEMPT_CONDITIONS.has(type) || (type === ANY_EVENT && PREEMPT_MESSAGE.test(message)));
}

function isDraining({ key, value }: TaintJson): boolean {
  return key === DRAINING_TAINT.key && value === DRAINING_TAINT.value;
}

function announced(notice: string, noticedAtMs: number, message: string | undefined): Pick<Node, 'preemption'> {
  const stated = timeOf(NOT_BEFORE.exec(message ?? '')?.[1]);
  return { preemption: { noticedAtMs, deadlineMs: stated ?? noticedAtMs + LEAST_NOTICE_MS, notice } };
}
