/** The result as a table for people. */
import { WEIGHTS, type Finding, type Weight } from './finding.ts';
import type { OperationTimes } from './operation-times.ts';
import type { WireResult } from './wire.ts';

const TITLES: Readonly<Record<Weight, string>> = {
  daemon: 'The daemon misreads it or does not know it',
  read: 'The world differs in what the daemon reads',
  form: 'The world differs elsewhere',
};

export function reportOf(result: WireResult): string {
  const { recordings, documents, findings, argued } = result;
  const notCompared = recordings?.notCompared ?? [];
  const lines = [
    ...(recordings === undefined ? [] : [countsOf(recordings)]),
    ...(documents === undefined
      ? []
      : [`${documents.documents} documents, ${documents.answers} answers of the world and ${documents.requests} requests of the daemon.`]),
    ...WEIGHTS.flatMap((weight) =>
      differencesOf(
        weight,
        findings.filter((each) => each.weight === weight),
      ),
    ),
    ...timesOf(recordings?.operations ?? []),
    ...(notCompared.length === 0 ? [] : ['', `Without an example of the world: ${notCompared.join(', ')}.`]),
    '',
    `${findings.length} differences, and ${argued.length} more that are argued.`,
  ];
  return `${lines.join('\n')}\n`;
}

function countsOf({ files, interactions, skipped, old, judged }: NonNullable<WireResult['recordings']>): string {
  return `${interactions} recorded answers in ${files} files: ${judged} judged, ${skipped} of other calls, ${old} older than asked for.`;
}

function differencesOf(weight: Weight, findings: readonly Finding[]): readonly string[] {
  if (findings.length === 0) return [];
  const rows = [...byDifference(findings).values()].map((alike) => rowOf(alike));
  return ['', `${TITLES[weight]}:`, ...tableOf([['ROUTE', 'ANSWERS', 'DIFFERENCE', 'FOR EXAMPLE'], ...rows])];
}

function timesOf(operations: readonly OperationTimes[]): readonly string[] {
  if (operations.length === 0) return [];
  const rows = operations.map((each) => [
    each.verb,
    String(each.count),
    `${each.medianSeconds} s`,
    `${each.longestSeconds} s`,
    each.headers.join(', '),
    each.words.join(' '),
  ]);
  return ['', 'Operations:', ...tableOf([['WRITE', 'SEEN', 'MEDIAN', 'LONGEST', 'HEADERS', 'WORDS'], ...rows])];
}

function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_title, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map(line);
}

/** What differs alike for many routes is one row. */
function byDifference(findings: readonly Finding[]): ReadonlyMap<string, readonly Finding[]> {
  const alike = new Map<string, Finding[]>();
  for (const each of findings) alike.set(each.what, [...(alike.get(each.what) ?? []), each]);
  return alike;
}

function rowOf(alike: readonly Finding[]): readonly string[] {
  const [first] = alike;
  if (first === undefined) return [];
  const sum = (read: (each: Finding) => number): number => alike.reduce((total, each) => total + read(each), 0);
  const routes = alike.length === 1 ? first.route : `${first.route} and ${alike.length - 1} more`;
  return [routes, `${sum(({ count }) => count)} of ${sum(({ of }) => of)}`, first.what, first.example];
}
