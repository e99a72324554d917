/**
 * Families whose new nodes are alike for all pods of a turn share one estimate: often many pools of a cluster have the same size, and differ
 * in labels that no pod asks about. Must not know how pods are packed.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { SimulatedNodes } from '../../../scheduling/snapshot/simulated-nodes.ts';
import { type GroupTemplate, variantsForPods } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { PackedNodes } from './pack-new-nodes.ts';
import type { FamilyMember } from './place-pods.ts';

interface KnownEstimate {
  readonly packed: PackedNodes;
  readonly members: readonly FamilyMember[];
  /** The largest number of new nodes of all members together. */
  readonly nodes: number;
}

/** One per turn. */
export class SharedEstimates {
  readonly #groups: readonly EquivalenceGroup[];
  readonly #simulated: SimulatedNodes;
  readonly #isPossible: boolean;
  readonly #kinds = new Map<NodeGroupId, string>();
  readonly #known = new Map<string, KnownEstimate[]>();

  constructor(groups: readonly EquivalenceGroup[], templates: readonly GroupTemplate[], snapshot: ClusterSnapshot) {
    this.#groups = groups;
    this.#isPossible = groups.every(({ countable }) => countable);
    const ruled = groups.filter(({ interdependent }) => interdependent).map(({ shape }) => shape);
    const daemonPods = templates.flatMap((template) => template.daemonPods);
    this.#simulated = snapshot.simulateNodes(ruled, daemonPods);
  }

  /** Pods have found places: no estimate holds any more. */
  clear(): void {
    this.#known.clear();
  }

  /** The estimate of a family that is alike, or the result of `pack`. */
  *find(members: readonly FamilyMember[], nodes: number, pack: () => SlicedWork<PackedNodes>): SlicedWork<PackedNodes> {
    if (!this.#isPossible || members.some(({ template }) => isWhole(template.group))) return yield* pack();
    const kinds: string[] = [];
    for (const { template } of members) {
      if (!this.#kinds.has(template.group.id)) yield;
      kinds.push(this.#kindOf(template));
    }
    const kind = kinds.join('\n');
    const alike = this.#known.get(kind) ?? [];
    const known = alike.find((other) => isEqualTo(other, members, nodes));
    if (known !== undefined) return known.packed;
    const packed = yield* pack();
    this.#known.set(kind, [...alike, { packed, members, nodes }]);
    return packed;
  }

  /** Equal for templates whose new nodes are alike for all pods of the turn. */
  #kindOf(template: GroupTemplate): string {
    const known = this.#kinds.get(template.group.id);
    if (known !== undefined) return known;
    const { free, ports, variants, daemonPods } = template;
    const nodes = variants.map((variant) => this.#simulated.describeKind(variant, daemonPods));
    const allowedVariants = this.#groups.map((group) => variantsForPods(group, template));
    const kind = JSON.stringify([[...free], [...template.template.allocatable], ports, nodes, allowedVariants.join()]);
    this.#kinds.set(template.group.id, kind);
    return kind;
  }
}

/** Whether the limits allow both families the same, or neither limit was reached. */
function isEqualTo({ packed, members, nodes }: KnownEstimate, others: readonly FamilyMember[], otherNodes: number): boolean {
  const isWithin = (count: number, one: number, other: number): boolean => one === other || count < Math.min(one, other);
  return (
    isWithin(packed.nodes, nodes, otherNodes) &&
    members.every(({ limit }, at) => isWithin(packed.shares[at]?.nodes ?? 0, limit, others[at]?.limit ?? 0))
  );
}
