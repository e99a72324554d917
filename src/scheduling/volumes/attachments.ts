/** Resources that no node states: attach slots, with or without a limit, and what devices may stand for. Must not know which node a pod will run on. */
import type { PodShape } from '../../domain/pod.ts';
import { type ResourceNames, type Resources, plus } from '../../domain/resources.ts';
import type { AttachLimits, SharedVolume } from '../../domain/volumes.ts';
import { needOf, type Need } from '../predicates/resources-fit.ts';

/** More than any node can attach, and small enough that sums stay exact. */
const NO_LIMIT = 2 ** 40;

interface Attaching {
  readonly allocatable: Resources;
  readonly attachLimits: AttachLimits;
}

/** How many volumes of a driver a node can attach. */
export function attachLimit(limits: AttachLimits | undefined, driver: string): number {
  return limits !== undefined && Object.hasOwn(limits, driver) ? (limits[driver] ?? NO_LIMIT) : NO_LIMIT;
}

/** What a node has of a resource that a device class stands for. A node without an amount of its own has what its devices give. */
export function claimableAmount(allocatable: Resources | undefined, own: number): number {
  // guard: a node with an amount of its own has no more of it than that
  return (allocatable?.[own] ?? 0) > 0 ? (allocatable?.[own] ?? 0) : NO_LIMIT;
}

/** Allocatable with every known attach slot and claimable resource. Returns the same vector if none are known. */
export function withAttachSlots({ allocatable, attachLimits }: Attaching, names: ResourceNames): Resources {
  const { attachable, claimable } = names;
  const last = Math.max(attachable.at(-1)?.index ?? -1, claimable.at(-1)?.index ?? -1);
  if (last < 0) return allocatable;
  const vector = new Float64Array(Math.max(allocatable.length, last + 1));
  vector.set(allocatable);
  for (const { index, driver } of attachable) vector[index] = attachLimit(attachLimits, driver);
  for (const { index, own } of claimable) vector[index] = claimableAmount(allocatable, own);
  return vector;
}

/** The same for a template or a node. */
export function withAttachLimits<Some extends Attaching>(some: Some, names: ResourceNames): Some {
  const allocatable = withAttachSlots(some, names);
  return allocatable === some.allocatable ? some : { ...some, allocatable };
}

// Volumes that several pods mount, per node slot. As in kube-scheduler's NodeVolumeLimits, a volume that is attached for one pod takes no
// second slot for the next. Pods without shared volumes are not recorded. A change is undone by its inverse.

export interface CompiledVolume {
  readonly volume: string;
  readonly need: Need;
}

export function compileVolumes(volumes: readonly SharedVolume[]): readonly CompiledVolume[] {
  return volumes.map(({ volume, slots }) => ({ volume, need: needOf(slots) }));
}

/** What the first such pod takes of a node that has none of its volumes. */
export function requestsAlone({ requests, sharedVolumes }: Pick<PodShape, 'requests' | 'sharedVolumes'>): Resources {
  return sharedVolumes.reduce((sum, { slots }) => plus(sum, slots), requests);
}

/** Owns which pods share which volumes on which node. */
export class SharedVolumes {
  /** Slot -> volume -> the pods that mount it. */
  readonly #users = new Map<number, Map<string, number>>();

  /** The volumes that the node would have to attach. */
  newTo<Volume extends Pick<CompiledVolume, 'volume'>>(slot: number, volumes: readonly Volume[]): readonly Volume[] {
    const users = this.#users.get(slot);
    return users === undefined ? volumes : volumes.filter(({ volume }) => !users.has(volume));
  }

  /** Returns the volumes that no pod had mounted before. */
  attach(slot: number, volumes: readonly CompiledVolume[]): readonly CompiledVolume[] {
    const fresh = this.newTo(slot, volumes);
    const users = this.#users.get(slot) ?? new Map<string, number>();
    this.#users.set(slot, users);
    for (const { volume } of volumes) users.set(volume, (users.get(volume) ?? 0) + 1);
    return fresh;
  }

  /** Returns the volumes that no pod mounts any more. */
  detach(slot: number, volumes: readonly CompiledVolume[]): readonly CompiledVolume[] {
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
