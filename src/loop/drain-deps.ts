import type { Clock } from '../domain/clock.ts';
import type { Policy } from '../domain/policy.ts';
import type { CloudNodeGroups } from '../ports/cloud-node-groups.ts';
import type { ClusterReader } from '../ports/cluster-reader.ts';
import type { EventRecorder } from '../ports/event-recorder.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { OwnerReader } from '../ports/owner-reader.ts';
import type { PodEvictor } from '../ports/pod-evictor.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

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
