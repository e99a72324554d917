/**
 * What Azure lets us ask. Every header that tells a budget is read. A refusal for too many requests holds exactly what it
 * named (one set, one family, all reads or all writes of the subscription) until its time is over: asking during the hold
 * only makes it longer. Reads slow down before writes have to.
 */
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { describeCall, OPERATIONS, type ArmCall } from './call-list.ts';
import { compareText } from '../../lib/comparison.ts';

/** Without a `Retry-After`: doubles from the first to the last. */
const FIRST_HOLD_MS = 10_000;
const LAST_HOLD_MS = 300_000;
/** Below this part of the most ever seen, periodic reads take twice as long. */
const LOW_PART = 0.2;

interface Hold {
  /** Monotonic: a wall clock that is set right must neither end a hold nor make an hour of it. */
  readonly untilMs: number;
  readonly durationMs: number;
}

/** Calls of one policy that Azure would still take, and the most it was seen to. */
export interface RemainingCalls {
  readonly policy: string;
  readonly remaining: number;
  readonly largest: number;
}

export class Budgets {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #metrics: Metrics['arm'];
  readonly #holds = new Map<string, Hold>();
  readonly #told = new Map<string, RemainingCalls>();
  /** Policies whose hold is told, none held included. */
  readonly #shown = new Set<string>();
  /** Stems of budgets that are low, and names of those that all reads share. */
  readonly #low = new Set<string>();
  #lowListener: (family: string, low: boolean) => void = () => undefined;
  #holdListener: (family: string, untilMs: number) => void = () => undefined;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, metrics: Metrics['arm']) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** undefined: go ahead. Otherwise the `throttled` error that Azure would give, without asking it. */
  admit(call: ArmCall): AutoscalerError | undefined {
    const now = this.#clock.monotonic();
    const untilMs = Math.max(...holdKeys(call).map((key) => this.#holds.get(key)?.untilMs ?? -Infinity));
    if (untilMs <= now) return undefined;
    const retryAfterMs = untilMs - now;
    const message = `${describeCall(call)} is held back for ${Math.ceil(retryAfterMs / 1000)} s because Azure throttles it.`;
    return new AutoscalerError({ kind: 'throttled', retryAfterMs, policy: OPERATIONS[call.operation].family }, message, {
      code: 'HeldBack',
    });
  }

  /** Takes in the headers of an answer. */
  learn(call: ArmCall, header: (name: string) => string | undefined): void {
    for (const { policy, remaining } of remainingTokens(header)) {
      const key = tokenKey(policy, call);
      const largest = Math.max(remaining, this.#told.get(key)?.largest ?? 0);
      this.#told.set(key, { policy, remaining, largest });
      this.#metrics.tokensRemaining.set({ policy }, remaining);
      this.#tellLow(policy, remaining < largest * LOW_PART);
    }
  }

  /** What was told last of a family's calls, or of all reads: the policy that has the smallest part left. */
  remainingOf(family: string): RemainingCalls | undefined {
    const own = [...this.#told.values()].filter(({ policy }) => stemOf(policy) === family || ALL_READS.includes(policy));
    const part = ({ remaining, largest }: RemainingCalls): number => (largest === 0 ? 0 : remaining / largest);
    return own.sort((left, right) => part(left) - part(right) || compareText(left.policy, right.policy))[0];
  }

  /** Only what all resources of the region share says something about periodic reads; what all reads share, about all of them. */
  #tellLow(policy: string, low: boolean): void {
    const isOfAllReads = ALL_READS.includes(policy);
    if (!isOfAllReads && !/(?:SubscriptionMaximum|\d+Min)$/.test(policy)) return;
    const stem = isOfAllReads ? policy : stemOf(policy);
    const wasLow = this.#low.has(stem);
    if (low) this.#low.add(stem);
    else this.#low.delete(stem);
    const areAllLow = ALL_READS.some((name) => this.#low.has(name));
    if (!isOfAllReads) this.#lowListener(stem, low || areAllLow);
    else if (low !== wasLow) for (const family of READ_FAMILIES) this.#lowListener(family, areAllLow || this.#low.has(family));
  }

  /** An answer that was not throttled ends the doubling of its holds. */
  succeeded(call: ArmCall): void {
    for (const key of holdKeys(call)) {
      const hold = this.#holds.get(key);
      if (hold === undefined ? this.#shown.has(policyLabel(key)) : hold.untilMs > this.#clock.monotonic()) continue;
      this.#holds.delete(key);
      this.#show(policyLabel(key));
    }
  }

  /** Holds what a `throttled` error named. */
  hold(call: ArmCall, error: AutoscalerError): void {
    if (error.detail.kind !== 'throttled') return;
    const key = heldKey(call, error.detail.policy, error.code);
    const doubled = Math.min(LAST_HOLD_MS, (this.#holds.get(key)?.durationMs ?? FIRST_HOLD_MS / 2) * 2);
    const durationMs = error.detail.retryAfterMs ?? doubled;
    const untilMs = Math.max(this.#clock.monotonic() + durationMs, this.#holds.get(key)?.untilMs ?? -Infinity);
    this.#holds.set(key, { untilMs, durationMs: doubled });
    const untilWallMs = this.#clock.now() + durationMs;
    this.#show(policyLabel(key));
    if (!key.includes('|')) this.#holdListener(OPERATIONS[call.operation].family, untilWallMs);
  }

  /** One policy holds sets one by one: the last of them counts. 0 from the first answer on, so that nothing held is told, too. */
  #show(label: string): void {
    this.#shown.add(label);
    const ends = [...this.#holds].flatMap(([key, { untilMs }]) => (policyLabel(key) === label ? [untilMs] : []));
    const leftMs = Math.max(...ends) - this.#clock.monotonic();
    this.#metrics.throttledUntil.set({ policy: label }, ends.length === 0 ? 0 : (this.#clock.now() + leftMs) / 1000);
  }

  /** Told when a family's tokens run low, and when they no longer do. */
  onLow(listener: (family: string, low: boolean) => void): void {
    this.#lowListener = listener;
  }

  /** Told when a family is held as a whole. */
  onHold(listener: (family: string, untilMs: number) => void): void {
    this.#holdListener = listener;
  }
}

/** What every read of the subscription is charged to, by whoever and by us. */
const ALL_READS: readonly string[] = ['subscription-reads', 'subscription-global-reads'];
const READ_FAMILIES: readonly string[] = [
  ...new Set(Object.values(OPERATIONS).flatMap(({ family, access }) => (access === 'read' ? [family] : []))),
];

const GATEWAY_HEADERS: readonly (readonly [header: string, policy: string])[] = [
  ['x-ms-ratelimit-remaining-subscription-reads', 'subscription-reads'],
  ['x-ms-ratelimit-remaining-subscription-writes', 'subscription-writes'],
  ['x-ms-ratelimit-remaining-subscription-deletes', 'subscription-deletes'],
  ['x-ms-ratelimit-remaining-subscription-global-reads', 'subscription-global-reads'],
  ['x-ms-ratelimit-remaining-subscription-global-writes', 'subscription-global-writes'],
  ['x-ms-ratelimit-remaining-subscription-global-deletes', 'subscription-global-deletes'],
];

/** Every budget that the headers of one answer tell, by policy name without the provider. */
export function remainingTokens(header: (name: string) => string | undefined): readonly { policy: string; remaining: number }[] {
  const gateway = GATEWAY_HEADERS.map(([name, policy]) => `${policy};${header(name) ?? ''}`);
  const resource = (header('x-ms-ratelimit-remaining-resource') ?? '').split(',');
  return [...resource, ...gateway].flatMap((entry) => {
    const [name = '', count = ''] = entry.trim().split(';');
    const policy = name.slice(name.indexOf('/') + 1);
    return policy === '' || !/^\d+$/.test(count) ? [] : [{ policy, remaining: Number(count) }];
  });
}

/** `CreateVMScaleSetResource`, `...SubscriptionMaximum` and the older `...3Min` share a stem. */
function stemOf(policy: string): string {
  return (policy.split('|')[0] ?? '').replace(/(?:Resource|SubscriptionMaximum|\d+Min)$/, '');
}

function tokenKey(policy: string, call: ArmCall): string {
  return policy.endsWith('Resource') ? `${policy}|${call.resource}` : policy;
}

/** Everything that can hold a call back, narrow to wide. */
function holdKeys(call: ArmCall): readonly string[] {
  const { family, access } = OPERATIONS[call.operation];
  return [`${family}|${call.resource}`, family, `subscription-${access}s`];
}

function heldKey(call: ArmCall, policy: string | undefined, code: string | undefined): string {
  const { family, access } = OPERATIONS[call.operation];
  if (code === 'SubscriptionRequestsThrottled') return `subscription-${access}s`;
  // AKS counts writes per agent pool, and names the pool in its sentence alone.
  if (code === 'Throttled' && access === 'write' && call.resource !== '') return `${family}|${call.resource}`;
  // Without a policy's name the narrowest guess would be asked around; the family is what the answer is about.
  return policy?.endsWith('Resource') === true ? `${family}|${call.resource}` : family;
}

function policyLabel(key: string): string {
  return key.split('|')[0] ?? key;
}

// A limit of our own on calls to ARM, for who wants one below Azure's: a bucket of tokens for reads and one for writes. A
// call without a token waits for it; none is refused. Off unless configured: the budgets follow what Azure tells.

export interface CallRate {
  readonly perSecond: number;
  /** Calls that may go at once after a rest. */
  readonly burst: number;
}

export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly #rate: CallRate;
  /** When the bucket would be full, if nobody else came: later than now by the tokens that are out. */
  #fullAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>, rate: CallRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Resolves when the call may go, in the order of asking. Rejects when the signal fires; its token is lost then. */
  async take(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonic();
    const perTokenMs = 1000 / this.#rate.perSecond;
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + perTokenMs;
    const waitMs = this.#fullAtMs - nowMs - this.#rate.burst * perTokenMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
  }
}
