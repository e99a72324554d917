import type { LoopGauges } from '../../domain/loop-report.ts';
import type { Policy } from '../../domain/policy.ts';
import type { CloudNodeGroups } from '../../domain/ports/cloud.ts';
import type { CapacityObjectWriter, NodeTainter, PodEvictor } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader, OwnerReader } from '../../domain/ports/cluster.ts';
import type { DecisionJournal, EventRecorder } from '../../domain/ports/records.ts';
import type { PriceTableReader, PriorityRulesReader } from '../../domain/ports/stored-text.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

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
  readonly gauges: LoopGauges;
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

/** What a removal needs of the world. */
export interface DrainDeps {
  readonly reader: ClusterReader;
  readonly tainter: NodeTainter;
  readonly evictor: PodEvictor;
  /** Absent: controllers that are not watched are trusted to exist. */
  readonly owners?: OwnerReader;
  readonly cloud: CloudNodeGroups;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly policy: Policy;
  /** Called whenever a removal has ended, so that a loop can be started early. */
  readonly onEnd?: () => void;
}
