/** Renders the comparison of a dry run with what others did. At most 100 characters a line. Must not know how it was compared. */
import {
  answerOf,
  costTitle,
  DISAGREEMENT_TITLES,
  formatAmount,
  OTHER_AUTOSCALER,
  signedAmount,
  signedMoney,
} from '../../planning/shadow/report-words.ts';
import type { Disagreement, ShadowReport, SideTotals } from '../../planning/shadow/report.ts';
import { formatSpan } from '../../planning/explain/spans.ts';
import { facts, number, paragraph, table, text } from '../../cli/text/text-layout.ts';

export interface ReportView {
  readonly report: ShadowReport;
  /** Every disagreement, not only their kinds. */
  readonly all: boolean;
  readonly nowMs: number;
  /** The last line: where the report comes from. */
  readonly from: string;
}

export function renderReport({ report, all, nowMs, from }: ReportView): string {
  const { disagreements } = report;
  const parts = [
    paragraph(answerOf(report)),
    paragraph(scopeOf(report)),
    totalsTable(report),
    kindsTable(report),
    savingsLines(report, all),
    ...(all ? disagreements.map((each) => oneByOne(each, { nowMs, currency: report.currency })) : []),
    `\n${paragraph(`Estimated: ${report.assumptions.join('; ')}.`)}`,
    ...(report.sizesWithoutPrice.length === 0
      ? []
      : [paragraph(`Without a price, so not in any sum: ${report.sizesWithoutPrice.join(', ')}. Prices: scaleUp.retailPrices.enabled.`)]),
    ...(all || disagreements.length === 0 ? [] : ['One by one, with the reasons of both: --all']),
    from,
  ];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

const MOST_LEFT_OUT = 3;

/** As `plan` says it. */
function savingsLines({ repacking }: ShadowReport, all: boolean): string {
  if (repacking === undefined) return '';
  const { atMs, text: found, leftOut } = repacking;
  const shown = leftOut.slice(0, all ? leftOut.length : MOST_LEFT_OUT);
  return `\n${[`Repacking at ${moment(atMs)}: ${found}, with what is removed anyway.`, ...shown.map((what) => `- Left out: ${what}.`)].map((line) => paragraph(line)).join('\n')}`;
}

function scopeOf({ fromMs, toMs, isPartial, pools, disagreements, seenMs }: ShadowReport): string {
  const since = isPartial ? ` The record begins at ${moment(fromMs)}.` : '';
  const gaps = toMs - fromMs - seenMs > 600_000 ? ` Loops were recorded for ${formatSpan(seenMs)} of ${formatSpan(toMs - fromMs)}.` : '';
  const counted = `${pools} ${pools === 1 ? 'pool' : 'pools'}, ${disagreements.length} ${disagreements.length === 1 ? 'disagreement' : 'disagreements'}`;
  return `Shadow mode, ${moment(fromMs)} to ${moment(toMs)}, beside the ${OTHER_AUTOSCALER}: ${counted}, no writes.${since}${gaps}`;
}

function moment(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function totalsTable({ ours, theirs, currency }: ShadowReport): string {
  const nodes = ({ nodesAdded, nodesRemoved }: SideTotals): string => `${nodesAdded}/${nodesRemoved}`;
  const rows = [
    ...(theirs.cost === undefined || ours.cost === undefined
      ? [['Cost', 'unknown', 'unknown', '']]
      : [[costTitle(currency), formatAmount(theirs.cost, 2), formatAmount(ours.cost, 2), percent(ours.cost, theirs.cost)]]),
    [
      'Pending, pod-minutes',
      formatAmount(theirs.podMinutes, 0),
      formatAmount(ours.podMinutes, 0),
      percent(ours.podMinutes, theirs.podMinutes),
    ],
    ['Longest wait, min', formatAmount(theirs.longestWaitMs / 60_000, 1), 'unknown', ''],
    ['Nodes added/removed', nodes(theirs), nodes(ours), ''],
  ];
  return table([text(''), number(OTHER_AUTOSCALER.toUpperCase()), number('AKS-AUTOSCALER'), number('DIFFERENCE')], rows);
}

/** Most money first, then most waiting. */
function kindsTable({ disagreements, currency = 'cost' }: ShadowReport): string {
  const rows = [...Map.groupBy(disagreements, ({ kind }) => kind)]
    .map(([kind, of]) => ({ kind, of, cost: sumOf(of, ({ cost }) => cost ?? 0), minutes: sumOf(of, ({ podMinutes }) => podMinutes) }))
    .sort((left, right) => Math.abs(right.cost) - Math.abs(left.cost) || Math.abs(right.minutes) - Math.abs(left.minutes))
    .map(({ kind, of, cost, minutes }) => {
      const isPriced = of.some((each) => each.cost !== undefined);
      return [
        DISAGREEMENT_TITLES[kind],
        `${of.length}`,
        isPriced ? signedAmount(cost, 2) : 'unknown',
        signedAmount(minutes, 0),
        largestOf(of),
      ];
    });
  return table([text('DISAGREEMENT'), number('TIMES'), number(currency.toUpperCase()), number('POD-MIN'), text('LARGEST')], rows);
}

function largestOf(of: readonly Disagreement[]): string {
  const weight = ({ cost = 0, podMinutes }: Disagreement): number => Math.abs(cost) + Math.abs(podMinutes) / 1e6;
  const [largest] = of.toSorted((left, right) => weight(right) - weight(left));
  return largest === undefined
    ? ''
    : `${moment(largest.atMs).slice(5, 16)}, ${largest.pools.map(shortPool).join(', not ')}, ${counted(largest.nodes)}`;
}

/** AKS names the scale set of a pool `aks-POOL-NUMBER-vmss`. */
function shortPool(pool: string): string {
  return /^aks-(.+)-\d+-vmss$/.exec(pool)?.[1] ?? pool;
}

function oneByOne(
  { kind, atMs, pools, nodes, ours, theirs, cost, podMinutes }: Disagreement,
  { nowMs, currency }: { readonly nowMs: number; readonly currency: string | undefined },
): string {
  return `\n${moment(atMs)}, ${formatSpan(nowMs - atMs)} ago: ${DISAGREEMENT_TITLES[kind]} (${pools.map(shortPool).join(', not ')}, ${counted(nodes)})${facts(
    [
      ['aks-autoscaler', ours],
      [OTHER_AUTOSCALER, theirs],
      ['Difference', `${signedMoney(cost, currency)}, ${signedAmount(podMinutes, 0)} pod-minutes`],
    ],
  )}`;
}

function counted(nodes: number): string {
  return `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
}

function sumOf<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + measure(item), 0);
}

function percent(ours: number, theirs: number): string {
  return theirs === 0 ? '' : `${signedAmount((100 * (ours - theirs)) / theirs, 1)} %`;
}
