/**
 * The pods of accepted increases: their classes, the same pods found again by another process, and pods that take the places of copies
 * that existed only in a plan. Must not know when an increase ends.
 * Idea: increase.
 */
import type { PodUid } from '../../../domain/ids.ts';
import type { AcceptedIncrease, LoopState, PodsOfClass } from '../../../domain/loop-state.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { compareText } from '../../../lib/comparison.ts';
import { stableHash } from '../../../lib/random.ts';

type Increases = LoopState['increases'];

/** The class of pods with this shape: equal in every process, also after a restart. */
export function podClass({ key }: Pick<PodShape, 'key'>): string {
  return `${stableHash(key).toString(36)}-${key.length.toString(36)}`;
}

/** `firstAskedAtMs`: when nodes were first requested for them. */
export function podsByClass(pods: readonly Pod[], firstAskedAtMs: number): readonly PodsOfClass[] {
  const classOf = new Map<string, string>();
  const uids = new Map<string, PodUid[]>();
  for (const { uid, shape } of pods) {
    const name = classOf.get(shape.key) ?? podClass(shape);
    classOf.set(shape.key, name);
    const known = uids.get(name);
    if (known === undefined) uids.set(name, [uid]);
    else known.push(uid);
  }
  return [...uids].map(([name, own]) => ({ class: name, count: own.length, uids: own, firstAskedAtMs }));
}

/** When nodes of one group were first requested for pods, by the increases that still have them. */
export function firstAskedTimes(entries: readonly AcceptedIncrease[]): ReadonlyMap<PodUid, number> {
  const times = new Map<PodUid, number>();
  for (const { pods } of entries) {
    for (const { uids, firstAskedAtMs } of pods) for (const uid of uids ?? []) times.set(uid, firstAskedAtMs);
  }
  return times;
}

export function withFirstAsked(pods: PodsOfClass, times: ReadonlyMap<PodUid, number>): PodsOfClass {
  const firstAskedAtMs = (pods.uids ?? []).reduce((first, uid) => Math.min(first, times.get(uid) ?? Infinity), Infinity);
  return firstAskedAtMs === Infinity ? pods : { ...pods, firstAskedAtMs };
}

export function withoutPods(entry: AcceptedIncrease, moved: ReadonlySet<PodUid>): AcceptedIncrease {
  const left = onlyPods(entry, (uid) => !moved.has(uid));
  return { ...left, planned: left.planned.filter((uid) => !moved.has(uid)) };
}

/** Drops pods whose uid is known and not accepted. */
export function onlyPods(entry: AcceptedIncrease, accepts: (uid: PodUid) => boolean): AcceptedIncrease {
  const pods = entry.pods.flatMap((some): readonly PodsOfClass[] => {
    if (some.uids === undefined || some.uids.every(accepts)) return [some];
    const uids = some.uids.filter(accepts);
    return uids.length === 0 ? [] : [{ ...some, count: uids.length, uids }];
  });
  return { ...entry, pods };
}

/** After a restart: the oldest pending pods of each class that existed when the increase was accepted. */
export function withFoundPods(increases: Increases, pending: readonly Pod[]): Increases {
  const isUnknown = ({ pods }: AcceptedIncrease): boolean => pods.some(({ uids }) => uids === undefined);
  if (![...increases.values()].some((entries) => entries.some(isUnknown))) return increases;
  const oldest = pending.toSorted((left, right) => left.createdAtMs - right.createdAtMs || compareText(left.uid, right.uid));
  const free = new Map<string, Pod[]>();
  for (const pod of oldest) {
    const name = podClass(pod.shape);
    const known = free.get(name);
    if (known === undefined) free.set(name, [pod]);
    else known.push(pod);
  }
  const find = (entry: AcceptedIncrease): AcceptedIncrease => ({
    ...entry,
    pods: entry.pods.map((some) => {
      if (some.uids !== undefined) return some;
      const own = (free.get(some.class) ?? []).filter(({ createdAtMs }) => createdAtMs <= entry.acceptedAtMs).slice(0, some.count);
      free.set(some.class, (free.get(some.class) ?? []).slice(own.length));
      return { ...some, count: own.length, uids: own.map(({ uid }) => uid) };
    }),
  });
  return new Map([...increases].map(([group, entries]) => [group, entries.map(find)]));
}

/** Creation times are in whole seconds. */
const CREATION_STEP_MS = 1_000;

/** Pods that their controllers have created since take the places of the copies that an increase was made for. */
export function withCreatedPods(increases: Increases, pending: readonly Pod[]): Increases {
  const entries = [...increases.values()].flat();
  const copies = copiesByController(entries);
  if (copies.size === 0) return increases;
  const known = new Set(entries.flatMap(({ pods }) => pods.flatMap(({ uids }) => uids ?? [])));
  const created = new Map<PodUid, Pod>();
  for (const pod of pending) {
    const own = known.has(pod.uid) ? undefined : copies.get(pod.controller?.uid ?? '');
    const last = own?.at(-1);
    if (last === undefined || last.acceptedAtMs >= pod.createdAtMs + CREATION_STEP_MS) continue;
    created.set(last.uid, pod);
    own?.pop();
  }
  const find = (entry: AcceptedIncrease): AcceptedIncrease => withPodsOfCopies(entry, created);
  return created.size === 0 ? increases : new Map([...increases].map(([group, some]) => [group, some.map(find)]));
}

interface Copy {
  readonly uid: PodUid;
  /** The copies of a controller are numbered. When it creates pods, the highest numbers are missing in the next plan. */
  readonly number: number;
  readonly acceptedAtMs: number;
}

/** The highest numbers last. */
function copiesByController(entries: readonly AcceptedIncrease[]): ReadonlyMap<string, Copy[]> {
  const copies = new Map<string, Copy[]>();
  for (const { planned, acceptedAtMs } of entries) {
    for (const uid of planned) {
      const at = uid.lastIndexOf('-');
      const own = copies.get(uid.slice(0, at)) ?? [];
      own.push({ uid, number: Number(uid.slice(at + 1)), acceptedAtMs });
      copies.set(uid.slice(0, at), own);
    }
  }
  for (const own of copies.values()) own.sort((left, right) => left.number - right.number);
  return copies;
}

function withPodsOfCopies(entry: AcceptedIncrease, created: ReadonlyMap<PodUid, Pod>): AcceptedIncrease {
  const pods = entry.planned.flatMap((uid) => created.get(uid) ?? []);
  if (pods.length === 0) return entry;
  return {
    ...entry,
    pods: [...entry.pods, ...podsByClass(pods, entry.acceptedAtMs)],
    planned: entry.planned.filter((uid) => !created.has(uid)),
  };
}
