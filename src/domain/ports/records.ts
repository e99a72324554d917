import type { NodeGroupId } from '../ids.ts';
import type { LoopState } from '../loop-state.ts';
import type { Observation } from '../observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../plan.ts';
import type { Policy } from '../policy.ts';

/** One decision with everything it was made from: a scale-up plan, a scale-down plan, or both from the same inputs. */
export interface LoopRecord {
  readonly observation: Observation;
  readonly stateBefore: LoopState;
  readonly scaleUp: readonly ScaleUpPlan[];
  readonly scaleDown: ScaleDownPlan | undefined;
  /** What a replay needs besides. */
  readonly policy?: Policy;
  /** Groups that the loop had tried before this plan. */
  readonly excluded?: readonly NodeGroupId[];
  /** The request whose turn it was, and those that were granted before it in the same loop; absent: it was the pods'. */
  readonly request?: { readonly uid: string; readonly granted: readonly string[] };
  /** Whether the loop had asked for nodes before the scale-down plan. */
  readonly scaleUpPlanned?: boolean | 'unknown';
}

/** Keeps decisions so that any of them can be reproduced. Never throws. */
export interface DecisionJournal {
  record(entry: LoopRecord): void;
}

/** What an event is about. */
export type EventSubject =
  | { readonly kind: 'Pod' | 'CapacityBuffer'; readonly namespace: string; readonly name: string; readonly uid: string }
  | { readonly kind: 'Node'; readonly name: string; readonly uid: string }
  | { readonly kind: 'ConfigMap'; readonly namespace: string; readonly name: string };

export interface AutoscalerEvent {
  readonly subject: EventSubject;
  readonly type: 'Normal' | 'Warning';
  /** A word from the Cluster Autoscaler's set: TriggeredScaleUp, NotTriggerScaleUp, ScaleDown, ScaleDownFailed ... */
  readonly reason: string;
  readonly message: string;
}

/** Records events, folding repeats. Never throws and never delays a decision: a lost event is counted, not fatal. */
export interface EventRecorder {
  record(event: AutoscalerEvent): void;
  /** Waits for what was recorded to be sent, at most until the signal fires. */
  flush(signal: AbortSignal): Promise<void>;
}

/** A value that any notation can hold. */
export type StatusValue = string | number | boolean | readonly StatusValue[] | { readonly [key: string]: StatusValue };

export interface AutoscalerStatus {
  /** Milliseconds since the epoch at which this was true. */
  readonly atMs: number;
  /** In the structure that readers of the Cluster Autoscaler's status know. */
  readonly document: { readonly [key: string]: StatusValue };
}

/** Publishes the autoscaler's state where people and tools look for it. */
export interface StatusWriter {
  /** Replaces what is published. @throws AutoscalerError */
  write(status: AutoscalerStatus, signal: AbortSignal): Promise<void>;
  /** Takes away what is published: nobody is at work. @throws AutoscalerError */
  remove(signal: AbortSignal): Promise<void>;
}
