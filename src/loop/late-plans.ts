import type { EventRecorder } from '../ports/event-recorder.ts';
import type { LoopListener } from './report.ts';
import { STATUS_NAME } from './scale-up-events.ts';

/**
 * Says when plans begin to be cut short for want of time, and when that is over, in the Cluster Autoscaler's words. No
 * loop is given to removals alone, as there: every loop looks at them.
 */
export function latePlans(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let isLate = false;
  const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    events.record({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type, reason, message });
  return ({ rounds }) => {
    if (rounds.length === 0) return;
    const wasCut = rounds.some(({ plan }) => plan.cutShortAfter !== undefined);
    if (wasCut && !isLate) tell('Warning', 'GracefulDegradationStarted', 'Plans take too long: each loop does what it found in time');
    if (!wasCut && isLate) tell('Normal', 'GracefulDegradationStopped', 'Plans are made in time again');
    isLate = wasCut;
  };
}
