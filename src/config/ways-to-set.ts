import { FLAGS } from './sources/flag-table.ts';
import { VARIABLES } from './sources/environment.ts';

/** ` (set it by ...)`: the flags and variables that set a key, for the sentence that says it is missing. */
export function waysToSet(path: readonly string[]): string {
  const key = path.join('.');
  const flags = FLAGS.filter((flag) => flag.path === key).map((flag) => `--${flag.name}`);
  const variables = VARIABLES.filter((variable) => variable.path === key).map((variable) => variable.name);
  const ways = [...flags, ...variables];
  return ways.length === 0 ? '' : ` (set it by ${ways.join(', ')} or in a file)`;
}
