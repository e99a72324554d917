/** The result as a table for people. */
import { WEIGHTS, type Finding, type Weight } from './finding.ts';
import type { WireResult } from './wire.ts';

const TITLES: Readonly<Record<Weight, string>> = {
  daemon: 'The daemon misreads it or does not know it',
  read: 'The world differs in what the daemon reads',
  form: 'The world differs elsewhere',
};

export function reportOf(result: WireResult): string {
  const { files, interactions, skipped, old, judged, findings, argued } = result;
  const lines = [
    `${interactions} recorded answers in ${files} files: ${judged} judged, ${skipped} of other calls, ${old} older than asked for.`,
    ...WEIGHTS.flatMap((weight) =>
      tableOf(
        weight,
        findings.filter((each) => each.weight === weight),
      ),
    ),
    '',
    `${findings.length} differences, and ${argued.length} more that are argued.`,
  ];
  return `${lines.join('\n')}\n`;
}

function tableOf(weight: Weight, findings: readonly Finding[]): readonly string[] {
  if (findings.length === 0) return [];
  const rows = findings.map(({ route, count, of, what, example }) => [route, `${count} of ${of}`, what, example] as const);
  const all = [['ROUTE', 'ANSWERS', 'DIFFERENCE', 'FOR EXAMPLE'] as const, ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return ['', `${TITLES[weight]}:`, ...lines];
}
