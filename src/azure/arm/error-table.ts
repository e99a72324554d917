/**
 * The one table that turns Azure's refusals into error kinds. ARM codes and messages are interpreted nowhere else. One code
 * can mean several things: `OperationNotAllowed` is a quota, a throttle or a plain refusal. So rules look at the status, every
 * code in the body and the words, in this order; the first match wins. Pure.
 */
import type { ErrorKind, StockScope } from '../../lib/errors.ts';
import { flatten, jsonOf, type ArmErrorBody } from './error-bodies.ts';
import { defined } from '../../lib/defined.ts';
import { shownText } from '../../lib/shown-text.ts';
import { isRecord } from '../../lib/json.ts';

/** Azure's folded name for the quota of all regular cores of the region, as the list of usages has it. */
export const REGION_QUOTA = 'cores';
/** Azure's folded name for the quota of all Spot cores of the region, as the list of usages has it. */
export const SPOT_QUOTA = 'lowprioritycores';

/**
 * The folded name that the list of usages gives a quota. `refusedName` is the quota as a refusal spells it:
 * `standardDSv5Family Cores`, `Total Regional Cores`, `LowPriorityCores`. The older sentence says `Core` for the whole region.
 * Newer texts count vCPUs.
 */
export function quotaName(refusedName: string): string {
  const name = refusedName
    .toLowerCase()
    .replace(/\s+(?:cores?|vcpus?)\s*$/, '')
    .replaceAll(/\s/g, '');
  if (name === 'totalregional' || name === 'core') return REGION_QUOTA;
  return name === 'lowpriority' || name === 'totalregionalspot' || name === 'totalregionallow-priority' ? SPOT_QUOTA : name;
}

/** What the caller knows in addition to the body. */
export interface ErrorHints {
  /** Size and priority of the scale set, and its zone if it has only one. */
  readonly scope?: StockScope;
  /** The zone of an instance that the error's `target` names. */
  readonly zoneOf?: (instanceId: string) => string | undefined;
}

export interface Refusal {
  /** undefined: an accepted operation failed later. */
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
  /** Matches folded codes that share an ending. */
  readonly ending?: RegExp;
  readonly words?: RegExp;
  readonly statuses?: readonly number[];
  readonly detail: (refusal: Refusal) => ErrorKind;
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
/** Matches `LowPriorityQuotaExceeded` and similar codes, whose messages carry no details. */
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
const CONFLICT = [
  'preconditionfailed',
  'conflict',
  'operationpreempted',
  'anotheroperationinprogress',
  'resourcegroupbeingdeleted',
  // Two races that AKS reports at the end of an operation: terraform-azurerm-aks 354, kaito 2075.
  'etagmismatch',
  'originaletagnotexpect',
];
const GONE = ['resourcenotfound', 'notfound', 'resourcegroupnotfound', 'parentresourcenotfound', 'instanceidslistinstanceidnotactivevm'];

const RULES: readonly Rule[] = [
  { statuses: [429], detail: throttledKind },
  { codes: THROTTLED, detail: throttledKind },
  { codes: STOCKOUT, detail: outOfCapacityKind },
  { words: /have failed for capacity restrictions|do not have sufficient capacity/i, detail: outOfCapacityKind },
  { codes: ['quotaexceeded', 'resourcequotaexceeded', 'errcode_insufficientvcpuquota'], detail: quotaKind },
  { words: QUOTA_WORDS, detail: quotaKind },
  { ending: QUOTA_ENDING, detail: quotaKind },
  // A full subnet and a policy limit only this group's location. Backing off the group helps; stopping the loop does not.
  { codes: SUBNET, words: /enough capacity for \d+ IP addresses/i, detail: () => ({ kind: 'quota', quota: SUBNET_QUOTA, local: true }) },
  { codes: FORBIDDEN_BY_RULE, detail: forbiddenKind },
  { codes: IDENTITY, detail: () => ({ kind: 'auth' }) },
  { statuses: [401, 403], detail: () => ({ kind: 'auth' }) },
  { statuses: [409, 412], detail: () => ({ kind: 'conflict' }) },
  { codes: CONFLICT, detail: () => ({ kind: 'conflict' }) },
  { words: /is not an active virtual machine scale set vm instanceid/i, detail: () => ({ kind: 'not-found' }) },
  { statuses: [404, 410], detail: () => ({ kind: 'not-found' }) },
  { statuses: [400, 405, 406, 411, 413, 414, 415, 422], detail: () => ({ kind: 'bug' }) },
  { codes: GONE, detail: () => ({ kind: 'not-found' }) },
];

/** Everything a rule may look at. */
export function refusalOf(body: ArmErrorBody, rest: Omit<Refusal, 'errors' | 'codes' | 'words'>): Refusal {
  const errors = flatten(body);
  return {
    ...rest,
    errors,
    codes: new Set(errors.map((part) => part.code.toLowerCase())),
    words: errors.map((part) => part.message).join('\n'),
  };
}

/** The error kind of a refusal, and the code that decided it. */
export function classifyRefusal(refusal: Refusal): { readonly detail: ErrorKind; readonly code: string } {
  const rule = RULES.find((candidate) => ruleMatches(candidate, refusal));
  const outer = refusal.errors.find((part) => part.code !== '')?.code ?? '';
  if (rule === undefined) return { detail: { kind: 'unavailable', effect: refusal.write ? 'unknown' : 'none' }, code: outer };
  return { detail: rule.detail(refusal), code: rule.codes === undefined ? outer : codeAmong(refusal, rule.codes) };
}

function ruleMatches(rule: Rule, refusal: Refusal): boolean {
  if (rule.codes?.some((code) => refusal.codes.has(code)) === true) return true;
  if (rule.words?.test(refusal.words) === true || [...refusal.codes].some((code) => rule.ending?.test(code) === true)) return true;
  return refusal.status !== undefined && rule.statuses?.includes(refusal.status) === true;
}

/** The first matching code, as Azure spells it. */
function codeAmong(refusal: Refusal, codes: readonly string[]): string {
  return refusal.errors.find((part) => codes.includes(part.code.toLowerCase()))?.code ?? '';
}

/** The first resource that the body names. */
export function targetOf(refusal: Refusal): string | undefined {
  return refusal.errors.find((part) => part.target !== '')?.target;
}

function forbiddenKind(refusal: Refusal): ErrorKind {
  return { kind: 'quota', quota: `${POLICY_QUOTA} (${codeAmong(refusal, FORBIDDEN_BY_RULE)})`, local: true };
}

function throttledKind(refusal: Refusal): ErrorKind {
  const policy = refusal.errors.find((part) => THROTTLED.includes(part.code.toLowerCase()) && part.target !== '')?.target;
  return { kind: 'throttled', retryAfterMs: refusal.retryAfterMs, ...defined({ policy }) };
}

/** Compute also states the end of the throttling in the body. The wait covers both that end and `Retry-After`. */
export function throttleWindowMs(refusal: Refusal, nowMs: number): number | undefined {
  const ends = refusal.errors.flatMap((part) => {
    const window = jsonOf(part.message.startsWith('{') ? part.message : undefined);
    const end = isRecord(window) && typeof window['endTime'] === 'string' ? Date.parse(window['endTime']) : Number.NaN;
    return Number.isNaN(end) ? [] : [end - nowMs];
  });
  if (refusal.retryAfterMs === undefined && ends.length === 0) return undefined;
  return Math.max(refusal.retryAfterMs ?? 0, ...ends, 0);
}

function outOfCapacityKind(refusal: Refusal): ErrorKind {
  const code = codeAmong(refusal, STOCKOUT).toLowerCase();
  const target = targetOf(refusal);
  const zone = (target === undefined ? undefined : refusal.hints.zoneOf?.(target)) ?? refusal.hints.scope?.zone;
  const { zone: _zone, ...regional } = refusal.hints.scope ?? {};
  const zonal = ZONAL.includes(code);
  const lack = NO_SUCH_SIZE.includes(code) ? 'offer' : code.startsWith('overconstrained') ? 'constraints' : undefined;
  const scope = zonal && zone !== undefined ? { ...regional, zone } : regional;
  return { kind: 'out-of-capacity', scope, ...defined({ lack }) };
}

/** Longer than any name of a quota: the pattern may match far into a text. */
const MAX_QUOTA_BYTES = 200;
const SPOT_QUOTA_CODE = /^(?:lowpriority|spot)\w*quota/;
const QUOTA_NAME =
  /exceeding approved (.+?) quota|quota limits of (.+?)[.,]|exceeds? (?:the )?(?:approved )?(.+?) quota|insufficient vcpu quota .*?for family (\w+)/is;

/**
 * Reads both generations of Azure's sentence and that of AKS: "Current Limit: 10, Current Usage: 8, Additional Required: 8"
 * and "Maximum allowed: 10 ...".
 */
function quotaKind(refusal: Refusal): ErrorKind {
  const refusedName = QUOTA_NAME.exec(refusal.words)
    ?.slice(1)
    .find((part) => part !== undefined);
  const shownName = refusedName === undefined ? undefined : shownText(refusedName, MAX_QUOTA_BYTES);
  const name = shownName ?? ([...refusal.codes].some((code) => SPOT_QUOTA_CODE.test(code)) ? 'LowPriorityCores' : undefined);
  const limit = numberAfter(refusal.words, /(?:current limit|maximum allowed): *(\d+)/i);
  const usage = numberAfter(refusal.words, /(?:current usage|current in use): *(\d+)/i);
  const required = numberAfter(refusal.words, /(?:additional (?:required|requested):|vcpu quota requested) *(\d+)/i);
  return {
    kind: 'quota',
    quota: name ?? 'unnamed quota',
    ...(name === undefined ? {} : { name: quotaName(name) }),
    ...defined({ limit, usage, required }),
  };
}

function numberAfter(words: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(words)?.[1];
  return text === undefined ? undefined : Number(text);
}
