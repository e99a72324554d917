/**
 * Creates the logger. Messages are static, facts go in the object; children carry `loopId`, `nodeGroup`.
 * error: we failed at our job; warn: unexpected but handled; info: the world changed or we chose to change it; debug: why
 * not; trace: the wire. Must not know who logs.
 */
import { pino, type LogFn, type Logger, type LoggerOptions } from 'pino';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import { KeyedFold } from './keyed-fold.ts';
import { defined } from '../lib/defined.ts';

export type Log = Logger;
type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

const WARN = 40;
const INFO = 30;
const TROUBLE_FOLD_MS = 60_000;
const DRY_RUN_FOLD_MS = 3_600_000;

interface LogOptions {
  /** Marks every line. Repeated lines at level info appear once per hour, since nothing is written and plans repeat. */
  readonly dryRun?: boolean;
}

/**
 * Writes JSON lines to the given destination (standard output by default) and censors keys that could hold a secret. With
 * a clock, a repeated warning or error appears once per minute and cause. `repeated` then counts the suppressed lines.
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

function folding(clock: Pick<Clock, 'monotonic'>, foldsInfo: boolean): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> {
  const trouble = new KeyedFold(clock, TROUBLE_FOLD_MS);
  const dryRunLines = new KeyedFold(clock, DRY_RUN_FOLD_MS);
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [first, message, ...rest]: readonly unknown[] = args;
    if (level < (foldsInfo ? INFO : WARN)) return method.apply(this, args);
    const facts = typeof first === 'object' && first !== null ? first : undefined;
    const due = (level < WARN ? dryRunLines : trouble).admitLine(level, String(facts === undefined ? first : message), facts);
    if (due === undefined) return;
    if (due.repeated === 0 || facts === undefined || typeof message !== 'string') return method.apply(this, args);
    method.apply(this, [{ ...facts, ...due }, message, ...rest]);
  };
}

/** The kind and message of an error, with a stack only for bugs. */
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
