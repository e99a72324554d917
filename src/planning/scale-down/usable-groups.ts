/**
 * Which groups a pod could use, by what the nodes of the group are and never by what runs on them: labels, taints and the whole of their
 * allocatable resources. For pods whose place was not searched in time: nodes of these groups may be what they need. Must not know why a
 * pod was left out.
 */
import { NO_DEVICE_RULES } from '../../domain/devices.ts';
import { NO_VOLUME_RULES } from '../../domain/volumes.ts';
import { podName, type NodeGroupId } from '../../domain/ids.ts';
import type { Requirement } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { fitsStatically, staticKey } from '../../scheduling/snapshot/node-only-fit.ts';
import { membershipFacts } from '../facts/instance-facts.ts';
import { makeTemplate } from '../scale-up/groups/template-node.ts';

/** Checks of a pod's wishes against a node, of all groups together. Beyond them, each group that is left counts as usable. */
const MOST_CHECKS = 2_000_000;
const CHECKS_PER_STEP = 1_024;

/** Pods with the same wishes, by the least of their requests. */
interface Wish {
  readonly shape: PodShape;
  readonly least: number[];
  readonly pod: string;
}

/** Each group of `groups` that one of the pods could use, with the name of such a pod. A group whose new node is unknown counts. */
export function* groupsUsableBy(
  pods: Iterable<Pod>,
  groups: readonly NodeGroup[],
  { observation, names }: { readonly observation: Pick<Observation, 'cluster' | 'cloud'>; readonly names: ResourceNames },
): SlicedWork<ReadonlyMap<NodeGroupId, string>> {
  const usable = new Map<NodeGroupId, string>();
  const all = yield* wishesOf(pods);
  if (all.length === 0) return usable;
  const wishes = possibleWishes(all, observation);
  const slots = new Set([...names.attachable, ...names.claimable].map(({ index }) => index));
  const { nodesByGroup } = membershipFacts(observation.cloud);
  let checks = 0;
  for (const group of groups) {
    const nodes = (nodesByGroup.get(group.id) ?? []).flatMap((name) => observation.cluster.nodes.get(name) ?? []);
    const [first] = all;
    if (first !== undefined && (group.template === undefined || checks > MOST_CHECKS)) usable.set(group.id, first.pod);
    if (group.template === undefined) continue;
    for (const offer of [...makeTemplate(group, group.template, { daemonSets: [] }, new Set()).variants, ...nodes]) {
      if (usable.has(group.id)) break;
      for (const wish of wishes) {
        if (++checks % CHECKS_PER_STEP === 0) yield;
        if (!couldRunOn(wish, offer, slots)) continue;
        usable.set(group.id, wish.pod);
        break;
      }
    }
  }
  return usable;
}

function* wishesOf(pods: Iterable<Pod>): SlicedWork<readonly Wish[]> {
  const byShape = new Map<PodShape, Pod>();
  for (const pod of pods) if (!byShape.has(pod.shape)) byShape.set(pod.shape, pod);
  const wishes = new Map<string, Wish>();
  let count = 0;
  for (const [shape, pod] of byShape) {
    if (++count % CHECKS_PER_STEP === 0) yield;
    const lasting = withoutPassingWishes(shape);
    const key = staticKey(lasting);
    const known = wishes.get(key);
    if (known === undefined) wishes.set(key, { shape: lasting, least: [...shape.requests], pod: podName(pod) });
    else known.least.forEach((amount, index) => (known.least[index] = Math.min(amount, shape.requests[index] ?? 0)));
  }
  return [...wishes.values()];
}

/** Volumes and devices come and go. */
function withoutPassingWishes(shape: PodShape): PodShape {
  return { ...shape, volumes: NO_VOLUME_RULES, devices: NO_DEVICE_RULES };
}

/** Without those that ask for a label value that no node and no template has. Most pods that nothing can hold ask for one. */
function possibleWishes(wishes: readonly Wish[], { cluster, cloud }: Pick<Observation, 'cluster' | 'cloud'>): readonly Wish[] {
  const values = new Map<string, Set<string>>();
  for (const { shape } of wishes) {
    for (const key in shape.nodeSelector) values.set(key, new Set());
    for (const { expressions } of shape.nodeAffinity ?? []) for (const { key } of expressions) values.set(key, new Set());
  }
  const note = (labels: Node['labels']): void => {
    for (const key in labels) values.get(key)?.add(labels[key] ?? '');
  };
  for (const { labels } of cluster.nodes.values()) note(labels);
  for (const group of cloud.groups) {
    if (group.template !== undefined)
      for (const { labels } of makeTemplate(group, group.template, { daemonSets: [] }, new Set()).variants) note(labels);
  }
  const exists = ({ key, operator, values: wanted }: Requirement): boolean =>
    operator !== 'In' || wanted.some((value) => values.get(key)?.has(value) === true);
  return wishes.filter(
    ({ shape: { nodeSelector, nodeAffinity } }) =>
      Object.entries(nodeSelector).every(([key, value]) => values.get(key)?.has(value) === true) &&
      (nodeAffinity === undefined || nodeAffinity.some(({ expressions }) => expressions.every(exists))),
  );
}

/** Attach slots are no limit here: volumes are detached. */
function couldRunOn({ shape, least }: Wish, node: Node, attachSlots: ReadonlySet<number>): boolean {
  const { allocatable } = node;
  return least.every((amount, index) => amount <= (allocatable[index] ?? 0) || attachSlots.has(index)) && fitsStatically(shape, node);
}
