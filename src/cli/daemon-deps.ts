/** The parts of a daemon, as the composition root connects them. */
import type { AzureNodeGroups } from '../azure/azure.ts';
import type { Config } from '../config/types/config.ts';
import type { HistoryEntry, HistoryReader } from '../domain/history.ts';
import type { EventRecorder } from '../domain/ports/records.ts';
import type { LastDecision } from './last-decision.ts';
import type { Kubernetes } from '../kubernetes/kubernetes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Autoscaler } from '../loop/autoscaler.ts';
import type { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import type { MemoryStore } from '../loop/memory/memory-store.ts';
import type { TemplateStore } from '../loop/memory/template-store.ts';
import type { NodeAnnotations } from '../observers/events/node-annotations.ts';
import type { StatusPublisher } from '../observers/status/status-publisher.ts';
import type { Policy } from '../domain/policy.ts';
import type { RememberedAdvice } from '../planning/explain/advice/remembered-advice.ts';
import type { Health } from '../telemetry/health.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ConfigMapPauses, ConfigMapPriorityRules } from './connect/config-map-stores.ts';
import type { ConnectedStore } from './connect/shared-texts.ts';
import type { HistoryFiles } from './journal/history-files.ts';
import type { ShadowRecord } from './journal/shadow-record.ts';
import type { Stalls } from './process/stalls.ts';

export interface DaemonDeps {
  readonly config: Config;
  readonly events: EventRecorder;
  /** Applies the settings that may change at run time. */
  readonly reconfigure: (config: Config) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cloud: AzureNodeGroups;
  readonly store: ConnectedStore;
  readonly kubernetes: Kubernetes;
  readonly loop: Autoscaler;
  readonly health: Health;
  /** undefined: no status ConfigMap is written. */
  readonly status: StatusPublisher | undefined;
  /** undefined: nodes get no annotation. */
  readonly annotations: NodeAnnotations | undefined;
  /** undefined: the priority expander is not configured. */
  readonly rules: ConfigMapPriorityRules | undefined;
  readonly pauses: ConfigMapPauses;
  /** The policy in force; a reload may change it. */
  readonly policy: () => Policy;
  readonly templates: TemplateStore;
  readonly memory: MemoryStore;
  /** undefined: not a dry run. */
  readonly withheld: WithheldWrites | undefined;
  /** The last decisions, for people who ask why. */
  readonly decisions: LastDecision;
  /** The last day, for people. */
  readonly history: HistoryReader & { restore(entries: readonly HistoryEntry[]): void };
  /** undefined: the history is not written down. */
  readonly historyFiles: HistoryFiles | undefined;
  /** undefined: not a dry run. */
  readonly shadow: ShadowRecord | undefined;
  /** What helps pending pods, as far as it was simulated. */
  readonly advice: RememberedAdvice;
  readonly stalls: Stalls;
}
