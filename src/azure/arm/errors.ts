/**
 * Classifies refusals, lost responses and failed operations by the one table (error-table.ts). Only these two files read
 * Azure's codes.
 */
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import { flatten, jsonOf, readErrorBody, type ArmErrorBody } from './error-bodies.ts';
import {
  classifyRefusal,
  refusalOf,
  NO_SUCH_SIZE,
  POLICY_QUOTA,
  SUBNET_QUOTA,
  targetOf,
  throttleWindowMs,
  ZONAL,
  type ErrorHints,
} from './error-table.ts';
import { LONGEST_HOLD_MS } from '../../lib/closure.ts';
import { defined } from '../../lib/defined.ts';
import { shownText } from '../../lib/shown-text.ts';

/** A response with a status of 400 or more, as it came. */
interface RefusedResponse {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly bodyText: string | null | undefined;
  /** Whether the request was a write. Decides what a lost response may have changed. */
  readonly write: boolean;
  /** Names the call in the message: `putScaleSet aks-user1-vmss`. */
  readonly what: string;
  readonly nowMs: number;
}

/** Turns a refusal into an AutoscalerError. `nowMs` is for a `Retry-After` that is a date. */
export function classifyResponse(response: RefusedResponse, hints: ErrorHints = {}): AutoscalerError {
  const body = readErrorBody(jsonOf(response.bodyText));
  const refusal = refusalOf(body, {
    status: response.status,
    write: response.write,
    retryAfterMs: retryAfterMs(response.header, response.nowMs),
    hints,
  });
  const windowMs = throttleWindowMs(refusal, answeredAtMs(response.header, response.nowMs));
  const waitMs = windowMs === undefined ? undefined : Math.min(LONGEST_HOLD_MS, windowMs);
  const { detail, code } = classifyRefusal({ ...refusal, retryAfterMs: waitMs });
  // guard: Azure's sentences are redacted where they become errors
  const message = body.message === '' ? `HTTP ${response.status}` : shownText(body.message);
  return new AutoscalerError(detail, `Azure refused ${response.what}: ${message}`, {
    code: code === '' ? `HTTP ${response.status}` : code,
    context: { status: response.status, target: targetOf(refusal), correlationId: correlationIdOf(response.header) },
    ...defined({ retryAfterMs: waitMs }),
  });
}

/** What Azure's support asks for; undefined if there is none of a plausible form. */
function correlationIdOf(header: (name: string) => string | undefined): string | undefined {
  const id = header('x-ms-correlation-request-id');
  return id !== undefined && /^[\w-]{1,64}$/.test(id) ? id : undefined;
}

/** Adds the caller's size, priority and zone to an out-of-capacity error that was classified without them. */
export function withScope(error: AutoscalerError, { scope }: ErrorHints): AutoscalerError {
  if (error.detail.kind !== 'out-of-capacity' || scope === undefined) return error;
  const options = { cause: error, context: error.context, ...defined({ code: error.code, retryAfterMs: error.retryAfterMs }) };
  // An immediate refusal is about the size in the region; only a failed operation names zones.
  const { zone: _zone, ...regional } = scope;
  return new AutoscalerError({ ...error.detail, scope: { ...regional, ...error.detail.scope } }, error.message, options);
}

export interface ClassifiedFailure {
  readonly detail: ErrorKind;
  readonly code: string;
  readonly message: string;
}

/** A failed or cancelled operation: the whole, and the failures of single instances. */
export interface OperationFailure extends ClassifiedFailure {
  readonly instances: readonly (ClassifiedFailure & { readonly instanceId: string })[];
}

/** Classifies the `error` object of an operation document. Its HTTP status is 200, so only the code and the words count. */
export function classifyOperationError(error: unknown, hints: ErrorHints = {}): OperationFailure {
  const body = readErrorBody(error);
  const whole = classifyBody(body, hints);
  const instances = flatten(body)
    .filter((part) => part.code !== '' && /^(?:\d+|.+_\w+)$/.test(part.target))
    .map((part) => ({ ...classifyBody(part, hints), instanceId: part.target.slice(part.target.lastIndexOf('_') + 1) }));
  // The whole operation often repeats the failure of its first instance.
  return { ...whole, instances: [...new Map(instances.map((each) => [each.instanceId, each])).values()] };
}

/** Classifies the failure that Azure reports for one instance (`ProvisioningState/failed/<code>`). */
export function classifyInstanceFailure(code: string, message: string, hints: ErrorHints = {}): ClassifiedFailure {
  return classifyBody({ code, message, target: '', details: [] }, hints);
}

function classifyBody(body: ArmErrorBody, hints: ErrorHints): ClassifiedFailure {
  const { detail, code } = classifyRefusal(refusalOf(body, { status: undefined, write: true, retryAfterMs: undefined, hints }));
  return {
    detail,
    code: code === '' ? 'Failed' : code,
    message: body.message === '' ? 'The operation failed without a reason.' : shownText(body.message),
  };
}

/** What stopped a scale-up: a closed set, used as a metric label. `timeout`: instances that never became nodes. */
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

/** The instance exists, but its set-up failed: the AKS bootstrap or the operating system. */
const BOOTSTRAP = /vmextension|^osprovisioning/i;

/** The part of Azure that a person has to look at. The error kind only decides what the loop does. */
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

/** A request without a response, or with an unreadable one. The effect of a write is then unknown. */
export function lostResponse(what: string, write: boolean, cause: unknown): AutoscalerError {
  // The SDK puts a body that it cannot parse into its message.
  const reason = shownText(cause instanceof Error ? cause.message : String(cause));
  return new AutoscalerError({ kind: 'unavailable', effect: write ? 'unknown' : 'none' }, `No usable response to ${what}: ${reason}`, {
    cause,
  });
}

/** Whether the condition of a write no longer holds: another writer changed the resource since it was read. */
export function isPreconditionFailed({ code, context }: AutoscalerError): boolean {
  return context['status'] === 412 || /^preconditionfailed$/i.test(code ?? '');
}

/** A write whose effect was unknown, and a later read shows that it had none. */
export function withoutEffect(error: AutoscalerError): AutoscalerError {
  if (error.detail.kind !== 'unavailable') return error;
  const options = { cause: error, context: error.context, ...defined({ code: error.code, retryAfterMs: error.retryAfterMs }) };
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, error.message, options);
}

const PREEMPTED = /\b(?:operationpreempted|etagmismatch|originaletagnotexpect)\b|\bhas been preempted by\b/i;

/**
 * Whether a newer operation on the same resource preempted this one. AKS says so in three ways: `OperationPreempted`, `EtagMismatch`, and
 * `OriginalEtagNotExpect` in the details of a `ResourceOperationFailure` ("has been preempted by Deleting operation", kaito 2075).
 */
export function isPreempted(failure: { readonly code: string | undefined; readonly message: string }): boolean {
  // guard: an operation that another writer preempted is a conflict and no failure of the pool
  return PREEMPTED.test(failure.code ?? '') || PREEMPTED.test(failure.message);
}

/**
 * Whether AKS refused a write because it works on the pool or on the whole cluster, also by itself: "Another agentpool operation (NAME - Creating) is in
 * progress", "Another operation (Updating) is in progress" (Azure/telescope 1213, June 2026). The state of the pool does not always show it.
 */
export function isOperationInProgress(error: AutoscalerError): boolean {
  return error.kind === 'conflict' && /\banother (?:agentpool )?operation\b[^.]*\bis in progress\b/i.test(error.message);
}

/** Whether a resource lock protects the written resource. Writes fail until the lock is removed. */
export function isLocked(error: AutoscalerError): boolean {
  return /^scopelocked$/i.test(error.code ?? '');
}

/** Whether a forced delete was refused in a way that may not apply to an unforced one. Quota and throttling share the code. */
export function isPlainlyNotAllowed(error: AutoscalerError): boolean {
  return /^operationnotallowed$/i.test(error.code ?? '') && (error.kind === 'conflict' || error.kind === 'bug');
}

/**
 * Milliseconds from `retry-after-ms`, `x-ms-retry-after-ms` or `Retry-After` (seconds or an HTTP date), at most an hour. A date
 * is relative to the response's own `Date`: the two clocks may differ. `nowMs` counts only if there is none.
 */
export function retryAfterMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  const askedMs = requestedWaitMs(header, nowMs);
  // guard: a Retry-After is at most an hour
  return askedMs === undefined ? undefined : Math.min(LONGEST_HOLD_MS, askedMs);
}

/** The operation that an accepted write began, by the headers of the first response. */
export interface AcceptedOperation {
  /** From `Azure-AsyncOperation`, else `Location`; undefined: the response was final. */
  readonly operationUrl: string | undefined;
  /** When to read it first. */
  readonly retryAfterMs: number | undefined;
  /** If absent, the response has none. */
  readonly correlationId?: string | undefined;
}

export function acceptedOperation(header: (name: string) => string | undefined, nowMs: number): AcceptedOperation {
  return {
    operationUrl: header('azure-asyncoperation') ?? header('location'),
    retryAfterMs: retryAfterMs(header, nowMs),
    correlationId: correlationIdOf(header),
  };
}

function requestedWaitMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const text = header(name);
    if (text !== undefined && /^\d+$/.test(text.trim())) return Number(text);
  }
  const text = header('retry-after')?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  // `Date.parse` also accepts other texts, such as negative numbers, as dates.
  const date = /^[a-z]{3,9},? .*\d:\d\d|^\d{4}-\d\d-\d\dT/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - answeredAtMs(header, nowMs));
}

/** When the server sent the response, by its own clock if it says so. */
function answeredAtMs(header: (name: string) => string | undefined, nowMs: number): number {
  // guard: Retry-After as a date counts from the Date of the answer
  const date = Date.parse(header('date') ?? '');
  // guard: a Retry-After date is read by the clock of the server
  return Number.isNaN(date) ? nowMs : date;
}
