/**
 * Azure's rate limits as its responses report them. Every rate-limit header is read. A refusal for too many requests stops
 * exactly the calls that it names until its time is over: one set, one family, all reads or all writes of the subscription.
 * Requests during that time only make it longer. Periodic reads slow down before writes have to.
 */
import type { IncreaseBlock } from '../../domain/group-blocks.ts';
import type { Clock } from '../../lib/clock.ts';
import { Holds, LONGEST_HOLD_MS, nextDurationMs } from '../../lib/closure.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { describeCall, isWrite, OPERATIONS, type ArmCall } from './call-list.ts';
import type { RemainingWrites } from '../../domain/quotas-and-prices.ts';
import { foldName } from './resource-ids.ts';
import { compareText } from '../../lib/comparison.ts';

/** The wait without a `Retry-After` doubles from the first to the last. */
const WAITS = { firstMs: 10_000, longestMs: 300_000 };
/** Below this fraction of the most tokens ever seen, periodic reads take twice as long. */
export const LOW_FRACTION = 0.2;

/** The calls of one policy that Azure still accepts, and the most ever reported. */
export interface RemainingCalls {
  readonly policy: string;
  readonly remaining: number;
  readonly largest: number;
}

/** `isOwn`: the limit counts the calls of this identity alone, so that it says nothing about other clusters. */
type ThrottledListener = (family: string, untilMs: number, isOwn: boolean) => void;

/** The code of errors for calls that were not sent, since a limit or a pause of Azure is not over. */
export const HELD_BACK = 'HeldBack';

export class RateLimits {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #metrics: Metrics['arm'];
  readonly #throttles = new Holds();
  /** Reads that are not repeated for a while after a server error, by operation and resource. */
  readonly #unavailable = new Holds();
  readonly #remaining = new Map<string, RemainingCalls>();
  /** Of capacity writes, by the name of the scale set. */
  readonly #writes = new Map<string, RemainingWrites>();
  /** Policies with a published metric, including those that are not throttled. */
  readonly #published = new Set<string>();
  /** Families whose tokens are low, and names of low policies that all reads share. */
  readonly #low = new Set<string>();
  #lowListener: (family: string, low: boolean) => void = () => undefined;
  #throttledListener: ThrottledListener = () => undefined;
  #remainingListener: (family: string, calls: RemainingCalls) => void = () => undefined;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, metrics: Metrics['arm']) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /**
   * undefined: the call may be sent; call `endCall` when it has ended. Otherwise the error that Azure would return, without a
   * request: `throttled`, or `unavailable` while a pause that a server error asked for is not over.
   */
  admit(call: ArmCall): AutoscalerError | undefined {
    const nowMs = this.#clock.monotonic();
    const pauseMs = this.#unavailable.waitMs([readKey(call)], nowMs);
    if (pauseMs > 0) {
      const pause = `${describeCall(call)} is held back for ${Math.ceil(pauseMs / 1000)} s: Azure asked for this pause after a server error.`;
      return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, pause, { code: HELD_BACK, retryAfterMs: pauseMs });
    }
    const retryAfterMs = this.#throttles.waitMs(throttleKeysOf(call), nowMs);
    if (retryAfterMs > 0) {
      const message = `${describeCall(call)} is held back for ${Math.ceil(retryAfterMs / 1000)} s because Azure throttles such calls.`;
      const detail = { kind: 'throttled', retryAfterMs, policy: OPERATIONS[call.operation].family } as const;
      return new AutoscalerError(detail, message, { code: HELD_BACK });
    }
    this.#unavailable.beginCall([readKey(call)], call);
    this.#throttles.beginCall(throttleKeysOf(call), call);
    return undefined;
  }

  /** An admitted call has ended, whether it was sent or not. */
  endCall(call: ArmCall): void {
    this.#unavailable.endCall(call);
    this.#throttles.endCall(call);
  }

  /** An operator wants to know now: of all calls that are held, one of each kind is sent. */
  releaseHolds(): void {
    this.#unavailable.release(this.#clock.monotonic());
    this.#throttles.release(this.#clock.monotonic());
  }

  /** Why Azure accepts no such call now. undefined: it does. */
  heldReason(call: ArmCall): IncreaseBlock | undefined {
    const nowMs = this.#clock.monotonic();
    const keys = throttleKeysOf(call).filter((key) => this.#throttles.waitMs([key], nowMs) > 0);
    const last = keys.flatMap((key) => this.#throttles.get(key) ?? []).toSorted((left, right) => right.untilMs - left.untilMs)[0];
    if (last === undefined) return undefined;
    return { code: 'throttled', untilMs: last.untilWallMs, message: last.message };
  }

  /** Reads the rate-limit headers of a response. */
  recordHeaders(call: ArmCall, header: (name: string) => string | undefined): void {
    for (const { policy, remaining } of remainingTokens(header)) {
      const key = tokenKey(policy, call);
      const largest = Math.max(remaining, this.#remaining.get(key)?.largest ?? 0);
      this.#remaining.set(key, { policy, remaining, largest });
      if (call.operation === 'putScaleSet' && policy.endsWith('Resource'))
        this.#writes.set(foldName(call.resource), { left: remaining, of: largest, atMs: this.#clock.now() });
      this.#metrics.tokensRemaining.set({ policy }, remaining);
      this.#reportLow(policy, remaining < largest * LOW_FRACTION);
      if (ofSubscription(policy) || policy === GLOBAL_WRITES) this.#remainingListener(stemOf(policy), { policy, remaining, largest });
    }
  }

  /** The last report on a family's calls or on all reads: the policy that has the smallest fraction left. */
  remainingCallsOf(family: string): RemainingCalls | undefined {
    const own = [...this.#remaining.values()].filter(({ policy }) => limits(stemOf(policy), family));
    const fraction = ({ remaining, largest }: RemainingCalls): number => (largest === 0 ? 0 : remaining / largest);
    return own.sort((left, right) => fraction(left) - fraction(right) || compareText(left.policy, right.policy))[0];
  }

  /** Capacity writes that one scale set has left. undefined: this process has not written it, or Azure reported none. */
  remainingWritesOf(set: string): RemainingWrites | undefined {
    return this.#writes.get(foldName(set));
  }

  /**
   * Periodic reads slow down only for limits that all resources of the region share. A limit that several families share slows all of
   * them.
   */
  #reportLow(policy: string, low: boolean): void {
    if (!ALL_READS.includes(policy) && !ofSubscription(policy)) return;
    const stem = stemOf(policy);
    const wasLow = this.#low.has(stem);
    if (low) this.#low.add(stem);
    else this.#low.delete(stem);
    const shared = SHARED_LIMITS.get(stem);
    if (shared === undefined) this.#lowListener(stem, this.#isLow(stem));
    else if (low !== wasLow) for (const family of shared) this.#lowListener(family, this.#isLow(family));
  }

  #isLow(family: string): boolean {
    return [...this.#low].some((stem) => limits(stem, family));
  }

  /** A response that asks for no pause ends the doubling of the waits, and the holds that are over. */
  recordAnswer(call: ArmCall): void {
    const nowMs = this.#clock.monotonic();
    const keys = throttleKeysOf(call);
    const before = keys.filter((key) => this.#throttles.get(key) !== undefined || !this.#published.has(policyLabel(key)));
    this.#unavailable.recordAnswer([readKey(call)], call, nowMs);
    this.#throttles.recordAnswer(keys, call, nowMs);
    for (const key of before) if (this.#throttles.get(key) === undefined) this.#publish(policyLabel(key));
  }

  /** Stops the calls that a `throttled` error names. */
  recordThrottled(call: ArmCall, error: AutoscalerError): void {
    if (error.detail.kind !== 'throttled') return;
    const { policy, retryAfterMs } = error.detail;
    const shared = SHARED_LIMITS.get(stemOf(policy ?? '')) ?? [];
    // guard: a refusal by a limit that several kinds of reads share stops all of them
    for (const key of new Set([throttledKey(call, policy, error.code), ...shared])) this.#hold(key, { call, retryAfterMs, error });
  }

  #hold(
    key: string,
    { call, retryAfterMs, error }: { readonly call: ArmCall; readonly retryAfterMs: number | undefined; readonly error: AutoscalerError },
  ): void {
    const doubled = nextDurationMs(WAITS, this.#throttles.get(key));
    const durationMs = retryAfterMs ?? doubled;
    const untilMs = Math.max(this.#clock.monotonic() + durationMs, this.#throttles.get(key)?.untilMs ?? -Infinity);
    const untilWallMs = this.#clock.now() + untilMs - this.#clock.monotonic();
    const probed = durationMs >= LONGEST_HOLD_MS;
    this.#throttles.set(key, { untilMs, durationMs: doubled, untilWallMs, message: error.message, probed });
    this.#publish(policyLabel(key));
    if (key.startsWith('subscription-')) this.#throttledListener(OPERATIONS[call.operation].family, untilWallMs, true);
    else if (!key.includes('|')) this.#throttledListener(key, untilWallMs, false);
  }

  /** Stops reads like this one for the time that a server error names. Only writes know what their own errors mean. */
  recordUnavailable(call: ArmCall, { detail, retryAfterMs, message }: AutoscalerError): void {
    if (detail.kind !== 'unavailable' || retryAfterMs === undefined || isWrite(call)) return;
    this.#unavailable.set(readKey(call), {
      untilMs: this.#clock.monotonic() + retryAfterMs,
      durationMs: retryAfterMs,
      untilWallMs: this.#clock.now() + retryAfterMs,
      message,
      probed: retryAfterMs >= LONGEST_HOLD_MS,
    });
  }

  /**
   * One policy can throttle several sets; the last end counts. The metric is 0 from the first response on, so "not throttled"
   * is visible too.
   */
  #publish(label: string): void {
    this.#published.add(label);
    const ends = [...this.#throttles].flatMap(([key, { untilMs }]) => (policyLabel(key) === label ? [untilMs] : []));
    const leftMs = Math.max(...ends) - this.#clock.monotonic();
    this.#metrics.throttledUntil.set({ policy: label }, ends.length === 0 ? 0 : (this.#clock.now() + leftMs) / 1000);
  }

  /** Called when a family's tokens run low, and when they no longer do. */
  onLow(listener: (family: string, low: boolean) => void): void {
    this.#lowListener = listener;
  }

  /** Called when a whole family is throttled. */
  onThrottled(listener: ThrottledListener): void {
    this.#throttledListener = listener;
  }

  /** Called with each report on calls that all clusters of the subscription share. */
  onRemaining(listener: (family: string, calls: RemainingCalls) => void): void {
    this.#remainingListener = listener;
  }
}

/** The policy that every write of the subscription counts against, of all clients together. */
export const GLOBAL_WRITES = 'subscription-global-writes';
/** The policies that every read of the subscription counts against, including reads of other clients. */
const ALL_READS: readonly string[] = ['subscription-reads', 'subscription-global-reads'];
const READ_FAMILIES: readonly string[] = [
  ...new Set(Object.values(OPERATIONS).flatMap(({ family, access }) => (access === 'read' ? [family] : []))),
];

/**
 * Limits that reads of several families share, by the stem of their policies. Azure counts each instance that is listed, and each single
 * read, as a view of an instance (recorded by azure-powershell, December 2025).
 */
const SHARED_LIMITS: ReadonlyMap<string, readonly string[]> = new Map([
  ...ALL_READS.map((name) => [name, READ_FAMILIES] as const),
  ['VMScaleSetVMViews', ['HighCostGetVMScaleSet', 'GetVMScaleSetVM']],
]);

const GATEWAY_HEADERS: readonly (readonly [header: string, policy: string])[] = [
  ['x-ms-ratelimit-remaining-subscription-reads', 'subscription-reads'],
  ['x-ms-ratelimit-remaining-subscription-writes', 'subscription-writes'],
  ['x-ms-ratelimit-remaining-subscription-deletes', 'subscription-deletes'],
  ['x-ms-ratelimit-remaining-subscription-global-reads', 'subscription-global-reads'],
  ['x-ms-ratelimit-remaining-subscription-global-writes', 'subscription-global-writes'],
  ['x-ms-ratelimit-remaining-subscription-global-deletes', 'subscription-global-deletes'],
];

/** Every limit that the headers of one response report, by policy name without the provider. */
export function remainingTokens(header: (name: string) => string | undefined): readonly { policy: string; remaining: number }[] {
  const gateway = GATEWAY_HEADERS.map(([name, policy]) => `${policy};${header(name) ?? ''}`);
  const resource = (header('x-ms-ratelimit-remaining-resource') ?? '').split(',');
  return [...resource, ...gateway].flatMap((entry) => {
    const [name = '', count = ''] = entry.trim().split(';');
    const policy = name.slice(name.indexOf('/') + 1);
    return policy === '' || !/^\d+$/.test(count) ? [] : [{ policy, remaining: Number(count) }];
  });
}

/** Whether Azure counts the calls of all clusters of the subscription against the policy, in this region. */
function ofSubscription(policy: string): boolean {
  return /(?:SubscriptionMaximum|\d+Min)$/.test(policy);
}

/** Whether a limit applies to the calls of a family. */
function limits(stem: string, family: string): boolean {
  // guard: a limit that several kinds of reads share slows all of them
  return stem === family || (SHARED_LIMITS.get(stem)?.includes(family) ?? false);
}

/** Limits that the documentation calls otherwise than Azure's answers do: both names mean one. */
const DOCUMENTED_NAMES: ReadonlyMap<string, string> = new Map([
  ['DeleteVMScaleSet', 'VMScaleSetActions'],
  ['HighCostGetVM', 'HighCostGet'],
]);

/** `CreateVMScaleSetResource`, `...SubscriptionMaximum` and the older `...3Min` share a stem. */
function stemOf(policy: string): string {
  const stem = (policy.split('|')[0] ?? '').replace(/(?:Resource|SubscriptionMaximum|\d+Min)$/, '');
  // guard: a limit counts under its documented name, too
  return DOCUMENTED_NAMES.get(stem) ?? stem;
}

function tokenKey(policy: string, call: ArmCall): string {
  return policy.endsWith('Resource') ? `${policy}|${call.resource}` : policy;
}

/** Everything that can throttle a call, narrow to wide. */
function throttleKeysOf(call: ArmCall): readonly string[] {
  const { family, access } = OPERATIONS[call.operation];
  return [`${family}|${call.resource}`, family, `subscription-${access}s`];
}

function throttledKey(call: ArmCall, policy: string | undefined, code: string | undefined): string {
  const { family, access } = OPERATIONS[call.operation];
  if (code === 'SubscriptionRequestsThrottled') return `subscription-${access}s`;
  // AKS counts writes per agent pool, and names the pool only in its message.
  if (code === 'Throttled' && access === 'write' && call.resource !== '') return `${family}|${call.resource}`;
  // Without a policy name, the family is throttled: a narrower guess would let the next calls fail.
  return policy?.endsWith('Resource') === true ? `${family}|${call.resource}` : family;
}

function readKey({ operation, resource }: ArmCall): string {
  return `${operation}|${resource}`;
}

function policyLabel(key: string): string {
  return key.split('|')[0] ?? key;
}
