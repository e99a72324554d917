import type { LoopListener } from '../../domain/loop-report.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';

/**
 * Says when plans begin to be cut short for want of time, and when that is over, in the Cluster Autoscaler's words. No
 * loop is given to removals alone, as there: every loop looks at them.
 */
export function planDeadlineEvents(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let isLate = false;
  const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    events.record({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type, reason, message });
  return ({ rounds }) => {
    if (rounds.length === 0) return;
    const wasCut = rounds.some(({ plan }) => plan.cutShortAfter !== undefined);
    if (wasCut && !isLate)
      tell('Warning', 'GracefulDegradationStarted', 'Planning exceeds its time limit: each loop acts on the part that was planned in time');
    if (!wasCut && isLate) tell('Normal', 'GracefulDegradationStopped', 'Planning finishes within its time limit again');
    isLate = wasCut;
  };
}

/**
 * Says what is odd about rules, prices and options of groups (a pattern, a name or tags that match nothing, a size without a
 * price) when it begins to be so. What the cloud shows is an event as well: the pools are somebody else's work.
 */
export function configWarnings(events: EventRecorder, log: Log, namespace: string): LoopListener {
  const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  const warn = (message: string): void => events.record({ subject, type: 'Warning', reason: 'ConfigMatchesNothing', message });
  const tellOfPlan = teller(log, () => undefined);
  const tellOfCloud = teller(log, warn);
  return ({ observation, rounds }) => {
    // A plan that was not made says nothing of them.
    const notes = rounds.at(-1)?.plan.notes;
    if (notes !== undefined) tellOfPlan(notes.map(({ text }) => text));
    if (observation === undefined) return;
    const { optionsWithoutGroup = [], rulesWithoutGroup = [] } = observation.cloud;
    tellOfCloud([
      ...optionsWithoutGroup.map((name) => `nodeGroupOptions: no node group is named ${name}.`),
      ...rulesWithoutGroup.map((rule) => `${rule} matches no pool.`),
    ]);
  };
}

function teller(log: Log, tell: (note: string) => void): (notes: readonly string[]) => void {
  let told: ReadonlySet<string> = new Set();
  return (notes) => {
    for (const note of notes) {
      if (told.has(note)) continue;
      log.warn({ note }, 'Configuration warning');
      tell(note);
    }
    told = new Set(notes);
  };
}
