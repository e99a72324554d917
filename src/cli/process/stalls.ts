/**
 * Stalls of the event loop, as a metric. The runtime measures them with a timer, and each of its ticks wakes the process: at 10 ms they
 * cost more CPU time than all else that the daemon does in a cluster at rest. Must not know what stalls.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 250;
const NANOSECONDS_PER_MS = 1e6;

/** What the runtime measures: the times between two ticks, nanoseconds. */
interface TickTimes {
  readonly max: number;
  enable(): boolean;
  disable(): boolean;
  reset(): void;
}

export interface Stalls {
  start(): void;
  stop(): void;
  /** The longest stall since the last call, seconds. A stall may have lasted a quarter of a second longer. */
  takeLongestSeconds(): number;
}

export function stallsOf(ticks: TickTimes = monitorEventLoopDelay({ resolution: RESOLUTION_MS })): Stalls {
  return {
    start: () => void ticks.enable(),
    stop: () => void ticks.disable(),
    takeLongestSeconds: () => {
      const longestMs = Math.max(0, ticks.max / NANOSECONDS_PER_MS - RESOLUTION_MS);
      ticks.reset();
      return longestMs / 1000;
    },
  };
}
