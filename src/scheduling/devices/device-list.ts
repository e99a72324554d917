/** The devices of a node in numbered places, and which of them a claim could have. Worked out once per claim and node. */
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
  readonly placeOf: ReadonlyMap<string, number>;
  /** What there is of each counter of each set of each pool. */
  readonly limits: Float64Array;
  /** By device: what it takes of which counter. */
  readonly uses: readonly (readonly { readonly counter: number; readonly amount: number }[])[];
}

/** What an ask could have of a list. */
export interface AskMatch {
  readonly ask: DeviceSubRequest;
  /** Places, ascending. */
  readonly places: readonly number[];
  /** Those that an ask for all would have to have and does not get, since it does not tolerate their taints; with why. */
  readonly barred: ReadonlyMap<number, string>;
  /** Places that a selector cannot be asked about, with why: who comes to such a place ends the search. */
  readonly faults: ReadonlyMap<number, string>;
  /** Both, ascending. */
  readonly looked: readonly number[];
  /** Set: the ask cannot be filled here, whatever is free. */
  readonly failed?: string;
}

export interface ClaimMatch {
  readonly asks: ReadonlyMap<DeviceSubRequest, AskMatch>;
  /** By device: equal for devices that are as good as each other for the claim. */
  readonly classes: readonly string[];
}

const lists = new WeakMap<readonly DevicePool[], DeviceList>();
const matches = new WeakMap<DeviceClaim, WeakMap<DeviceList, ClaimMatch>>();
const selectors = new WeakMap<DeviceSubRequest, readonly (Selector | { readonly refused: string })[]>();

export function listOf(pools: readonly DevicePool[]): DeviceList {
  const known = lists.get(pools);
  if (known !== undefined) return known;
  const made = makeList(pools);
  lists.set(pools, made);
  return made;
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

export function matchOf(claim: DeviceClaim, list: DeviceList): ClaimMatch {
  const byList = matches.get(claim) ?? new WeakMap<DeviceList, ClaimMatch>();
  matches.set(claim, byList);
  const known = byList.get(list);
  if (known !== undefined) return known;
  const found = claim.requests.flatMap(({ asks }) => asks.map((ask) => matchAsk(ask, list)));
  const classes = list.devices.map((device, place) =>
    JSON.stringify([
      found.map(({ places }) => Number(places.includes(place))),
      claim.rules.map(({ attribute }) => attributeOf(device, attribute) ?? null),
      list.uses[place]?.map(({ counter, amount }) => [counter, amount]),
    ]),
  );
  const made = { asks: new Map(found.map((match) => [match.ask, match])), classes };
  byList.set(list, made);
  return made;
}

function matchAsk(ask: DeviceSubRequest, { devices }: DeviceList): AskMatch {
  const parsed = selectors.get(ask) ?? ask.selectors.map(parseSelector);
  selectors.set(ask, parsed);
  const places: number[] = [];
  const barred = new Map<number, string>();
  const faults = new Map<number, string>();
  let failed: string | undefined;
  for (const [place, device] of devices.entries()) {
    const verdict = meets(device, ask, parsed);
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

/** Whether all selectors hold; a text: why that cannot be said. */
function meets(device: Device, ask: DeviceSubRequest, parsed: readonly (Selector | { readonly refused: string })[]): boolean | string {
  for (const [at, selector] of parsed.entries()) {
    if ('refused' in selector) return `the selector ${ask.selectors[at]} cannot be judged: ${selector.refused}`;
    const verdict = selector.matches(device);
    if (typeof verdict === 'object') return `the selector ${ask.selectors[at]} fails on ${deviceId(device)}: ${verdict.error}`;
    if (!verdict) return false;
  }
  return true;
}

/** By its full name (`domain/name`), in a form that can be compared; undefined: the device has none. */
export function attributeOf(device: Device, attribute: string): string | undefined {
  const slash = attribute.indexOf('/');
  const domain = slash < 0 ? device.driver : attribute.slice(0, slash);
  const value: AttributeValue | undefined = device.attributes[domain]?.[attribute.slice(slash + 1)];
  return value === undefined ? undefined : JSON.stringify(value);
}
