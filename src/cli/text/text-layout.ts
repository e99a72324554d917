/**
 * Tables, facts and paragraphs for people. Numbers and names are never cut: what does not fit is wrapped, or cut where a column allows it.
 * Must not know commands or their subjects.
 */

/** Of a line, in characters, where the output has no width of its own, such as a pipe. */
const WIDTH = 100;
/** A narrower terminal wraps lines by itself. */
const LEAST_WIDTH = 60;

/** Of a line, in characters. `screen` is absent if the output is a file or a pipe. */
export function widthOf({ screen }: { readonly screen?: { readonly columns: number } }): number {
  return Math.max(LEAST_WIDTH, screen?.columns ?? WIDTH);
}

/** What a column keeps at least, in characters: wrapped text loses nothing and gives way first. */
const LEAST = { wrap: 30, cut: 24, shorten: 20 } as const;
/** Of a shortened name: the part that tells nodes of one pool apart, in characters. */
const KEPT_END = 8;
const GAP = '  ';

/** `shorten` is for names: their end stays, since it tells nodes apart. */
type Flex = keyof typeof LEAST;

export interface Column {
  readonly head: string;
  /** Aligned right. */
  readonly isNumber?: true;
  /** What happens to its text if the table is too wide. If absent, nothing. */
  readonly flex?: Flex;
  /** Colours a padded cell. `row` is its index in the rows. */
  readonly paint?: (padded: string, row: number) => string;
}

export const text = (head: string): Column => ({ head });
export const number = (head: string): Column => ({ head, isNumber: true });

export function paragraph(sentence: string, width = WIDTH): string {
  return wrapped(sentence, width).join('\n');
}

/**
 * The widest columns that may be cut or wrapped give way to `width`; if no column may, the last one is wrapped. Empty columns are left out.
 * A table without rows is empty; else it begins with a blank line.
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width = WIDTH): string {
  if (rows.length === 0) return '';
  const filled = columns.flatMap((column, at) => (rows.some((row) => (row[at] ?? '') !== '') ? [{ ...column, at }] : []));
  const shown = filled.some(({ flex }) => flex !== undefined && flex !== 'shorten')
    ? filled
    : filled.map((column, at) => withWrap(column, at === filled.length - 1));
  const cells = [shown.map(({ head }) => head), ...rows.map((row) => shown.map(({ at }) => row[at] ?? ''))];
  const natural = shown.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const widths = fitted(natural, shown, width - GAP.length * (shown.length - 1));
  return `\n${cells
    .flatMap((row, at) =>
      rowLines(
        row,
        widths,
        shown.map((column) => withPaintOf(column, at - 1)),
      ),
    )
    .join('\n')}`;
}

function withWrap<Given extends Column>(column: Given, isLast: boolean): Given {
  return isLast && column.isNumber !== true && column.flex === undefined ? { ...column, flex: 'wrap' } : column;
}

interface PaintedColumn extends Omit<Column, 'paint'> {
  readonly paint: (padded: string) => string;
}

/** The headings, row -1, have no colour. */
function withPaintOf({ paint = (padded) => padded, ...column }: Column, row: number): PaintedColumn {
  return { ...column, paint: (padded) => (row < 0 ? padded : paint(padded, row)) };
}

/** Takes from the widest wrapped column, then from the widest that is cut, until the table fits or no column can give more. */
function fitted(natural: readonly number[], columns: readonly Column[], room: number): readonly number[] {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; excess--) {
    const giving = widestOf('wrap', widths, columns) ?? widestOf('cut', widths, columns) ?? widestOf('shorten', widths, columns);
    if (giving === undefined) break;
    widths[giving] = (widths[giving] ?? 0) - 1;
  }
  return widths;
}

function widestOf(flex: Flex, widths: readonly number[], columns: readonly Column[]): number | undefined {
  const giving = widths.flatMap((width, at) => (columns[at]?.flex === flex && width > LEAST[flex] ? [at] : []));
  return giving.sort((left, right) => (widths[right] ?? 0) - (widths[left] ?? 0))[0];
}

function rowLines(row: readonly string[], widths: readonly number[], columns: readonly PaintedColumn[]): readonly string[] {
  const lines = row.map((cell, at) => cellLines(cell, widths[at] ?? 0, columns[at]));
  const height = Math.max(...lines.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => {
    const cells = lines.map((texts) => texts[line] ?? '');
    const last = cells.findLastIndex((cell) => cell !== '');
    return cells
      .slice(0, last + 1)
      .map((cell, at) => painted(cell, at === last && columns[at]?.isNumber !== true ? 0 : (widths[at] ?? 0), columns[at]))
      .join(GAP);
  });
}

function cellLines(cell: string, width: number, column: PaintedColumn | undefined): readonly string[] {
  if (column?.flex === 'wrap') return wrapped(cell, width);
  if (column?.flex === 'shorten') return [shortened(cell, width)];
  return column?.flex === 'cut' && cell.length > width ? [`${cell.slice(0, width - 3).trimEnd()}...`] : [cell];
}

/** `aks-general2-...ss00000c`. Of a list of names, the longest one is shortened. */
function shortened(names: string, width: number): string {
  const excess = names.length - width;
  if (excess <= 0) return names;
  const longest = names.split(/[ ,]+/).reduce((best, name) => (name.length > best.length ? name : best), '');
  const start = Math.max(1, longest.length - excess - KEPT_END - 3);
  return names.replace(longest, `${longest.slice(0, start)}...${longest.slice(-KEPT_END)}`);
}

function painted(cell: string, width: number, column: PaintedColumn | undefined): string {
  const padded = column?.isNumber === true ? cell.padStart(width) : cell.padEnd(width);
  return cell === '' || column === undefined ? padded : column.paint(padded);
}

/** Lines of a name and a value; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: string])[], given = WIDTH): string {
  const shown = pairs.filter(([, value]) => value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  const lines = shown.flatMap(([name, value]) => {
    const [first = '', ...more] = wrapped(value, Math.max(30, given - width - 2));
    return [`${name.padEnd(width)}  ${first}`, ...more.map((line) => `${' '.repeat(width + 2)}${line}`)];
  });
  return lines.length === 0 ? '' : `\n${lines.join('\n')}`;
}

function wrapped(sentence: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of sentence.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** `1 204.40`: a space in thousands. */
export function amount(value: number, decimals = 0): string {
  const [whole = '', part] = Math.abs(value).toFixed(decimals).split('.');
  const spaced = whole.replace(/\B(?=(?:\d{3})+$)/g, ' ');
  return `${value < 0 ? '-' : ''}${spaced}${part === undefined ? '' : `.${part}`}`;
}

/** `+1.38`, `-0.46`; `0.00` has no sign. */
export function signed(value: number, decimals = 2): string {
  const shown = amount(value, decimals);
  return Number(value.toFixed(decimals)) > 0 ? `+${shown}` : shown.replace(/^-(?=[0. ]+$)/, '');
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, noun: string): string {
  return `${amount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
