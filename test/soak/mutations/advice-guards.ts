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
];
