import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';

/** Says what is odd about rules and prices (a pattern that matches nothing, a size without a price) when it begins to be so. */
export function planNotes(log: Log): LoopListener {
  let told: ReadonlySet<string> = new Set();
  return ({ rounds }) => {
    const notes = rounds.at(-1)?.plan.notes;
    // A plan that was not made says nothing of them.
    if (notes === undefined) return;
    for (const { text: note } of notes) if (!told.has(note)) log.warn({ note }, 'something in the configuration deserves a look');
    told = new Set(notes.map(({ text }) => text));
  };
}
