/** The interface of a running autoscaler: started, watched and stopped by the command `run`, by tests and by the lab. */
import type { AzureNodeGroups } from '../azure/azure.ts';
import type { Config } from '../config/types/config.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import type { Kubernetes } from '../kubernetes/kubernetes.ts';
import type { AutoscalerError } from '../lib/errors.ts';
import type { ReloadOutcome } from './config-reload.ts';

export interface StartOptions {
  /** false: the daemon starts no loop by itself; the caller uses `runOnce`. Default true. */
  readonly loop?: boolean;
}

export interface Daemon {
  readonly cloud: AzureNodeGroups;
  readonly kubernetes: Kubernetes;
  /** The address of the listener that serves the probes alone. undefined before `start`, and if there is none. */
  readonly probeUrl: string | undefined;
  /** The address of /metrics and /healthz. undefined before `start`. */
  readonly url: string | undefined;
  /**
   * Serves HTTP, waits for leadership, fills the caches and then starts the loop, unless `loop` is false.
   * Resolves when a first loop may run. @throws AutoscalerError that prevents it.
   */
  start(options?: StartOptions): Promise<void>;
  /** Runs one loop now. Waits for a running loop first: there are never two at once. */
  runOnce(trigger?: LoopTriggerCause): Promise<LoopReport>;
  /** Stops cleanly: starts no new work, undoes drains, releases the lease, closes connections. Safe to call twice. */
  stop(): Promise<void>;
  /** Resolves when the daemon has ended: with the error if it ended by itself, with undefined if it was stopped. */
  readonly ended: Promise<AutoscalerError | undefined>;
  /** Applies the settings that may change at run time, from the next loop on. Ignores all other settings. */
  reconfigure(config: Config): void;
  /** Records the outcome of a configuration reload as an event. */
  announce(outcome: ReloadOutcome): void;
  /** Calls the listener after each loop. @returns a function that removes it. */
  onLoop(listener: LoopListener): () => void;
}
