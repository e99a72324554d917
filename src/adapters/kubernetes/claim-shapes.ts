/**
 * Gives pods that mount claims a shape that says what the claims mean. Replicas whose volumes say the same share one shape,
 * whatever the claims are called. A cluster whose pods mount no claims is handed through untouched.
 */
import type { Pod, PodShape } from '../../domain/pod.ts';
import { attachResource, minus, plus, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { AZURE_DISK_DRIVER } from '../../domain/volumes.ts';
import { judgeClaims, type ClaimRules, type Slot, type Storage } from './claim-rules.ts';
import { Interner } from './interner.ts';

export interface Occupants {
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly pendingPods: readonly Pod[];
}

/** Owns what was judged: it stands until the pods of a list or the storage change. */
export class ClaimShapes {
  readonly #names: ResourceNames;
  readonly #shapes = new Interner<PodShape>();
  #judged = new WeakMap<readonly Pod[], readonly Pod[]>();
  readonly #pods = new WeakMap<Pod, Pod>();
  #version = -1;
  #last: { readonly given: Occupants; readonly found: Occupants } | undefined;

  constructor(names: ResourceNames) {
    this.#names = names;
  }

  /** `version` changes whenever `storage` would answer otherwise; `limited`: drivers with a limit anywhere. */
  resolve(given: Occupants, storage: Storage, version: number, limited: ReadonlySet<string>): Occupants {
    const last = this.#last;
    if (this.#version !== version) this.#judged = new WeakMap();
    else if (last !== undefined && last.given.podsByNode === given.podsByNode && last.given.pendingPods === given.pendingPods)
      return last.found;
    this.#version = version;
    const listed = (pods: readonly Pod[]): readonly Pod[] => this.#list(pods, storage, limited);
    const found = { podsByNode: this.#byNode(given.podsByNode, listed), pendingPods: listed(given.pendingPods) };
    this.#last = { given, found };
    return found;
  }

  #byNode(given: Occupants['podsByNode'], listed: (pods: readonly Pod[]) => readonly Pod[]): Occupants['podsByNode'] {
    const lists = [...given].map(([node, pods]) => [node, listed(pods)] as const);
    const before = this.#last?.found.podsByNode;
    const isSame = before?.size === lists.length && lists.every(([node, pods]) => before.get(node) === pods);
    return isSame && before !== undefined ? before : new Map(lists);
  }

  #list(pods: readonly Pod[], storage: Storage, limited: ReadonlySet<string>): readonly Pod[] {
    const known = this.#judged.get(pods);
    if (known !== undefined) return known;
    const found = pods.some(mountsVolumes) ? this.#resolveAll(pods, storage, limited) : pods;
    this.#judged.set(pods, found);
    return found;
  }

  #resolveAll(pods: readonly Pod[], storage: Storage, limited: ReadonlySet<string>): readonly Pod[] {
    return pods.map((pod) => {
      if (!mountsVolumes(pod)) return pod;
      const rules = judgeClaims(pod, storage);
      const slots = rules.slots.filter(({ driver }) => driver === AZURE_DISK_DRIVER || limited.has(driver));
      return this.#shaped(pod, { ...rules, slots: distinct(slots) });
    });
  }

  #shaped(pod: Pod, rules: ClaimRules): Pod {
    const shape = this.#shapeOf(pod.shape, rules);
    const known = this.#pods.get(pod);
    if (known?.shape === shape) return known;
    const shaped = shape === pod.shape ? pod : { ...pod, shape };
    this.#pods.set(pod, shaped);
    return shaped;
  }

  #shapeOf(base: PodShape, { places, blockers, slots, counted }: ClaimRules): PodShape {
    if (places.length + blockers.length + slots.length === 0) return base;
    const drivers = countBy(slots.filter(({ isShared }) => !isShared));
    const shared = slots.filter(({ isShared }) => isShared);
    const key = JSON.stringify([base.key, places, blockers, drivers, counted, ...shared.map(nameOf)]);
    return this.#shapes.of(key, () => {
      const all = plus(base.requests, this.#slots(drivers));
      const requests = counted === 0 ? all : minus(all, this.#slots([[AZURE_DISK_DRIVER, counted]]));
      const volumes = places.length + blockers.length === 0 ? {} : { volumes: { places, blockers } };
      const sharedVolumes = shared.map((slot) => ({ volume: nameOf(slot), slots: this.#slots([[slot.driver, 1]]) }));
      return { ...base, key, requests, ...volumes, ...(shared.length === 0 ? {} : { sharedVolumes }) };
    });
  }

  #slots(drivers: ReturnType<typeof countBy>): Resources {
    return this.#names.fromRecord(Object.fromEntries(drivers.map(([driver, count]) => [attachResource(driver), count])));
  }
}

/** Whether there is anything to be judged of it here. */
export function mountsVolumes({ claims, disks }: Pick<Pod, 'claims' | 'disks'>): boolean {
  return claims !== undefined || disks !== undefined;
}

/** Each volume once, in the order of their names. */
function distinct(slots: readonly Slot[]): readonly Slot[] {
  return [...new Map(slots.map((slot) => [nameOf(slot), slot])).values()].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

function nameOf({ driver, volume }: Slot): string {
  return `${driver} ${volume}`;
}

function countBy(slots: readonly Slot[]): readonly (readonly [driver: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { driver } of slots) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return [...counts].sort(([left], [right]) => (left < right ? -1 : 1));
}
