/** What the composition root returns: one daemon, ready to be started, embeddable in tests on a clock of their own. */
import type { Kubernetes } from '../adapters/kubernetes/kubernetes.ts';
import type { AzureNodeGroups } from '../adapters/azure/azure-node-groups.ts';
import type { Config } from '../config/config.ts';
import type { ConfigNews } from './config-reload.ts';
import type { AutoscalerError } from '../domain/errors.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../loop/report.ts';

export interface DaemonStart {
  /** false: nothing runs by itself; the caller says `runOnce`. Default true. */
  readonly loop?: boolean;
}

export interface Daemon {
  readonly cloud: AzureNodeGroups;
  readonly kubernetes: Kubernetes;
  /** Where /metrics and /healthz answer; undefined before `start`. */
  readonly url: string | undefined;
  /**
   * Serves HTTP, waits for leadership, fills the caches, then (unless told otherwise) begins to loop. Resolves when a
   * first loop may run. @throws AutoscalerError that prevents it.
   */
  start(options?: DaemonStart): Promise<void>;
  /** One loop now; waits for one that is under way. Never two at once. */
  runOnce(trigger?: LoopTriggerCause): Promise<LoopReport>;
  /** Ends cleanly: no new work, drains undone, lease given up, connections closed. May be called twice. */
  stop(): Promise<void>;
  /** Resolves when the daemon stopped by itself (with why) or was stopped (undefined). */
  readonly ended: Promise<AutoscalerError | undefined>;
  /** From the next loop on: what may change at run time is taken from this configuration, and nothing else. */
  reconfigure(config: Config): void;
  /** Tells the cluster what became of a changed configuration. */
  announce(news: ConfigNews): void;
  /** Called after each loop. Returns the way to stop. */
  onLoop(listener: LoopListener): () => void;
}
