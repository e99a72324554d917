/**
 * The logger's shape and its making. Messages are static, facts go in the object; children carry `loopId`, `nodeGroup`.
 * error: we failed at our job; warn: odd but coped; info: the world changed or we chose to change it; debug: why not;
 * trace: the wire.
 */
import { pino, type LogFn, type Logger, type LoggerOptions } from 'pino';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import { Fold } from '../lib/keyed-fold.ts';
import { defined } from '../lib/defined.ts';

export type Log = Logger;
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

const WARN = 40;
const INFO = 30;
const TROUBLE_FOLD_MS = 60_000;
const WISH_FOLD_MS = 3_600_000;

export interface LogOptions {
  /** Every line says so, and one that repeats at level info is one line per hour: the world does not follow, so a wish stays. */
  readonly dryRun?: boolean;
}

/**
 * JSON lines on the given destination (standard output by default). Keys that could hold a secret are censored. With a
 * clock, a warning or an error that repeats is one line per minute and cause, with `repeated` for those left out.
 */
export function createLog(
  level: LogLevel | 'silent',
  destination?: { write(line: string): void },
  foldBy?: Pick<Clock, 'monotonic'>,
  { dryRun = false }: LogOptions = {},
): Log {
  const options: LoggerOptions = {
    level,
    base: dryRun ? { dryRun } : {},
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: plainError },
    redact: {
      paths: ['*.token', '*.secret', '*.clientSecret', '*.password', '*.authorization', 'headers.authorization'],
      censor: '[redacted]',
    },
    ...(foldBy === undefined ? {} : { hooks: { logMethod: folding(foldBy, dryRun) } }),
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** For tests and tools that want no output. */
export function silentLog(): Log {
  return createLog('silent');
}

function folding(clock: Pick<Clock, 'monotonic'>, foldsInfo: boolean): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> {
  const trouble = new Fold(clock, TROUBLE_FOLD_MS);
  const wishes = new Fold(clock, WISH_FOLD_MS);
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [first, message, ...rest]: readonly unknown[] = args;
    if (level < (foldsInfo ? INFO : WARN)) return method.apply(this, args);
    const facts = typeof first === 'object' && first !== null ? first : undefined;
    const due = (level < WARN ? wishes : trouble).take(level, String(facts === undefined ? first : message), facts);
    if (due === undefined) return;
    if (due.repeated === 0 || facts === undefined || typeof message !== 'string') return method.apply(this, args);
    method.apply(this, [{ ...facts, ...due }, message, ...rest]);
  };
}

/** What went wrong, in words; where in the code only when the code is what is wrong. */
function plainError(thrown: unknown): object {
  const error = asAutoscalerError(thrown);
  const where = error.cause instanceof Error ? error.cause.stack : error.stack;
  return {
    kind: error.kind,
    message: error.message,
    ...defined({ code: error.code }),
    ...(error.kind === 'bug' ? { stack: where } : {}),
  };
}
