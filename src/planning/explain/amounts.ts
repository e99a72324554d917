/** Amounts of resources for people: both sides of a comparison in one unit, CPU with at most 2 decimals, memory with 1. */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { PaidUse } from '../facts/paid-nodes.ts';
import type { NodePrice } from '../expanders/node-price.ts';
import type { ReservedCapacity } from '../../domain/quotas-and-prices.ts';

/** CPU in cores, bytes in the largest binary unit with a value of at least one, the rest in ones. */
export function formatAmount(resource: string, value: number): string {
  if (resource === 'cpu') return `${rounded(value / 1000, 3)}`;
  const [unit, size] = unitOf(resource, value);
  return unit === '' ? `${value}` : `${rounded(value / size, 1)} ${unit}`;
}

/**
 * `needs 64 GiB memory, the node offers 24.9`. The amounts are in base units: millicores, bytes or ones. Amounts that would look
 * equal get more decimals.
 */
export function describeNeed(resource: string, needs: number, offers: number): string {
  const { what, texts } = amountsOf(resource, [needs, Math.max(0, offers)]);
  return `needs ${texts[0]} ${what}, the node offers ${texts[1]}`;
}

/** The amounts in the unit of the first, with as many decimals as make the first two look different. */
export function amountsOf(resource: string, amounts: readonly number[]): { readonly what: string; readonly texts: readonly string[] } {
  const [unit, size] = resource === 'cpu' ? (['CPU', 1000] as const) : unitOf(resource, amounts[0] ?? 0);
  const tries = [2, 3, 6].map((decimals) =>
    amounts.map((value) => `${rounded(value / size, resource === 'cpu' ? decimals : decimals - 1)}`),
  );
  const texts = tries.find(([one, other]) => one !== other) ?? tries.at(-1) ?? [];
  return { what: resource === 'cpu' ? unit : [unit, resource].filter((word) => word !== '').join(' '), texts };
}

/**
 * The nearest amount above or below that {@link formatAmount} writes without loss: a person who enters the written number gets what was
 * simulated. CPU in steps of 10 millicores, bytes in steps of a tenth of their unit.
 */
export function speakable(resource: string, value: number, direction: 'up' | 'down'): number {
  const [unit, size] = resource === 'cpu' ? (['CPU', 1000] as const) : unitOf(resource, value);
  if (unit === '') return value;
  const steps = (value / size) * (resource === 'cpu' ? 100 : 10);
  const whole = direction === 'up' ? Math.ceil(steps - 1e-9) : Math.floor(steps + 1e-9);
  const exact = (whole / (resource === 'cpu' ? 100 : 10)) * size;
  return direction === 'up' ? Math.ceil(exact) : Math.floor(exact);
}

function unitOf(resource: string, value: number): readonly [unit: string, size: number] {
  if (resource !== 'memory' && resource !== 'ephemeral-storage' && !resource.startsWith('hugepages-')) return ['', 1];
  return UNITS.find(([, size]) => value >= size) ?? ['', 1];
}

const UNITS: readonly (readonly [unit: string, size: number])[] = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

function rounded(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** What a text adds to a price. Empty if nothing is taken off. */
export function describeDiscount(discount: NodePrice['discount']): string {
  return discount === undefined ? '' : `: list price ${discount.listPerHour}, ${discount.percent} % off by configuration`;
}

/** What Azure says of new Spot VMs of a pool. undefined: nothing is known. */
export function describePlacement(score: NodeGroup['placementScore']): string | undefined {
  return score === undefined ? undefined : `Azure's score of new Spot VMs is ${score}`;
}

/** How many of the paid nodes of a size are used, and what the next nodes cost. */
export function describePaid({ count, running, idle }: Pick<PaidUse, 'count' | 'running' | 'idle'>): string {
  const next =
    idle === 0 ? 'further nodes cost the price' : idle === 1 ? 'the next node costs nothing' : `the next ${idle} nodes cost nothing`;
  return `${Math.min(running, count)} of ${count} paid nodes of this size are used; ${next}`;
}

/** `2.30 USD/h`, or `2.30 per hour` where the currency is not known. */
export function formatPerHour(perHour: number, currency: string | undefined, decimals = 2): string {
  return `${perHour.toFixed(decimals)}${currency === undefined ? ' per hour' : ` ${currency}/h`}`;
}

/** Reserved capacity and how many further nodes fit into it. */
export function describeReservedRoom({
  group,
  reserved,
  used,
  room,
  unknown,
}: Omit<ReservedCapacity, 'name'> & { readonly room: number }): string {
  const known = `${Math.min(used, reserved)} of ${reserved} reserved VMs used, room for ${room} ${room === 1 ? 'node' : 'nodes'} without quota`;
  return `capacity reservation group ${group}: ${unknown === undefined ? known : `unknown, ${unknown}`}`;
}

/** `21.5 %` of 0.215. */
export function formatPercent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
