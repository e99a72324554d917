/**
 * Similar groups add equally good nodes, so that new nodes may be spread over them. The rules are the Cluster Autoscaler's for
 * Azure, with one difference: an equal agent-pool label alone does not make groups similar.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { Labels } from '../../../domain/labels.ts';
import type { DifferenceRatios, ScaleUpPolicy } from '../../../domain/policy.ts';
import { MEMORY, type Resources } from '../../../domain/resources.ts';
import type { GroupTemplate } from './template-node.ts';

/** Labels that describe the place or the pool of a node, and not its kind. */
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
  /** Labels that may differ beside those of the place. */
  readonly ignoredLabels: readonly string[];
  /** If not empty, only these labels are compared: groups are similar if all of them have these labels with equal values. */
  readonly labels: readonly string[];
  /** The allowed differences of resources. */
  readonly ratios: DifferenceRatios;
}

/** The rules of the policy. */
export function similarityRulesOf({ balancingIgnoreLabels, balancingLabels, differenceRatios }: ScaleUpPolicy): SimilarityRules {
  return {
    ignoredLabels: balancingIgnoreLabels,
    labels: balancingLabels,
    ratios: differenceRatios,
  };
}

/** As in the Cluster Autoscaler, `--balancing-label` replaces all other rules. */
export function areSimilar(left: GroupTemplate, right: GroupTemplate, rules: SimilarityRules): boolean {
  const { ignoredLabels, labels, ratios } = rules;
  if (labels.length > 0) return labels.every((label) => shareLabel(left.template.labels, right.template.labels, label));
  const ignored = new Set([...PLACE_LABELS, ...ignoredLabels]);
  return (
    haveSameCapacity(left.template.capacity, right.template.capacity, ratios.memory) &&
    areClose(left.template.allocatable, right.template.allocatable, ratios.allocatable) &&
    areClose(left.free, right.free, ratios.free) &&
    haveSameLabels(left.template.labels, right.template.labels, ignored)
  );
}

/** The templates in families of similar ones. Each is compared with the first template of a family. */
export function similarFamilies(
  templates: readonly GroupTemplate[],
  rules: SimilarityRules,
  preference: (group: GroupTemplate['group']) => string,
): readonly (readonly GroupTemplate[])[] {
  const families: GroupTemplate[][] = [];
  for (const template of templates) {
    const family = families.find(
      ([first]) => first !== undefined && preference(first.group) === preference(template.group) && areSimilar(first, template, rules),
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

/** Whether the labels are equal, except labels of the platform that only one side is known to have. */
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

export interface GroupSize {
  readonly id: NodeGroupId;
  readonly size: number;
  readonly maxSize: number;
}

/** New nodes per group: one by one to the smallest group that is below its maximum. A group without new nodes is absent. */
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
