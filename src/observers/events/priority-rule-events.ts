/** Events about the priority rules of the ConfigMap, on that ConfigMap and in the Cluster Autoscaler's words. */
import type { AutoscalerEvent, EventRecorder } from '../../domain/ports/records.ts';
import type { PriorityRulesReader, PriorityRulesView } from '../../domain/ports/stored-text.ts';
import type { LoopListener, LoopReport } from '../../domain/loop-report.ts';

/** The Cluster Autoscaler's name of the ConfigMap. */
export const PRIORITY_RULES_NAME = 'cluster-autoscaler-priority-expander';

/** Records the events of each loop. Without a reader it records nothing. */
export function priorityRuleEvents(
  events: Pick<EventRecorder, 'record'>,
  priorities: PriorityRulesReader | undefined,
  namespace: string,
): LoopListener {
  return (report) => {
    if (priorities === undefined) return;
    for (const event of describePriorityRuleEvents(report, priorities.current(), namespace)) events.record(event);
  };
}

/** Returns the events in a stable order. The recorder suppresses repetitions. */
export function describePriorityRuleEvents(
  { rounds }: Pick<LoopReport, 'rounds'>,
  { levels, problem }: PriorityRulesView,
  namespace: string,
): readonly AutoscalerEvent[] {
  const warning = (reason: string, message: string): AutoscalerEvent => ({
    subject: { kind: 'ConfigMap', namespace, name: PRIORITY_RULES_NAME },
    type: 'Warning',
    reason,
    message,
  });
  const kept = levels === undefined ? 'there are no earlier valid rules' : 'the last valid rules stay in force';
  const invalid =
    problem === undefined ? [] : [warning('PriorityConfigMapInvalid', `Priority rules are invalid and not used (${kept}): ${problem}`)];
  if (levels === undefined) return invalid;
  const options = rounds.at(-1)?.plan.options ?? [];
  const uncovered = options.filter(({ priority }) => priority === undefined);
  if (options.length === 0 || uncovered.length === 0) return invalid;
  if (uncovered.length === options.length) {
    return [
      ...invalid,
      warning(
        'PriorityConfigMapNoGroupMatched',
        'No priority rule matches any of the node groups that could grow: the next expander chooses',
      ),
    ];
  }
  const unmatched = uncovered.map(({ group }) =>
    warning('PriorityConfigMapNotMatchedGroup', `No priority rule matches node group ${group}: it does not grow while others can`),
  );
  return [...invalid, ...unmatched];
}
