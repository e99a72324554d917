import { NOTE_KINDS } from '../../domain/plan.ts';
import type { PriorityRulesReader } from '../../domain/ports/stored-text.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { LoopListener } from '../../domain/loop-report.ts';

/** Publishes the number of configuration warnings by kind. The log and events contain their texts. */
export function configFindings(metrics: Metrics['config'], priorities: PriorityRulesReader | undefined): LoopListener {
  return ({ observation, rounds }) => {
    metrics.findings.set({ kind: 'bad-priority-rules' }, priorities?.current().problem === undefined ? 0 : 1);
    if (observation !== undefined) metrics.findings.set({ kind: 'no-node-group' }, observation.cloud.groups.length === 0 ? 1 : 0);
    if (observation !== undefined) {
      const { optionsWithoutGroup = [], rulesWithoutGroup = [] } = observation.cloud;
      metrics.findings.set({ kind: 'options-without-group' }, optionsWithoutGroup.length);
      metrics.findings.set({ kind: 'discovery-without-group' }, rulesWithoutGroup.length);
    }
    const plan = rounds.at(-1)?.plan;
    // Without a plan, the earlier values still hold.
    if (plan === undefined) return;
    const notes = plan.notes ?? [];
    for (const kind of NOTE_KINDS) metrics.findings.set({ kind }, notes.filter((note) => note.kind === kind).length);
  };
}
