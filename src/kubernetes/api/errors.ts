/**
 * The one table from answers of the Kubernetes API, or of the network before it, to AutoscalerErrors. Must not know
 * what the caller does about them.
 */
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import type { StatusJson } from './core-json.ts';
import { shownText } from '../../lib/shown-text.ts';
import { defined } from '../../lib/defined.ts';

/** The request, for error messages. */
export interface Call {
  readonly method: string;
  readonly path: string;
}

export interface Refusal {
  readonly status: number;
  readonly body: StatusJson;
  readonly retryAfterMs: number | undefined;
}

/**
 * An HTTP answer of 400 or more. `context.status` has the HTTP status, `code` the API's reason and `context.causes` its
 * causes.
 */
export function refusalError(call: Call, refusal: Refusal): AutoscalerError {
  const { status, body } = refusal;
  const message = messageOf(body);
  const causes = (body.details?.causes ?? []).map(({ reason = '' }) => reason).join(' ');
  return new AutoscalerError(
    kindOf(call, refusal),
    `The Kubernetes API refused ${call.method} ${call.path}: ${message} (HTTP ${status}).`,
    {
      ...defined({ code: body.reason }),
      context: { status, method: call.method, path: call.path, ...(causes === '' ? {} : { causes }) },
    },
  );
}

/** The API's message, with what its causes add to it, for example the name of the budget. */
function messageOf({ message, reason, details }: StatusJson): string {
  const said = message ?? reason ?? 'no reason given';
  const more = (details?.causes ?? []).map((cause) => cause.message ?? '').filter((text) => text !== '' && !said.includes(text));
  return shownText([said, ...more].join(' '));
}

/** Whether the API named this cause, for example `DisruptionBudget`. */
export function hasCause(error: AutoscalerError, cause: string): boolean {
  return String(error.context['causes'] ?? '')
    .split(' ')
    .includes(cause);
}

function kindOf(call: Call, refusal: Refusal): ErrorKind {
  const { status, retryAfterMs } = refusal;
  if (status === 401 || status === 403) return { kind: 'auth' };
  if (status === 404) return { kind: 'not-found' };
  if (status === 409) return { kind: 'conflict' };
  if (status === 429) return { kind: 'throttled', retryAfterMs };
  if (status >= 500) return { kind: 'unavailable', effect: call.method === 'GET' ? 'none' : 'unknown' };
  return { kind: 'kube-api', status };
}

/** The HTTP status behind an error made here; undefined if there was no answer. */
export function statusOf(error: AutoscalerError): number | undefined {
  const { status } = error.context;
  return typeof status === 'number' ? status : undefined;
}

/** No usable answer: refused, reset, timed out or cancelled. */
export function transportError(call: Call, thrown: unknown, caller: AbortSignal): AutoscalerError {
  if (thrown instanceof AutoscalerError) return thrown;
  const where = `${call.method} ${call.path}`;
  if (caller.aborted) return new AutoscalerError({ kind: 'cancelled' }, `${where} on the Kubernetes API was cancelled.`, { cause: thrown });
  const code = codeOf(thrown);
  const neverSent =
    ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(code ?? '') || (code ?? '').includes('CERT');
  const effect = call.method === 'GET' || neverSent ? 'none' : 'unknown';
  return new AutoscalerError({ kind: 'unavailable', effect }, `The Kubernetes API did not answer ${where}: ${describe(thrown)}.`, {
    cause: thrown,
    ...defined({ code }),
    context: { method: call.method, path: call.path },
  });
}

function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.name === 'TimeoutError') return 'no answer in time';
  // Node joins the failures of several addresses in an error without a message.
  if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map((error) => describe(error)).join('; ');
  return thrown.message === '' ? (codeOf(thrown) ?? thrown.name) : thrown.message;
}

/** The API server asks for a second or a few. Longer waits end here, so that the next call probes whether they are still needed. */
const MAX_WAIT_MS = 60_000;

/** `Retry-After` in seconds (the API server's form), as milliseconds, at most a minute. */
export function retryAfterMs(header: string | readonly string[] | undefined, body: StatusJson): number | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  const seconds: unknown = text !== undefined && /^\d+$/.test(text.trim()) ? Number(text) : body.details?.retryAfterSeconds;
  return typeof seconds === 'number' && seconds >= 0 ? Math.min(MAX_WAIT_MS, seconds * 1000) : undefined;
}

/**
 * How long refusals (403) are tolerated, milliseconds. A real API server refuses until its roles exist after its own
 * start, and a chart's RoleBinding may be created after its Deployment. A bad credential (401) is reported at once.
 */
export const REFUSAL_GRACE_MS = 60_000;

const FORBIDDEN = 403;

/** Holds since when the same requests have been refused. */
export class RefusalGrace {
  readonly #graceMs: number;
  #sinceMs: number | undefined;

  constructor(graceMs = REFUSAL_GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Returns whether to give up. `nowMs` is monotonic. Any other kind of answer restarts the period. */
  isOver(error: AutoscalerError, nowMs: number): boolean {
    if (error.kind !== 'auth') {
      this.#sinceMs = undefined;
      return false;
    }
    if (statusOf(error) !== FORBIDDEN) return true;
    this.#sinceMs ??= nowMs;
    return nowMs - this.#sinceMs >= this.#graceMs;
  }
}
