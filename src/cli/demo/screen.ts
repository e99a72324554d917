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

// What the demo shows while it runs: one picture of the world, and its rendering as a table. Pure.

export interface PoolPicture {
  readonly name: string;
  readonly min: number;
  readonly target: number;
  readonly ready: number;
  readonly max: number;
  readonly note: string;
}

export interface Picture {
  readonly seconds: number;
  readonly pools: readonly PoolPicture[];
  readonly pods: { readonly pending: number; readonly bound: number };
  /** What the daemon decided last, and why; empty before the first decision. */
  readonly decision: string;
}

const COLUMNS = ['pool', 'min', 'target', 'ready', 'max', ''] as const;

/** The picture as lines of at most `width` characters. */
export function renderPicture(picture: Picture, width: number): readonly string[] {
  const rows = picture.pools.map((pool) => [
    pool.name,
    String(pool.min),
    String(pool.target),
    String(pool.ready),
    String(pool.max),
    `${bar(pool)} ${pool.note}`.trimEnd(),
  ]);
  const widths = COLUMNS.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 || column === cells.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [
    line(COLUMNS),
    ...rows.map(line),
    `pods: ${picture.pods.pending} pending, ${picture.pods.bound} bound, after ${picture.seconds.toFixed(0)} s`,
    `last decision: ${picture.decision === '' ? 'none yet' : picture.decision}`,
  ]
    .map((text) => `   ${text}`)
    .map((text) => (text.length > width ? `${text.slice(0, width - 1)}…` : text));
}

/** Ready nodes solid, nodes on their way hollow, room to the maximum dotted. */
function bar(pool: PoolPicture): string {
  const ready = Math.min(pool.ready, 20);
  const coming = Math.max(0, Math.min(pool.target, 20) - ready);
  return '█'.repeat(ready) + '░'.repeat(coming) + '·'.repeat(Math.max(0, Math.min(pool.max, 20) - ready - coming));
}
