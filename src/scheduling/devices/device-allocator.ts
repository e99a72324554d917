/**
 * Chooses the devices that fill the claims of a pod, like kube-scheduler's structured allocator. It tries requests, alternatives and
 * devices in order, and backtracks if a later request finds none. A device on which a selector fails ends the search.
 */
import { deviceId, MAX_DEVICES_PER_CLAIM, type DeviceConstraint, type DeviceClaim, type DeviceRequest } from '../../domain/devices.ts';
import { attributeOf, type ClaimMatch, type DeviceIndex, type DeviceList, type SubRequestMatch, type TakenDevice } from './device-list.ts';

// The devices of a node that are in use.

export interface DevicesInUse {
  /** By device: how many pods have it. */
  readonly taken: Uint16Array;
  /** By counter. */
  readonly used: Float64Array;
  /** By part of a divided device. */
  readonly had: Float64Array;
}

export function noDevicesInUse(list: DeviceList): DevicesInUse {
  return { taken: new Uint16Array(list.devices.length), used: new Float64Array(list.limits.length), had: new Float64Array(list.partCount) };
}

/** `by` is 1 to take and -1 to release. The first user of a device takes its counters, and the last one returns them. */
export function takeDevices(list: DeviceList, { taken, used, had }: DevicesInUse, devices: readonly TakenDevice[], by: 1 | -1): void {
  for (const { place, amounts } of devices) {
    for (const [index, { at }] of (list.parts[place] ?? []).entries()) had[at] = (had[at] ?? 0) + by * (amounts[index] ?? 0);
    const before = taken[place] ?? 0;
    taken[place] = before + by;
    if (Math.max(before, before + by) > 1) continue;
    for (const { counter, amount } of list.uses[place] ?? []) used[counter] = (used[counter] ?? 0) + by * amount;
  }
}

/** The claims of a pod and the devices of the node that is tried. */
export interface AllocationInput {
  readonly index: DeviceIndex;
  readonly claims: readonly DeviceClaim[];
  readonly list: DeviceList;
  /** Not changed by the search. */
  readonly inUse: DevicesInUse;
  /** Pools of the node that are being republished. */
  readonly incomplete: readonly string[];
}

/** By claim: the devices that it takes from others. Devices of admin access are not included. */
type AllocatedDevices = readonly (readonly TakenDevice[])[];

/** After this many steps a claim counts as unfillable, so that no search delays a plan. */
const MAX_STEPS = 20_000;

interface OpenRequest {
  readonly claim: number;
  readonly request: DeviceRequest;
}

/** A constraint with the attribute values of the devices chosen so far. */
interface ConstraintState extends DeviceConstraint {
  /** For a `same` constraint: the value that all devices have. */
  value: string | undefined;
  /** For a `distinct` constraint: the values of all devices. */
  readonly values: string[];
  count: number;
}

interface Choice {
  readonly at: number;
  readonly device: TakenDevice;
  readonly match: SubRequestMatch;
  readonly rules: readonly ConstraintState[];
}

/** Owns one try to fill all claims. */
class DeviceSearch {
  readonly picks: TakenDevice[][];
  /** If set, why the search failed in a way that makes kube-scheduler give up the pod. */
  fault: string | undefined;
  readonly #input: AllocationInput;
  readonly #inUse: DevicesInUse;
  readonly #wanted: readonly OpenRequest[];
  readonly #matches: readonly ClaimMatch[];
  readonly #common: readonly (readonly ConstraintState[])[];
  /** By claim: how many devices it has, admin access included. */
  readonly #counts: number[];
  /** By claim: its devices of admin access. */
  readonly #looking: (readonly number[])[];
  #steps = 0;

  constructor(input: AllocationInput) {
    const { index, claims, list, inUse } = input;
    this.#input = input;
    this.#inUse = { taken: inUse.taken.slice(), used: inUse.used.slice(), had: inUse.had.slice() };
    this.picks = claims.map(() => []);
    this.#counts = claims.map(() => 0);
    this.#looking = claims.map(() => []);
    this.#wanted = claims.flatMap(({ requests }, claim) => requests.map((request) => ({ claim, request })));
    this.#matches = claims.map((claim) => index.matchClaim(claim, list));
    this.#common = claims.map(({ rules }) => rules.map((rule) => ({ ...rule, value: undefined, values: [], count: 0 })));
  }

  find(): boolean {
    this.fault = this.#faultBefore();
    return this.fault === undefined && this.#fillRequest(0) && this.fault === undefined;
  }

  /** Failures that are found before the first device is allocated. */
  #faultBefore(): string | undefined {
    for (const [at, { name, requests }] of this.#input.claims.entries()) {
      let least = 0;
      for (const request of requests) {
        const found = request.asks.flatMap((ask) => this.#matches[at]?.asks.get(ask) ?? []);
        const fault = found.map((match) => this.#faultOfAll(match)).find((text) => text !== undefined);
        if (fault !== undefined) return `claim ${name}, request ${request.name}: ${fault}`;
        least += Math.min(...found.map(({ ask, places }) => (ask.count === 'all' ? places.length : ask.count)));
      }
      if (least > MAX_DEVICES_PER_CLAIM)
        return `claim ${name}: number of requested devices ${least} exceeds the claim limit of ${MAX_DEVICES_PER_CLAIM}`;
    }
    return undefined;
  }

  /** A request for all devices needs complete pools without failures. */
  #faultOfAll({ ask, faults }: SubRequestMatch): string | undefined {
    if (ask.count !== 'all') return undefined;
    const [pool] = this.#input.incomplete;
    if (pool !== undefined) return `asks for all devices, but resource pool ${pool} is currently being updated`;
    return faults.values().next().value;
  }

  #fillRequest(at: number): boolean {
    const wanted = this.#wanted[at];
    if (wanted === undefined) return true;
    return wanted.request.asks.some((ask) => {
      const match = this.#matches[wanted.claim]?.asks.get(ask);
      if (match === undefined) return false;
      const count = ask.count === 'all' ? match.places.length : ask.count;
      const fits = (this.#counts[wanted.claim] ?? 0) + count <= MAX_DEVICES_PER_CLAIM;
      // A request for all devices is not filled if there are none.
      if (count === 0 || !fits) return false;
      return ask.count === 'all' ? this.#fillAll(at, match, 0) : this.#fillAsk(at, match, 0, count);
    });
  }

  /** Takes all places in order, without a choice. Returns true also if a failure ends the search. */
  #fillAll(at: number, match: SubRequestMatch, next: number): boolean {
    const place = match.places[next];
    if (place === undefined) return this.#fillRequest(at + 1);
    if (!this.#isUntaken(at, place, match) || !this.#hasRoom(place, match) || match.barred.has(place)) return false;
    const rules = this.#rulesFor(at, match);
    if (!this.#agrees(rules, place)) {
      this.fault = this.#brokenRule(at, place);
      return true;
    }
    const choice = { at, device: takenOf(place, match), match, rules };
    this.#choose(choice, 1);
    if (this.#fillAll(at, match, next + 1)) return true;
    this.#choose(choice, -1);
    return false;
  }

  #brokenRule(at: number, place: number): string {
    const { claims, list } = this.#input;
    const { claim, request } = this.#wanted[at] ?? {};
    const device = list.devices[place];
    const names = `claim ${claims[claim ?? 0]?.name ?? ''}, request ${request?.name ?? ''}`;
    return `${names}: cannot add device ${device === undefined ? '' : deviceId(device)} because a claim constraint would not be satisfied`;
  }

  /** Returns true also if a failure ends the search. */
  #fillAsk(at: number, match: SubRequestMatch, from: number, left: number): boolean {
    if (left === 0) return this.#fillRequest(at + 1);
    const failed = new Set<string>();
    const { looked, faults } = match;
    for (let next = from; next < looked.length && (faults.size > 0 || next <= looked.length - left); next++) {
      const place = looked[next] ?? 0;
      if (!this.#isUntaken(at, place, match)) continue;
      this.fault = faults.get(place);
      if (this.fault !== undefined) return true;
      const likes = this.#matches.map(({ classes }) => classes[place]).join();
      if (failed.has(likes) || !this.#hasRoom(place, match)) continue;
      const rules = this.#rulesFor(at, match);
      if (!this.#agrees(rules, place)) continue;
      this.#steps += 1;
      if (this.#steps > MAX_STEPS) return false;
      const choice = { at, device: takenOf(place, match), match, rules };
      this.#choose(choice, 1);
      if (this.#fillAsk(at, match, next + 1, left - 1)) return true;
      this.#choose(choice, -1);
      failed.add(likes);
    }
    return false;
  }

  /** Admin access conflicts with its own claim only. A normal request does not take what the same pod has admin access to. */
  #isUntaken(at: number, place: number, { ask }: SubRequestMatch): boolean {
    // Of a divided device only what is left of its parts counts.
    if (this.#input.list.devices[place]?.isDivided === true) return true;
    const claim = this.#wanted[at]?.claim ?? 0;
    if (ask.admin)
      return this.#looking[claim]?.includes(place) !== true && this.picks[claim]?.some((pick) => pick.place === place) !== true;
    return (this.#inUse.taken[place] ?? 0) === 0 && !this.#looking.some((places) => places.includes(place));
  }

  /** Parts of it, and counters unless claims have parts of it already. */
  #hasRoom(place: number, match: SubRequestMatch): boolean {
    const { list } = this.#input;
    if (!hasParts(list, this.#inUse, takenOf(place, match))) return false;
    if (match.ask.admin || (this.#inUse.taken[place] ?? 0) > 0) return true;
    return (list.uses[place] ?? []).every(
      ({ counter, amount }) => (this.#inUse.used[counter] ?? 0) + amount <= (list.limits[counter] ?? 0),
    );
  }

  #rulesFor(at: number, { ask }: SubRequestMatch): readonly ConstraintState[] {
    const wanted = this.#wanted[at];
    if (wanted === undefined) return [];
    const { claim, request } = wanted;
    return (this.#common[claim] ?? []).filter(
      ({ requests }) => requests.length === 0 || requests.includes(request.name) || requests.includes(`${request.name}/${ask.name}`),
    );
  }

  #agrees(rules: readonly ConstraintState[], place: number): boolean {
    const device = this.#input.list.devices[place];
    if (device === undefined) return false;
    return rules.every(({ kind, attribute, value, values, count }) => {
      const own = attributeOf(device, attribute);
      if (own === undefined || count === 0) return own !== undefined;
      // guard: distinct devices differ from each other, also those of one request
      return kind === 'same' ? own === value : !values.includes(own);
    });
  }

  #choose({ at, device: pick, match, rules }: Choice, by: 1 | -1): void {
    const { list } = this.#input;
    const claim = this.#wanted[at]?.claim ?? 0;
    const device = list.devices[pick.place];
    for (const rule of rules) {
      const own = device === undefined ? undefined : attributeOf(device, rule.attribute);
      if (rule.count === 0) rule.value = own;
      rule.count += by;
      if (by === 1 && own !== undefined) rule.values.push(own);
      else rule.values.pop();
    }
    this.#counts[claim] = (this.#counts[claim] ?? 0) + by;
    const picks = this.picks[claim] ?? [];
    if (match.ask.admin) {
      const looking = this.#looking[claim] ?? [];
      this.#looking[claim] = by === 1 ? [...looking, pick.place] : looking.slice(0, -1);
      return;
    }
    takeDevices(list, this.#inUse, [pick], by);
    if (by === 1) picks.push(pick);
    else picks.pop();
  }
}

export function takenOf(place: number, { amounts }: SubRequestMatch): TakenDevice {
  return { place, amounts: amounts.get(place) ?? [] };
}

export function hasParts({ parts }: DeviceList, { had }: DevicesInUse, { place, amounts }: TakenDevice): boolean {
  // guard: claims have no more of a divided device than there is of it
  return (parts[place] ?? []).every(({ at, whole }, index) => (had[at] ?? 0) + (amounts[index] ?? 0) <= whole);
}

// Answers for one pod and one node. Pure.

/** undefined: not all claims can be filled. */
export function allocateDevices(input: AllocationInput): AllocatedDevices | undefined {
  const search = new DeviceSearch(input);
  return search.find() ? search.picks : undefined;
}

/** Why kube-scheduler would give up the pod, and not only this node. undefined: it would not. */
export function allocationFault(input: AllocationInput): string | undefined {
  const search = new DeviceSearch(input);
  search.find();
  return search.fault;
}
