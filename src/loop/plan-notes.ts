import type { EventRecorder } from '../ports/event-recorder.ts';
import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';
import { STATUS_NAME } from './scale-up-events.ts';

/**
 * Says what is odd about rules, prices and options of groups (a pattern, a name or tags that match nothing, a size without a
 * price) when it begins to be so. What the cloud shows is an event as well: the pools are somebody else's work.
 */
export function planNotes(events: EventRecorder, log: Log, namespace: string): LoopListener {
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
      ...rulesWithoutGroup.map((rule) => `${rule} selects no pool.`),
    ]);
  };
}

function teller(log: Log, tell: (note: string) => void): (notes: readonly string[]) => void {
  let told: ReadonlySet<string> = new Set();
  return (notes) => {
    for (const note of notes) {
      if (told.has(note)) continue;
      log.warn({ note }, 'something in the configuration deserves a look');
      tell(note);
    }
    told = new Set(notes);
  };
}
