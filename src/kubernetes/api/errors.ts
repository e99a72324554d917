/** The one table from what the Kubernetes API (or the network before it) answered to an AutoscalerError. */
import { AutoscalerError, type ErrorKind } from '../../lib/errors.ts';
import type { StatusJson } from './core-json.ts';
import { defined } from '../../lib/defined.ts';

/** What was asked, for sentences. */
export interface Call {
  readonly method: string;
  readonly path: string;
}

export interface Refusal {
  readonly status: number;
  readonly body: StatusJson;
  readonly retryAfterMs: number | undefined;
}

/** An HTTP answer of 400 or more. The HTTP status is in `context.status`, the API's own word in `code`, its causes' in `context.causes`. */
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

/** What the API says, and what its causes add to that: which budget, for example. */
function messageOf({ message, reason, details }: StatusJson): string {
  const said = message ?? reason ?? 'no reason given';
  const more = (details?.causes ?? []).map((cause) => cause.message ?? '').filter((text) => text !== '' && !said.includes(text));
  return [said, ...more].join(' ');
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

/** The HTTP status behind an error made here; undefined when there was no answer. */
export function statusOf(error: AutoscalerError): number | undefined {
  const { status } = error.context;
  return typeof status === 'number' ? status : undefined;
}

/** No usable answer: refused, reset, timed out, cancelled. */
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
  // Node joins the failures of several addresses under an error without a message.
  if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map((error) => describe(error)).join('; ');
  return thrown.message === '' ? (codeOf(thrown) ?? thrown.name) : thrown.message;
}

/** `Retry-After` in seconds (the API server's form), as milliseconds. */
export function retryAfterMs(header: string | readonly string[] | undefined, body: StatusJson): number | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  const seconds = text !== undefined && /^\d+$/.test(text.trim()) ? Number(text) : body.details?.retryAfterSeconds;
  return seconds === undefined ? undefined : seconds * 1000;
}

// A refusal (403) is not believed at once: a real API server refuses for a while after its own start, until its roles are
// made, and a chart's RoleBinding may come after its Deployment. A bad credential (401) is told at once.

/** How long refusals are borne with, milliseconds. */
export const REFUSAL_GRACE_MS = 60_000;

const FORBIDDEN = 403;

/** Owns since when the same asker has been refused. */
export class RefusalGrace {
  readonly #graceMs: number;
  #sinceMs: number | undefined;

  constructor(graceMs = REFUSAL_GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Whether to give up. `nowMs` is monotonic. An answer of any other kind begins the time anew. */
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
