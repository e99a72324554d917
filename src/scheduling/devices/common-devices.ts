/**
 * Devices that several nodes reach: which of them a node does, and which of them are had, wherever their pods run. As in kube-scheduler
 * (dynamic-resource-allocation, structured/internal/incubating/pools_incubating.go, `GatherPools`, 1.37.2).
 */
import { inOrderOfAllocation, type CommonPool, type Device, type DevicePool } from '../../domain/devices.ts';
import { matchesTerms } from '../predicates/node-affinity.ts';
import { noDevicesInUse, takeDevices, type DevicesInUse } from './device-allocator.ts';
import { takenById, type DeviceIndex, type DeviceList } from './device-list.ts';

type NamedLabels = Parameters<typeof matchesTerms>[1];

const known = new WeakMap<readonly CommonPool[], CommonDevices>();
const NONE: readonly CommonPool[] = [];

/** Which common devices a node reaches. The same lists of pools are the same objects, since what claims match is kept by them. */
export class CommonDevices {
  readonly all: readonly CommonPool[];
  readonly #parts = new Map<string, DevicePool>();
  readonly #lists = new WeakMap<readonly DevicePool[], Map<string, readonly DevicePool[]>>();

  private constructor(all: readonly CommonPool[]) {
    this.all = all;
  }

  static of(pools: readonly CommonPool[] = NONE): CommonDevices {
    const found = known.get(pools) ?? new CommonDevices(pools);
    known.set(pools, found);
    return found;
  }

  /** The node's own pools with what it reaches of common ones, in the order of allocation. */
  poolsOf(node: NamedLabels, own: readonly DevicePool[]): readonly DevicePool[] {
    const reached = this.#reachedBy(node).filter(({ pool }) => pool.isIncomplete !== true);
    if (reached.length === 0) return own;
    const key = reached.map(({ at, places }) => `${at}:${places.join()}`).join(' ');
    const lists = this.#lists.get(own) ?? new Map<string, readonly DevicePool[]>();
    this.#lists.set(own, lists);
    const list = lists.get(key) ?? inOrderOfAllocation([...own, ...reached.map((each) => this.#part(each))]);
    lists.set(key, list);
    return list;
  }

  /** The pools that are not complete and have a device that the node reaches, as `driver/pool`. */
  incompleteFor(node: NamedLabels): readonly string[] {
    return this.#reachedBy(node).flatMap(({ pool: { driver, name, isIncomplete } }) =>
      isIncomplete === true ? [`${driver}/${name}`] : [],
    );
  }

  #reachedBy(node: NamedLabels): readonly { readonly pool: CommonPool; readonly at: number; readonly places: readonly number[] }[] {
    return this.all.flatMap((pool, at) => {
      const places = pool.devices.flatMap(({ reach }, place) => (matchesTerms(reach, node) ? [place] : []));
      return places.length === 0 ? [] : [{ pool, at, places }];
    });
  }

  #part({ pool, at, places }: { readonly pool: CommonPool; readonly at: number; readonly places: readonly number[] }): DevicePool {
    const key = `${at}:${places.join()}`;
    const { driver, name, counters, devices } = pool;
    const reached = places.flatMap((place): Device | readonly Device[] => devices[place] ?? []);
    const part = this.#parts.get(key) ?? { driver, name, counters, devices: reached, isCommon: true };
    this.#parts.set(key, part);
    return part;
  }
}

/** What is had of common devices. Each node that reaches them sees it in its own list. */
export class CommonUse {
  readonly #amounts = new Map<string, number>();
  version = 0;

  /** `held` is had by no pod that is placed: it stays so. */
  constructor({ all }: CommonDevices, index: DeviceIndex) {
    for (const pool of all) {
      const list = index.listDevices([{ ...pool, isCommon: true }]);
      const inUse = noDevicesInUse(list);
      // guard: a device that several nodes reach is taken for all of them
      takeDevices(list, inUse, takenById(pool.held, list), 1);
      this.keep(list, inUse);
    }
  }

  /** Writes what is had into the node's own numbers. */
  load({ cells }: DeviceList, inUse: DevicesInUse): void {
    for (const { kind, at, key } of cells) inUse[kind][at] = this.#amounts.get(key) ?? 0;
  }

  /** Reads it from there after a change. */
  keep({ cells }: DeviceList, inUse: DevicesInUse): void {
    if (cells.length === 0) return;
    for (const { kind, at, key } of cells) this.#amounts.set(key, inUse[kind][at] ?? 0);
    this.version += 1;
  }
}
