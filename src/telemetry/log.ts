/**
 * The logger's shape and its making. Messages are static, facts go in the object; children carry `loopId`, `nodeGroup`.
 * error: we failed at our job; warn: odd but coped; info: the world changed or we chose to change it; debug: why not;
 * trace: the wire.
 */
import { pino, type LogFn, type Logger, type LoggerOptions } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { asAutoscalerError } from '../domain/errors.ts';
import { Fold } from './fold.ts';

export type Log = Logger;
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

const WARN = 40;

/**
 * JSON lines on the given destination (standard output by default). Keys that could hold a secret are censored. With a
 * clock, a warning or an error that repeats is one line per minute and cause, with `repeated` for those left out.
 */
export function createLog(level: LogLevel | 'silent', destination?: { write(line: string): void }, foldBy?: Pick<Clock, 'monotonic'>): Log {
  const options: LoggerOptions = {
    level,
    base: {},
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: plainError },
    redact: {
      paths: ['*.token', '*.secret', '*.clientSecret', '*.password', '*.authorization', 'headers.authorization'],
      censor: '[redacted]',
    },
    ...(foldBy === undefined ? {} : { hooks: { logMethod: folding(new Fold(foldBy)) } }),
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** For tests and tools that want no output. */
export function silentLog(): Log {
  return createLog('silent');
}

function folding(fold: Fold): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> {
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [first, message, ...rest]: readonly unknown[] = args;
    if (level < WARN) return method.apply(this, args);
    const facts = typeof first === 'object' && first !== null ? first : undefined;
    const due = fold.take(level, String(facts === undefined ? first : message), facts);
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
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.kind === 'bug' ? { stack: where } : {}),
  };
}
