/** Guards against advice whose command does harm when a person runs it as it is printed. */
import type { GuardTable } from './guard.ts';

export const ADVICE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/explain/changes/printed-commands.property.test.ts',
    quick: true,
    guards: [{ title: 'a name, label or tag in a printed command is a word and nothing that runs', change: 'always' }],
  },
  {
    test: 'test/planning/explain/changes/change-steps.test.ts',
    guards: [
      {
        title: 'a command that replaces all tags has no name in two letter cases',
        row: 'takes the place of a tag',
        change: ['name.toLowerCase()', 'name'],
      },
      {
        title: 'a command of AKS warns of a count that is unknown',
        row: 'warns that AKS may set another size',
        change: ['!target.known) {', '!target.known) return; if (name === undefined) {'],
      },
      {
        title: 'a command of AKS comes before the one that lets the size change',
        row: 'comes before the one that changes the size',
        change: ['return [', 'return [{ where: id, command }, '],
      },
    ],
  },
  {
    test: 'test/tools/init/install-script.test.ts',
    guards: [
      {
        title: 'a pool of fixed size does not become smaller by being tagged',
        row: 'it never becomes smaller by itself',
        change: ['min: count', 'min: Math.min(count, 1)'],
      },
    ],
  },
  {
    test: 'test/tools/plan/report/plan-text.test.ts',
    guards: [
      {
        title: 'text of a cluster cannot command the terminal',
        row: 'a name cannot command the terminal',
        change: ['terminal.out(visibleText(text))', 'terminal.out(text)'],
      },
    ],
  },
  {
    test: 'test/planning/explain/removal-advice/removal-advice.test.ts',
    guards: [
      {
        title: 'advice that loses what is on a node says so before',
        row: 'a step that can lose data or protection',
        change: ['annotationWarning(change, pods)', "''"],
        quick: true,
      },
      {
        title: 'a budget that covers other pods is deleted only if nothing gentler helps',
        row: 'a budget that covers other pods stays',
        change: ['3 : 5.5', '3 : 3'],
      },
      {
        title: 'a budget that only waits for ready pods is not relaxed',
        row: 'is never the budget while it only waits',
        change: ['budget.desiredHealthy >= budget.expectedPods', 'true'],
      },
    ],
  },
];
