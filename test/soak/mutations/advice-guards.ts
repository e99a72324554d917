/** Guards against advice whose command does harm when a person runs it as it is printed. */
import type { Guard } from './guard.ts';

export const ADVICE_GUARDS: readonly Guard[] = [
  {
    guard: 'a name, label or tag in a printed command is a word and nothing that runs',
    file: 'src/lib/shown-text.ts',
    text: 'if (PLAIN.test(text)) return text;',
    instead: 'if (PLAIN !== undefined) return text;',
    test: 'test/planning/explain/printed-commands.property.test.ts',
    quick: true,
  },
  {
    guard: 'a command that replaces all tags has no name in two letter cases',
    file: 'src/domain/node-group.ts',
    text: '|| !names.has(name.toLowerCase())',
    instead: '|| !names.has(name)',
    test: 'test/planning/explain/fix-steps.test.ts',
    row: 'takes the place of a tag',
  },
  {
    guard: 'a pool of fixed size does not become smaller by being tagged',
    file: 'src/cli/init/installation.ts',
    text: 'limits ?? { min: count,',
    instead: 'limits ?? { min: Math.min(count, 1),',
    test: 'test/cli/init/install-script.test.ts',
    row: 'it never becomes smaller by itself',
  },
  {
    guard: 'advice that loses what is on a node says so before',
    file: 'src/planning/explain/removal-steps.ts',
    text: 'const warning = annotationWarning(change, pods);',
    instead: "const warning = '';",
    test: 'test/planning/explain/removal-advice/removal-advice.test.ts',
    row: 'a step that can lose data or protection',
    quick: true,
  },
  {
    guard: 'a budget that covers other pods is deleted only if nothing gentler helps',
    file: 'src/planning/explain/removal-advice/removal-remedies.ts',
    text: '(budget.covers.others === 0 ? 3 : 5.5)',
    instead: '3',
    test: 'test/planning/explain/removal-advice/removal-advice.test.ts',
    row: 'a budget that covers other pods stays',
  },
  {
    guard: 'a budget that only waits for ready pods is not relaxed',
    file: 'src/planning/explain/removal-advice/removal-remedies.ts',
    text: 'const isTooStrict = budget.desiredHealthy >= budget.expectedPods;',
    instead: 'const isTooStrict = true;',
    test: 'test/planning/explain/removal-advice/removal-advice.test.ts',
    row: 'is never the budget while it only waits',
  },
  {
    guard: 'a command of AKS warns of a count that is unknown',
    file: 'src/planning/explain/fix-steps.ts',
    text: 'if (count === undefined || !target.known) {',
    instead: 'if (count === undefined || !target.known) return;\n  if (name === undefined) {',
    test: 'test/planning/explain/fix-steps.test.ts',
    row: 'warns that AKS may set another size',
  },
];
