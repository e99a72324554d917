import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';

/**
 * Says what is odd about rules, prices and options of groups (a pattern or a name that matches nothing, a size without a price)
 * when it begins to be so.
 */
export function planNotes(log: Log): LoopListener {
  const [tellOfPlan, tellOfOptions] = [teller(log), teller(log)];
  return ({ observation, rounds }) => {
    // A plan that was not made says nothing of them.
    const notes = rounds.at(-1)?.plan.notes;
    if (notes !== undefined) tellOfPlan(notes.map(({ text }) => text));
    const idle = observation?.cloud.optionsWithoutGroup ?? [];
    if (observation !== undefined) tellOfOptions(idle.map((name) => `nodeGroupOptions: no node group is named ${name}.`));
  };
}

function teller(log: Log): (notes: readonly string[]) => void {
  let told: ReadonlySet<string> = new Set();
  return (notes) => {
    for (const note of notes) if (!told.has(note)) log.warn({ note }, 'something in the configuration deserves a look');
    told = new Set(notes);
  };
}
