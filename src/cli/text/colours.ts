/** Colours of a terminal. Each repeats what a word says: without them nothing is lost. */
import { configError } from '../../lib/errors.ts';

type Paint = (text: string) => string;

export interface Colours {
  /** The answer. */
  readonly bold: Paint;
  /** A fix that works. */
  readonly green: Paint;
  /** Limits and back-offs. */
  readonly yellow: Paint;
  /** Failed or impossible. */
  readonly red: Paint;
  /** The source. */
  readonly dim: Paint;
}

const plain: Paint = (text) => text;
const sequence =
  (on: number, off: number): Paint =>
  (text) =>
    `\u001B[${on}m${text}\u001B[${off}m`;

const NO_COLOURS: Colours = { bold: plain, green: plain, yellow: plain, red: plain, dim: plain };
const COLOURS: Colours = {
  bold: sequence(1, 22),
  green: sequence(32, 39),
  yellow: sequence(33, 39),
  red: sequence(31, 39),
  dim: sequence(2, 22),
};

/** As other programs accept it: `always` also in a pipe, `auto` on a terminal that has colours and unless NO_COLOR is set. */
export type ColourChoice = 'always' | 'auto' | 'never';
const CHOICES: readonly ColourChoice[] = ['always', 'auto', 'never'];

/** @throws AutoscalerError `config` with one sentence for another word. */
export function colourChoice(given: string | undefined): ColourChoice {
  const choice = CHOICES.find((each) => each === (given ?? 'auto'));
  if (choice === undefined) throw configError(`--color is "${given ?? ''}"; it must be ${CHOICES.join(', ')}.`);
  return choice;
}

interface ColourSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent if the output is not a terminal. */
  readonly screen?: object;
}

/** With `auto` only on a terminal, unless NO_COLOR is set to anything (https://no-color.org) or the terminal has none. */
export function coloursOf({ env, screen }: ColourSource, choice: ColourChoice = 'auto'): Colours {
  if (choice !== 'auto') return choice === 'always' ? COLOURS : NO_COLOURS;
  const isOff = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return screen === undefined || isOff ? NO_COLOURS : COLOURS;
}
