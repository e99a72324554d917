/** The terminal: a table that is drawn over itself where that is possible, and left out until its end where it is not. */
export interface Screen {
  /** Draws the lines in place of those drawn before; in a pipe nothing, because nothing can be drawn over there. */
  draw(lines: readonly string[]): void;
  /** Draws the lines and leaves them. */
  keep(lines: readonly string[]): void;
  /** A line that stays. */
  say(text: string): void;
  readonly width: number;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function createScreen(output: Output): Screen {
  let drawn = 0;
  const erase = (): void => {
    if (drawn > 0) output.write(`\u001B[${drawn}A\u001B[0J`);
    drawn = 0;
  };
  const print = (lines: readonly string[]): void => {
    erase();
    output.write(`${lines.join('\n')}\n`);
  };
  return {
    width: output.columns ?? 120,
    draw: (lines) => {
      if (output.isTTY !== true) return;
      print(lines);
      drawn = lines.length;
    },
    keep: print,
    say: (text) => print([text]),
  };
}
