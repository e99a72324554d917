/** What the comparison of a dry run says in words and numbers, for every surface that shows it. */
import type { DisagreementKind, ShadowReport } from './report.ts';

export const OTHER_AUTOSCALER = 'AKS autoscaler';

export const DISAGREEMENT_TITLES: Readonly<Record<DisagreementKind, string>> = {
  'increase earlier': `earlier increase than the ${OTHER_AUTOSCALER}`,
  'other pool, no capacity': 'pool without capacity skipped',
  'other pool, cheaper': 'cheaper pool chosen',
  'other pool': 'other pool chosen',
  'increase only here': `increase that the ${OTHER_AUTOSCALER} did not make`,
  'increase only there': `increase by the ${OTHER_AUTOSCALER} that no pod needs`,
  'removal earlier': `earlier removal than by the ${OTHER_AUTOSCALER}`,
  'removal only here': `node removed that the ${OTHER_AUTOSCALER} kept`,
  'removal only there': `node kept that the ${OTHER_AUTOSCALER} removed`,
};

/** The answer in one sentence: what would have been saved, or spent. */
export function answerOf(report: ShadowReport): string {
  if (report.disagreements.length === 0) return `aks-autoscaler would have done what the ${OTHER_AUTOSCALER} did: no disagreement.`;
  const [first, second] = changesOf(report).map(describeChange);
  if (first === undefined) return 'aks-autoscaler would have saved neither money nor waiting.';
  const more = second === undefined ? '' : ` and ${second.verb === first.verb ? '' : `${second.verb} `}${second.what}`;
  return `aks-autoscaler would have ${first.verb} ${first.what}${more}.`;
}

/** Without those that are too small to be shown. */
function changesOf({ ours, theirs, currency = 'of cost' }: ShadowReport): readonly Change[] {
  const money = ours.cost === undefined || theirs.cost === undefined ? undefined : { saved: theirs.cost - ours.cost, whole: theirs.cost };
  const waits = { saved: theirs.podMinutes - ours.podMinutes, whole: theirs.podMinutes };
  return [
    ...(money === undefined || Math.abs(money.saved) < 0.005 ? [] : [{ ...money, unit: currency, decimals: 2 }]),
    ...(Math.abs(waits.saved) < 0.5 ? [] : [{ ...waits, unit: 'pod-minutes of waiting', decimals: 0 }]),
  ];
}

interface Change {
  readonly saved: number;
  readonly whole: number;
  readonly unit: string;
  readonly decimals: number;
}

function describeChange({ saved, whole, unit, decimals }: Change): { readonly verb: string; readonly what: string } {
  const share = whole === 0 ? '' : ` (${formatAmount((100 * Math.abs(saved)) / whole, 1)} %)`;
  const what = `${formatAmount(Math.abs(saved), decimals)}${saved >= 0 ? '' : ' more'} ${unit}${share}`;
  return { verb: saved >= 0 ? 'saved' : 'cost', what };
}

/** `+18.20 USD`; without a known currency `cost +18.20`. */
export function signedMoney(cost: number | undefined, currency: string | undefined): string {
  if (cost === undefined) return 'cost unknown';
  return currency === undefined ? `cost ${signedAmount(cost, 2)}` : `${signedAmount(cost, 2)} ${currency}`;
}

/** `Cost, USD`, or `Cost` where the currency is not known. */
export function costTitle(currency: string | undefined): string {
  return currency === undefined ? 'Cost' : `Cost, ${currency}`;
}

/** `+18.20`, `-1 884`; 0 has no sign. */
export function signedAmount(value: number, decimals: number): string {
  const shown = formatAmount(Math.abs(value), decimals);
  if (Number(shown.replaceAll(' ', '')) === 0) return shown;
  return `${value < 0 ? '-' : '+'}${shown}`;
}

/** A space in thousands. */
export function formatAmount(value: number, decimals: number): string {
  const [whole = '0', rest] = value.toFixed(decimals).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ' ');
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}
