/** The answer for a person. */
import type { Answer } from './question.ts';

/** More rows than these say nothing more; `--json` has them all. */
const MOST_ROWS = 40;

export function tableOf(answer: Answer): string {
  const { scaleUp, scaleDown, explained } = answer;
  const times = new Map(explained.nodes.map(({ node, unneededSince = '', looksAgainAt = '' }) => [node, [unneededSince, looksAgainAt]]));
  const helpless = alike(scaleUp.helpless).flatMap(({ pods, verdict, detail = '', groups }) =>
    groups.length === 0
      ? [[some(pods), verdict, '', detail, '']]
      : groups.map((refusal, at) => [at === 0 ? some(pods) : '', at === 0 ? verdict : '', refusal.group, refusal.detail, refusal.fix]),
  );
  const sections = [
    section(
      'Pools that grow',
      ['POOL', 'FROM', 'TO', 'PODS'],
      scaleUp.increases.map(({ group, from, to, pods }) => [group, `${from}`, `${to}`, some(pods)]),
    ),
    section(
      'Pods that fit on nodes that are there or coming',
      ['POD', 'NODE'],
      scaleUp.fits.map(({ pod, node }) => [pod, node]),
    ),
    section('Pods that stay pending', ['POD', 'WHY', 'POOL', 'DETAIL', 'WHAT WOULD HELP'], helpless),
    section(
      'Pools that do not grow',
      ['POOL', 'REASON', 'DETAIL'],
      scaleUp.skipped.map(({ group, reason, detail }) => [group, reason, detail]),
    ),
    section(
      'Nodes that would go',
      ['NODE', 'POOL', 'HOW', 'PODS TO MOVE'],
      scaleDown.removals.map(({ node, group, kind, pods }) => [node, group, kind, some(pods)]),
    ),
    section(
      'Nodes that stay',
      ['NODE', 'REASON', 'DETAIL', 'COULD GO SINCE', 'LOOKED AT AGAIN'],
      scaleDown.unremovable.map(({ node, reason, detail }) => [node, reason, detail, ...(times.get(node) ?? [])]),
    ),
    section(
      'What they hold back',
      ['REASON', 'BLOCKED BY', 'NODES', 'CORES', 'GIB', 'PER HOUR'],
      explained.totals.map(({ reason, blockedBy = '', nodes, cores, memoryGib, perHour = '' }) => [
        reason,
        blockedBy,
        `${nodes}`,
        `${cores}`,
        `${memoryGib}`,
        `${perHour}`,
      ]),
    ),
    (answer.notes ?? []).map((note) => `Note: ${note}\n`).join(''),
  ].filter((text) => text !== '');
  return sections.length === 0 ? 'Nothing would be done.\n' : sections.join('\n');
}

type Helpless = Answer['scaleUp']['helpless'][number];

/** Pods of which the same is said have one row: there may be thousands. */
function alike(helpless: readonly Helpless[]): readonly (Omit<Helpless, 'pod'> & { readonly pods: readonly string[] })[] {
  const rows = new Map<string, Omit<Helpless, 'pod'> & { readonly pods: string[] }>();
  for (const { pod, ...said } of helpless) {
    const key = JSON.stringify(said);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { ...said, pods: [pod] });
    else row.pods.push(pod);
  }
  return [...rows.values()];
}

function some(pods: readonly string[]): string {
  if (pods.length === 0) return '';
  return pods.length === 1 ? (pods[0] ?? '') : `${pods.length}: ${pods[0] ?? ''} ...`;
}

function section(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const shown = [head, ...rows.slice(0, MOST_ROWS)];
  const widths = head.map((_, column) => Math.max(...shown.map((row) => (row[column] ?? '').length)));
  const lines = shown.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
  const more = rows.length > MOST_ROWS ? [`  ... and ${rows.length - MOST_ROWS} more; --json shows all`] : [];
  return `${title}\n${[...lines, ...more].join('\n')}\n`;
}
