/**
 * Packs pods on new nodes of one group, or of a family of groups that are packed as one. Pods that only need room are arithmetic
 * (`estimate.ts`) as long as the nodes need not stay, and no pod selects some zones of several. Otherwise nodes are added one by one, so that spread and affinity are checked against
 * the whole cluster, new nodes included: in the same order, but one pod at a time (`place-pods.ts`).
 */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { OperationCounts } from '../../../scheduling/snapshot/operation-counts.ts';
import { knownVariants, type GroupTemplate } from '../groups/template-node.ts';
import { placeholderNode } from '../groups/zonal-siblings.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { type Estimate, estimate, podSizeOn } from './estimate.ts';
import { type NewNodePlace, NodesOfPlace } from './new-nodes.ts';
import { countedSpace, snapshotSpace } from './packing-space.ts';
import { type FamilyMember, type Packing, placeIndependent, placeInterdependent, type PodsToPack } from './place-pods.ts';

/** The estimate of the family, and of each member, in the members' order. */
export interface PackedNodes extends Estimate {
  readonly shares: readonly Estimate[];
  /** The new nodes and their groups, in the order in which they were added. */
  readonly added: readonly (readonly [NodeName, NodeGroupId])[];
}

interface PackingLimits {
  /** The largest number of new nodes of all members together. */
  readonly nodes: number;
  /** Begins the names of new nodes, and no name of a node in the snapshot. */
  readonly prefix: string;
  /** Whether the new nodes and all their pods stay in the snapshot. */
  readonly keep: boolean;
}

/** May leave new nodes and pods in the snapshot: the caller forks before, and reverts or commits after. */
export function* packNewNodes(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  limits: PackingLimits,
  snapshot: ClusterSnapshot,
): SlicedWork<PackedNodes> {
  snapshot.operations.templatesPacked += 1;
  const [only] = members.length === 1 ? members : [];
  const fitting = yield* fittingGroups(groups, members);
  snapshot.operations.groupsPacked += fitting.length;
  if (only === undefined || limits.keep || !groups.every((group) => isCountable(group, only.template)))
    return yield* packOneByOne(fitting, members, limits, snapshot);
  yield;
  const share = yield* estimate(fitting, only.template, Math.min(limits.nodes, only.limit), snapshot.operations);
  return { ...share, shares: [share], added: [] };
}

/** By the groups of a turn, which estimates each template once per round: often a workload fits few of many pools. */
const FITTING = new WeakMap<readonly EquivalenceGroup[], Map<GroupTemplate, readonly EquivalenceGroup[]>>();

/** The groups that a new node of some member can take, whether or not pods of them are left. */
function* fittingGroups(groups: readonly EquivalenceGroup[], members: readonly FamilyMember[]): SlicedWork<readonly EquivalenceGroup[]> {
  const known = FITTING.get(groups) ?? new Map<GroupTemplate, readonly EquivalenceGroup[]>();
  FITTING.set(groups, known);
  const found = new Set<EquivalenceGroup>();
  for (const { template } of members) {
    if (!known.has(template)) yield;
    const fitting = known.get(template) ?? groups.filter((group) => knownVariants(group, template) !== 0);
    known.set(template, fitting);
    for (const group of fitting) found.add(group);
  }
  return [...found];
}

/** Whether only room decides where the pods may be: neither other pods nor the zone that a node gets in its turn. */
function isCountable(group: EquivalenceGroup, template: GroupTemplate): boolean {
  if (group.pods.length === 0) return true;
  if (group.interdependent) return false;
  const all = (1 << template.variants.length) - 1;
  return template.variants.length === 1 || [0, all].includes(knownVariants(group, template));
}

function* packOneByOne(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  limits: PackingLimits,
  snapshot: ClusterSnapshot,
): SlicedWork<PackedNodes> {
  yield;
  const packing = startPacking(groups, members, limits, snapshot);
  yield;
  const zoneBound = members.map(() => 0);
  try {
    for (const toPack of packingOrder(groups, packing)) {
      yield;
      const before = packing.nodes.length;
      if (toPack.group.interdependent) yield* placeInterdependent(packing, toPack);
      else placeIndependent(packing, toPack);
      for (let at = before; at < packing.nodes.length; at++) {
        const of = packing.nodes[at]?.place.of ?? 0;
        if (toPack.allowedVariants[of] !== allVariants(members[of])) zoneBound[of] = (zoneBound[of] ?? 0) + 1;
      }
    }
    yield;
  } finally {
    packing.space.close();
  }
  return toEstimate(packing, zoneBound);
}

function startPacking(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  { nodes: limit, prefix, keep }: PackingLimits,
  snapshot: ClusterSnapshot,
): Packing {
  const waiting = groups.filter(({ pods }) => pods.length > 0);
  const templates = members.map(({ template }) => template);
  const isCounted = !keep && waiting.every(({ countable }) => countable);
  return {
    space: isCounted ? countedSpace(snapshot, waiting, templates) : snapshotSpace(snapshot, prefix, keep),
    members,
    places: members.map((member, of) => placesOf(member, of, snapshot.operations)),
    limit,
    prefix,
    nodes: [],
    counts: members.map(() => 0),
    placed: members.map(() => new Map()),
    placeholders:
      members.length < 2
        ? []
        : members.flatMap(({ template, limit: most }, of) =>
            most < 1 ? [] : template.variants.map((variant) => ({ of, node: placeholderNode(variant) })),
          ),
  };
}

function placesOf({ template }: FamilyMember, of: number, operations: OperationCounts): readonly NewNodePlace[] {
  return template.variants.map((variant, index) => ({
    of,
    template,
    variant,
    variantBit: 1 << index,
    nodes: new NodesOfPlace(template.free, operations),
  }));
}

/** The groups that fit a member at all, biggest pods first. */
function packingOrder(groups: readonly EquivalenceGroup[], { members, places }: Packing): readonly PodsToPack[] {
  const allocatable = members[0]?.template.template.allocatable;
  return groups
    .filter((group) => group.pods.length > 0)
    .map((group) => ({
      group,
      allowedVariants: members.map(({ template }) => knownVariants(group, template)),
      size: allocatable === undefined ? 0 : podSizeOn(group.need, allocatable),
    }))
    .filter(({ allowedVariants }) => allowedVariants.some((allowed) => allowed !== 0))
    .sort((left, right) => right.size - left.size || compareText(left.group.key, right.group.key))
    .map(({ group, allowedVariants }) => ({
      group,
      allowedVariants,
      places: places.map((own, of) => own.filter(({ variantBit }) => (variantBit & (allowedVariants[of] ?? 0)) !== 0)),
    }));
}

function allVariants(member: FamilyMember | undefined): number {
  return (1 << (member?.template.variants.length ?? 0)) - 1;
}

function toEstimate({ nodes, counts, members, placed }: Packing, zoneBound: readonly number[]): PackedNodes {
  const shares = members.map((_, of) => ({
    nodes: counts[of] ?? 0,
    placed: placed[of] ?? new Map<EquivalenceGroup, number>(),
    zoneBound: zoneBound[of] ?? 0,
  }));
  const all = new Map<EquivalenceGroup, number>();
  for (const share of shares) for (const [group, count] of share.placed) all.set(group, (all.get(group) ?? 0) + count);
  const added = nodes.map(({ name, place }) => [name, place.template.group.id] as const);
  return { nodes: nodes.length, placed: all, zoneBound: zoneBound.reduce((sum, count) => sum + count, 0), shares, added };
}
