/**
 * Volumes that several pods mount, per node slot: what a node has attached for one pod takes no second attach slot for the
 * next, as in kube-scheduler's NodeVolumeLimits. Pods that share nothing are not known here. Undone by doing the opposite.
 */
import type { PodShape } from '../domain/pod.ts';
import { plus, type Resources } from '../domain/resources.ts';
import type { SharedVolume } from '../domain/volumes.ts';
import { needOf, type Need } from './predicates/resources-fit.ts';

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
