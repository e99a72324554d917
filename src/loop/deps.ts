import type { Clock } from '../domain/clock.ts';
import type { Policy } from '../domain/policy.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { CapacityObjectWriter } from '../ports/capacity-object-writer.ts';
import type { CloudNodeGroups } from '../ports/cloud-node-groups.ts';
import type { ClusterReader } from '../ports/cluster-reader.ts';
import type { DecisionJournal } from '../ports/decision-journal.ts';
import type { EventRecorder } from '../ports/event-recorder.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { OwnerReader } from '../ports/owner-reader.ts';
import type { PodEvictor } from '../ports/pod-evictor.ts';
import type { PriceTableReader } from '../ports/price-table.ts';
import type { PriorityRulesReader } from '../ports/priority-rules.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface LoopSettings {
  readonly scanIntervalMs: number;
  readonly batchIdleMs: number;
  readonly batchMaxMs: number;
  /** Whether pods and the cloud's news may start a loop before the scan interval is over. */
  readonly startEarly: boolean;
  /** Plans made in one loop at most, the first included. */
  readonly maxPlansPerLoop: number;
  /** Namespace of the object that carries events about groups. */
  readonly namespace: string;
}

/** The world as the loop sees it: ports, time, and where to say things. */
export interface LoopDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
  readonly policy: Policy;
  readonly cloud: CloudNodeGroups;
  readonly cluster: ClusterReader;
  readonly tainter: NodeTainter;
  readonly evictor: PodEvictor;
  /** Absent: controllers that are not watched are trusted to exist. */
  readonly owners?: OwnerReader;
  readonly events: EventRecorder;
  readonly journal: DecisionJournal;
  /** Absent: nothing is said to those who ask for capacity. */
  readonly capacityObjects?: CapacityObjectWriter;
  /** Rules of the priority expander that may change while the loop runs; those of the policy hold where it has none. */
  readonly priorities?: PriorityRulesReader;
  /** List prices of VM sizes. Absent: none are read. */
  readonly prices?: PriceTableReader;
}
