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

/** Who remembers longer than this remembers nodes that went. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/**
 * When announcements without a time of their own were first seen: taints that only keep pods away have none, as Kubernetes
 * writes one only where it evicts. Known to one process; the next one counts anew.
 */
export class NoticesSeen {
  readonly #now: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** By the node's uid. */
  sinceMs(uid: string): number {
    const nowMs = this.#now();
    for (const [other, sinceMs] of this.#sinceMs) if (sinceMs < nowMs - FORGOTTEN_AFTER_MS) this.#sinceMs.delete(other);
    const sinceMs = this.#sinceMs.get(uid) ?? nowMs;
    this.#sinceMs.set(uid, sinceMs);
    return sinceMs;
  }

  /** Nothing is announced of the node (any more). */
  forget(uid: string): void {
    this.#sinceMs.delete(uid);
  }
}

/** Empty when nothing was announced. */
export function preemptionOf({ metadata, spec, status }: NodeJson, seen: NoticesSeen): Pick<Node, 'preemption'> {
  const uid = metadata?.uid ?? metadata?.name ?? '';
  const condition = (status?.conditions ?? []).find(announces);
  const noticedAtMs = (time: string | null | undefined): number => timeOf(time) ?? seen.sinceMs(uid);
  if (condition !== undefined) return announced(condition.type ?? '', noticedAtMs(condition.lastTransitionTime), condition.message);
  const taint = (spec?.taints ?? []).find(isDraining);
  if (taint !== undefined) return announced(`taint ${DRAINING_TAINT.key}`, noticedAtMs(taint.timeAdded), undefined);
  seen.forget(uid);
  return {};
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
