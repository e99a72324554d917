/** What a loop is worth telling about the priority rules of the ConfigMap, on that ConfigMap and in the Cluster Autoscaler's words. Pure. */
import type { AutoscalerEvent } from '../../domain/ports/records.ts';
import type { PriorityRulesView } from '../../domain/ports/stored-text.ts';
import type { LoopReport } from '../../domain/loop-report.ts';

/** The name is the Cluster Autoscaler's. */
export const PRIORITY_RULES_NAME = 'cluster-autoscaler-priority-expander';

/** In a stable order. Repeats are the recorder's business. */
export function priorityEvents(
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
