/**
 * Pods that are interchangeable for packing. Pods that only need room are grouped by what they need of a node (requests,
 * selectors, tolerations, host ports), whatever their owner; interdependent pods keep their own shape.
 */
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { needOf, type Need } from '../../../scheduling/predicates/resources-fit.ts';
import { staticKey } from '../../../scheduling/snapshot/node-only-fit.ts';
import { byPrecedence } from './unschedulable-pods.ts';
import { compareText } from '../../../lib/comparison.ts';
import { finishAtOnce, type SlicedWork, visitInSlices } from '../../../lib/slices.ts';

export interface EquivalenceGroup {
  readonly key: string;
  readonly shape: PodShape;
  readonly need: Need;
  /** Whether the place of the pods depends on the places of other pods. */
  readonly interdependent: boolean;
  /** Whether room and counts of pods per domain decide about the pods, and all of them count alike. */
  readonly countable: boolean;
  /** Pods without a place, in order of precedence. Placed pods are removed from the front. */
  readonly pods: Pod[];
}

/** Sorted by key. `interdependent` has the shapes whose place depends on other pods' places. */
export function groupPods(pods: readonly Pod[], interdependent: ReadonlySet<PodShape>): readonly EquivalenceGroup[] {
  return finishAtOnce(groupPodsInSlices(pods, interdependent));
}

/** The same in slices. */
export function* groupPodsInSlices(pods: readonly Pod[], interdependent: ReadonlySet<PodShape>): SlicedWork<readonly EquivalenceGroup[]> {
  const interdependentKeys = new Set([...interdependent].map((shape) => shape.key));
  const keys = new Map<PodShape, string>();
  const groups = new Map<string, { -readonly [Part in keyof EquivalenceGroup]: EquivalenceGroup[Part] }>();
  yield* visitInSlices(pods, (pod) => {
    const { shape } = pod;
    const interdependent = interdependentKeys.has(shape.key);
    const key = keys.get(shape) ?? (interdependent ? `tied ${interdependentKey(shape)}` : packingKey(shape));
    keys.set(shape, key);
    const group = groups.get(key) ?? { key, shape, need: needOf(shape.requests), interdependent, countable: isCountable(shape), pods: [] };
    groups.set(key, group);
    group.pods.push(pod);
    // Rules about spread do not count pods that are being deleted.
    if (pod.deletionAtMs !== undefined) group.countable = false;
  });
  yield;
  for (const group of groups.values()) group.pods.sort(byPrecedence);
  return [...groups.values()].sort((left, right) => compareText(left.key, right.key));
}

function isCountable({ devices, sharedVolumes, loneDisks }: PodShape): boolean {
  return devices === undefined && sharedVolumes === undefined && loneDisks === undefined;
}

/** Shapes that differ only in priority share a key: the order of the pods decides which is first. */
function interdependentKey(shape: PodShape): string {
  const { namespace, labels, topologySpread, podAffinity, podAntiAffinity } = shape;
  const attaches = [shape.volumes, shape.sharedVolumes, shape.loneDisks, shape.devices, shape.deviceClaims];
  if (attaches.some((part) => part !== undefined)) return shape.key;
  return JSON.stringify([packingKey(shape), namespace, labels, topologySpread, podAffinity, podAntiAffinity]);
}

function packingKey(shape: PodShape): string {
  const need = needOf(shape.requests);
  return JSON.stringify([need.indexes, need.amounts, staticKey(shape), shape.hostPorts]);
}
