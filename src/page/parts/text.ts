/** Numbers, money, times and sentences as the page writes them. Pure. */
import { formatSpan } from '../../planning/explain/spans.ts';
import { describePending, labelOf, type Verdict } from '../../planning/explain/verdicts.ts';
import type { Overview } from '../../api/documents/overview.ts';
import type { PendingClass } from '../../api/documents/pending-classes.ts';

const THIN = '\u202f';
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Thousands are set apart. */
export function formatCount(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, THIN);
}

/** `3 nodes`, `1 node`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatMoney(amount: number): string {
  const [whole = '0', cents = '00'] = amount.toFixed(2).split('.');
  return `${formatCount(Number(whole))}.${cents}`;
}

/** `12.80 USD/h`; without a known currency `12.80/h`. */
export function perHour(amount: number, currency: string | undefined): string {
  return currency === undefined ? `${formatMoney(amount)}/h` : `${formatMoney(amount)} ${currency}/h`;
}

/** `16 min`. Above two minutes it changes every ten seconds at most. */
export function formatAge(ms: number): string {
  return formatSpan(ms < 2 * MINUTE ? ms : Math.round(ms / (10 * SECOND)) * 10 * SECOND);
}

/** `24 min ago`, `in 4 min`. */
export function formatDistance(atMs: number, nowMs: number): string {
  // The two clocks differ by a little: what just happened is not yet to come.
  if (Math.abs(atMs - nowMs) < SECOND) return '0 s ago';
  return atMs <= nowMs ? `${formatAge(nowMs - atMs)} ago` : `in ${formatAge(atMs - nowMs)}`;
}

/** `03:14:20`, with the date if it is another day. UTC. */
export function formatClock(atMs: number, nowMs: number): string {
  const [day = '', clock = ''] = new Date(atMs).toISOString().slice(0, 19).split('T');
  return new Date(nowMs).toISOString().startsWith(day) ? clock : `${day} ${clock}`;
}

/** `2026-11-22 03:14:20 UTC`. */
export function formatFull(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The largest text of the page: what waits, in words and numbers. */
export function headline({ pending: { byNeed }, dryRun }: Pick<Overview, 'pending' | 'dryRun'>): string {
  return describePending(byNeed, { format: formatCount, dryRun });
}

/** Inside a sentence. */
export function verdictWords(verdict: Verdict): string {
  const words = labelOf(verdict);
  return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

/** In the order in which they are shown. */
export const SHOWN_VERDICTS: readonly Verdict[] = [
  'impossible',
  'blocked-by-max',
  'blocked-by-quota',
  'blocked-by-backoff',
  'helped',
  'coming',
];

/** `3 of 3 pods on 3 nodes, 14.34 USD/h`. */
export function simulatedText(
  { pods, of, nodes, perHour: price }: NonNullable<NonNullable<PendingClass['fix']>['simulated']>,
  currency?: string,
): string {
  const money = price === undefined ? '' : `, ${perHour(price, currency)}`;
  return `${formatCount(pods)} of ${counted(of, 'pod')} on ${counted(nodes, 'more node', 'more nodes')}${money}`;
}

/** A pod name with `NAMESPACE/` in front, a number, a name: what a person typed becomes the address of an opened thing. */
export function hashFor(kind: string, id: string): string {
  return `#${kind}/${id.split('/').map(encodeURIComponent).join('/')}`;
}

export interface OpenedThing {
  readonly kind: 'pod' | 'node' | 'pool' | 'decision' | 'waste' | 'pending' | 'keys';
  readonly id: string;
}

const KINDS: ReadonlySet<string> = new Set(['pod', 'node', 'pool', 'decision', 'waste', 'pending', 'keys']);

/** undefined: the address names nothing that can be opened. */
export function thingIn(hash: string): OpenedThing | undefined {
  const [kind = '', ...rest] = hash.replace(/^#/, '').split('/');
  try {
    const id = rest.map(decodeURIComponent).join('/');
    return KINDS.has(kind) && (id !== '' || kind === 'keys') ? { kind: kind as OpenedThing['kind'], id } : undefined;
  } catch {
    return undefined;
  }
}

/** The agent pool of a scale set that AKS made, as people call it; other names as they are. */
export function poolLabel(id: string): string {
  return /^aks-(.+)-\d{6,12}-vmss$/i.exec(id)?.[1] ?? id;
}

/** `4 → 8 for 12 pods of etl/transform`, `12 → 18, agent pool upgrade`. */
export function changeText({
  from,
  to,
  cause,
  kind,
}: {
  readonly from: number;
  readonly to: number;
  readonly cause: string;
  readonly kind: string;
}): string {
  return `${formatCount(from)} → ${formatCount(to)}${kind === 'increase' ? ' for' : ','} ${cause}`;
}

export function withArrows(text: string): string {
  return text.replaceAll(/ (?:->) /g, ' → ');
}
