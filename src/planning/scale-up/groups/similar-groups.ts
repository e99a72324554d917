/**
 * Which groups would add nodes that are as good as each other's, so that growth may be spread over them. The measures are
 * the Cluster Autoscaler's for Azure, with one difference: an equal agent-pool label alone makes nobody similar.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { Labels } from '../../../domain/labels.ts';
import { USUAL_DIFFERENCE_RATIOS, type DifferenceRatios, type ScaleUpPolicy } from '../../../domain/policy.ts';
import { MEMORY, type Resources } from '../../../domain/resources.ts';
import type { GroupTemplate } from './template-node.ts';

/** Say where a node is or which pool made it, not what it is. */
const PLACE_LABELS: readonly string[] = [
  'kubernetes.io/hostname',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.disk.csi.azure.com/zone',
  'beta.kubernetes.io/fluentd-ds-ready',
  'kops.k8s.io/instancegroup',
  'agentpool',
  'kubernetes.azure.com/agentpool',
  'kubernetes.azure.com/node-image-version',
  'kubernetes.azure.com/consolidated-additional-properties',
  'aksEngineVersion',
  'creationSource',
  'poolName',
  'resourceNameSuffix',
];

/** What makes groups similar. */
export interface SimilarityRules {
  /** Labels that may differ beside the place. */
  readonly ignoredLabels: readonly string[];
  /** Not empty: groups are similar when they all have these labels with equal values, and nothing else is compared. */
  readonly labels?: readonly string[];
  /** How far they may be apart. Absent: {@link USUAL_DIFFERENCE_RATIOS}. */
  readonly ratios?: DifferenceRatios;
}

/** As the policy has it, with the usual measures where it says nothing. */
export function similarityRulesOf({ balancingIgnoreLabels, balancingLabels, differenceRatios }: ScaleUpPolicy): SimilarityRules {
  return {
    ignoredLabels: balancingIgnoreLabels ?? [],
    labels: balancingLabels ?? [],
    ratios: differenceRatios ?? USUAL_DIFFERENCE_RATIOS,
  };
}

/** As the Cluster Autoscaler judges: `--balancing-label` replaces every other measure. */
export function areSimilar(left: GroupTemplate, right: GroupTemplate, likeness: SimilarityRules): boolean {
  const { ignoredLabels, labels = [], ratios = USUAL_DIFFERENCE_RATIOS } = likeness;
  if (labels.length > 0) return labels.every((label) => shareLabel(left.template.labels, right.template.labels, label));
  const ignored = new Set([...PLACE_LABELS, ...ignoredLabels]);
  return (
    haveSameCapacity(left.template.capacity, right.template.capacity, ratios.memory) &&
    areClose(left.template.allocatable, right.template.allocatable, ratios.allocatable) &&
    areClose(left.free, right.free, ratios.free) &&
    haveSameLabels(left.template.labels, right.template.labels, ignored)
  );
}

/** The templates by what they are like: the first of each family is the one that the others are compared with. */
export function similarFamilies(
  templates: readonly GroupTemplate[],
  likeness: SimilarityRules,
  preference: (group: GroupTemplate['group']) => string,
): readonly (readonly GroupTemplate[])[] {
  const families: GroupTemplate[][] = [];
  for (const template of templates) {
    const family = families.find(
      ([first]) => first !== undefined && preference(first.group) === preference(template.group) && areSimilar(first, template, likeness),
    );
    if (family === undefined) families.push([template]);
    else family.push(template);
  }
  return families;
}

function haveSameCapacity(left: Resources, right: Resources, memoryDifference: number): boolean {
  return everyPair(left, right, (one, other, index) => (index === MEMORY ? isClose(one, other, memoryDifference) : one === other));
}

function areClose(left: Resources, right: Resources, difference: number): boolean {
  return everyPair(left, right, (one, other) => isClose(one, other, difference));
}

function isClose(one: number, other: number, difference: number): boolean {
  const larger = Math.max(one, other);
  return larger - Math.min(one, other) <= Math.max(0, larger) * difference;
}

function everyPair(left: Resources, right: Resources, test: (one: number, other: number, index: number) => boolean): boolean {
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index++) if (!test(left[index] ?? 0, right[index] ?? 0, index)) return false;
  return true;
}

function haveSameLabels(left: Labels, right: Labels, ignored: ReadonlySet<string>): boolean {
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => ignored.has(key) || shareLabel(left, right, key));
}

/** The same, but for labels of the platform that only one of them is known to have. */
export function agreeOnLabels(left: Labels, right: Labels, ignoredLabels: readonly string[]): boolean {
  const oneSided = Object.keys({ ...left, ...right }).filter((key) => !(Object.hasOwn(left, key) && Object.hasOwn(right, key)));
  return haveSameLabels(left, right, new Set([...PLACE_LABELS, ...ignoredLabels, ...oneSided.filter(isOfPlatform)]));
}

function isOfPlatform(key: string): boolean {
  return /^([a-z0-9.-]+\.)?(kubernetes\.io|k8s\.io|azure\.com)\//.test(key) || key === 'storageprofile' || key === 'storagetier';
}

function shareLabel(left: Labels, right: Labels, label: string): boolean {
  return Object.hasOwn(left, label) && Object.hasOwn(right, label) && left[label] === right[label];
}

// Spreads new nodes over groups so that their sizes end as level as their limits allow.

export interface GroupSize {
  readonly id: NodeGroupId;
  readonly size: number;
  readonly maxSize: number;
}

/** New nodes per group: one by one to the smallest that is below its maximum. Groups that get none are absent. */
export function shareEvenly(groups: readonly GroupSize[], nodes: number): ReadonlyMap<NodeGroupId, number> {
  const sizes = groups.map(({ id, size, maxSize }) => ({ id, maxSize, size, added: 0 }));
  for (let left = nodes; left > 0; left--) {
    const open = sizes.filter(({ size, maxSize }) => size < maxSize);
    const smallest = open.reduce<(typeof sizes)[number] | undefined>(
      (least, group) =>
        least === undefined || group.size < least.size || (group.size === least.size && group.id < least.id) ? group : least,
      undefined,
    );
    if (smallest === undefined) break;
    smallest.size += 1;
    smallest.added += 1;
  }
  return new Map(sizes.filter(({ added }) => added > 0).map(({ id, added }) => [id, added]));
}
