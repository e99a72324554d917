/**
 * The one table that turns Azure's refusals into the house's error kinds. Nothing outside this file reads a code or a
 * message of ARM. The same code means different things (`OperationNotAllowed` is a quota, a throttle or a plain no), so
 * rules look at status, every code in the body and the words, in this order, first match wins.
 */
import { AutoscalerError, type ErrorKind, type StockScope } from '../../domain/errors.ts';
import { flatten, isRecord, jsonOf, readErrorBody, type ArmErrorBody } from './arm-body.ts';

/** What the caller knows and the body does not say. */
export interface ErrorHints {
  /** Size and priority of the scale set; zone when it has only one. */
  readonly scope?: StockScope;
  /** Zone of an instance that `target` names. */
  readonly zoneOf?: (instanceId: string) => string | undefined;
}

/** One answer with a status of 400 or more, as it came. */
export interface RefusedAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly bodyText: string | null | undefined;
  /** Whether the request could change anything: decides what a lost answer may have done. */
  readonly write: boolean;
  /** For the message: `putScaleSet aks-user1-vmss`. */
  readonly what: string;
  readonly nowMs: number;
}

interface Facts {
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
const NO_SUCH_SIZE = ['skunotavailable', 'vmsizenotsupported'];
const ZONAL = ['zonalallocationfailed', 'overconstrainedzonalallocationrequest'];
const SUBNET_QUOTA = 'subnet addresses';
const POLICY_QUOTA = 'policy or lock';
const QUOTA_WORDS = /exceeding approved .* quota|exceeding quota limits|submit a request for quota increase|exceeds? .*\bquota\b/is;
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
  // A full subnet and a policy are limits of this group's place: resting the group is what helps, not stopping the loop.
  { codes: SUBNET, words: /enough capacity for \d+ IP addresses/i, detail: () => ({ kind: 'quota', quota: SUBNET_QUOTA }) },
  { codes: FORBIDDEN_BY_RULE, detail: (facts) => ({ kind: 'quota', quota: `${POLICY_QUOTA} (${codeAmong(facts, FORBIDDEN_BY_RULE)})` }) },
  { codes: IDENTITY, detail: () => ({ kind: 'auth' }) },
  { statuses: [401, 403], detail: () => ({ kind: 'auth' }) },
  { statuses: [409, 412], detail: () => ({ kind: 'conflict' }) },
  { codes: CONFLICT, detail: () => ({ kind: 'conflict' }) },
  { words: /is not an active virtual machine scale set vm instanceid/i, detail: () => ({ kind: 'not-found' }) },
  { statuses: [404, 410], detail: () => ({ kind: 'not-found' }) },
  { statuses: [400, 405, 406, 411, 413, 414, 415, 422], detail: () => ({ kind: 'bug' }) },
  { codes: GONE, detail: () => ({ kind: 'not-found' }) },
];

/** Turns a refusal into an AutoscalerError. `nowMs` serves a `Retry-After` that is a date. */
export function classifyAnswer(answer: RefusedAnswer, hints: ErrorHints = {}): AutoscalerError {
  const body = readErrorBody(jsonOf(answer.bodyText));
  const facts = factsOf(body, {
    status: answer.status,
    write: answer.write,
    retryAfterMs: retryAfterMs(answer.header, answer.nowMs),
    hints,
  });
  const throttledFor = throttleWindowMs(facts, answer.nowMs);
  const { detail, code } = decide({ ...facts, retryAfterMs: throttledFor });
  const said = body.message === '' ? `HTTP ${answer.status}` : body.message;
  return new AutoscalerError(detail, `Azure refused ${answer.what}: ${said}`, {
    code: code === '' ? `HTTP ${answer.status}` : code,
    context: { status: answer.status, target: targetOf(facts) },
  });
}

/** Adds what the caller knows of the place to a refusal for lack of capacity, which was classified without it. */
export function withScope(error: AutoscalerError, { scope }: ErrorHints): AutoscalerError {
  if (error.detail.kind !== 'out-of-capacity' || scope === undefined) return error;
  const options = { cause: error, context: error.context, ...(error.code === undefined ? {} : { code: error.code }) };
  // A refusal at once speaks of the size in the region; only an operation names zones.
  const { zone: _zone, ...regional } = scope;
  return new AutoscalerError({ ...error.detail, scope: { ...regional, ...error.detail.scope } }, error.message, options);
}

export interface ClassifiedFailure {
  readonly detail: ErrorKind;
  readonly code: string;
  readonly message: string;
}

/** A failed or cancelled operation: the whole, and what it said of single instances. */
export interface OperationFailure extends ClassifiedFailure {
  readonly instances: readonly (ClassifiedFailure & { readonly instanceId: string })[];
}

/** Classifies the `error` object of an operation document. Those come with HTTP 200, so the words are all there is. */
export function classifyOperationError(error: unknown, hints: ErrorHints = {}): OperationFailure {
  const body = readErrorBody(error);
  const whole = classifyBody(body, hints);
  const instances = flatten(body)
    .filter((part) => part.code !== '' && /^(?:\d+|.+_\w+)$/.test(part.target))
    .map((part) => ({ ...classifyBody(part, hints), instanceId: part.target.slice(part.target.lastIndexOf('_') + 1) }));
  return { ...whole, instances };
}

/** Classifies what the wire said of one instance (`ProvisioningState/failed/<code>`). */
export function classifyInstanceFailure(code: string, message: string, hints: ErrorHints = {}): ClassifiedFailure {
  return classifyBody({ code, message, target: '', details: [] }, hints);
}

function classifyBody(body: ArmErrorBody, hints: ErrorHints): ClassifiedFailure {
  const { detail, code } = decide(factsOf(body, { status: undefined, write: true, retryAfterMs: undefined, hints }));
  return {
    detail,
    code: code === '' ? 'Failed' : code,
    message: body.message === '' ? 'The operation failed without saying why.' : body.message,
  };
}

/** What was in the way of a scale-up: a closed set, used as a metric label. `timeout`: machines that never became nodes. */
export const FAILURE_REASONS = [
  'quota',
  'spot-quota',
  'stock',
  'zone-stock',
  'sku',
  'subnet',
  'policy',
  'identity',
  'bootstrap',
  'timeout',
  'throttled',
  'unavailable',
  'other',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** The machine is there, and its set-up failed: what AKS runs on it, or the operating system itself. */
const BOOTSTRAP = /^(?:vmextension|osprovisioning)/i;

/** The kinds of errors say what the loop does; this says what a person has to see to. */
export function failureReason({ detail, code = '' }: { readonly detail: ErrorKind; readonly code: string | undefined }): FailureReason {
  switch (detail.kind) {
    case 'quota':
      if (detail.quota === SUBNET_QUOTA) return 'subnet';
      if (detail.quota.startsWith(POLICY_QUOTA)) return 'policy';
      return /spot|low.?priority/i.test(detail.quota) ? 'spot-quota' : 'quota';
    case 'out-of-capacity':
      if (NO_SUCH_SIZE.includes(code.toLowerCase())) return 'sku';
      return ZONAL.includes(code.toLowerCase()) ? 'zone-stock' : 'stock';
    case 'auth':
      return 'identity';
    case 'throttled':
      return 'throttled';
    case 'unavailable':
      return BOOTSTRAP.test(code) ? 'bootstrap' : 'unavailable';
    default:
      return 'other';
  }
}

/** A request that got no answer, or an unreadable one. What a write did is then unknown. */
export function lostAnswer(what: string, write: boolean, cause: unknown): AutoscalerError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AutoscalerError({ kind: 'unavailable', effect: write ? 'unknown' : 'none' }, `No usable answer to ${what}: ${reason}`, {
    cause,
  });
}

const CREDENTIAL_ERRORS = [
  'AuthenticationError',
  'CredentialUnavailableError',
  'AuthenticationRequiredError',
  'AggregateAuthenticationError',
  'ClientAuthError',
  'ServerError',
];
/** The identity service could not be reached or says itself that it is a passing trouble. */
const PASSING_TROUBLE =
  /AADSTS90033|AADSTS50196|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|endpoints_resolution_error|network_error|temporarily/i;

/** Classifies what an SDK client threw that is not an answer of ARM: credentials, 401, bodies that could not be read. */
export function classifyThrown(what: string, write: boolean, thrown: unknown): AutoscalerError {
  if (!(thrown instanceof Error)) return lostAnswer(what, write, thrown);
  if (CREDENTIAL_ERRORS.includes(thrown.name)) {
    // No request to ARM left, so nothing happened there.
    if (PASSING_TROUBLE.test(thrown.message)) return lostAnswer(`the token request for ${what}`, false, thrown);
    return new AutoscalerError({ kind: 'auth' }, `No token for ${what}: ${thrown.message}`, { cause: thrown });
  }
  if (isRecord(thrown) && thrown['statusCode'] === 401) {
    const code = typeof thrown['code'] === 'string' ? thrown['code'] : 'HTTP 401';
    return new AutoscalerError({ kind: 'auth' }, `Azure refused ${what}: ${thrown.message}`, { cause: thrown, code });
  }
  return lostAnswer(what, write, thrown);
}

/** The ids a delete was refused for because they are no longer there; the whole batch is refused for one of them. */
export function inactiveInstanceIds(error: AutoscalerError): readonly string[] {
  const named = [...error.message.matchAll(/instanceId (\S+) is not an active/gi)].map((match) => match[1] ?? '');
  return named.filter((id) => id !== '');
}

/** Whether a newer operation on the same set pushed this one aside. */
export function isPreempted(failure: { readonly code: string | undefined; readonly message: string }): boolean {
  return /^operationpreempted$/i.test(failure.code ?? '') || /\boperationpreempted\b/i.test(failure.message);
}

/** Whether a forced delete was refused in a way that an unforced one may not be. Quota and throttling share the code. */
export function isPlainlyNotAllowed(error: AutoscalerError): boolean {
  return /^operationnotallowed$/i.test(error.code ?? '') && (error.kind === 'conflict' || error.kind === 'bug');
}

/** Milliseconds from `retry-after-ms`, `x-ms-retry-after-ms` or `Retry-After` (seconds or an HTTP date). */
export function retryAfterMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const text = header(name);
    if (text !== undefined && /^\d+$/.test(text.trim())) return Number(text);
  }
  const text = header('retry-after')?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function factsOf(body: ArmErrorBody, rest: Omit<Facts, 'errors' | 'codes' | 'words'>): Facts {
  const errors = flatten(body);
  return {
    ...rest,
    errors,
    codes: new Set(errors.map((part) => part.code.toLowerCase())),
    words: errors.map((part) => part.message).join('\n'),
  };
}

function decide(facts: Facts): { readonly detail: ErrorKind; readonly code: string } {
  const rule = RULES.find((candidate) => applies(candidate, facts));
  const outer = facts.errors.find((part) => part.code !== '')?.code ?? '';
  if (rule === undefined) return { detail: { kind: 'unavailable', effect: facts.write ? 'unknown' : 'none' }, code: outer };
  return { detail: rule.detail(facts), code: rule.codes === undefined ? outer : codeAmong(facts, rule.codes) };
}

function applies(rule: Rule, facts: Facts): boolean {
  if (rule.codes?.some((code) => facts.codes.has(code)) === true) return true;
  if (rule.words?.test(facts.words) === true) return true;
  return facts.status !== undefined && rule.statuses?.includes(facts.status) === true;
}

/** The code as Azure spelled it. */
function codeAmong(facts: Facts, codes: readonly string[]): string {
  return facts.errors.find((part) => codes.includes(part.code.toLowerCase()))?.code ?? '';
}

function targetOf(facts: Facts): string | undefined {
  return facts.errors.find((part) => part.target !== '')?.target;
}

function throttle(facts: Facts): ErrorKind {
  const policy = facts.errors.find((part) => THROTTLED.includes(part.code.toLowerCase()) && part.target !== '')?.target;
  return { kind: 'throttled', retryAfterMs: facts.retryAfterMs, ...(policy === undefined ? {} : { policy }) };
}

/** Compute says until when in the body as well; both must have passed. */
function throttleWindowMs(facts: Facts, nowMs: number): number | undefined {
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
  return { kind: 'out-of-capacity', scope, ...(lack === undefined ? {} : { lack }) };
}

const QUOTA_NAME =
  /exceeding approved (.+?) quota|quota limits of (\w+)|exceeds? (?:the )?(?:approved )?(.+?) quota|insufficient vcpu quota .*?for family (\w+)/is;

/** Both generations of the sentence, and that of AKS: "Current Limit: 10, Current Usage: 8, Additional Required: 8" and "Maximum allowed: 10 ...". */
function quota(facts: Facts): ErrorKind {
  const name = QUOTA_NAME.exec(facts.words)
    ?.slice(1)
    .find((part) => part !== undefined);
  const limit = numberAfter(facts.words, /(?:current limit|maximum allowed): *(\d+)/i);
  const usage = numberAfter(facts.words, /(?:current usage|current in use): *(\d+)/i);
  const required = numberAfter(facts.words, /(?:additional (?:required|requested):|vcpu quota requested) *(\d+)/i);
  return {
    kind: 'quota',
    quota: name ?? 'unnamed quota',
    ...(limit === undefined ? {} : { limit }),
    ...(usage === undefined ? {} : { usage }),
    ...(required === undefined ? {} : { required }),
  };
}

function numberAfter(words: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(words)?.[1];
  return text === undefined ? undefined : Number(text);
}
