/** What the claims of a pod lack on a node, in words and numbers. */
import { quantityText } from '../../domain/quantity.ts';
import { allocationFault, hasParts, takenOf, type AllocationInput, type DevicesInUse } from './device-allocator.ts';
import type { DeviceList, SubRequestMatch } from './device-list.ts';

/** Which request falls short, in numbers. */
export function describeShortfall(input: AllocationInput): string {
  const fault = allocationFault(input);
  if (fault !== undefined) return fault;
  for (const claim of input.claims) {
    const { asks } = input.index.matchClaim(claim, input.list);
    for (const request of claim.requests) {
      const lacks = request.asks.map((ask) => describeLack(asks.get(ask), input));
      if (lacks.every((lack) => lack !== undefined)) return `claim ${claim.name}, request ${request.name}: ${lacks.join('; or ')}`;
    }
  }
  return `claims ${input.claims.map(({ name }) => name).join(', ')}: not all of the devices can be had together`;
}

function describeLack(match: SubRequestMatch | undefined, { list, inUse }: AllocationInput): string | undefined {
  if (match === undefined) return 'nothing is known of it';
  const { ask, places, barred } = match;
  const [failed] = barred.values();
  if (failed !== undefined) return failed;
  const isFree = (place: number): boolean =>
    list.devices[place]?.isDivided === true ? hasParts(list, inUse, takenOf(place, match)) : ask.admin || inUse.taken[place] === 0;
  const free = places.filter(isFree).length;
  const wanted = ask.count === 'all' ? Math.max(1, places.length) : ask.count;
  if (free >= wanted) return undefined;
  return `needs ${ask.count} devices${describeParts(ask.parts)}, ${free} of ${places.length} that match are free${describeLeft(match, list, inUse)}${describeCommon(places, list)}`;
}

function describeCommon(places: readonly number[], { common }: DeviceList): string {
  return places.length > 0 && places.every((place) => common.has(place))
    ? '; they belong to several nodes, and a new node brings none'
    : '';
}

function describeParts(parts: Readonly<Record<string, number>> = {}): string {
  const wanted = Object.entries(parts).map(([name, amount]) => `${quantityText(amount)} of ${name}`);
  return wanted.length === 0 ? '' : ` with ${wanted.join(' and ')} each`;
}

/** What is left of the divided device that has the most of the first part that none has enough of. */
function describeLeft(match: SubRequestMatch, { parts }: DeviceList, { had }: DevicesInUse): string {
  const lefts = match.places.flatMap((place) =>
    (parts[place] ?? []).map(({ at, name, whole }, index) => ({
      name,
      whole,
      needs: match.amounts.get(place)?.[index] ?? 0,
      left: whole - (had[at] ?? 0),
    })),
  );
  const short = lefts.find(({ needs, left }) => left < needs);
  if (short === undefined) return '';
  const most = lefts.filter(({ name }) => name === short.name).reduce((best, each) => (each.left > best.left ? each : best), short);
  const needs = `; the request takes ${quantityText(short.needs)} of ${short.name}`;
  return `${needs}, and at most ${quantityText(most.left)} of ${quantityText(most.whole)} is left of a device`;
}
