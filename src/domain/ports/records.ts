import type { InstanceKey, NodeGroupId } from '../ids.ts';
import type { LoopState } from '../loop-state.ts';
import type { Observation } from '../observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../plan.ts';
import type { Policy } from '../policy.ts';

/** One decision with all of its inputs: a scale-up plan, a scale-down plan, or both from the same inputs. */
export interface LoopRecord {
  readonly observation: Observation;
  readonly stateBefore: LoopState;
  readonly scaleUp: readonly ScaleUpPlan[];
  readonly scaleDown: ScaleDownPlan | undefined;
  readonly policy: Policy;
  /** Groups that the loop had tried before this plan. */
  readonly excluded: readonly NodeGroupId[];
  /** The ProvisioningRequest that was served, and those granted before it in the same loop. undefined: the plan was for pods. */
  readonly request: { readonly uid: string; readonly granted: readonly string[] } | undefined;
  /** Whether the loop had requested nodes before the scale-down plan. */
  readonly scaleUpPlanned: boolean | 'unknown';
  /** Groups whose maximum keeps pods pending, each with one of the pods, by the scale-up plan. */
  readonly fullGroups: ReadonlyMap<NodeGroupId, string>;
  /** Instances on their way that the scale-up of the loop did not need. */
  readonly cancellable: ReadonlySet<InstanceKey>;
}

/** The first plan of a loop, for pods. */
export const NOTHING_DECIDED = {
  excluded: [],
  request: undefined,
  scaleUpPlanned: false,
  fullGroups: new Map<NodeGroupId, string>(),
  cancellable: new Set<InstanceKey>(),
} satisfies Partial<LoopRecord>;

/** Records decisions so that each can be reproduced. Never throws. */
export interface DecisionJournal {
  record(entry: LoopRecord): void;
}

/** The object of an event. */
export type EventSubject =
  | {
      readonly kind: 'Pod' | 'PodGroup' | 'Workload' | 'CapacityBuffer' | 'ProvisioningRequest' | 'ReplicaSet' | 'StatefulSet' | 'Job';
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
    }
  | { readonly kind: 'Node'; readonly name: string; readonly uid: string }
  | { readonly kind: 'ConfigMap'; readonly namespace: string; readonly name: string };

export interface AutoscalerEvent {
  readonly subject: EventSubject;
  readonly type: 'Normal' | 'Warning';
  /** One of the Cluster Autoscaler's event reasons: TriggeredScaleUp, NotTriggerScaleUp, ScaleDown, ScaleDownFailed ... */
  readonly reason: string;
  readonly message: string;
  /** Of an event that each loop would repeat: what it says without the numbers that change all the time. If absent, each is recorded. */
  readonly verdict?: EventVerdict;
}

/** `fix`: absent if none is known to work, or if nothing was simulated. */
export interface EventVerdict {
  readonly reasons: string;
  readonly fix?: string | undefined;
}

/** Records events and merges repeats. Never throws and never delays a decision: a lost event is counted, not fatal. */
export interface EventRecorder {
  record(event: AutoscalerEvent): void;
  /** Waits until the recorded events are sent, or the signal fires. */
  flush(signal: AbortSignal): Promise<void>;
}

/** A value that any serialisation supports. */
export type StatusValue = string | number | boolean | readonly StatusValue[] | { readonly [key: string]: StatusValue };

export interface AutoscalerStatus {
  /** When this was true, milliseconds since the epoch. */
  readonly atMs: number;
  /** With the structure of the Cluster Autoscaler's status. */
  readonly document: { readonly [key: string]: StatusValue };
}

/** Publishes the autoscaler's status for people and tools. */
export interface StatusWriter {
  /** Replaces the published status. @throws AutoscalerError */
  write(status: AutoscalerStatus, signal: AbortSignal): Promise<void>;
  /** Removes the published status, since no process is active. @throws AutoscalerError */
  remove(signal: AbortSignal): Promise<void>;
}
