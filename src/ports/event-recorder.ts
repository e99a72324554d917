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
