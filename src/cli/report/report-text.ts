/** Renders the comparison of a dry run with what others did. At most 100 characters a line. Must not know how it was compared. */
import type { Disagreement, DisagreementKind, ShadowReport, SideTotals } from '../../planning/shadow/report.ts';
import { formatSpan } from '../../planning/explain/spans.ts';
import { facts, number, paragraph, table, text } from '../text/text-layout.ts';

const OTHER = 'AKS autoscaler';

const TITLES: Readonly<Record<DisagreementKind, string>> = {
  'increase earlier': `earlier increase than the ${OTHER}`,
  'other pool, no capacity': 'pool without capacity skipped',
  'other pool, cheaper': 'cheaper pool chosen',
  'other pool': 'other pool chosen',
  'increase only here': `increase that the ${OTHER} did not make`,
  'increase only there': `increase by the ${OTHER} that no pod needs`,
  'removal earlier': `earlier removal than by the ${OTHER}`,
  'removal only here': `node removed that the ${OTHER} kept`,
  'removal only there': `node kept that the ${OTHER} removed`,
};

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
    kindsTable(disagreements),
    ...(all ? disagreements.map((each) => oneByOne(each, nowMs)) : []),
    `\n${paragraph(`Estimated: ${report.assumptions.join('; ')}.`)}`,
    ...(report.sizesWithoutPrice.length === 0
      ? []
      : [paragraph(`Without a price, so not in any sum: ${report.sizesWithoutPrice.join(', ')}. Prices: scaleUp.retailPrices.enabled.`)]),
    ...(all || disagreements.length === 0 ? [] : ['One by one, with the reasons of both: --all']),
    from,
  ];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

/** The answer in one sentence: what would have been saved, or spent. */
function answerOf({ ours, theirs, disagreements }: ShadowReport): string {
  if (disagreements.length === 0) return `aks-autoscaler would have done what the ${OTHER} did: no disagreement.`;
  const money = ours.cost === undefined || theirs.cost === undefined ? undefined : { saved: theirs.cost - ours.cost, whole: theirs.cost };
  const waits = { saved: theirs.podMinutes - ours.podMinutes, whole: theirs.podMinutes };
  const changes = [
    ...(money === undefined || Math.abs(money.saved) < 0.005 ? [] : [{ ...money, unit: 'USD', decimals: 2 }]),
    ...(Math.abs(waits.saved) < 0.5 ? [] : [{ ...waits, unit: 'pod-minutes of waiting', decimals: 0 }]),
  ];
  if (changes.length === 0) return 'aks-autoscaler would have saved neither money nor waiting.';
  const [first, second] = changes.map(describeChange);
  const more = second === undefined ? '' : ` and ${second.verb === first?.verb ? '' : `${second.verb} `}${second.what}`;
  return `aks-autoscaler would have ${first?.verb ?? ''} ${first?.what ?? ''}${more}.`;
}

interface Change {
  readonly saved: number;
  readonly whole: number;
  readonly unit: string;
  readonly decimals: number;
}

function describeChange({ saved, whole, unit, decimals }: Change): { readonly verb: string; readonly what: string } {
  const share = whole === 0 ? '' : ` (${amount((100 * Math.abs(saved)) / whole, 1)} %)`;
  const what = `${amount(Math.abs(saved), decimals)}${saved >= 0 ? '' : ' more'} ${unit}${share}`;
  return { verb: saved >= 0 ? 'saved' : 'cost', what };
}

function scopeOf({ fromMs, toMs, isPartial, pools, disagreements, seenMs }: ShadowReport): string {
  const since = isPartial ? ` The record begins at ${moment(fromMs)}.` : '';
  const gaps = toMs - fromMs - seenMs > 600_000 ? ` Loops were recorded for ${formatSpan(seenMs)} of ${formatSpan(toMs - fromMs)}.` : '';
  const counted = `${pools} ${pools === 1 ? 'pool' : 'pools'}, ${disagreements.length} ${disagreements.length === 1 ? 'disagreement' : 'disagreements'}`;
  return `Shadow mode, ${moment(fromMs)} to ${moment(toMs)}, beside the ${OTHER}: ${counted}, no writes.${since}${gaps}`;
}

function moment(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function totalsTable({ ours, theirs }: ShadowReport): string {
  const nodes = ({ nodesAdded, nodesRemoved }: SideTotals): string => `${nodesAdded}/${nodesRemoved}`;
  const rows = [
    ...(theirs.cost === undefined || ours.cost === undefined
      ? [['Cost', 'unknown', 'unknown', '']]
      : [['Cost, USD', amount(theirs.cost, 2), amount(ours.cost, 2), percent(ours.cost, theirs.cost)]]),
    ['Pending, pod-minutes', amount(theirs.podMinutes, 0), amount(ours.podMinutes, 0), percent(ours.podMinutes, theirs.podMinutes)],
    ['Longest wait, min', amount(theirs.longestWaitMs / 60_000, 1), 'unknown', ''],
    ['Nodes added/removed', nodes(theirs), nodes(ours), ''],
  ];
  return table([text(''), number(OTHER.toUpperCase()), number('AKS-AUTOSCALER'), number('DIFFERENCE')], rows);
}

/** Most money first, then most waiting. */
function kindsTable(disagreements: readonly Disagreement[]): string {
  const rows = [...Map.groupBy(disagreements, ({ kind }) => kind)]
    .map(([kind, of]) => ({ kind, of, cost: sumOf(of, ({ cost }) => cost ?? 0), minutes: sumOf(of, ({ podMinutes }) => podMinutes) }))
    .sort((left, right) => Math.abs(right.cost) - Math.abs(left.cost) || Math.abs(right.minutes) - Math.abs(left.minutes))
    .map(({ kind, of, cost, minutes }) => {
      const isPriced = of.some((each) => each.cost !== undefined);
      return [TITLES[kind], `${of.length}`, isPriced ? signed(cost, 2) : 'unknown', signed(minutes, 0), largestOf(of)];
    });
  return table([text('DISAGREEMENT'), number('TIMES'), number('USD'), number('POD-MIN'), text('LARGEST')], rows);
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

function oneByOne({ kind, atMs, pools, nodes, ours, theirs, cost, podMinutes }: Disagreement, nowMs: number): string {
  const money = cost === undefined ? 'USD unknown' : `${signed(cost, 2)} USD`;
  return `\n${moment(atMs)}, ${formatSpan(nowMs - atMs)} ago: ${TITLES[kind]} (${pools.map(shortPool).join(', not ')}, ${counted(nodes)})${facts(
    [
      ['aks-autoscaler', ours],
      [OTHER, theirs],
      ['Difference', `${money}, ${signed(podMinutes, 0)} pod-minutes`],
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
  return theirs === 0 ? '' : `${signed((100 * (ours - theirs)) / theirs, 1)} %`;
}

function signed(value: number, decimals: number): string {
  const shown = amount(Math.abs(value), decimals);
  if (Number(shown.replaceAll(' ', '')) === 0) return shown;
  return `${value < 0 ? '-' : '+'}${shown}`;
}

/** A space in thousands. */
function amount(value: number, decimals: number): string {
  const [whole = '0', rest] = value.toFixed(decimals).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ' ');
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}
