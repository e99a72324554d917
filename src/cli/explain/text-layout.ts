/** Tables, facts and paragraphs of at most 100 characters. Words and names are never cut: a long one gets a line of its own. */

const WIDTH = 100;

export interface Column {
  readonly head: string;
  /** Aligned right. */
  readonly isNumber?: true;
}

export const text = (head: string): Column => ({ head });
export const number = (head: string): Column => ({ head, isNumber: true });

export function paragraph(sentence: string): string {
  return wrapped(sentence, WIDTH).join('\n');
}

/** The last column is wrapped, all others are as wide as their longest cell. A table without rows is empty; else it begins with a blank line. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const filled = columns.flatMap((column, at) => (rows.some((row) => (row[at] ?? '') !== '') ? [{ ...column, at }] : []));
  const cells = [filled.map(({ head }) => head), ...rows.map((row) => filled.map(({ at }) => row[at] ?? ''))];
  const widths = filled.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  return `\n${cells.flatMap((row) => rowLines(row, widths, filled)).join('\n')}`;
}

function rowLines(row: readonly string[], widths: readonly number[], columns: readonly Column[]): readonly string[] {
  const last = row.length - 1;
  const head = row
    .slice(0, last)
    .map((cell, at) => `${columns[at]?.isNumber === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)}  `);
  const indent = head.join('').length;
  const isNumber = columns[last]?.isNumber === true;
  const [first = '', ...more] = isNumber
    ? [(row[last] ?? '').padStart(widths[last] ?? 0)]
    : wrapped(row[last] ?? '', Math.max(30, WIDTH - indent));
  return [`${head.join('')}${first}`.trimEnd(), ...more.map((line) => `${' '.repeat(indent)}${line}`)];
}

/** Lines of a name and a value; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: string])[]): string {
  const shown = pairs.filter(([, value]) => value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  const lines = shown.flatMap(([name, value]) => {
    const [first = '', ...more] = wrapped(value, Math.max(30, WIDTH - width - 2));
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
