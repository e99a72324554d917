import { createLog, type Log } from '../../src/telemetry/log.ts';

/** A log without output. */
export function silentLog(): Log {
  return createLog('silent');
}
