/**
 * Others may ask for time between the drain of a node and the deletion of its machine (to detach a disk, to copy a log) by
 * an annotation of the node. Read from the API server each time: an annotation set during the drain counts, and one
 * taken off ends the wait.
 */
import type { Clock } from '../domain/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { FreshNode } from './recheck.ts';

const POLL_MS = 5_000;

export interface DelayTools {
  /** Reads the node past every cache; undefined: it is gone. */
  readonly read: () => Promise<FreshNode | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 or undefined: nobody is waited for. */
  readonly timeoutMs: number | undefined;
}

/**
 * The node as last read, once nobody asks for a delay any more or the time is up: then the deletion goes on, as the Cluster
 * Autoscaler has it. Throws as `read` and the clock do.
 */
export async function waitForDelays(tools: DelayTools, signal: AbortSignal): Promise<FreshNode | undefined> {
  const { clock, read } = tools;
  const deadline = clock.monotonic() + (tools.timeoutMs ?? 0);
  for (;;) {
    const fresh = await read();
    const asking = fresh?.node.delayDeletion ?? [];
    if (fresh === undefined || asking.length === 0) return fresh;
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) {
      tools.log.warn({ node: fresh.node.name, asking: asking.join(', ') }, 'A node is deleted although somebody asked for a delay.');
      return fresh;
    }
    await clock.sleep(Math.min(POLL_MS, leftMs), signal);
  }
}
