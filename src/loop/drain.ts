import type { Clock } from '../domain/clock.ts';
import { AutoscalerError } from '../domain/errors.ts';
import type { NodeName } from '../domain/ids.ts';
import type { RemovalOutcome } from '../domain/outcome.ts';
import type { InstanceRemoval, Removal } from '../domain/plan.ts';
import type { Policy } from '../domain/policy.ts';
import type { CloudNodeGroups } from '../ports/cloud-node-groups.ts';
import type { ClusterReader } from '../ports/cluster-reader.ts';
import type { EventRecorder } from '../ports/event-recorder.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { PodEvictor } from '../ports/pod-evictor.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface DrainDeps {
  readonly reader: ClusterReader;
  readonly tainter: NodeTainter;
  readonly evictor: PodEvictor;
  readonly cloud: CloudNodeGroups;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly policy: Policy;
  /** Called whenever a removal has ended, so that a loop can be started early. */
  readonly onEnd?: () => void;
}

/** Owns the removals that are under way. A loop starts them and never waits for them. */
export class DrainRunner {
  readonly #deps: DrainDeps;

  constructor(deps: DrainDeps) {
    this.#deps = deps;
  }

  /** Begins one removal in the background. */
  start(_removal: Removal): void {
    throw this.#missing();
  }
  /** Begins the deletion of instances that are no nodes. */
  removeInstances(_removals: readonly InstanceRemoval[]): void {
    throw this.#missing();
  }
  /** Nodes being worked on now. */
  inFlight(): ReadonlySet<NodeName> {
    throw this.#missing();
  }
  /** What happened since the last call, in order; for reduceRemovals. */
  collect(): readonly RemovalOutcome[] {
    throw this.#missing();
  }
  /** Takes nothing new, undoes what can be undone, waits for deletions already asked for; at most until the signal fires. */
  stop(_signal: AbortSignal): Promise<void> {
    throw this.#missing();
  }
  #missing(): AutoscalerError {
    return new AutoscalerError({ kind: 'bug' }, `Draining has not landed yet (cordon: ${this.#deps.policy.drain.cordon}).`);
  }
}
