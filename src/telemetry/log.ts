/**
 * The logger's shape and its making. Messages are static, facts go in the object; children carry `loopId`, `nodeGroup`.
 * error: we failed at our job; warn: odd but coped; info: the world changed or we chose to change it; debug: why not;
 * trace: the wire.
 */
import { pino, type Logger } from 'pino';

export type Log = Logger;
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** JSON lines on the given destination (standard output by default). Keys that could hold a secret are censored. */
export function createLog(level: LogLevel | 'silent', destination?: { write(line: string): void }): Log {
  const options = {
    level,
    base: {},
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: ['*.token', '*.secret', '*.clientSecret', '*.password', '*.authorization', 'headers.authorization'],
      censor: '[redacted]',
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** For tests and tools that want no output. */
export function silentLog(): Log {
  return createLog('silent');
}
