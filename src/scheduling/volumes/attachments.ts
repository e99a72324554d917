/** Attach slots as resources: what a node states is its limit, what nobody states has none. */
import type { PodShape } from '../../domain/pod.ts';
import { type ResourceNames, type Resources, plus } from '../../domain/resources.ts';
import type { AttachLimits, SharedVolume } from '../../domain/volumes.ts';
import { needOf, type Need } from '../predicates/resources-fit.ts';

/** More than any node is asked for, and far from where adding ones stops being exact. */
const NO_LIMIT = 2 ** 40;

interface Attaching {
  readonly allocatable: Resources;
  readonly attachLimits?: AttachLimits;
}

/** The number of volumes of a driver that a node holds. */
export function attachLimit(limits: AttachLimits | undefined, driver: string): number {
  return limits !== undefined && Object.hasOwn(limits, driver) ? (limits[driver] ?? NO_LIMIT) : NO_LIMIT;
}

/** Allocatable with every attach slot that anybody has asked about. The very vector while nobody has. */
export function withAttachSlots({ allocatable, attachLimits }: Attaching, names: ResourceNames): Resources {
  const last = names.attachable.at(-1);
  if (last === undefined) return allocatable;
  const vector = new Float64Array(Math.max(allocatable.length, last.index + 1));
  vector.set(allocatable);
  for (const { index, driver } of names.attachable) vector[index] = attachLimit(attachLimits, driver);
  return vector;
}

/** The same for a template or a node. */
export function attaching<Some extends Attaching>(some: Some, names: ResourceNames): Some {
  const allocatable = withAttachSlots(some, names);
  return allocatable === some.allocatable ? some : { ...some, allocatable };
}

// Volumes that several pods mount, per node slot: what a node has attached for one pod takes no second attach slot for the
// next, as in kube-scheduler's NodeVolumeLimits. Pods that share nothing are not known here. Undone by doing the opposite.

export interface CompiledVolume {
  readonly volume: string;
  readonly need: Need;
}

export function compileVolumes(volumes: readonly SharedVolume[] = []): readonly CompiledVolume[] {
  return volumes.map(({ volume, slots }) => ({ volume, need: needOf(slots) }));
}

/** What the first such pod takes of a node that has none of its volumes. */
export function requestsAlone({ requests, sharedVolumes }: Pick<PodShape, 'requests' | 'sharedVolumes'>): Resources {
  return sharedVolumes === undefined ? requests : sharedVolumes.reduce((sum, { slots }) => plus(sum, slots), requests);
}

/** Owns who shares what where. */
export class SharedVolumes {
  /** Slot -> volume -> the pods that mount it. */
  readonly #users = new Map<number, Map<string, number>>();

  /** Those that the node would have to attach. */
  newTo<Volume extends Pick<CompiledVolume, 'volume'>>(slot: number, volumes: readonly Volume[]): readonly Volume[] {
    const users = this.#users.get(slot);
    return users === undefined ? volumes : volumes.filter(({ volume }) => !users.has(volume));
  }

  /** Answers those that nobody had. */
  take(slot: number, volumes: readonly CompiledVolume[]): readonly CompiledVolume[] {
    const fresh = this.newTo(slot, volumes);
    const users = this.#users.get(slot) ?? new Map<string, number>();
    this.#users.set(slot, users);
    for (const { volume } of volumes) users.set(volume, (users.get(volume) ?? 0) + 1);
    return fresh;
  }

  /** Answers those that nobody has any more. */
  giveBack(slot: number, volumes: readonly CompiledVolume[]): readonly CompiledVolume[] {
    const users = this.#users.get(slot);
    for (const { volume } of volumes) {
      const left = (users?.get(volume) ?? 0) - 1;
      if (left > 0) users?.set(volume, left);
      else users?.delete(volume);
    }
    if (users?.size === 0) this.#users.delete(slot);
    return this.newTo(slot, volumes);
  }
}
