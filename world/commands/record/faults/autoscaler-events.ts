/**
 * What an autoscaler of nodes reports of Azure's refusals in its events: the Cluster Autoscaler, AKS's own, and this one, which use the
 * same reasons on the same object. The room reads what an autoscaler publishes about itself. Must not know a recording.
 */
import { classifyInstanceFailure, failureReason, type FailureReason } from '../../../../src/azure/arm/errors.ts';
import { timeOf, type ObjectJson } from '../../../../src/kubernetes/api/core-json.ts';
import type { ObservedRefusal } from '../../../lab/recordings/observed.ts';
import { defined } from '../../../../src/lib/defined.ts';
import { STATUS_NAME } from '../../../../src/planning/explain/scale-up-events.ts';

/** An event of the core API, whatever API wrote it. */
export interface EventJson extends ObjectJson {
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
  readonly reason?: string;
  readonly message?: string;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string | null } | null;
}

/** A request that timed out was made at most this long before. Autoscalers wait 15 minutes unless configured otherwise. */
const MOST_WAIT_MS = 60 * 60_000;

const KINDS: Partial<Readonly<Record<FailureReason, ObservedRefusal['why']>>> = {
  stock: 'stock',
  'zone-stock': 'stock',
  sku: 'stock',
  quota: 'quota',
  'spot-quota': 'quota',
  subnet: 'quota',
  policy: 'quota',
  throttled: 'throttled',
  bootstrap: 'no-node',
};
/** As Azure spells its codes. */
const CODE = /\b[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]+\b/g;
/** Our own events have the sentence without the code. */
const THROTTLED = /too many requests/i;
/** The class of the Cluster Autoscaler for stock and quota alike. */
const OUT_OF_RESOURCE = 'OutOfResource';

/** Events in, refusals out. The same event may come again, with a later time. */
export class AutoscalerEvents {
  /** When each pool was last made larger. */
  readonly #askedMs = new Map<string, number>();

  read(event: EventJson): readonly ObservedRefusal[] {
    const { reason = '', message = '', involvedObject } = event;
    if (involvedObject?.name !== STATUS_NAME) return [];
    const times = timesOf(event);
    switch (reason) {
      case 'ScaledUpGroup':
        this.#ask(poolIn(message), times);
        return [];
      case 'FailedToScaleUpGroup':
        return refusalsOf(poolIn(message), { words: message, class: undefined, times });
      case 'ScaleUpFailed':
        return failedNodes(message, times);
      case 'ScaleUpTimedOut':
        return times.flatMap((atMs) => this.#timedOut(poolIn(message), atMs));
      default:
        return [];
    }
  }

  #ask(pool: string | undefined, times: readonly number[]): void {
    if (pool !== undefined) for (const atMs of times) this.#askedMs.set(pool, Math.max(atMs, this.#askedMs.get(pool) ?? 0));
  }

  /** The nodes failed when they were asked for, not when waiting ended. How many they were is not said: at least one. */
  #timedOut(pool: string | undefined, atMs: number): readonly ObservedRefusal[] {
    if (pool === undefined) return [];
    const askedMs = this.#askedMs.get(pool) ?? 0;
    return [{ atMs: askedMs < atMs && atMs - askedMs <= MOST_WAIT_MS ? askedMs : atMs, pool, why: 'no-node' }];
  }
}

/** The first and the last time of an event that stands for several. */
function timesOf({ firstTimestamp, lastTimestamp, eventTime, series, metadata }: EventJson): readonly number[] {
  const given = [firstTimestamp, lastTimestamp, eventTime, series?.lastObservedTime].flatMap((text) => timeOf(text) ?? []);
  const all = given.length === 0 ? [timeOf(metadata?.creationTimestamp) ?? 0] : given;
  return [...new Set([Math.min(...all), Math.max(...all)])];
}

/** Milliseconds since the epoch. */
export function lastTimeOf(event: EventJson): number {
  return Math.max(...timesOf(event));
}

/** The pool of the node group that a message names. */
function poolIn(message: string): string | undefined {
  const [, group] = /\bgroup ([^\s:,]+)|^Nodes of (\S+)/.exec(message)?.filter((part) => part !== undefined) ?? [];
  return group === undefined ? undefined : poolOfGroup(group);
}

/** AKS names the scale set of a pool `aks-POOL-NUMBER-vmss`, of Windows `aksPOOL`; a size of a VMs pool is `POOL/SIZE`. */
export function poolOfGroup(group: string): string {
  const [, linux] = /^aks-(.+)-\d+-vmss$/.exec(group) ?? [];
  const [, windows] = /^aks([a-z][a-z0-9]{0,5})$/.exec(group) ?? [];
  return linux ?? windows ?? group.replace(/\/.*$/, '');
}

interface Failure {
  /** That may hold codes of Azure. */
  readonly words: string;
  readonly class: string | undefined;
  readonly times: readonly number[];
  readonly count?: number;
}

function failedNodes(message: string, times: readonly number[]): readonly ObservedRefusal[] {
  const [, nodes, errorClass] = /^Failed adding (\d+) nodes .*?\bdue to (\w+)\./.exec(message) ?? [];
  return refusalsOf(poolIn(message), {
    words: message,
    class: errorClass,
    times,
    ...defined({ count: nodes === undefined ? undefined : Number(nodes) }),
  });
}

function refusalsOf(pool: string | undefined, { words, class: errorClass, times, count }: Failure): readonly ObservedRefusal[] {
  const found = classified(words) ?? (errorClass === OUT_OF_RESOURCE ? { why: 'stock' as const, code: undefined } : undefined);
  if (pool === undefined || found === undefined) return [];
  return times.map((atMs) => ({ atMs, pool, why: found.why, ...defined({ code: found.code, count }) }));
}

/** By the reason that our metrics use. undefined: it says nothing about what Azure has. */
export function whyByReason(reason: string): ObservedRefusal['why'] | undefined {
  if (reason === 'timeout') return 'no-node';
  return KINDS[reason as FailureReason];
}

/** By the first code that is known, else by the words. undefined: another failure, which says nothing about what Azure has. */
function classified(words: string): { readonly why: ObservedRefusal['why']; readonly code: string | undefined } | undefined {
  for (const code of words.match(CODE) ?? []) {
    const why = KINDS[failureReason(classifyInstanceFailure(code, ''))];
    if (why !== undefined) return { why, code };
  }
  const why = THROTTLED.test(words) ? 'throttled' : KINDS[failureReason(classifyInstanceFailure('', words))];
  return why === undefined ? undefined : { why, code: undefined };
}
