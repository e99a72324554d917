/** Writes to the terminal: a table that is redrawn in place, or, in a pipe, written once at its end. */
export interface Screen {
  /** Replaces the lines drawn before. Does nothing in a pipe, where lines cannot be replaced. */
  draw(lines: readonly string[]): void;
  /** Draws the lines for good. */
  keep(lines: readonly string[]): void;
  /** Writes a line. */
  writeLine(text: string): void;
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
    writeLine: (text) => print([text]),
  };
}

interface PoolPicture {
  readonly name: string;
  readonly min: number;
  readonly target: number;
  readonly ready: number;
  readonly max: number;
  readonly note: string;
}

/** The state of the world that the table shows. */
export interface Picture {
  readonly seconds: number;
  readonly pools: readonly PoolPicture[];
  readonly pods: { readonly pending: number; readonly bound: number };
  /** The daemon's last decision and its reason. Empty before the first one. */
  readonly decision: string;
}

const COLUMNS = ['POOL', 'MIN', 'TARGET', 'READY', 'MAX', ''] as const;

/** Renders the table. No line is longer than `width` characters. */
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

/** Ready nodes solid, upcoming nodes hollow, free room up to the maximum dotted. */
function bar(pool: PoolPicture): string {
  const ready = Math.min(pool.ready, 20);
  const upcoming = Math.max(0, Math.min(pool.target, 20) - ready);
  return '█'.repeat(ready) + '░'.repeat(upcoming) + '·'.repeat(Math.max(0, Math.min(pool.max, 20) - ready - upcoming));
}
