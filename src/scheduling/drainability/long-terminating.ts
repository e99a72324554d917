import type { Pod } from '../../domain/pod.ts';
import type { DrainRule } from './drain-rule.ts';

/** How long past its grace a pod may take to go before it is held to be stuck. The Cluster Autoscaler's figure. */
const SLACK_MS = 30_000;

/** A pod that should have ended long ago no longer counts: its kubelet is likely gone. */
export const longTerminating: DrainRule = (pod, { nowMs }) => (isLongTerminating(pod, nowMs) ? { kind: 'skip' } : undefined);

/** Grace and slack come on top of the object's deletion time, as the Cluster Autoscaler counts. */
export function isLongTerminating(pod: Pod, nowMs: number): boolean {
  return pod.deletionAtMs !== undefined && pod.deletionAtMs + pod.terminationGraceMs + SLACK_MS < nowMs;
}
