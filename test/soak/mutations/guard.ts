/** The form of a guard of the daemon, and of what notices its loss. */
import type { ThemeName } from '../themes.ts';

/** A run of the soak that passes with the guard and fails without it. */
export interface ThemeRun {
  readonly theme: ThemeName;
  readonly seed: number;
  /** Scan intervals. */
  readonly loops: number;
}

export interface Guard {
  /** What is lost, in plain words. */
  readonly guard: string;
  /** From the root of the repository. */
  readonly file: string;
  /** The text of the guard; it occurs once in the file. */
  readonly text: string;
  /** Takes the place of the text. The file must still be valid JavaScript. */
  readonly instead: string;
  /** A test file of which at least one test fails. */
  readonly test?: string;
  /** A part of the title of the tests in that file that are run. If absent, all are. */
  readonly row?: string;
  readonly run?: ThemeRun;
  /** Also in the gate: the test takes a second or two. */
  readonly quick?: true;
}
