/**
 * The rate limits of ARM: token buckets per resource and per subscription at Compute, per principal and verb at the gateway, per
 * pool at AKS. Sizes are the documented ones, and those that azure-powershell recorded in November 2025; names are those that Azure's CLI
 * recorded from August 2024 on. A refused request takes no tokens from Compute's buckets.
 */
import type { SimClock } from '../../base/sim-clock.ts';
import { aksError, armError } from './errors.ts';
import type { ArmReply } from './messages.ts';

/** A bucket gets `perMinute` tokens in each simulated minute, up to `burst`. */
export interface BucketSize {
  readonly perMinute: number;
  readonly burst: number;
}

interface ComputePolicy {
  /** The stem of the names in headers, if it is not the policy's own name. */
  readonly family?: string;
  readonly resource?: BucketSize;
  readonly subscription: BucketSize;
  /** Each instance that the response shows counts as a view. */
  readonly views?: true;
  /** Headers name the limit of the resource before that of the subscription, as recorded for operations. */
  readonly resourceFirst?: true;
}

const size = (perMinute: number, burst: number): BucketSize => ({ perMinute, burst });
const SMALL = size(4, 12);

const COMPUTE_POLICIES = {
  CreateVMScaleSet: { resource: SMALL, subscription: size(125, 375) },
  VMScaleSetActions: { resource: SMALL, subscription: size(500, 1_500) },
  /** Actions on instances, their deletion among them, are not counted by set (recorded by Azure's CLI, August 2024). */
  ActOnVMScaleSet: { family: 'VMScaleSetActions', subscription: size(500, 1_500) },
  DeleteVMScaleSet: { resource: SMALL, subscription: size(175, 525) },
  StopVMScaleSet: { family: 'DeleteVMScaleSet', subscription: size(175, 525) },
  GetVMScaleSet: { resource: size(12, 36), subscription: size(800, 2_400) },
  HighCostGetVMScaleSet: { resource: size(10, 30), subscription: size(360, 1_080) },
  /** A list of sets is counted by no set. */
  ListVMScaleSets: { family: 'HighCostGetVMScaleSet', subscription: size(360, 1_080) },
  /** A list of instances draws on the same buckets, and is charged for each instance besides. */
  ListVMScaleSetVMs: { family: 'HighCostGetVMScaleSet', resource: size(10, 30), subscription: size(360, 1_080), views: true },
  VMScaleSetVMActions: { resource: SMALL, subscription: size(500, 2_000) },
  DeleteVMScaleSetVM: { resource: SMALL, subscription: size(500, 2_000) },
  GetVMScaleSetVM: { resource: size(12, 36), subscription: size(2_000, 6_000), views: true },
  PutVM: { resource: SMALL, subscription: size(500, 1_500) },
  UpdateVM: { resource: SMALL, subscription: size(500, 1_500) },
  DeleteVM: { resource: SMALL, subscription: size(500, 1_500) },
  LowCostGet: { resource: size(12, 36), subscription: size(8_000, 24_000) },
  /** Lists of VMs. */
  HighCostGet: { subscription: size(300, 900) },
  /** Usages. Its refill is an estimate. */
  GetSubscriptionInfo: { subscription: size(120, 360) },
  /** An estimate: answers showed that 266 and 267 were left. */
  GetCapacityReservation: { subscription: size(100, 300) },
  GetOperation: { resource: size(15, 45), subscription: size(5_000, 15_000), resourceFirst: true },
} as const satisfies Record<string, ComputePolicy>;

const AKS_POLICIES = {
  PutAgentPoolHandler: { bucket: size(1, 20), perResource: true },
  PutManagedClusterHandler: { bucket: size(1, 20), perResource: true },
  ListAgentPoolsHandler: { bucket: size(60, 500), perResource: false },
} as const;

/** The largest values that answers of 2026 showed (recorded by Azure's CLI); how fast the buckets refill is documented. */
const GATEWAY_SIZES = { reads: size(1_500, 1_100), writes: size(600, 800), deletes: size(600, 800) } as const;
/** All principals of a subscription together have fifteen times the rate limit of one. */
const GLOBAL_FACTOR = 15;

export type ComputePolicyName = keyof typeof COMPUTE_POLICIES;
export type AksPolicyName = keyof typeof AKS_POLICIES;

interface Bucket {
  readonly size: BucketSize;
  tokens: number;
  /** Clock time of the value of `tokens`. */
  at: number;
}

export interface Charge {
  readonly method: string;
  readonly clientId: string;
  readonly subscription: string;
  readonly compute?: ComputePolicyName | undefined;
  readonly aks?: AksPolicyName | undefined;
  /** The resource of the per-resource buckets, below `group`. */
  readonly resource: string;
  /** The resource group of the nodes: clusters of one subscription may have resources of one name. Default: all have one group. */
  readonly group?: string;
}

export interface CallCost {
  /**
   * The headers with the remaining tokens, on responses of every status. They are those of the moment of the reading: what a list costs
   * is known when it is made.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly refusal: ArmReply | undefined;
}

/** Simulated milliseconds between two removals of full buckets. */
const SWEEP_MS = 600_000;

/** Owns every bucket of the world. */
export class Throttle {
  readonly #clock: SimClock;
  readonly #olderNames: boolean;
  readonly #buckets = new Map<string, Bucket>();
  #sweptAt: number;

  /** `olderNames`: headers use the policy names that Compute used before. */
  constructor(clock: SimClock, olderNames = false) {
    this.#clock = clock;
    this.#olderNames = olderNames;
    this.#sweptAt = clock.now();
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes the request's tokens or returns why it is refused. The `Retry-After` is long enough for every bucket that the request
   * needs, not only for the one that refuses it.
   */
  charge(charge: Charge): CallCost {
    const verb = verbClass(charge.method);
    const levels = { gateway: this.#gatewayLevels(charge, verb), provider: this.#providerLevels(charge) };
    const shortOfGateway = levels.gateway.find(({ bucket }) => bucket.tokens < 1);
    const shortOfProvider = levels.provider.find(({ bucket }) => bucket.tokens < 1);
    const seconds = this.retryAfter(Math.max(0, ...[...levels.gateway, ...levels.provider].map(({ bucket }) => secondsToToken(bucket))));
    const refusal =
      shortOfGateway !== undefined
        ? this.#gatewayRefusal(charge, verb, seconds)
        : shortOfProvider === undefined
          ? undefined
          : charge.aks === undefined
            ? this.#computeRefusal(shortOfProvider, seconds)
            : aksRefusal(charge, charge.aks, seconds);
    // A request that the provider refuses has still used a token of the gateway.
    if (shortOfGateway === undefined) for (const { bucket } of levels.gateway) bucket.tokens--;
    if (refusal === undefined) for (const { bucket, isPerVm } of levels.provider) bucket.tokens -= isPerVm === true ? 0 : 1;
    const shown = (): CallCost['headers'] => ({
      ...remainingAtGateway(levels.gateway),
      ...this.#remainingAtCompute(charge, levels.provider),
    });
    return {
      refusal,
      get headers() {
        return shown();
      },
    };
  }

  /**
   * Charges a read for the VMs that it shows, or a write for those that it touches; 0: it changes nothing. The call itself was charged
   * before. Recorded by azure-powershell, November 2025, and by cloud-provider-azure, January 2026.
   * @returns the header that says so.
   */
  spend(what: keyof typeof VM_BUCKETS, vms: number): Readonly<Record<string, string>> {
    const { bucket } = this.#vmBucket(what);
    bucket.tokens = Math.max(0, bucket.tokens - vms);
    return { 'x-ms-request-charge': String(vms) };
  }

  #vmBucket(what: keyof typeof VM_BUCKETS): NamedBucket {
    const { name, bucket } = VM_BUCKETS[what];
    return { name, bucket: this.#bucket(name, bucket), isPerVm: true };
  }

  /** Seconds for a `Retry-After`: simulated seconds divided by the clock's speed, at least one. */
  retryAfter(simulatedSeconds: number): string {
    return String(Math.max(1, Math.ceil(simulatedSeconds / this.#clock.speed)));
  }

  #gatewayLevels(charge: Charge, verb: VerbClass): readonly NamedBucket[] {
    const { perMinute, burst } = GATEWAY_SIZES[verb];
    const global = { perMinute: perMinute * GLOBAL_FACTOR, burst: burst * GLOBAL_FACTOR };
    return [
      { name: `subscription-${verb}`, bucket: this.#bucket(`gateway|${charge.clientId}|${verb}`, GATEWAY_SIZES[verb]) },
      { name: `subscription-global-${verb}`, bucket: this.#bucket(`gateway|*|${verb}`, global) },
    ];
  }

  #providerLevels({ compute, aks, resource: name, group = '' }: Charge): readonly NamedBucket[] {
    const resource = `${group}/${name}`;
    if (aks !== undefined) {
      const { bucket, perResource } = AKS_POLICIES[aks];
      return [{ name: aks, bucket: this.#bucket(`${aks}|${perResource ? resource.toLowerCase() : 'all'}`, bucket) }];
    }
    if (compute === undefined) return [];
    const policy: ComputePolicy = COMPUTE_POLICIES[compute];
    const family = policy.family ?? compute;
    const level = (suffix: string, key: string, bucketSize: BucketSize): NamedBucket => {
      const named = `${family}${suffix}`;
      return { name: named, bucket: this.#bucket(`${named}|${key.toLowerCase()}`, bucketSize) };
    };
    const own = policy.resource === undefined ? [] : [level('Resource', resource, policy.resource)];
    const all = [level('SubscriptionMaximum', 'all', policy.subscription)];
    const views = policy.views === undefined || this.#olderNames ? [] : [this.#vmBucket('views')];
    return policy.resourceFirst === true ? [...own, ...all] : [...all, ...own, ...views];
  }

  #remainingAtCompute({ method, compute }: Charge, levels: readonly NamedBucket[]): Readonly<Record<string, string>> {
    if (compute === undefined) return {};
    const shown = (name: string): string => (this.#olderNames ? olderName(name) : name);
    const rest = levels.map(({ name, bucket }) => `Microsoft.Compute/${shown(name)};${Math.floor(bucket.tokens)}`);
    const batched = this.#vmBucket('batched');
    // Writes of VMs outside of sets do not show the VMs that sets have requested.
    const ofWrites =
      method === 'GET' || !compute.includes('VMScaleSet')
        ? []
        : [`Microsoft.Compute/${batched.name};${Math.floor(batched.bucket.tokens)}`, 'Microsoft.Compute/VmssQueuedVMOperations;0'];
    return { 'x-ms-ratelimit-remaining-resource': [...rest, ...ofWrites].join(',') };
  }

  #gatewayRefusal(charge: Charge, verb: VerbClass, seconds: string): ArmReply {
    const message =
      `Number of '${verb.slice(0, -1)}' requests for subscription '${charge.subscription}' actor '${charge.clientId}' exceeded. ` +
      `Please try again after '${seconds}' seconds after additional tokens are available. ` +
      'Refer to https://aka.ms/arm-throttling for additional information.';
    return {
      ...armError(429, 'SubscriptionRequestsThrottled', message),
      headers: { 'retry-after': seconds, 'x-ms-failure-cause': 'gateway' },
    };
  }

  #computeRefusal({ name, bucket }: NamedBucket, seconds: string): ArmReply {
    const now = this.#clock.now();
    const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, '+00:00');
    const measured = {
      operationGroup: name,
      startTime: time(now),
      endTime: time(now + 60_000 / this.#clock.speed),
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
    return { ...reply, headers: { 'retry-after': seconds } };
  }

  #bucket(key: string, size: BucketSize): Bucket {
    const now = this.#clock.now();
    this.#sweep(now);
    const bucket = this.#buckets.get(key) ?? { size, tokens: size.burst, at: now };
    bucket.tokens = this.#tokensAt(bucket, now);
    bucket.at = now;
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #tokensAt({ size, tokens, at }: Bucket, now: number): number {
    const flowed = (Math.max(0, now - at) * this.#clock.speed * size.perMinute) / 60_000;
    return Math.min(size.burst, tokens + flowed);
  }

  /** A full bucket is as good as a new one. Each operation and VM has buckets, so they would pile up. */
  #sweep(now: number): void {
    if ((now - this.#sweptAt) * this.#clock.speed < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [key, bucket] of this.#buckets) if (this.#tokensAt(bucket, now) >= bucket.size.burst) this.#buckets.delete(key);
  }
}

interface NamedBucket {
  readonly name: string;
  readonly bucket: Bucket;
  /** VMs are charged, not calls. */
  readonly isPerVm?: true;
}

/**
 * What is charged for each VM: views of instances, by lists and single reads together, and the VMs of writes. The sizes are recorded; the
 * refills are estimates from the other limits. No refusal for the VMs of writes is known.
 */
const VM_BUCKETS = {
  views: { name: 'VMScaleSetVMViewsSubscriptionMaximum', bucket: size(10_000, 30_000) },
  batched: { name: 'VMScaleSetBatchedVMRequestsSubscriptionMaximum', bucket: size(2_000, 6_000) },
} as const;

type VerbClass = keyof typeof GATEWAY_SIZES;

function verbClass(method: string): VerbClass {
  if (method === 'GET' || method === 'HEAD') return 'reads';
  return method === 'DELETE' ? 'deletes' : 'writes';
}

/** The older names distinguished a short window and a long one. */
function olderName(name: string): string {
  return name.replace(/Resource$/, '3Min').replace(/SubscriptionMaximum$/, '30Min');
}

function remainingAtGateway(levels: readonly NamedBucket[]): Readonly<Record<string, string>> {
  return Object.fromEntries(levels.map(({ name, bucket }) => [`x-ms-ratelimit-remaining-${name}`, String(Math.floor(bucket.tokens))]));
}

function aksRefusal(charge: Charge, name: AksPolicyName, seconds: string): ArmReply {
  const what = name === 'PutManagedClusterHandler' ? 'managedcluster' : 'agentpool';
  const message = `The ${name}.${charge.method} request limit has been exceeded for ${what} ${charge.resource}, please retry again in ${seconds} seconds.`;
  return aksError(429, 'Throttled', message, { 'retry-after': seconds });
}

/** Simulated seconds until one whole token is available; 0: one is available now. */
function secondsToToken(bucket: Bucket): number {
  return Math.max(0, Math.ceil(((1 - bucket.tokens) * 60) / bucket.size.perMinute));
}
