/** Reads what Azure refused, lost or let fail, by the one table (arm-error-table.ts). Nothing outside these two files reads a code. */
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import { flatten, jsonOf, readErrorBody, type ArmErrorBody } from './error-bodies.ts';
import {
  decide,
  factsOf,
  NO_SUCH_SIZE,
  POLICY_QUOTA,
  SUBNET_QUOTA,
  targetOf,
  throttleWindowMs,
  ZONAL,
  type ErrorHints,
} from './error-table.ts';
import { defined } from '../../lib/defined.ts';

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
  const options = { cause: error, context: error.context, ...defined({ code: error.code }) };
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
  // The whole often repeats what it says of the first of them.
  return { ...whole, instances: [...new Map(instances.map((each) => [each.instanceId, each])).values()] };
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
const BOOTSTRAP = /vmextension|^osprovisioning/i;

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

/** The ids a delete was refused for because they are no longer there; the whole batch is refused for one of them. */
export function inactiveInstanceIds(error: AutoscalerError): readonly string[] {
  const named = [...error.message.matchAll(/instanceId (\S+) is not an active/gi)].map((match) => match[1] ?? '');
  return named.filter((id) => id !== '');
}

/** Whether a newer operation on the same set pushed this one aside. */
export function isPreempted(failure: { readonly code: string | undefined; readonly message: string }): boolean {
  return /^operationpreempted$/i.test(failure.code ?? '') || /\boperationpreempted\b/i.test(failure.message);
}

/** Whether somebody has put a lock of the resource manager on what was to be written: no write passes until it is taken off. */
export function isLocked(error: AutoscalerError): boolean {
  return /^scopelocked$/i.test(error.code ?? '');
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
  // Other texts, a negative number among them, are dates to this parser and to nobody else.
  const date = /^[a-z]{3,9},? .*\d:\d\d|^\d{4}-\d\d-\d\dT/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
