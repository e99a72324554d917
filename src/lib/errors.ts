/**
 * The program's only exception type, and what each kind of it means for the loop. Expected outcomes are values; an
 * AutoscalerError is I/O or a bug. Must not know the wire formats that errors come from.
 */

/** A family of VM sizes, and the vCPUs of one of them. */
export interface SizeFamily {
  readonly name: string;
  readonly vcpus: number;
}

/** Where a lack of capacity applies. If a part is absent, it means "any". */
export interface StockScope {
  readonly vmSize?: string;
  /** In addition to `vmSize`: all sizes of a family with at least this many vCPUs. */
  readonly family?: SizeFamily;
  readonly zone?: string;
  readonly priority?: 'Regular' | 'Spot';
  /** In lower case. If set, it applies to everything that uses this quota, and all other parts are absent. */
  readonly quota?: string;
}

export type ErrorKind =
  | { readonly kind: 'config' }
  | { readonly kind: 'auth' }
  /** `retryAfterMs` is undefined if the server sent no time. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | undefined; readonly policy?: string }
  | {
      readonly kind: 'out-of-capacity';
      readonly scope: StockScope;
      /** `offer`: the size is not offered here, which lasts. `constraints`: only with this group's settings. If absent, sold out. */
      readonly lack?: 'offer' | 'constraints';
    }
  | {
      readonly kind: 'quota';
      readonly quota: string;
      /** Its name in lower case. Absent if nodes are not known to use this quota. */
      readonly name?: string;
      readonly limit?: number;
      readonly usage?: number;
      readonly required?: number;
      /** The known quotas include the refusal's numbers from now on, so what still fits can be planned at once. */
      readonly counted?: boolean;
      /** It applies only to this group (its subnet, a policy, a lock); other groups may still use the size. */
      readonly local?: true;
    }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'not-found' }
  /** Server errors, timeouts, dropped connections. `effect` says whether a write may have happened nevertheless. */
  | { readonly kind: 'unavailable'; readonly effect: 'none' | 'unknown' }
  | { readonly kind: 'kube-api'; readonly status: number | undefined }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'bug' };

type ErrorKindName = ErrorKind['kind'];

interface ErrorOptions {
  readonly cause?: unknown;
  /** The wire's own code, for example `AllocationFailed`. */
  readonly code?: string;
  /** Facts for the log line; never a secret. */
  readonly context?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The wait that the server asked for, milliseconds. */
  readonly retryAfterMs?: number;
}

/** An unexpected failure, classified where it occurred. `message` is one clear sentence. */
export class AutoscalerError extends Error {
  readonly detail: ErrorKind;
  readonly code: string | undefined;
  readonly context: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The wait that the server asked for, milliseconds. undefined if it sent none. */
  readonly retryAfterMs: number | undefined;

  constructor(detail: ErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AutoscalerError';
    this.detail = detail;
    this.code = options.code;
    this.context = options.context ?? {};
    this.retryAfterMs = options.retryAfterMs;
  }

  get kind(): ErrorKindName {
    return this.detail.kind;
  }
}

/** An input that the user can correct: a setting, a flag, a file. The message says what was wrong, where, and what is accepted. */
export function configError(message: string, options: ErrorOptions = {}): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, message, options);
}

/** How the loop reacts to an error. */
export type Reaction = 'exit' | 'skip-loop' | 'back-off-group' | 'refresh-and-replan' | 'ignore';

/** How the loop reacts to an error of one of its steps. What a refused capacity write means is in `failed-increases.ts`. */
export function reactionTo(error: AutoscalerError): Reaction {
  switch (error.kind) {
    case 'config':
      return 'exit';
    case 'auth':
    case 'kube-api':
    case 'cancelled':
    case 'bug':
      return 'skip-loop';
    case 'out-of-capacity':
      return 'back-off-group';
    case 'quota':
      return error.detail.kind === 'quota' && error.detail.counted === true ? 'refresh-and-replan' : 'back-off-group';
    case 'conflict':
    case 'unavailable':
    case 'throttled':
      return 'refresh-and-replan';
    case 'not-found':
      return 'ignore';
  }
}

/** Wraps anything thrown. An AutoscalerError is returned as it is, an abort becomes `cancelled`, the rest `bug`. */
export function asAutoscalerError(thrown: unknown): AutoscalerError {
  if (thrown instanceof AutoscalerError) return thrown;
  if (thrown instanceof Error && thrown.name === 'AbortError') {
    return new AutoscalerError({ kind: 'cancelled' }, 'The call was cancelled.', { cause: thrown });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AutoscalerError({ kind: 'bug' }, `Unexpected failure: ${message}`, { cause: thrown });
}

/** Whether a failed write may have been carried out. */
export function isEffectUnknown({ kind, detail }: AutoscalerError): boolean {
  return kind === 'cancelled' || (detail.kind === 'unavailable' && detail.effect === 'unknown');
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
