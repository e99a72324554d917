/**
 * The budgets of ARM: token buckets per resource and per subscription at Compute, per principal and verb at the
 * gateway, per pool at AKS. Sizes are the documented ones. A refused request takes nothing from Compute's buckets.
 */
import type { SimClock } from '../sim-clock.ts';
import { aksError, armError } from './errors.ts';
import type { ArmReply } from './messages.ts';

/** `perMinute` tokens flow in each simulated minute, up to `burst`. */
export interface BucketSize {
  readonly perMinute: number;
  readonly burst: number;
}

interface ComputePolicy {
  readonly resource?: BucketSize;
  readonly subscription: BucketSize;
}

const size = (perMinute: number, burst: number): BucketSize => ({ perMinute, burst });
const SMALL = size(4, 12);

const COMPUTE_POLICIES = {
  CreateVMScaleSet: { resource: SMALL, subscription: size(125, 375) },
  UpdateVMScaleSet: { resource: SMALL, subscription: size(500, 1_500) },
  DeleteVMScaleSet: { resource: SMALL, subscription: size(175, 525) },
  GetVMScaleSet: { resource: size(12, 36), subscription: size(800, 2_400) },
  HighCostGetVMScaleSet: { resource: size(10, 30), subscription: size(360, 1_080) },
  UpdateVMScaleSetVM: { resource: SMALL, subscription: size(500, 1_500) },
  DeleteVMScaleSetVM: { resource: SMALL, subscription: size(500, 1_500) },
  GetVMScaleSetVM: { resource: size(12, 36), subscription: size(2_000, 6_000) },
  UpdateVM: { resource: SMALL, subscription: size(500, 1_500) },
  DeleteVM: { resource: SMALL, subscription: size(500, 1_500) },
  LowCostGetVM: { resource: size(12, 36), subscription: size(8_000, 24_000) },
  HighCostGetVM: { subscription: size(300, 900) },
  GetOperation: { resource: size(15, 45), subscription: size(5_000, 15_000) },
} as const satisfies Record<string, ComputePolicy>;

const AKS_POLICIES = {
  PutAgentPoolHandler: { bucket: size(1, 20), perResource: true },
  ListAgentPoolsHandler: { bucket: size(60, 500), perResource: false },
} as const;

const GATEWAY_SIZES = { reads: size(1_500, 250), writes: size(600, 200), deletes: size(600, 200) } as const;
/** All principals of a subscription together have fifteen times the budget of one. */
const GLOBAL_FACTOR = 15;

export type ComputePolicyName = keyof typeof COMPUTE_POLICIES;
export type AksPolicyName = keyof typeof AKS_POLICIES;

interface Bucket {
  readonly size: BucketSize;
  tokens: number;
  /** Clock time that `tokens` is true for. */
  at: number;
}

export interface Charge {
  readonly method: string;
  readonly clientId: string;
  readonly subscription: string;
  readonly compute?: ComputePolicyName | undefined;
  readonly aks?: AksPolicyName | undefined;
  /** The resource that per-resource buckets belong to. */
  readonly resource: string;
}

export interface Toll {
  /** The remaining-budget headers, on answers of every status. */
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: ArmReply | undefined;
}

/** Owns every bucket of the world. */
export class Throttle {
  readonly #clock: SimClock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  /** Takes what the request costs, or says why not. */
  charge(charge: Charge): Toll {
    const verb = verbClass(charge.method);
    const own = this.#bucket(`gateway|${charge.clientId}|${verb}`, GATEWAY_SIZES[verb]);
    const global = this.#bucket(`gateway|*|${verb}`, {
      perMinute: GATEWAY_SIZES[verb].perMinute * GLOBAL_FACTOR,
      burst: GATEWAY_SIZES[verb].burst * GLOBAL_FACTOR,
    });
    const short = [own, global].find((bucket) => bucket.tokens < 1);
    if (short === undefined) {
      own.tokens--;
      global.tokens--;
    }
    const headers = {
      [`x-ms-ratelimit-remaining-subscription-${verb}`]: String(Math.floor(own.tokens)),
      [`x-ms-ratelimit-remaining-subscription-global-${verb}`]: String(Math.floor(global.tokens)),
    };
    if (short !== undefined) return { headers, refusal: this.#gatewayRefusal(charge, verb, short) };
    const provider = charge.aks === undefined ? this.#chargeCompute(charge) : this.#chargeAks(charge, charge.aks);
    return { headers: { ...headers, ...provider.headers }, refusal: provider.refusal };
  }

  /** Seconds for a `Retry-After`: simulated ones divided by the clock's speed, never under one. */
  retryAfter(simulatedSeconds: number): string {
    return String(Math.max(1, Math.ceil(simulatedSeconds / this.#clock.speed)));
  }

  #chargeCompute(charge: Charge): Toll {
    if (charge.compute === undefined) return { headers: {}, refusal: undefined };
    const policy: ComputePolicy = COMPUTE_POLICIES[charge.compute];
    const levels = [
      { name: `${charge.compute}SubscriptionMaximum`, key: 'all', size: policy.subscription },
      ...(policy.resource === undefined ? [] : [{ name: `${charge.compute}Resource`, key: charge.resource, size: policy.resource }]),
    ].map(({ name, key, size }) => ({ name, bucket: this.#bucket(`${name}|${key.toLowerCase()}`, size) }));
    const short = levels.find(({ bucket }) => bucket.tokens < 1);
    if (short === undefined) for (const { bucket } of levels) bucket.tokens--;
    const remaining = levels.map(({ name, bucket }) => `Microsoft.Compute/${name};${Math.floor(bucket.tokens)}`).join(',');
    const headers = { 'x-ms-ratelimit-remaining-resource': remaining };
    return { headers, refusal: short === undefined ? undefined : this.#computeRefusal(short.name, short.bucket) };
  }

  #chargeAks(charge: Charge, name: AksPolicyName): Toll {
    const { bucket: bucketSize, perResource } = AKS_POLICIES[name];
    const bucket = this.#bucket(`${name}|${perResource ? charge.resource.toLowerCase() : 'all'}`, bucketSize);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return { headers: {}, refusal: undefined };
    }
    const seconds = this.retryAfter(secondsToToken(bucket));
    const message = `The ${name}.${charge.method} request limit has been exceeded for agentpool ${charge.resource}, please retry again in ${seconds} seconds.`;
    return { headers: {}, refusal: aksError(429, 'Throttled', message, { 'retry-after': seconds }) };
  }

  #gatewayRefusal(charge: Charge, verb: keyof typeof GATEWAY_SIZES, bucket: Bucket): ArmReply {
    const seconds = this.retryAfter(secondsToToken(bucket));
    const message =
      `Number of '${verb.slice(0, -1)}' requests for subscription '${charge.subscription}' actor '${charge.clientId}' exceeded. ` +
      `Please try again after '${seconds}' seconds after additional tokens are available.`;
    return {
      ...armError(429, 'SubscriptionRequestsThrottled', message),
      headers: { 'retry-after': seconds, 'x-ms-failure-cause': 'gateway' },
    };
  }

  #computeRefusal(name: string, bucket: Bucket): ArmReply {
    const startTime = new Date(this.#clock.now()).toISOString();
    const measured = {
      operationGroup: name,
      startTime,
      allowedRequestCount: bucket.size.burst,
      measuredRequestCount: bucket.size.burst + 1,
    };
    const reply = armError(
      429,
      'OperationNotAllowed',
      'The server rejected the request because too many requests have been received for this subscription.',
      {
        details: [{ code: 'TooManyRequests', target: name, message: JSON.stringify(measured) }],
        innererror: { internalErrorCode: 'TooManyRequestsReceived' },
      },
    );
    return { ...reply, headers: { 'retry-after': this.retryAfter(secondsToToken(bucket)) } };
  }

  #bucket(key: string, size: BucketSize): Bucket {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(key) ?? { size, tokens: size.burst, at: now };
    const flowed = (Math.max(0, now - bucket.at) * this.#clock.speed * size.perMinute) / 60_000;
    bucket.tokens = Math.min(size.burst, bucket.tokens + flowed);
    bucket.at = now;
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

function verbClass(method: string): keyof typeof GATEWAY_SIZES {
  if (method === 'GET' || method === 'HEAD') return 'reads';
  return method === 'DELETE' ? 'deletes' : 'writes';
}

/** Simulated seconds until one whole token is there. */
function secondsToToken(bucket: Bucket): number {
  return Math.ceil(((1 - bucket.tokens) * 60) / bucket.size.perMinute);
}
