/** The terminal: a table that is drawn over itself where that is possible, and plain lines where it is not. */
export interface Screen {
  /** Draws the lines in place of those drawn before. */
  draw(lines: readonly string[]): void;
  /** A line that stays. */
  say(text: string): void;
  readonly width: number;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** In a pipe a picture is printed only when it changed apart from its clock. */
export function createScreen(output: Output): Screen {
  const width = output.columns ?? 120;
  let drawn = 0;
  let last = '';
  const erase = (): void => {
    if (drawn > 0) output.write(`\u001B[${drawn}A\u001B[0J`);
    drawn = 0;
  };
  return {
    width,
    draw(lines) {
      if (output.isTTY === true) {
        erase();
        output.write(`${lines.join('\n')}\n`);
        drawn = lines.length;
        return;
      }
      const content = lines.slice(1).join('\n');
      if (content !== last) output.write(`${lines.join('\n')}\n\n`);
      last = content;
    },
    say(text) {
      erase();
      output.write(`${text}\n`);
    },
  };
}
