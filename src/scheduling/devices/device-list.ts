/** The devices of a node in numbered places, and the places that match a claim. Must not know which devices are in use. */
import { parseSelector, type Selector } from '../../domain/cel-selector.ts';
import {
  deviceId,
  heldDeviceId,
  type AttributeValue,
  type Device,
  type DeviceSubRequest,
  type DeviceClaim,
  type DevicePool,
  type HeldDevice,
} from '../../domain/devices.ts';
import { untoleratedTaint } from '../../domain/taints.ts';
import { capacitiesOf, takenParts } from './divided-capacity.ts';

export interface DeviceList {
  readonly devices: readonly Device[];
  /** By device id. */
  readonly placeOf: ReadonlyMap<string, number>;
  /** The amount of each counter of each set of each pool. */
  readonly limits: Float64Array;
  /** By device that consumes counters: those of its pool, with what it consumes of each. */
  readonly uses: readonly (readonly { readonly counter: number; readonly amount: number }[])[];
  /** By device: its capacities, if claims have parts of them. Empty for a device that one claim has whole. */
  readonly parts: readonly (readonly DividedPart[])[];
  /** The numbers about devices that other nodes reach, too: which, and where they are kept for all of them. */
  readonly cells: readonly CommonCell[];
  /** The places of those devices. */
  readonly common: ReadonlySet<number>;
  /** The number of such capacities of all devices. */
  readonly partCount: number;
}

/** A capacity of a divided device. */
interface DividedPart {
  readonly at: number;
  readonly name: string;
  readonly whole: number;
}

/** One number of {@link DevicesInUse}. */
interface CommonCell {
  readonly kind: 'taken' | 'used' | 'had';
  readonly at: number;
  readonly key: string;
}

/** A device of a list, with what is had of each of its {@link DeviceList.parts}. */
export interface TakenDevice {
  readonly place: number;
  readonly amounts: readonly number[];
}

/** The places of a list that match a subrequest. */
export interface SubRequestMatch {
  readonly ask: DeviceSubRequest;
  /** Ascending. */
  readonly places: readonly number[];
  /** Matching places whose taint a subrequest for all devices does not tolerate, with the reason. */
  readonly barred: ReadonlyMap<number, string>;
  /** Places where a selector fails, with the reason. The search ends when it comes to one. */
  readonly faults: ReadonlyMap<number, string>;
  /** What the subrequest takes of the parts of divided devices, by place. */
  readonly amounts: ReadonlyMap<number, readonly number[]>;
  /** `places` and `faults` together, ascending. */
  readonly looked: readonly number[];
}

export interface ClaimMatch {
  readonly asks: ReadonlyMap<DeviceSubRequest, SubRequestMatch>;
  /** By device: equal for devices that are interchangeable for the claim. */
  readonly classes: readonly string[];
}

type ParsedSelectors = readonly (Selector | { readonly refused: string })[];

/** Lists and matches, each computed once for the life of the index. A snapshot has one; so has a template of a plan. */
export class DeviceIndex {
  readonly #lists = new WeakMap<readonly DevicePool[], DeviceList>();
  readonly #matches = new WeakMap<DeviceClaim, WeakMap<DeviceList, ClaimMatch>>();
  readonly #selectors = new WeakMap<DeviceSubRequest, ParsedSelectors>();

  listDevices(pools: readonly DevicePool[]): DeviceList {
    const known = this.#lists.get(pools);
    if (known !== undefined) return known;
    const made = makeList(pools);
    this.#lists.set(pools, made);
    return made;
  }

  matchClaim(claim: DeviceClaim, list: DeviceList): ClaimMatch {
    const byList = this.#matches.get(claim) ?? new WeakMap<DeviceList, ClaimMatch>();
    this.#matches.set(claim, byList);
    const known = byList.get(list);
    if (known !== undefined) return known;
    const found = claim.requests.flatMap(({ asks }) => asks.map((ask) => matchSubRequest(ask, this.#parsed(ask), list)));
    const made = { asks: new Map(found.map((match) => [match.ask, match])), classes: classesOf(claim, found, list) };
    byList.set(list, made);
    return made;
  }

  #parsed(ask: DeviceSubRequest): ParsedSelectors {
    const parsed = this.#selectors.get(ask) ?? ask.selectors.map(parseSelector);
    this.#selectors.set(ask, parsed);
    return parsed;
  }
}

function classesOf(claim: DeviceClaim, found: readonly SubRequestMatch[], list: DeviceList): readonly string[] {
  return list.devices.map((device, place) =>
    JSON.stringify([
      found.map(({ places }) => Number(places.includes(place))),
      claim.rules.map(({ attribute }) => attributeOf(device, attribute) ?? null),
      list.uses[place]?.map(({ counter, amount }) => [counter, amount]),
      // What is left of it differs from device to device.
      ...(device.isDivided === true ? [place] : []),
    ]),
  );
}

type CounterUse = DeviceList['uses'][number][number];

function makeList(pools: readonly DevicePool[]): DeviceList {
  const limits: number[] = [];
  const uses = pools.flatMap((pool) => {
    const counters = Object.entries(pool.counters).flatMap(([set, amounts]) =>
      Object.entries(amounts).map(([name, amount]) => ({ set, name, counter: limits.push(amount) - 1 })),
    );
    // A device that consumes one is not allocated either while another counter of its pool is overdrawn (`checkAvailableCounters`, 1.37.2).
    return pool.devices.map(({ consumes }) =>
      consumes.length === 0
        ? []
        : counters.map(({ set, name, counter }): CounterUse => {
            const own = consumes.filter((each) => each.set === set);
            return { counter, amount: own.reduce((sum, each) => sum + (each.counters[name] ?? 0), 0) };
          }),
    );
  });
  const devices = pools.flatMap((pool) => pool.devices);
  let partCount = 0;
  const parts = devices.map((device) =>
    device.isDivided === true ? Object.entries(capacitiesOf(device)).map(([name, { whole }]) => ({ at: partCount++, name, whole })) : [],
  );
  const cells = cellsOf(pools, parts);
  const common = new Set(cells.filter(({ kind }) => kind === 'taken').map(({ at }) => at));
  const placeOf = new Map(devices.map((device, place) => [deviceId(device), place]));
  return { devices, placeOf, limits: Float64Array.from(limits), uses, parts, partCount, cells, common };
}

function cellsOf(pools: readonly DevicePool[], parts: DeviceList['parts']): DeviceList['cells'] {
  let [place, counter] = [0, 0];
  return pools.flatMap(({ driver, name: pool, isCommon, devices, counters }) => {
    const ofCounters = Object.entries(counters).flatMap(([set, amounts]) =>
      Object.keys(amounts).map((name): CommonCell => ({ kind: 'used', at: counter++, key: JSON.stringify([driver, pool, set, name]) })),
    );
    const ofDevices = devices.flatMap((device): readonly CommonCell[] => {
      const [at, id] = [place++, deviceId(device)];
      const ofParts = (parts[at] ?? []).map((part): CommonCell => ({ kind: 'had', at: part.at, key: JSON.stringify([id, part.name]) }));
      return [{ kind: 'taken', at, key: id }, ...ofParts];
    });
    return isCommon === true ? [...ofCounters, ...ofDevices] : [];
  });
}

/** A divided device that a claim has whole, since it was not divided before, has nothing left. */
export function takenById(held: readonly HeldDevice[], { placeOf, parts }: DeviceList): readonly TakenDevice[] {
  return held.flatMap((one) => {
    const place = placeOf.get(heldDeviceId(one));
    if (place === undefined) return [];
    return [{ place, amounts: (parts[place] ?? []).map(({ name, whole }) => (typeof one === 'string' ? whole : (one.parts[name] ?? 0))) }];
  });
}

function matchSubRequest(ask: DeviceSubRequest, parsed: ParsedSelectors, { devices, parts }: DeviceList): SubRequestMatch {
  const places: number[] = [];
  const amounts = new Map<number, readonly number[]>();
  const barred = new Map<number, string>();
  const faults = new Map<number, string>();
  for (const [place, device] of devices.entries()) {
    const verdict = matchesSelectors(device, ask, parsed);
    if (typeof verdict === 'string') faults.set(place, verdict);
    const taken = verdict === true ? takenParts(device, ask.parts) : undefined;
    if (taken === undefined) continue;
    if (device.isDivided === true)
      amounts.set(
        place,
        (parts[place] ?? []).map(({ name }) => taken[name] ?? 0),
      );
    const taint = untoleratedTaint(device.taints, ask.tolerations);
    if (taint === undefined || ask.count === 'all') places.push(place);
    if (taint !== undefined && ask.count === 'all') barred.set(place, `${deviceId(device)} has the taint ${taint.key}`);
  }
  const looked = [...places, ...faults.keys()].sort((left, right) => left - right);
  return { ask, places, amounts, barred, faults, looked };
}

/** Whether all selectors match. A text says why that cannot be evaluated. */
function matchesSelectors(device: Device, ask: DeviceSubRequest, parsed: ParsedSelectors): boolean | string {
  for (const [at, selector] of parsed.entries()) {
    if ('refused' in selector) return `the selector ${ask.selectors[at]} cannot be evaluated: ${selector.refused}`;
    const verdict = selector.matches(device);
    if (typeof verdict === 'object') return `the selector ${ask.selectors[at]} fails on ${deviceId(device)}: ${verdict.error}`;
    if (!verdict) return false;
  }
  return true;
}

/** The attribute with this full name (`domain/name`) in comparable form. undefined if the device lacks it. */
export function attributeOf(device: Device, attribute: string): string | undefined {
  const slash = attribute.indexOf('/');
  const domain = slash < 0 ? device.driver : attribute.slice(0, slash);
  const value: AttributeValue | undefined = device.attributes[domain]?.[attribute.slice(slash + 1)];
  return value === undefined ? undefined : JSON.stringify(value);
}
