/** Each seed's difference as a dot, and the confidence interval as a line, for each figure: how sure a difference is, at a glance. Pure SVG. */
import { FIGURES, type ComparedFigure } from '../judge/comparison.ts';
import type { PairedDifference } from '../judge/paired-difference.ts';
import { betterness, differenceText, labelText } from './figure-text.ts';
import type { LabReport } from './lab-report.ts';

/** Of the drawing, in its own units: it is scaled to the page. */
const WIDTH = 240;
const HEIGHT = 26;
const CENTER = WIDTH / 2;
/** The largest share of the half width that a dot or an interval takes. */
const REACH = 0.94;

/** Empty if there is nothing to compare, or only one seed. */
export function seedPlots(report: LabReport): string {
  const { comparison, scenario } = report;
  const others = comparison.policies.slice(1);
  if (others.length === 0 || comparison.seeds.length < 2) return '';
  const tables = others.map((policy, at) => {
    const rows = comparison.figures.flatMap((figure) => {
      const difference = figure.differences[at];
      return difference === undefined || difference.verdict === 'equal'
        ? []
        : [rowOf(report, { figure, difference, policy, currency: scenario.currency })];
    });
    const title = others.length === 1 ? '' : `<h3>${text(policy)}</h3>`;
    return `${title}${rows.length === 0 ? '<p>No seed differs in any figure.</p>' : `<table class="seeds"><tbody>\n${rows.join('\n')}\n</tbody></table>`}`;
  });
  return `<section aria-labelledby="seeds"><h2 id="seeds">Each seed</h2>
<p class="hint">A dot is the difference of one seed, the line is the 95 % confidence interval of the mean, the middle is no difference; less is on the left.
A difference is sure if the line does not cross the middle.</p>${tables.join('\n')}</section>`;
}

interface SeedRowInput {
  readonly figure: ComparedFigure;
  readonly difference: PairedDifference;
  readonly policy: string;
  readonly currency: string;
}

function rowOf(report: LabReport, { figure, difference, policy, currency }: SeedRowInput): string {
  const dots = seedDifferences(report, figure, policy);
  const label = labelText(figure, currency);
  const way = betterness(figure, difference) ?? 'open';
  return `<tr><th scope="row">${text(label)}</th><td class="plot">${drawing({ label, dots, difference, way })}</td><td class="number">${differenceText(figure, difference)}</td></tr>`;
}

function seedDifferences({ comparison, runs }: LabReport, { key }: ComparedFigure, policy: string): readonly number[] {
  const of = FIGURES.find((figure) => figure.key === key)?.of;
  const base = comparison.policies[0];
  return comparison.seeds.flatMap((seed) => {
    const [mine, its] = [base, policy].map((name) => runs.find((run) => run.policy === name && run.seed === seed));
    return of === undefined || mine === undefined || its === undefined ? [] : [of(its.figures) - of(mine.figures)];
  });
}

interface DrawingInput {
  readonly label: string;
  readonly dots: readonly number[];
  readonly difference: PairedDifference;
  readonly way: string;
}

function drawing({ label, dots, difference, way }: DrawingInput): string {
  const ends = difference.interval ?? [difference.difference, difference.difference];
  const most = Math.max(...[...dots, ...ends].map(Math.abs), Number.MIN_VALUE);
  const x = (value: number): string => (CENTER + (value / most) * CENTER * REACH).toFixed(1);
  const middle = HEIGHT / 2;
  return `<svg class="${way}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text(`${label}: ${dots.length} seeds`)}"><line class="zero" x1="${CENTER}" y1="2" x2="${CENTER}" y2="${HEIGHT - 2}"/><line class="interval" x1="${x(ends[0])}" y1="${middle}" x2="${x(ends[1])}" y2="${middle}"/>${dots
    .map((dot) => `<circle cx="${x(dot)}" cy="${middle}" r="5"/>`)
    .join('')}</svg>`;
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
