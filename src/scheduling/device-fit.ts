/**
 * Which devices fill the claims of a pod, after kube-scheduler's structured allocator: requests in order, alternatives in order,
 * devices in order, going back where a later request finds none. Pure.
 */
import type { DeviceClaim, DeviceRequest } from '../domain/devices.ts';
import { attributeOf, matchOf, type AskMatch, type ClaimMatch, type DeviceList } from './device-list.ts';

/** What is taken of a list. */
export interface DevicesInUse {
  /** By device: how many have it. */
  readonly taken: Uint16Array;
  /** By counter. */
  readonly used: Float64Array;
}

/** By claim: the devices that it takes from others; what it only looks at is not among them. */
export type Picks = readonly (readonly number[])[];

/** After so many tries a claim counts as one that cannot be filled: nothing may hold up a plan. */
const MOST_STEPS = 20_000;

export function nothingInUse(list: DeviceList): DevicesInUse {
  return { taken: new Uint16Array(list.devices.length), used: new Float64Array(list.limits.length) };
}

/** `by` is 1 to take and -1 to give back. Counters go with the first that takes a device and come with the last. */
export function takeDevices(list: DeviceList, { taken, used }: DevicesInUse, places: readonly number[], by: 1 | -1): void {
  for (const place of places) {
    const before = taken[place] ?? 0;
    taken[place] = before + by;
    if (before + by > 1 || (before === 1 && by === 1)) continue;
    for (const { counter, amount } of list.uses[place] ?? []) used[counter] = (used[counter] ?? 0) + by * amount;
  }
}

/** undefined: the claims cannot all be filled. `inUse` is left as found. */
export function allocate(claims: readonly DeviceClaim[], list: DeviceList, inUse: DevicesInUse): Picks | undefined {
  const search = new Search(claims, list, { taken: inUse.taken.slice(), used: inUse.used.slice() });
  return search.find() ? search.picks : undefined;
}

/** In numbers, which request falls short. */
export function shortfall(claims: readonly DeviceClaim[], list: DeviceList, inUse: DevicesInUse): string {
  for (const claim of claims) {
    const { asks } = matchOf(claim, list);
    for (const request of claim.requests) {
      const lacks = request.asks.map((ask) => lackOf(asks.get(ask), inUse));
      if (lacks.every((lack) => lack !== undefined)) return `claim ${claim.name}, request ${request.name}: ${lacks.join('; or ')}`;
    }
  }
  return `claims ${claims.map(({ name }) => name).join(', ')}: not all of the devices can be had together`;
}

function lackOf(match: AskMatch | undefined, { taken }: DevicesInUse): string | undefined {
  if (match === undefined) return 'nothing is known of it';
  const { ask, places, failed } = match;
  if (failed !== undefined) return failed;
  const free = ask.admin ? places.length : places.filter((place) => taken[place] === 0).length;
  const wanted = ask.count === 'all' ? Math.max(1, places.length) : ask.count;
  return free >= wanted ? undefined : `needs ${ask.count} devices, ${free} of ${places.length} that match are free`;
}

interface Wanted {
  readonly claim: number;
  readonly request: DeviceRequest;
}

/** A constraint with what the devices chosen so far have in common. */
interface Common {
  readonly attribute: string;
  readonly requests: readonly string[];
  value: string | undefined;
  count: number;
}

/** Owns one try to fill all claims. */
class Search {
  readonly picks: number[][];
  readonly #list: DeviceList;
  readonly #inUse: DevicesInUse;
  readonly #wanted: readonly Wanted[];
  readonly #matches: readonly ClaimMatch[];
  readonly #common: readonly (readonly Common[])[];
  #steps = 0;

  constructor(claims: readonly DeviceClaim[], list: DeviceList, inUse: DevicesInUse) {
    this.#list = list;
    this.#inUse = inUse;
    this.picks = claims.map(() => []);
    this.#wanted = claims.flatMap(({ requests }, claim) => requests.map((request) => ({ claim, request })));
    this.#matches = claims.map((claim) => matchOf(claim, list));
    this.#common = claims.map(({ same }) => same.map((rule) => ({ ...rule, value: undefined, count: 0 })));
  }

  find(): boolean {
    return this.#fillRequest(0);
  }

  #fillRequest(at: number): boolean {
    const wanted = this.#wanted[at];
    if (wanted === undefined) return true;
    return wanted.request.asks.some((ask) => {
      const match = this.#matches[wanted.claim]?.asks.get(ask);
      if (match === undefined || match.failed !== undefined) return false;
      const count = ask.count === 'all' ? match.places.length : ask.count;
      // An ask for all of nothing is not filled.
      return count > 0 && this.#fillAsk(at, match, 0, count);
    });
  }

  #fillAsk(at: number, match: AskMatch, from: number, left: number): boolean {
    if (left === 0) return this.#fillRequest(at + 1);
    const failed = new Set<string>();
    for (let next = from; next <= match.places.length - left; next++) {
      const place = match.places[next] ?? 0;
      const likes = this.#matches.map(({ classes }) => classes[place]).join();
      if (failed.has(likes) || !this.#isFree(place, match)) continue;
      const rules = this.#rulesFor(at, match);
      if (!this.#agrees(rules, place)) continue;
      this.#steps += 1;
      if (this.#steps > MOST_STEPS) return false;
      this.#choose({ at, place, match, rules }, 1);
      if (this.#fillAsk(at, match, next + 1, left - 1)) return true;
      this.#choose({ at, place, match, rules }, -1);
      failed.add(likes);
    }
    return false;
  }

  #isFree(place: number, { ask }: AskMatch): boolean {
    if (ask.admin) return true;
    const { taken, used } = this.#inUse;
    if ((taken[place] ?? 0) > 0) return false;
    return (this.#list.uses[place] ?? []).every(
      ({ counter, amount }) => (used[counter] ?? 0) + amount <= (this.#list.limits[counter] ?? 0),
    );
  }

  #rulesFor(at: number, { ask }: AskMatch): readonly Common[] {
    const wanted = this.#wanted[at];
    if (wanted === undefined) return [];
    const { claim, request } = wanted;
    return (this.#common[claim] ?? []).filter(
      ({ requests }) => requests.length === 0 || requests.includes(request.name) || requests.includes(`${request.name}/${ask.name}`),
    );
  }

  #agrees(rules: readonly Common[], place: number): boolean {
    const device = this.#list.devices[place];
    if (device === undefined) return false;
    return rules.every(({ attribute, value, count }) => {
      const own = attributeOf(device, attribute);
      return own !== undefined && (count === 0 || own === value);
    });
  }

  #choose(
    {
      at,
      place,
      match,
      rules,
    }: { readonly at: number; readonly place: number; readonly match: AskMatch; readonly rules: readonly Common[] },
    by: 1 | -1,
  ): void {
    const device = this.#list.devices[place];
    for (const rule of rules) {
      if (rule.count === 0 && device !== undefined) rule.value = attributeOf(device, rule.attribute);
      rule.count += by;
    }
    if (match.ask.admin) return;
    takeDevices(this.#list, this.#inUse, [place], by);
    const picks = this.picks[this.#wanted[at]?.claim ?? 0];
    if (by === 1) picks?.push(place);
    else picks?.pop();
  }
}
