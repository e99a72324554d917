/**
 * The one table that turns Azure's refusals into the house's error kinds. No code and no message of ARM has a meaning anywhere
 * else. The same code means different things (`OperationNotAllowed` is a quota, a throttle or a plain no), so rules look at
 * status, every code in the body and the words, in this order, first match wins. Pure.
 */
import type { ErrorKind, StockScope } from '../../lib/errors.ts';
import { flatten, isRecord, jsonOf, type ArmErrorBody } from './error-bodies.ts';
import { defined } from '../../lib/defined.ts';

// What Azure calls its quotas of cores, in the list of usages (folded) and in refusals. Pure.

/** Every regular core of the region. */
export const REGION = 'cores';
/** Every Spot core of the region. */
export const SPOT = 'lowprioritycores';

/**
 * The folded name in the list of usages of a quota as a refusal spells it: `standardDSv5Family Cores`, `Total Regional Cores`,
 * `LowPriorityCores`; the older sentence says `Core` for all of the region. Newer texts count vCPUs.
 */
export function nameOfQuota(told: string): string {
  const name = told
    .toLowerCase()
    .replace(/\s+(?:cores?|vcpus?)\s*$/, '')
    .replaceAll(/\s/g, '');
  if (name === 'totalregional' || name === 'core') return REGION;
  return name === 'lowpriority' || name === 'totalregionalspot' || name === 'totalregionallow-priority' ? SPOT : name;
}

/** What the caller knows and the body does not say. */
export interface ErrorHints {
  /** Size and priority of the scale set; zone when it has only one. */
  readonly scope?: StockScope;
  /** Zone of an instance that `target` names. */
  readonly zoneOf?: (instanceId: string) => string | undefined;
}

export interface Facts {
  /** undefined: an operation failed after it had been accepted. */
  readonly status: number | undefined;
  readonly errors: readonly ArmErrorBody[];
  /** Every code in the body, folded. */
  readonly codes: ReadonlySet<string>;
  /** Every message in the body. */
  readonly words: string;
  readonly write: boolean;
  readonly retryAfterMs: number | undefined;
  readonly hints: ErrorHints;
}

interface Rule {
  readonly codes?: readonly string[];
  /** Of folded codes, where a family of them goes by one ending. */
  readonly ending?: RegExp;
  readonly words?: RegExp;
  readonly statuses?: readonly number[];
  readonly detail: (facts: Facts) => ErrorKind;
}

const THROTTLED = ['toomanyrequests', 'subscriptionrequeststhrottled', 'throttled', 'toomanyrequestsreceived'];
const STOCKOUT = [
  'allocationfailed',
  'zonalallocationfailed',
  'overconstrainedallocationrequest',
  'overconstrainedzonalallocationrequest',
  'skunotavailable',
  'allocationtimeout',
  'vmsizenotsupported',
];
export const NO_SUCH_SIZE = ['skunotavailable', 'vmsizenotsupported'];
export const ZONAL = ['zonalallocationfailed', 'overconstrainedzonalallocationrequest'];
export const SUBNET_QUOTA = 'subnet addresses';
export const POLICY_QUOTA = 'policy or lock';
const QUOTA_WORDS = /exceeding approved .* quota|exceeding quota limits|submit a request for quota increase|exceeds? .*\bquota\b/is;
/** `LowPriorityQuotaExceeded` and the like, with words that tell nothing. */
const QUOTA_ENDING = /quota(?:exceeded|limitreached|reached)$/;
const SUBNET = ['subnetisfull', 'insufficientsubnetsize', 'privateipaddressexhausted'];
const FORBIDDEN_BY_RULE = ['requestdisallowedbypolicy', 'scopelocked', 'disallowedbypolicy'];
const IDENTITY = [
  'authorizationfailed',
  'linkedauthorizationfailed',
  'authenticationfailed',
  'invalidauthenticationtoken',
  'invalidauthenticationtokentenant',
  'expiredauthenticationtoken',
  'readonlydisabledsubscription',
  'subscriptionnotfound',
  'missingsubscriptionregistration',
];
const CONFLICT = ['preconditionfailed', 'conflict', 'operationpreempted', 'anotheroperationinprogress', 'resourcegroupbeingdeleted'];
const GONE = ['resourcenotfound', 'notfound', 'resourcegroupnotfound', 'parentresourcenotfound', 'instanceidslistinstanceidnotactivevm'];

const RULES: readonly Rule[] = [
  { statuses: [429], detail: throttle },
  { codes: THROTTLED, detail: throttle },
  { codes: STOCKOUT, detail: stockout },
  { words: /have failed for capacity restrictions|do not have sufficient capacity/i, detail: stockout },
  { codes: ['quotaexceeded', 'resourcequotaexceeded', 'errcode_insufficientvcpuquota'], detail: quota },
  { words: QUOTA_WORDS, detail: quota },
  { ending: QUOTA_ENDING, detail: quota },
  // A full subnet and a policy are limits of this group's place: resting the group is what helps, not stopping the loop.
  { codes: SUBNET, words: /enough capacity for \d+ IP addresses/i, detail: () => ({ kind: 'quota', quota: SUBNET_QUOTA, local: true }) },
  { codes: FORBIDDEN_BY_RULE, detail: forbiddenByRule },
  { codes: IDENTITY, detail: () => ({ kind: 'auth' }) },
  { statuses: [401, 403], detail: () => ({ kind: 'auth' }) },
  { statuses: [409, 412], detail: () => ({ kind: 'conflict' }) },
  { codes: CONFLICT, detail: () => ({ kind: 'conflict' }) },
  { words: /is not an active virtual machine scale set vm instanceid/i, detail: () => ({ kind: 'not-found' }) },
  { statuses: [404, 410], detail: () => ({ kind: 'not-found' }) },
  { statuses: [400, 405, 406, 411, 413, 414, 415, 422], detail: () => ({ kind: 'bug' }) },
  { codes: GONE, detail: () => ({ kind: 'not-found' }) },
];

/** What a rule may look at. */
export function factsOf(body: ArmErrorBody, rest: Omit<Facts, 'errors' | 'codes' | 'words'>): Facts {
  const errors = flatten(body);
  return {
    ...rest,
    errors,
    codes: new Set(errors.map((part) => part.code.toLowerCase())),
    words: errors.map((part) => part.message).join('\n'),
  };
}

/** What the refusal is, and the code that told it. */
export function decide(facts: Facts): { readonly detail: ErrorKind; readonly code: string } {
  const rule = RULES.find((candidate) => applies(candidate, facts));
  const outer = facts.errors.find((part) => part.code !== '')?.code ?? '';
  if (rule === undefined) return { detail: { kind: 'unavailable', effect: facts.write ? 'unknown' : 'none' }, code: outer };
  return { detail: rule.detail(facts), code: rule.codes === undefined ? outer : codeAmong(facts, rule.codes) };
}

function applies(rule: Rule, facts: Facts): boolean {
  if (rule.codes?.some((code) => facts.codes.has(code)) === true) return true;
  if (rule.words?.test(facts.words) === true || [...facts.codes].some((code) => rule.ending?.test(code) === true)) return true;
  return facts.status !== undefined && rule.statuses?.includes(facts.status) === true;
}

/** The code as Azure spelled it. */
function codeAmong(facts: Facts, codes: readonly string[]): string {
  return facts.errors.find((part) => codes.includes(part.code.toLowerCase()))?.code ?? '';
}

/** The first thing that the body names. */
export function targetOf(facts: Facts): string | undefined {
  return facts.errors.find((part) => part.target !== '')?.target;
}

function forbiddenByRule(facts: Facts): ErrorKind {
  return { kind: 'quota', quota: `${POLICY_QUOTA} (${codeAmong(facts, FORBIDDEN_BY_RULE)})`, local: true };
}

function throttle(facts: Facts): ErrorKind {
  const policy = facts.errors.find((part) => THROTTLED.includes(part.code.toLowerCase()) && part.target !== '')?.target;
  return { kind: 'throttled', retryAfterMs: facts.retryAfterMs, ...defined({ policy }) };
}

/** Compute says until when in the body as well; both must have passed. */
export function throttleWindowMs(facts: Facts, nowMs: number): number | undefined {
  const ends = facts.errors.flatMap((part) => {
    const window = jsonOf(part.message.startsWith('{') ? part.message : undefined);
    const end = isRecord(window) && typeof window['endTime'] === 'string' ? Date.parse(window['endTime']) : Number.NaN;
    return Number.isNaN(end) ? [] : [end - nowMs];
  });
  if (facts.retryAfterMs === undefined && ends.length === 0) return undefined;
  return Math.max(facts.retryAfterMs ?? 0, ...ends, 0);
}

function stockout(facts: Facts): ErrorKind {
  const code = codeAmong(facts, STOCKOUT).toLowerCase();
  const target = targetOf(facts);
  const zone = (target === undefined ? undefined : facts.hints.zoneOf?.(target)) ?? facts.hints.scope?.zone;
  const { zone: _zone, ...regional } = facts.hints.scope ?? {};
  const zonal = ZONAL.includes(code);
  const lack = NO_SUCH_SIZE.includes(code) ? 'offer' : code.startsWith('overconstrained') ? 'constraints' : undefined;
  const scope = zonal && zone !== undefined ? { ...regional, zone } : regional;
  return { kind: 'out-of-capacity', scope, ...defined({ lack }) };
}

const SPOT_QUOTA = /^(?:lowpriority|spot)\w*quota/;
const QUOTA_NAME =
  /exceeding approved (.+?) quota|quota limits of (.+?)[.,]|exceeds? (?:the )?(?:approved )?(.+?) quota|insufficient vcpu quota .*?for family (\w+)/is;

/** Both generations of the sentence, and that of AKS: "Current Limit: 10, Current Usage: 8, Additional Required: 8" and "Maximum allowed: 10 ...". */
function quota(facts: Facts): ErrorKind {
  const said = QUOTA_NAME.exec(facts.words)
    ?.slice(1)
    .find((part) => part !== undefined);
  const name = said ?? ([...facts.codes].some((code) => SPOT_QUOTA.test(code)) ? 'LowPriorityCores' : undefined);
  const limit = numberAfter(facts.words, /(?:current limit|maximum allowed): *(\d+)/i);
  const usage = numberAfter(facts.words, /(?:current usage|current in use): *(\d+)/i);
  const required = numberAfter(facts.words, /(?:additional (?:required|requested):|vcpu quota requested) *(\d+)/i);
  return {
    kind: 'quota',
    quota: name ?? 'unnamed quota',
    ...(name === undefined ? {} : { name: nameOfQuota(name) }),
    ...defined({ limit, usage, required }),
  };
}

function numberAfter(words: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(words)?.[1];
  return text === undefined ? undefined : Number(text);
}
