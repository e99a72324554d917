/** What the loop uses of the world, and its settings. Must not know any implementation. */
import type { LoopGauges } from '../../domain/loop-report.ts';
import type { Policy } from '../../domain/policy.ts';
import type { CloudNodeGroups } from '../../domain/ports/cloud.ts';
import type { CapacityObjectWriter, NodeTainter, PodEvictor, PodNominator } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader, OwnerReader } from '../../domain/ports/cluster.ts';
import type { DecisionJournal, EventRecorder } from '../../domain/ports/records.ts';
import type { PriceTableReader, PriorityRulesReader } from '../../domain/ports/stored-text.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Turns } from '../../lib/slices.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RememberedAdvice } from '../../planning/explain/advice/remembered-advice.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export interface LoopOptions {
  readonly scanIntervalMs: number;
  readonly batchIdleMs: number;
  readonly batchMaxMs: number;
  /** Whether pending pods and changes in the cloud may start a loop before the scan interval is over. */
  readonly startEarly: boolean;
  /** Maximum number of plans per loop, including the first. */
  readonly maxPlansPerLoop: number;
  /** Namespace of the object that carries events about groups. */
  readonly namespace: string;
}

/** The world as the loop sees it: ports, time, logs and metrics. */
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
  /** The name that this process writes on its deletion taints. Call it only while it leads. */
  readonly deletionOwner: () => string;
  readonly evictor: PodEvictor;
  /** Controllers that it has not read are assumed to exist. */
  readonly owners: OwnerReader;
  readonly events: EventRecorder;
  readonly journal: DecisionJournal;
  readonly nominator: PodNominator;
  readonly capacityObjects: CapacityObjectWriter;
  /** Rules of the priority expander that may change while the loop runs. If it has none, the policy's rules hold. */
  readonly priorities: PriorityRulesReader | undefined;
  /** List prices of VM sizes. If undefined, none are used. */
  readonly prices: PriceTableReader | undefined;
  /** Give other work its turn while a loop runs. */
  readonly turns: Turns;
  /** What helps pods that no group can take. */
  readonly advice: Pick<RememberedAdvice, 'adviseAll'>;
}

/** What a removal uses of the world. */
export interface DrainDeps {
  readonly reader: ClusterReader;
  readonly tainter: NodeTainter;
  /** The name that this process writes on its deletion taints. */
  readonly deletionOwner: () => string;
  readonly evictor: PodEvictor;
  /** Controllers that it has not read are assumed to exist. */
  readonly owners: OwnerReader;
  readonly cloud: CloudNodeGroups;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly policy: Policy;
  /** Called after each removal, so that a loop can start early. */
  readonly onEnd: () => void;
}
