/** Options of a scale-up, and the scores by which expanders compare them. */
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { OptionCost, PlanNote, ScoredOption } from '../../../domain/plan.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import { CPU, MEMORY, type ResourceNames, type Resources } from '../../../domain/resources.ts';
import { costOfNew } from '../../facts/paid-nodes.ts';
import { freeAmong, type FreeRoom } from '../groups/quotas.ts';
import { pricedName, priceOf as listedPrice } from '../../expanders/node-price.ts';
import { levelRule, preferenceRule } from '../../expanders/preference.ts';
import { misfitOf, weightOf } from '../../expanders/price.ts';
import { createPriorityRules } from '../../expanders/priority.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { FamilyMember } from './place-pods.ts';
import type { Estimate } from './estimate.ts';
import { preferenceScore, spreadDomainsIn, type SpreadDomains } from './soft-preferences.ts';

/** One way to grow: new nodes of one group, or of a family of groups. */
export interface ExpandOption {
  readonly template: GroupTemplate;
  /** Groups that are planned as one, the template's group first; often it is the only one. */
  readonly family: readonly [FamilyMember, ...FamilyMember[]];
  readonly estimate: Estimate;
  readonly scored: ScoredOption;
  /** The number of nodes that the estimate was allowed. The estimate holds while that is the same. */
  readonly limit: number;
}

/** A zero-or-max group buys all its nodes, so all of them count. */
export function atomicEstimate(estimate: Estimate, { group }: GroupTemplate, limit: number): Estimate {
  return isWhole(group) && estimate.nodes > 0 ? { ...estimate, nodes: limit } : estimate;
}

/**
 * What an option leaves idle of what it buys; 0 if nothing is idle. It is the mean idle share of CPU and memory, plus the idle
 * share of each kind of device, so that GPU nodes are not bought for pods without GPUs. The share is of the whole capacity,
 * which is what is paid for: DaemonSets and the system count as overhead.
 */
function wasteOf(estimate: Estimate, { template }: GroupTemplate, names: ResourceNames): number {
  const idle = (index: number): number => {
    const bought = estimate.nodes * (template.capacity[index] ?? 0);
    return bought > 0 ? (bought - usedOf(estimate.placed, index)) / bought : 0;
  };
  const devices = deviceIndexes(template.capacity, names);
  return (idle(CPU) + idle(MEMORY)) / 2 + devices.reduce((sum, index) => sum + idle(index), 0);
}

/** By resource. Options of groups whose nodes are alike place the same. */
const USED = new WeakMap<ReadonlyMap<EquivalenceGroup, number>, Map<number, number>>();

function usedOf(placed: ReadonlyMap<EquivalenceGroup, number>, index: number): number {
  const known = USED.get(placed) ?? new Map<number, number>();
  USED.set(placed, known);
  const used = known.get(index) ?? sumOf(placed, index);
  known.set(index, used);
  return used;
}

function sumOf(placed: ReadonlyMap<EquivalenceGroup, number>, index: number): number {
  let sum = 0;
  for (const [group, count] of placed) sum += count * (group.shape.requests[index] ?? 0);
  return sum;
}

/** Indexes of the device resources that a node has. */
function deviceIndexes(capacity: Resources, names: ResourceNames): readonly number[] {
  return [...capacity.keys()].filter((index) => isDevice(names.nameOf(index)) && (capacity[index] ?? 0) > 0);
}

/** Extended resources are named `vendor/device`. */
function isDevice(name: string): boolean {
  return name.includes('/') && !name.startsWith('kubernetes.io/');
}

export interface Scoring {
  readonly names: ResourceNames;
  readonly priorityOf: (group: NodeGroup) => number | undefined;
  /** Per node and hour; undefined if the VM size has no price. */
  readonly priceOf: (group: NodeGroup) => number | undefined;
  /** What groups that are planned as one have in common beside their nodes. */
  readonly preferenceOf: (group: NodeGroup) => string;
  /** Whether an expander of the chain compares prices. */
  readonly comparesPrices: boolean;
  /** Whether one compares what pods prefer. */
  readonly comparesPreferences: boolean;
  readonly clusterNodes: number;
  /** For soft spread. */
  readonly spreadDomains: SpreadDomains;
  /** Problems of the priority rules and prices that users should know. */
  readonly notes: (groups: readonly NodeGroup[]) => readonly PlanNote[];
}

/** @throws AutoscalerError `config` if a priority pattern is not a regular expression. */
export function createScoring(policy: ScaleUpPolicy, names: ResourceNames, cluster: Pick<ClusterView, 'nodes' | 'podsByNode'>): Scoring {
  const rules = policy.priorities === undefined ? undefined : createPriorityRules(policy.priorities);
  const priceOf = (group: NodeGroup): number | undefined => listedPrice(policy, group);
  const priorityOf = levelRule(policy);
  return {
    names,
    clusterNodes: cluster.nodes.size,
    spreadDomains: spreadDomainsIn(cluster),
    priorityOf,
    priceOf,
    comparesPrices: policy.expanders.includes('price'),
    comparesPreferences: policy.expanders.includes('preferences'),
    preferenceOf: growthPreference(policy, priorityOf),
    notes: (groups) => [
      ...(policy.expanders.includes('priority') ? (rules?.notes(groups) ?? []) : []),
      ...(policy.expanders.includes('price')
        ? [
            ...(policy.listPrices?.remarks ?? []).map((text) => ({ kind: 'list-prices' as const, text })),
            ...notesOnPricelessSizes(groups, priceOf),
          ]
        : []),
    ],
  };
}

/** Zones in which Azure has more and less are not planned as one. They stay siblings, which removals keep even: a score passes. */
function growthPreference(policy: ScaleUpPolicy, priorityOf: Scoring['priorityOf']): Scoring['preferenceOf'] {
  const preferenceOf = preferenceRule(policy, priorityOf);
  if (!policy.expanders.includes('placement')) return preferenceOf;
  return (group) => `${preferenceOf(group)} ${group.placementScore ?? ''}`;
}

/** `free`: further nodes that cost nothing. */
export function scoreOption(template: GroupTemplate, estimate: Estimate, scoring: Scoring, free: FreeRoom): ScoredOption {
  const { group } = template;
  let pods = 0;
  for (const count of estimate.placed.values()) pods += count;
  const waste = estimate.nodes === 0 ? 0 : wasteOf(estimate, template, scoring.names);
  const priority = scoring.priorityOf(group);
  const cost = costOf(template, estimate, scoring, free);
  const preference = scoring.comparesPreferences ? preferenceScore(estimate, template, scoring.spreadDomains) : undefined;
  return {
    group: group.id,
    nodes: estimate.nodes,
    pods,
    waste,
    priority,
    cost,
    placementScore: group.placementScore,
    preference,
  };
}

function costOf({ group, template }: GroupTemplate, { nodes, placed }: Estimate, scoring: Scoring, free: FreeRoom): OptionCost | undefined {
  const perHour = costOfNew(nodes, freeAmong(free, { group, template }, nodes), scoring.priceOf(group));
  const nodeWeight = weightOf(template.capacity);
  if (perHour === undefined || nodes === 0 || nodeWeight === 0) return undefined;
  const nodeCores = (template.capacity[CPU] ?? 0) / 1000;
  return {
    perHour,
    nodeWeight: nodes * nodeWeight,
    podWeight: [...placed].reduce((sum, [{ shape }, count]) => sum + count * weightOf(shape.requests), 0),
    hasDevices: deviceIndexes(template.capacity, scoring.names).length > 0,
    misfit: misfitOf({ nodes, nodeCores, clusterNodes: scoring.clusterNodes }),
  };
}

function notesOnPricelessSizes(groups: readonly NodeGroup[], priceOf: Scoring['priceOf']): readonly PlanNote[] {
  const sizes = groups.filter((group) => priceOf(group) === undefined).map(pricedName);
  return [...new Set(sizes)].sort().map((size) => ({
    kind: 'size-without-price',
    text: `The VM size ${size} has no price: its node groups grow only if no node group with a price can help.`,
  }));
}
