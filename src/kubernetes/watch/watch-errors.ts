/** Why a watch restarts, and the errors that only watches have. */
import { AutoscalerError } from '../../lib/errors.ts';
import { onAbort } from '../../lib/abort.ts';
import type { StatusJson } from '../api/core-json.ts';
import { retryAfterMs, statusOf } from '../api/errors.ts';

export interface RestartCause {
  readonly label: 'ended' | 'expired' | 'refused' | 'throttled' | 'broken' | 'unavailable' | 'stopped' | 'absent';
  readonly failure: boolean;
  readonly retryAfterMs: number;
}

export const BROKEN = 'BrokenWatch';
const SILENT = 'SilentWatchList';
const CUT = 'CutWatch';

/**
 * A server without the feature refuses the parameter (400, 422). Not 403 and 405: they refuse every watch. Not 429 and 5xx: the server
 * is busy, and a LIST would be more work for it.
 */
export function refusesWatchList(error: AutoscalerError): boolean {
  const status = error.detail.kind === 'kube-api' ? error.detail.status : undefined;
  return status === 400 || status === 422;
}

/** A watch-list went silent before its end: the server is slow, or so old that it ignores the parameter. */
export function isSilent(error: AutoscalerError): boolean {
  return error.code === SILENT;
}

/** The answer began, and did not arrive as a whole. */
export function isCut(error: AutoscalerError): boolean {
  return error.code === CUT || error.code === BROKEN;
}

export function silentError(resource: string, initial: boolean): AutoscalerError {
  return cutError(`The watch of ${resource} was silent for too long and is considered dead.`, initial ? SILENT : undefined);
}

export function cutError(message: string, code = CUT): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { code });
}

/** The Status inside an ERROR event. */
export function errorOf(resource: string, status: StatusJson): AutoscalerError {
  const message = `The watch of ${resource} was closed by the API server: ${status.message ?? status.reason ?? 'no reason given'}.`;
  const context = status.code === undefined ? {} : { status: status.code };
  if (status.code === 410 || status.reason === 'Expired' || status.reason === 'Gone') {
    return new AutoscalerError({ kind: 'kube-api', status: 410 }, message, { context });
  }
  if (status.code === 429)
    return new AutoscalerError({ kind: 'throttled', retryAfterMs: retryAfterMs(undefined, status) ?? 1_000 }, message, { context });
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { context });
}

/** Whether the server said that our resourceVersion is too old to continue from. */
export function isExpired(error: AutoscalerError): boolean {
  return (error.detail.kind === 'kube-api' ? error.detail.status : statusOf(error)) === 410;
}

/** The cause of a restart after which the reflector waits. */
export function restartAfter(error: AutoscalerError): RestartCause {
  const retryAfterMs = error.detail.kind === 'throttled' ? (error.detail.retryAfterMs ?? 0) : 0;
  return { label: labelOf(error), failure: true, retryAfterMs };
}

function labelOf(error: AutoscalerError): RestartCause['label'] {
  if (isExpired(error)) return 'expired';
  if (error.kind === 'auth') return 'refused';
  if (error.kind === 'throttled') return 'throttled';
  return error.code === BROKEN ? 'broken' : 'unavailable';
}

/** Detects a connection that died silently. Uses real time on purpose: a network does not follow an injected clock. */
interface SilenceWatch {
  readonly signal: AbortSignal;
  /** Records that something was heard. */
  readonly heard: () => void;
  readonly stop: () => void;
}

interface SilenceOptions {
  /** Milliseconds. It is called again for each period. */
  readonly limitMs: () => number;
  /** A signal that fires after so many milliseconds. Default: of real time, since a network does not follow an injected clock. */
  readonly timeout?: (ms: number) => AbortSignal;
}

/**
 * Fires its signal after silence of one to two times `limitMs`. Once stopped it holds nothing: a timeout lasts for minutes, and would keep
 * all that the limit can reach, a stopped daemon for example.
 */
export function endWhenSilent({ limitMs, timeout = (ms) => AbortSignal.timeout(ms) }: SilenceOptions): SilenceWatch {
  const controller = new AbortController();
  let heardSince = false;
  let stop = (): void => undefined;
  const arm = (): void => {
    heardSince = false;
    stop = onAbort(timeout(limitMs()), () => {
      if (heardSince) arm();
      else controller.abort();
    });
  };
  arm();
  return {
    signal: controller.signal,
    heard: () => {
      heardSince = true;
    },
    stop: () => stop(),
  };
}
