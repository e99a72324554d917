/** Colours of a terminal. Each repeats what a word says: without them nothing is lost. */
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

interface ColourSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent if the output is not a terminal. */
  readonly screen?: object;
}

/** Only on a terminal, unless NO_COLOR is set to anything (https://no-color.org) or the terminal has none. */
export function coloursOf({ env, screen }: ColourSource): Colours {
  const isOff = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return screen === undefined || isOff ? NO_COLOURS : COLOURS;
}
