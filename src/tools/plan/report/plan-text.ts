/** Renders the report of `plan` for a terminal: the answer, what it assumes, then tables that fit on a screen. `--json` has every row. */
import type { Colours } from '../../../cli/text/colours.ts';
import { amount, number, paragraph, signed, table, text, type Column } from '../../../cli/text/text-layout.ts';
import { compareText } from '../../../lib/comparison.ts';
import { describeSavings } from '../../../planning/explain/advice/fix.ts';
import { describeRemovalCause } from '../../../planning/explain/unremovable-nodes.ts';
import { describeMissing } from './missing-kinds.ts';
import { MEASURES, type OptionReport } from './option-scores.ts';
import { increaseRows, ownerCounts, pendingRows, placeRows, poolRows, type PendingRow } from './plan-rows.ts';
import type { PlanReport } from './plan-report.ts';
import { poolNames } from './pool-names.ts';

export interface TextOptions {
  /** Of a line, in characters. */
  readonly width: number;
  /** Every row and name, whatever the width. */
  readonly all: boolean;
  readonly colours: Colours;
}

export function renderPlan(report: PlanReport, options: TextOptions): string {
  const { colours, width } = options;
  const head = paragraph(report.summary.text, width);
  const parts = [
    head.split('\n').map(colours.bold).join('\n'),
    paragraph([describeMoment(report), ...(report.lacks ?? []).map(describeMissing)].join(' '), width),
    increaseTable(report, options),
    placeTable(report, options),
    headroomTable(report, options),
    stoppedTable(report, options),
    healthTable(report, options),
    resizeTable(report, options),
    pendingTable(report, options),
    poolTable(report, options),
    scheduleTable(report, options),
    removalTable(report, options),
    unremovableTable(report, options),
    repackingLines(report, options),
    warningLines(report, options),
    noteLines(report, options),
  ];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function describeMoment({ asOf: { time, source } }: PlanReport): string {
  if (time === undefined) return `As of an unknown time: ${source} has none.`;
  return `As of ${time.slice(0, 19).replace('T', ' ')} UTC, ${source}.`;
}

/** Rows that a screen has room for, per table. */
const MOST = { increases: 8, places: 4, pending: 8, pools: 6, removals: 8, unremovable: 5, frozen: 2, notes: 3, blockers: 2 } as const;

type Rows = readonly (readonly string[])[];

interface TableInput {
  readonly columns: readonly Column[];
  readonly rows: Rows;
  /** The cells of the row for what is cut. */
  readonly others: (hidden: Rows) => readonly string[];
  readonly most: number;
}

function cutTable({ columns, rows, others, most }: TableInput, { width, all }: TextOptions): string {
  if (all || rows.length <= most) return table(columns, rows, all ? Number.POSITIVE_INFINITY : width);
  const hidden = rows.slice(most - 1);
  return table(columns, [...rows.slice(0, most - 1), others(hidden)], width);
}

const sumOf = (rows: Rows, column: number): string =>
  amount(rows.reduce((sum, row) => sum + Number((row[column] ?? '0').replaceAll(' ', '')), 0));
const MORE = 'names: --all';

/** Every step, whatever their number: people asked for them. */
function scheduleTable({ schedule, scheduleFindings = [] }: PlanReport, { width, all }: TextOptions): string {
  if (schedule === undefined) return '';
  const rows = schedule.flatMap(({ group, steps }) =>
    steps.map(({ local, min, max, text: says }, index) => [
      index === 0 ? group : '',
      index === 0 ? 'now' : local,
      amount(min),
      amount(max),
      says,
    ]),
  );
  if (rows.length === 0) return 'No rule of schedules is about a pool.';
  const columns = [text('SCHEDULE'), text('FROM'), number('MIN'), number('MAX'), { ...text('BY'), flex: 'wrap' as const }];
  return [table(columns, rows, all ? Number.POSITIVE_INFINITY : width), ...scheduleFindings].join('\n');
}

function increaseTable(report: PlanReport, options: TextOptions): string {
  const { scaleUp, summary } = report;
  const scores = new Map(scaleUp.options.map((option) => [option.group, option]));
  const owners = options.all ? Number.POSITIVE_INFINITY : 2;
  const rows = increaseRows(report).map(({ pools, from, to, pods, headroom, perHour }) => [
    poolNames(pools, options.all ? pools.length : 2),
    `${amount(from)} -> ${amount(to)}`,
    amount(pods.length),
    scoreText(pools.flatMap((pool) => scores.get(pool) ?? [])),
    perHour === undefined ? '' : signed(perHour),
    askers(
      pods.map((pod) => report.owners[pod] ?? pod),
      headroom,
      owners,
    ),
  ]);
  const columns = [
    text('INCREASE'),
    number('NODES'),
    number('PODS'),
    number('SCORE'),
    number(perHourHead(summary)),
    { ...text('FOR'), flex: 'cut' as const },
  ];
  const others = (hidden: Rows): readonly string[] => [`${hidden.length} others`, '', sumOf(hidden, 2), '', '', MORE];
  return [cutTable({ columns, rows, others, most: MOST.increases }, options), choiceLine(report, options)]
    .filter((part) => part !== '')
    .join('\n');
}

/** Whose pods the nodes are for, and whose headroom. */
function askers(owners: readonly string[], headroom: readonly string[], most: number): string {
  const named = owners.length === 0 ? [] : [ownerCounts(owners, most)];
  return [...named, ...headroom].join(', ') || 'its minimum';
}

function perHourHead({ currency }: PlanReport['summary']): string {
  return currency === undefined ? 'PER HOUR' : `${currency}/H`;
}

function scoreText(options: readonly OptionReport[]): string {
  const texts = new Set(options.map(({ score }) => (score === undefined ? '' : formatScore(score))));
  return texts.size === 1 ? ([...texts][0] ?? '') : '';
}

function formatScore(score: number): string {
  return Number.isInteger(score) && score >= 2 ? String(score) : score.toFixed(2);
}

/** How many options that lost are named. */
const MOST_LOST = 4;

function choiceLine({ scaleUp: { options, expander } }: PlanReport, { width, all }: TextOptions): string {
  const lost = options.filter(({ lostBy }) => lostBy !== undefined);
  const name = Object.keys(MEASURES).find((each): each is keyof typeof MEASURES => each === expander);
  if (lost.length === 0 || name === undefined) return '';
  const shown = [...lost].sort((left, right) => (left.score ?? 0) - (right.score ?? 0)).slice(0, all ? lost.length : MOST_LOST);
  const texts = shown.map(
    ({ group, score, lostBy }) =>
      `${group}${score === undefined ? '' : ` ${formatScore(score)}`}${lostBy === name ? '' : ` (${lostBy === 'name' ? 'equal' : (lostBy ?? '')})`}`,
  );
  const more = lost.length > shown.length ? [`${lost.length - shown.length} others`] : [];
  const line = `Chosen by ${name}; its score is ${MEASURES[name]}. Lost: ${[...texts, ...more].join(', ')}.`;
  return paragraph(line, width);
}

function placeTable(report: PlanReport, options: TextOptions): string {
  const rows = placeRows(report.scaleUp).map(({ place, pods }) => [
    place,
    amount(pods.length),
    ownerCounts(
      pods.map((pod) => report.owners[pod] ?? pod),
      options.all ? Number.POSITIVE_INFINITY : 2,
    ),
  ]);
  const columns = [text('FITS ON'), number('PODS'), { ...text('FOR'), flex: 'cut' as const }];
  const others = (hidden: Rows): readonly string[] => [`${hidden.length} others`, sumOf(hidden, 1), MORE];
  return cutTable({ columns, rows, others, most: MOST.places }, options);
}

function headroomTable({ headroom = [] }: PlanReport, options: TextOptions): string {
  const rows = headroom.map(({ group, sentence }) => [group ?? 'the cluster', sentence]);
  const columns: readonly Column[] = [text('HEADROOM OF'), { ...text('KEPT FREE'), flex: 'wrap' }];
  return cutTable({ columns, rows, others: (hidden) => [`${hidden.length} others`, MORE], most: MOST.places }, options);
}

function stoppedTable({ stopped = [] }: PlanReport, options: TextOptions): string {
  const rows = stopped.map(({ group, sentence }) => [group, sentence]);
  const columns: readonly Column[] = [text('REMOVED NODES OF'), { ...text('STOPPED'), flex: 'wrap' }];
  return cutTable({ columns, rows, others: (hidden) => [`${hidden.length} others`, MORE], most: MOST.places }, options);
}

function healthTable({ health = [] }: PlanReport, options: TextOptions): string {
  const rows = health.map(({ group, sentence }) => [group, sentence]);
  const columns: readonly Column[] = [text('NODES OF'), { ...text('HEALTH'), flex: 'wrap' }];
  return cutTable({ columns, rows, others: (hidden) => [`${hidden.length} others`, MORE], most: MOST.places }, options);
}

function resizeTable({ resizes = [] }: PlanReport, options: TextOptions): string {
  const rows = resizes.map(({ pod, sentence }) => [pod, sentence]);
  const columns: readonly Column[] = [text('RUNNING POD'), { ...text('NEW SIZE'), flex: 'wrap' }];
  return cutTable({ columns, rows, others: (hidden) => [`${hidden.length} others`, MORE], most: MOST.places }, options);
}

function pendingTable({ scaleUp, owners }: PlanReport, options: TextOptions): string {
  const { colours } = options;
  const pending = pendingRows(scaleUp.helpless, owners);
  const rows = pending.map(({ name, pods, why, fix }) => [name, amount(pods), why, fix]);
  const columns: readonly Column[] = [
    text('PENDING'),
    number('PODS'),
    { ...text('WHY'), flex: 'cut', paint: (cell, row) => paintOf(pending[row], colours)(cell) },
    { ...text('FIX THAT WORKS'), flex: 'wrap', paint: (cell, row) => (isFix(pending[row]) ? colours.green(cell) : cell) },
  ];
  const others = (hidden: Rows): readonly string[] => [`${hidden.length} others`, sumOf(hidden, 1), MORE, ''];
  return cutTable({ columns, rows, others, most: MOST.pending }, options);
}

function isFix(row: PendingRow | undefined): boolean {
  return row !== undefined && row.fix !== '' && !/^(?:no |not simulated|wait for)/.test(row.fix);
}

function paintOf(row: PendingRow | undefined, { red, yellow }: Colours): (cell: string) => string {
  if (row?.verdict === 'impossible') return red;
  return row?.verdict.startsWith('blocked-by-') === true ? yellow : (cell) => cell;
}

function poolTable(report: PlanReport, options: TextOptions): string {
  if (report.scaleUp.skipped.length === 0 || report.summary.podsPending + report.summary.poolsGrown === 0) return '';
  const found = poolRows(report);
  const rows = found.map(({ pools, nodes, why }) => [poolNames(pools, options.all ? pools.length : 3), nodes, why]);
  const columns: readonly Column[] = [text('POOLS WITHOUT INCREASE'), number('NODES'), { ...text('WHY'), flex: 'cut' }];
  const others = (hidden: Rows): readonly string[] => {
    const pools = found.slice(rows.length - hidden.length).reduce((sum, row) => sum + row.pools.length, 0);
    return [`${pools} others`, '', MORE];
  };
  return cutTable({ columns, rows, others, most: MOST.pools }, options);
}

function removalTable({ scaleDown: { removals }, summary, exclusion = '' }: PlanReport, options: TextOptions): string {
  const rows = removals.map(({ node, group, cause, condition, reimages, utilization, pods, perHour }) => [
    node,
    group,
    describeRemovalCause({ cause, condition, reimages, utilization }),
    amount(pods.length),
    perHour === undefined ? '' : signed(-perHour),
  ]);
  const columns: readonly Column[] = [
    { ...text('REMOVE'), flex: 'shorten' },
    { ...text('POOL'), flex: 'shorten' },
    text('WHY'),
    number('PODS TO MOVE'),
    number(perHourHead(summary)),
  ];
  const others = (hidden: Rows): readonly string[] => {
    const left = removals.slice(rows.length - hidden.length);
    const pools = [...new Set(left.map(({ group }) => group))];
    const saved = left.map(({ perHour }) => perHour);
    const total = saved.includes(undefined) ? '' : signed(-saved.reduce<number>((sum, each) => sum + (each ?? 0), 0));
    return [`${hidden.length} others`, poolNames(pools, 2), MORE, sumOf(hidden, 3), total];
  };
  const shown = cutTable({ columns, rows, others, most: MOST.removals }, options);
  return [shown, ...(exclusion === '' ? [] : [paragraph(exclusion, options.width)])].filter((part) => part !== '').join('\n');
}

/** The kinds of blockers with what they hold back; with `--all`, a row for each node. */
function unremovableTable({ scaleDown, explained, summary }: PlanReport, options: TextOptions): string {
  const next = new Map(explained.nodes.map(({ node, looksAgainAt = '' }) => [node, looksAgainAt.slice(0, 19).replace('T', ' ')]));
  if (options.all) {
    const each = scaleDown.unremovable.map(({ node, reason, detail }) => [node, reason, detail, next.get(node) ?? '']);
    return table([text('UNREMOVABLE'), text('REASON'), text('WHY'), text('NEXT CHECK')], each, Number.POSITIVE_INFINITY);
  }
  const hasFix = explained.totals.some(({ fix }) => fix !== undefined);
  const rows = explained.totals.map(({ reason, blockedBy = '', nodes, cores, memoryGib, perHour, examples, fix }) => [
    blockedBy === '' ? reason : `${reason}: ${blockedBy}`,
    amount(nodes),
    amount(cores, 1),
    amount(memoryGib, 1),
    perHour === undefined ? '' : amount(perHour, 2),
    hasFix ? '' : (examples[0] ?? ''),
    fix === undefined ? '' : `${fix.text}: ${describeSavings(fix.proof, summary.currency)}`.replace(/\.$/, ''),
  ]);
  const columns: readonly Column[] = [
    text('UNREMOVABLE'),
    number('NODES'),
    number('CORES'),
    number('GIB'),
    number(perHourHead(summary)),
    text('FOR EXAMPLE'),
    { ...text('FIX THAT WORKS'), flex: 'wrap', paint: options.colours.green },
  ];
  const others = (hidden: Rows): readonly string[] => [
    `${hidden.length} others`,
    sumOf(hidden, 1),
    '',
    '',
    '',
    hasFix ? '' : MORE,
    hasFix ? MORE : '',
  ];
  return [cutTable({ columns, rows, others, most: MOST.unremovable }, options), ...frozenLines(scaleDown.unremovable, options)].join('\n');
}

/** What keeps nodes of frozen pools: an operation of AKS, a person, a rule of a schedule, the hours of AKS. */
function frozenLines(unremovable: PlanReport['scaleDown']['unremovable'], { width }: TextOptions): readonly string[] {
  const why = new Set(unremovable.flatMap(({ reason, detail }) => (reason === 'GroupFrozen' ? [detail] : [])));
  const shown = [...why].sort(compareText).slice(0, MOST.frozen);
  const more = why.size > shown.length ? [`${why.size - shown.length} more reasons: --all`] : [];
  return [...shown, ...more].map((detail) => paragraph(`GroupFrozen: ${detail}`, width));
}

/** Says nothing where no more could be saved than the plan removes, and while pods need new nodes. */
function repackingLines({ repacking, pools, scaleUp, scaleDown }: PlanReport, { width, all }: TextOptions): string {
  const { text: found, blockers, on, running } = repacking;
  const removed = new Set(scaleDown.removals.map(({ node }) => node));
  const isMore = scaleUp.increases.length === 0 && repacking.sets.some(({ remove }) => remove.some(({ node }) => !removed.has(node)));
  const sets = isMore ? repacking.sets : [];
  if (sets.length + running.length === 0) return '';
  const off = pools.map(({ group }) => group).filter((group) => !on.includes(group));
  const where = off.length === 0 ? '' : ` It is off in ${poolNames(off, all ? off.length : 3)} (repack: true turns it on).`;
  const lines = [
    ...(sets.length === 0 ? [] : [`Repacking: ${found ?? ''}, with what is removed anyway.${where}`]),
    ...running.map((repack) => `Under way: ${repack.text}.`),
    ...sets.slice(0, all ? sets.length : 0).map((set) => `- ${set.text}.`),
    ...blockers.slice(0, all ? blockers.length : MOST.blockers).map((blocker) => `- Left out: ${blocker.text}.`),
  ];
  return `\n${lines.map((line) => paragraph(line, width)).join('\n')}`;
}

/** What the steps of the fixes above can lose. The steps themselves are in the answers of `explain`. */
function warningLines({ scaleUp, explained }: PlanReport, { width, colours }: TextOptions): string {
  const fixes = [...scaleUp.helpless.flatMap(({ advice }) => advice?.fix ?? []), ...explained.totals.flatMap(({ fix }) => fix ?? [])];
  const lines = fixes.flatMap(({ text: fix, steps }) => {
    const warnings = steps.flatMap(({ where, warning }) => (warning === undefined ? [] : [paragraph(`- ${where}: ${warning}.`, width)]));
    return warnings.length === 0 ? [] : [[paragraph(`Before you ${fix}:`, width), ...warnings].join('\n')];
  });
  const shown = [...new Set(lines)].map((line) => line.split('\n').map(colours.yellow).join('\n'));
  return shown.length === 0 ? '' : `\n${shown.join('\n')}`;
}

function noteLines({ notes = [] }: PlanReport, { width, all, colours }: TextOptions): string {
  const shown = notes.slice(0, all || notes.length === MOST.notes + 1 ? notes.length : MOST.notes);
  const more = notes.length > shown.length ? [`${notes.length - shown.length} more notes: --all`] : [];
  const lines = [...shown.map((note) => paragraph(`Note: ${note}`, width)), ...more];
  return lines.length === 0 ? '' : `\n${lines.map((line) => line.split('\n').map(colours.dim).join('\n')).join('\n')}`;
}
