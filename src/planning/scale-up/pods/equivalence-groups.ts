/**
 * Pods that are interchangeable for packing. Pods that only need room are grouped by what they need of a node (requests,
 * selectors, tolerations, host ports), whatever their owner; for interdependent pods, what rules between pods see of them counts, too.
 */
import { needsDevices } from '../../../domain/devices.ts';
import { restrictsNodes } from '../../../domain/volumes.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { needOf, type Need } from '../../../scheduling/predicates/resources-fit.ts';
import type { RuleClasses } from '../../../scheduling/snapshot/interdependent-shapes.ts';
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
export function groupPods(pods: readonly Pod[], interdependent: RuleClasses): readonly EquivalenceGroup[] {
  return finishAtOnce(groupPodsInSlices(pods, interdependent));
}

/** The same in slices. */
export function* groupPodsInSlices(pods: readonly Pod[], interdependent: RuleClasses): SlicedWork<readonly EquivalenceGroup[]> {
  const kinds = new Map<PodShape, Kind>();
  const groups = new Map<string, { -readonly [Part in keyof EquivalenceGroup]: EquivalenceGroup[Part] }>();
  yield* visitInSlices(pods, (pod) => {
    const { shape } = pod;
    const kind = kinds.get(shape) ?? kindOf(shape, interdependent);
    kinds.set(shape, kind);
    const { key, isTied } = kind;
    const group = groups.get(kind.name) ?? {
      key,
      shape,
      need: needOf(shape.requests),
      interdependent: isTied,
      countable: isCountable(shape),
      pods: [],
    };
    groups.set(kind.name, group);
    group.pods.push(pod);
    // The least of the keys, so that the order does not depend on how many of its kind wait.
    if (compareText(key, group.key) < 0) group.key = key;
    // Rules about spread do not count pods that are being deleted.
    if (pod.deletionAtMs !== undefined) group.countable = false;
  });
  yield;
  for (const group of groups.values()) group.pods.sort(byPrecedence);
  return [...groups.values()].sort((left, right) => compareText(left.key, right.key));
}

interface Kind {
  /** Equal for pods that are interchangeable for packing. */
  readonly name: string;
  /** Decides the order of groups. */
  readonly key: string;
  readonly isTied: boolean;
}

function kindOf(shape: PodShape, interdependent: RuleClasses): Kind {
  const name = packingName(shape, interdependent);
  const isTied = interdependent.has(shape.key);
  return { name, key: isTied ? `tied ${interdependentKey(shape)}` : name, isTied };
}

/**
 * Equal for shapes whose pods are interchangeable: each node that has a place for one has a place for the other, and leaves the same to
 * others. The pods of a StatefulSet or of many Jobs have labels of their own, which no rule may read.
 */
export function packingName(shape: PodShape, interdependent: RuleClasses): string {
  const rules = interdependent.get(shape.key);
  if (rules === undefined) return packingKey(shape);
  return attaches(shape) ? `tied ${shape.key}` : `tied ${rules} ${packingKey(shape)}`;
}

function isCountable({ devices, sharedVolumes, loneDisks }: PodShape): boolean {
  return !needsDevices(devices) && sharedVolumes.length + loneDisks.length === 0;
}

/** What a node has left of these is not a number. */
function attaches({ sharedVolumes, loneDisks, devices, deviceClaims }: PodShape): boolean {
  return needsDevices(devices) || sharedVolumes.length + loneDisks.length + deviceClaims.length > 0;
}

/** Shapes that differ only in priority share a key: the order of the pods decides which is first. */
function interdependentKey(shape: PodShape): string {
  const { namespace, labels, topologySpread, podAffinity, podAntiAffinity } = shape;
  if (attaches(shape) || restrictsNodes(shape.volumes)) return shape.key;
  return JSON.stringify([packingKey(shape), namespace, labels, topologySpread, podAffinity, podAntiAffinity]);
}

const packingKeys = new WeakMap<PodShape, string>();

/** Made once per shape: the same pods are grouped several times in a plan, and in each plan until they have a node. */
function packingKey(shape: PodShape): string {
  const known = packingKeys.get(shape) ?? makePackingKey(shape);
  packingKeys.set(shape, known);
  return known;
}

function makePackingKey(shape: PodShape): string {
  const { indexes, amounts } = needOf(shape.requests);
  // guard: pods that prefer different nodes are not planned as one kind
  const { preferred } = shape;
  // guard: pods that prefer to be spread by different rules are not planned as one kind
  const softSpread = shape.softSpread.map((rule) => [shape.namespace, rule]);
  return JSON.stringify([indexes, amounts, staticKey(shape), shape.hostPorts, preferred, softSpread]);
}
