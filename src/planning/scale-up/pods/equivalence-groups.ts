/**
 * Pods that are interchangeable for packing. Pods that only need room are grouped by what a node has to offer them
 * (request, selectors, tolerations, host ports), whoever owns them; pods that other pods matter to keep their own shape.
 */
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { needOf, type Need } from '../../../scheduling/predicates/resources-fit.ts';
import { staticKey } from '../../../scheduling/snapshot/node-only-fit.ts';
import { byPrecedence } from './unschedulable-pods.ts';
import { compareText } from '../../../lib/comparison.ts';

export interface EquivalenceGroup {
  readonly key: string;
  readonly shape: PodShape;
  readonly need: Need;
  readonly interdependent: boolean;
  /** Still without a place, in order of precedence. Shrinks from the front as a plan grows. */
  readonly pods: Pod[];
}

/** Sorted by key. `tied` holds the shapes whose place depends on other pods' places. */
export function groupPods(pods: readonly Pod[], tied: ReadonlySet<PodShape>): readonly EquivalenceGroup[] {
  const tiedKeys = new Set([...tied].map((shape) => shape.key));
  const keys = new Map<PodShape, string>();
  const groups = new Map<string, EquivalenceGroup>();
  for (const pod of pods) {
    const isTied = tiedKeys.has(pod.shape.key);
    const key = keys.get(pod.shape) ?? (isTied ? `tied ${interdependentKey(pod.shape)}` : packingKey(pod.shape));
    keys.set(pod.shape, key);
    const group = groups.get(key);
    if (group !== undefined) group.pods.push(pod);
    else groups.set(key, { key, shape: pod.shape, need: needOf(pod.shape.requests), interdependent: isTied, pods: [pod] });
  }
  for (const group of groups.values()) group.pods.sort(byPrecedence);
  return [...groups.values()].sort((left, right) => compareText(left.key, right.key));
}

/** Of shapes that differ in their priority alone, one does for all: who goes first is the order of the pods. */
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
