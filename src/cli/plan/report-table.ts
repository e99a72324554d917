/** Renders the report of `plan` as tables for a terminal. Text is aligned left, numbers right; an empty column is left out. */
import { describeSavings } from '../../planning/explain/fix.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import type { PlanReport } from './plan-report.ts';

/** Longer tables are cut: `--json` has all rows. */
const MOST_ROWS = 40;

interface Column {
  readonly head: string;
  /** Aligned right. */
  readonly isNumber?: true;
}

const text = (head: string): Column => ({ head });
const number = (head: string): Column => ({ head, isNumber: true });

export function renderTables(report: PlanReport): string {
  const sections = [...scaleUpSections(report), ...scaleDownSections(report), notesOf(report)].filter((section) => section !== '');
  return sections.length === 0 ? 'Nothing to do.\n' : sections.join('\n');
}

function scaleUpSections({ scaleUp }: PlanReport): readonly string[] {
  return [
    section(
      'Increases',
      [text('POOL'), number('FROM'), number('TO'), number('PODS'), text('FIRST POD')],
      scaleUp.increases.map(({ group, from, to, pods }) => [group, `${from}`, `${to}`, ...countAndFirst(pods)]),
    ),
    section(
      'Pods that fit on existing or upcoming nodes',
      [text('POD'), text('NODE')],
      scaleUp.fits.map(({ pod, node }) => [pod, node]),
    ),
    section(
      'Pods that stay pending',
      [number('PODS'), text('FIRST POD'), text('VERDICT'), text('POOLS'), text('WHY'), text('FIX THAT WORKS')],
      groupEqualRefusals(scaleUp.helpless).flatMap(({ pods, verdict, detail = '', groups, advice }) =>
        groups.length === 0
          ? [[...countAndFirst(pods), verdict, '', detail, '']]
          : cutPools(groupEqualPools(groups), pods[0] ?? '').map(({ pools, why }, at) => [
              ...(at === 0 ? [...countAndFirst(pods), verdict] : ['', '', '']),
              namePools(pools),
              why,
              at === 0 ? (advice?.text ?? `not simulated: explain pod ${pods[0] ?? ''}`) : '',
            ]),
      ),
    ),
    section(
      'Pools without increase',
      [text('POOL'), text('REASON'), text('WHY')],
      scaleUp.skipped.map(({ group, reason, detail }) => [group, reason, detail]),
    ),
  ];
}

function scaleDownSections({ scaleDown, explained }: PlanReport): readonly string[] {
  const times = new Map(explained.nodes.map(({ node, unneededSince = '', looksAgainAt = '' }) => [node, [unneededSince, looksAgainAt]]));
  return [
    section(
      'Nodes to remove',
      [text('NODE'), text('POOL'), text('HOW'), number('PODS TO MOVE'), text('FIRST POD')],
      scaleDown.removals.map(({ node, group, kind, pods }) => [node, group, kind, ...countAndFirst(pods)]),
    ),
    section(
      'Unremovable nodes',
      [text('NODE'), text('REASON'), text('WHY'), text('UNNEEDED SINCE'), text('NEXT CHECK')],
      scaleDown.unremovable.map(({ node, reason, detail }) => [node, reason, detail, ...(times.get(node) ?? [])]),
    ),
    section(
      'Waste by blocker',
      [text('REASON'), text('BLOCKED BY'), number('NODES'), number('CORES'), number('GIB'), number('PER HOUR'), text('FIX THAT WORKS')],
      explained.totals.map(({ reason, blockedBy = '', nodes, cores, memoryGib, perHour, fix }) => [
        reason,
        blockedBy,
        `${nodes}`,
        cores.toFixed(2),
        memoryGib.toFixed(1),
        perHour?.toFixed(2) ?? '',
        fix === undefined ? '' : `${fix.text}: ${describeSavings(fix.proof)}`.replace(/\.$/, ''),
      ]),
    ),
  ];
}

function notesOf({ notes = [] }: PlanReport): string {
  return notes.map((note) => `Note: ${note}\n`).join('');
}

type PendingPod = PlanReport['scaleUp']['helpless'][number];

/** One row for all pods with the same verdict and reasons: there may be thousands. */
function groupEqualRefusals(pending: readonly PendingPod[]): readonly (Omit<PendingPod, 'pod'> & { readonly pods: readonly string[] })[] {
  const rows = new Map<string, Omit<PendingPod, 'pod'> & { readonly pods: string[] }>();
  for (const { pod, ...refusal } of pending) {
    const key = JSON.stringify(refusal);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { ...refusal, pods: [pod] });
    else row.pods.push(pod);
  }
  return [...rows.values()];
}

/** Rows of pools for one class of pods. `explain` has the others. */
const MOST_POOL_ROWS = 4;

function cutPools(rows: ReturnType<typeof groupEqualPools>, pod: string): ReturnType<typeof groupEqualPools> {
  if (rows.length <= MOST_POOL_ROWS) return rows;
  const left = rows.slice(MOST_POOL_ROWS - 1).flatMap(({ pools }) => pools);
  return [...rows.slice(0, MOST_POOL_ROWS - 1), { pools: [`${left.length} others`], why: `explain pod ${pod} names them` }];
}

/** Pools with the same obstacles share a row; those with the fewest obstacles come first. */
function groupEqualPools(groups: PendingPod['groups']): readonly { readonly pools: readonly string[]; readonly why: string }[] {
  const rows = new Map<string, string[]>();
  for (const { group, detail } of groups) {
    const pools = rows.get(detail);
    if (pools === undefined) rows.set(detail, [group]);
    else pools.push(group);
  }
  const obstacles = (why: string): number => why.split('; ').length;
  return [...rows].map(([why, pools]) => ({ why, pools })).sort((left, right) => obstacles(left.why) - obstacles(right.why));
}

function countAndFirst(pods: readonly string[]): readonly [string, string] {
  return [`${pods.length}`, pods[0] ?? ''];
}

function section(title: string, columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const shown = rows.slice(0, MOST_ROWS);
  const filled = columns.flatMap((column, at) => (shown.some((row) => (row[at] ?? '') !== '') ? [{ ...column, at }] : []));
  const cells = [filled.map(({ head }) => head), ...shown.map((row) => filled.map(({ at }) => row[at] ?? ''))];
  const widths = filled.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map((row) => `  ${row.map((cell, at) => padded(cell, widths[at] ?? 0, filled[at])).join('  ')}`.trimEnd());
  const more = rows.length > MOST_ROWS ? [`  ${rows.length - MOST_ROWS} more rows: --json shows all`] : [];
  return `${title}\n${[...lines, ...more].join('\n')}\n`;
}

function padded(cell: string, width: number, column: Column | undefined): string {
  return column?.isNumber === true ? cell.padStart(width) : cell.padEnd(width);
}
