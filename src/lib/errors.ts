/**
 * The one exception type of the house, and what each kind of it means for the loop. Expected outcomes are values; an
 * AutoscalerError is I/O or a bug.
 */

/** A family of VM sizes, and the vCPUs of one of them. */
export interface SizeFamily {
  readonly name: string;
  readonly vcpus: number;
}

/** Where a lack of capacity applies. Absent parts mean "any". */
export interface StockScope {
  readonly vmSize?: string;
  /** Besides `vmSize`: all sizes of a family from this many vCPUs on. */
  readonly family?: SizeFamily;
  readonly zone?: string;
  readonly priority?: 'Regular' | 'Spot';
  /** Folded; then it applies to whatever draws on this quota, and every other part is absent. */
  readonly quota?: string;
}

export type ErrorKind =
  | { readonly kind: 'config' }
  | { readonly kind: 'auth' }
  /** `retryAfterMs` undefined: the server did not say. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | undefined; readonly policy?: string }
  | {
      readonly kind: 'out-of-capacity';
      readonly scope: StockScope;
      /** `offer`: the size is not on offer here, which lasts. `constraints`: only as this group wants it. Absent: it is sold out. */
      readonly lack?: 'offer' | 'constraints';
    }
  | {
      readonly kind: 'quota';
      readonly quota: string;
      /** Its folded name, as what draws on it says. Absent: it is not one that nodes are known to draw on. */
      readonly name?: string;
      readonly limit?: number;
      readonly usage?: number;
      readonly required?: number;
      /** The cloud's quotas show from now on what the refusal told: what still fits can be planned at once. */
      readonly counted?: boolean;
      /** It is about the place of this one group (its subnet, a policy, a lock): others may have the size all the same. */
      readonly local?: true;
    }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'not-found' }
  /** Server errors, timeouts, dropped connections. `effect` says whether a write may have happened all the same. */
  | { readonly kind: 'unavailable'; readonly effect: 'none' | 'unknown' }
  | { readonly kind: 'kube-api'; readonly status: number | undefined }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'bug' };

export type ErrorKindName = ErrorKind['kind'];

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The wire's own code, for example `AllocationFailed`. */
  readonly code?: string;
  /** Plain facts for the log line; never a secret. */
  readonly context?: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** An unexpected failure, classified where it was met. `message` is one clear sentence. */
export class AutoscalerError extends Error {
  readonly detail: ErrorKind;
  readonly code: string | undefined;
  readonly context: Readonly<Record<string, string | number | boolean | undefined>>;

  constructor(detail: ErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AutoscalerError';
    this.detail = detail;
    this.code = options.code;
    this.context = options.context ?? {};
  }

  get kind(): ErrorKindName {
    return this.detail.kind;
  }
}

/** An input that the user can correct: a setting, a flag, a file. The message says what was wrong, where, and what is accepted. */
export function configError(message: string, options: ErrorOptions = {}): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, message, options);
}

/** What the loop does about an error. */
export type Reaction = 'exit' | 'skip-loop' | 'back-off-group' | 'refresh-and-replan' | 'ignore';

/** The single place that turns an error into what the loop does next. */
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

/** Wraps anything thrown: an AutoscalerError passes through, the rest is a `bug` (or `cancelled` for an abort). */
export function asAutoscalerError(thrown: unknown): AutoscalerError {
  if (thrown instanceof AutoscalerError) return thrown;
  if (thrown instanceof Error && thrown.name === 'AbortError') {
    return new AutoscalerError({ kind: 'cancelled' }, 'The call was cancelled.', { cause: thrown });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AutoscalerError({ kind: 'bug' }, `Unexpected failure: ${message}`, { cause: thrown });
}
