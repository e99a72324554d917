/** The devices of a node in numbered places, and the places that match a claim. Must not know which devices are in use. */
import { parseSelector, type Selector } from '../../domain/cel-selector.ts';
import {
  deviceId,
  type AttributeValue,
  type Device,
  type DeviceSubRequest,
  type DeviceClaim,
  type DevicePool,
} from '../../domain/devices.ts';
import { untoleratedTaint } from '../../domain/taints.ts';
import { defined } from '../../lib/defined.ts';

export interface DeviceList {
  readonly devices: readonly Device[];
  /** By device id. */
  readonly placeOf: ReadonlyMap<string, number>;
  /** The amount of each counter of each set of each pool. */
  readonly limits: Float64Array;
  /** By device: the counters that it consumes. */
  readonly uses: readonly (readonly { readonly counter: number; readonly amount: number }[])[];
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
  /** `places` and `faults` together, ascending. */
  readonly looked: readonly number[];
  /** If set, the subrequest cannot be filled here, whatever is free. */
  readonly failed?: string;
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
    ]),
  );
}

function makeList(pools: readonly DevicePool[]): DeviceList {
  const counters = new Map<string, number>();
  const limits: number[] = [];
  for (const { driver, name, counters: sets } of pools) {
    for (const [set, amounts] of Object.entries(sets)) {
      for (const [counter, amount] of Object.entries(amounts)) {
        counters.set(JSON.stringify([driver, name, set, counter]), limits.length);
        limits.push(amount);
      }
    }
  }
  const devices = pools.flatMap((pool) => pool.devices);
  const uses = devices.map(({ driver, pool, consumes }) =>
    consumes.flatMap(({ set, counters: amounts }) =>
      Object.entries(amounts).map(([counter, amount]) => {
        const key = JSON.stringify([driver, pool, set, counter]);
        const place = counters.get(key) ?? limits.push(0) - 1;
        counters.set(key, place);
        return { counter: place, amount };
      }),
    ),
  );
  return { devices, placeOf: new Map(devices.map((device, place) => [deviceId(device), place])), limits: Float64Array.from(limits), uses };
}

function matchSubRequest(ask: DeviceSubRequest, parsed: ParsedSelectors, { devices }: DeviceList): SubRequestMatch {
  const places: number[] = [];
  const barred = new Map<number, string>();
  const faults = new Map<number, string>();
  let failed: string | undefined;
  for (const [place, device] of devices.entries()) {
    const verdict = matchesSelectors(device, ask, parsed);
    if (typeof verdict === 'string') faults.set(place, verdict);
    if (verdict !== true) continue;
    const taint = untoleratedTaint(device.taints, ask.tolerations);
    if (device.strange !== undefined) failed ??= `${deviceId(device)} ${device.strange}`;
    else if (taint === undefined || ask.count === 'all') places.push(place);
    if (taint !== undefined && ask.count === 'all') barred.set(place, `${deviceId(device)} has the taint ${taint.key}`);
  }
  const looked = [...places, ...faults.keys()].sort((left, right) => left - right);
  return { ask, places: failed === undefined ? places : [], barred, faults, looked, ...defined({ failed }) };
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
