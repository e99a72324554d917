/**
 * Every guard that stands between a wrong belief and a write. Each is removed in turn by `npm run soak -- --mutations`, and what is named
 * beside it must notice. A change of a guard's text changes it here, too.
 */
import { ADVICE_GUARDS } from './advice-guards.ts';
import { ANSWER_GUARDS } from './answer-guards.ts';
import { AZURE_GUARDS } from './azure-guards.ts';
import { EDGE_GUARDS } from './edge-guards.ts';
import type { Guard, ThemeRun } from './guard.ts';
import { LOOP_GUARDS } from './loop-guards.ts';
import { MEMORY_GUARDS } from './memory-guards.ts';
import { READ_GUARDS } from './read-guards.ts';
import { REMOVAL_GUARDS } from './removal-guards.ts';
import { SHARING_GUARDS } from './sharing-guards.ts';

export const GUARDS: readonly Guard[] = [
  ...ADVICE_GUARDS,
  ...ANSWER_GUARDS,
  ...AZURE_GUARDS,
  ...EDGE_GUARDS,
  ...LOOP_GUARDS,
  ...MEMORY_GUARDS,
  ...READ_GUARDS,
  ...REMOVAL_GUARDS,
  ...SHARING_GUARDS,
];

/** The runs of the soak that notice the loss of a guard. */
export const GUARD_RUNS: readonly (ThemeRun & { readonly guard: string })[] = GUARDS.flatMap(({ guard, run }) =>
  run === undefined ? [] : [{ guard, ...run }],
);
