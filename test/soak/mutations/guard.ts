/** How the lists name a guard of the daemon, and what notices its loss. The guard itself is marked in its source: `// guard: <title>`. */
import type { ThemeName } from '../themes.ts';
import type { Change } from './marked-statements.ts';

/** Scan intervals of each run that notices the loss of a guard. */
export const RUN_LOOPS = 24;

/** A run of the soak that passes with the guard and fails without it. */
interface ThemeRun {
  readonly theme: ThemeName;
  readonly seed: number;
}

interface GuardRow {
  /** As the mark in the source says it. */
  readonly title: string;
  /** How the marked statement loses the guard. If absent, the default of the statement applies; see `removeGuard`. */
  readonly change?: Change;
  /** A part of the title of the tests that are run. If absent, all tests of the file are. */
  readonly row?: string;
  readonly run?: ThemeRun;
  /** Also in the gate: the test takes a second or two. */
  readonly quick?: true;
}

/** Guards whose loss the same test file notices. */
export interface GuardTable {
  /** A test file of which at least one test fails. If absent, only the runs of the soak notice. */
  readonly test?: string;
  /** All of them are in the gate. */
  readonly quick?: true;
  /** A title alone is a row without more. */
  readonly guards: readonly (string | GuardRow)[];
}

/** One guard, and one way in which its loss is noticed. A guard may have several. */
export interface Guard extends GuardRow {
  readonly test?: string;
}
