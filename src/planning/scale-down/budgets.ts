import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import type { DisruptionBudget } from '../../domain/workloads.ts';
import { checkNodeDrain, checkPodDrain } from '../../scheduling/drainability/drainability.ts';
import { isVirtual } from '../capacity-objects/quota.ts';
import { brokenNodes } from '../state/node-counts.ts';
import { type ScaleDownContext, isLeaving } from './plan-context.ts';
import { BudgetUse, groupSizes } from '../facts/removal-budgets.ts';

/** How much may still be removed while one plan is made. Mutable, and dropped with the plan. */
export interface RemovalAllowance {
  /** Removals that may still start in parallel. */
  nodes: number;
  /** Drains among them. */
  drains: number;
  /** Removals left in the removal window; of empty nodes only if `emptyWindow` is undefined. */
  window: number;
  /** Removals of empty nodes left in the removal window. undefined: they have no limit of their own. */
  emptyWindow: number | undefined;
  /** Budgets of removals that the user set. */
  readonly budgets: BudgetUse;
  /** Removals in progress or planned, by group. */
  readonly nodesOf: Map<NodeGroupId, number>;
}

/** Subtracts removals in progress. A node whose pods have all left no longer counts as a drain. */
export function remainingAllowance(context: ScaleDownContext): RemovalAllowance {
  const { policy, state, observation } = context;
  const draining = [...context.draining.values()].flat();
  const drains = draining.filter((name) => {
    const pods = observation.cluster.podsByNode.get(name) ?? [];
    return checkNodeDrain(pods, context.drainOn(name)).movable.length > 0;
  });
  const windowStart = observation.nowMs - policy.scaleDown.removalWindowMs;
  const spent = (starts: readonly number[]): number => starts.filter((startMs) => startMs > windowStart).length;
  const { maxRemovalsPerWindow, maxEmptyRemovalsPerWindow: maxEmpty } = policy.scaleDown;
  return {
    nodes: Math.max(0, policy.scaleDown.maxParallel - draining.length),
    drains: Math.max(0, policy.scaleDown.maxParallelDrains - drains.length),
    window: Math.max(0, maxRemovalsPerWindow - spent(state.removals)),
    nodesOf: new Map([...context.draining].map(([group, nodes]) => [group, nodes.length])),
    budgets: new BudgetUse(
      policy.scaleDown,
      policy.scaleDown.budgets.length === 0 ? new Map() : groupSizes(observation),
      state.budgetedRemovals.filter(({ startedAtMs }) => startedAtMs > windowStart),
    ),
    emptyWindow: maxEmpty === undefined ? undefined : Math.max(0, maxEmpty - spent(state.emptyRemovals)),
  };
}

/** How many nodes each group can still lose: target size - removals in progress - removals of this plan - minimum size. */
export class GroupMinimums {
  readonly #left = new Map<NodeGroupId, number>();
  /** Broken nodes that the plan does not remove yet. A minimum size is a number of working nodes. */
  readonly #broken: Map<NodeGroupId, number>;

  constructor(context: ScaleDownContext) {
    this.#broken = new Map(brokenNodes(context.observation, context.state, context.policy));
    for (const group of context.groups.values()) {
      if (!group.target.known) continue;
      this.#left.set(group.id, group.target.value - (context.draining.get(group.id)?.length ?? 0) - group.minSize);
    }
  }

  allows(group: NodeGroup, nodes = 1): boolean {
    return (this.#left.get(group.id) ?? 0) >= nodes;
  }

  /** The same for working nodes: broken nodes must be replaced before working nodes are removed. */
  allowsWorking(group: NodeGroup, nodes = 1): boolean {
    return (this.#left.get(group.id) ?? 0) - (this.#broken.get(group.id) ?? 0) >= nodes;
  }

  countRemoval(group: NodeGroup): void {
    this.#left.set(group.id, (this.#left.get(group.id) ?? 0) - 1);
  }

  /** Counts the removal of a broken node. */
  countBrokenRemoval(group: NodeGroup): void {
    this.countRemoval(group);
    this.#broken.set(group.id, Math.max(0, (this.#broken.get(group.id) ?? 0) - 1));
  }
}

/**
 * PodDisruptionBudgets while one plan is made: disruptions that one node's pods use are not left for the next node's pods. Pods
 * of nodes that are being drained are counted before anything is planned.
 */
export class BudgetLedger {
  readonly #context: ScaleDownContext;
  readonly #left = new Map<DisruptionBudget, number>();
  readonly #touched = new Set<DisruptionBudget>();

  constructor(context: ScaleDownContext) {
    this.#context = context;
    for (const name of [...context.draining.values()].flat()) {
      const pods = context.observation.cluster.podsByNode.get(name) ?? [];
      const drain = context.drainOn(name);
      // The budget's own count no longer has a terminating pod.
      this.countEvictions(pods.filter((pod) => pod.deletionAtMs === undefined && checkPodDrain(pod, drain).kind !== 'daemon-set'));
    }
  }

  /**
   * The first budget that these pods would exceed. One node alone may have more pods of a budget than the budget allows at once:
   * its evictions wait for each other, so it can be removed if no other node of the plan uses that budget. A pod that its owner
   * marks as safe to evict does not count here: its eviction is tried until the Eviction API grants it.
   */
  exhaustedBudget(pods: readonly Pod[]): UsedBudget | undefined {
    if (this.#context.inSequence) return undefined;
    const counted = pods.filter(({ annotations }) => annotations.safeToEvict !== 'true');
    const found = [...this.#count(counted)].find(([budget, count]) => !(count <= this.#leftOf(budget) || this.#isUntouched(budget)));
    const [budget, needed] = found ?? [];
    const pod = counted.find((one) => budget !== undefined && this.#context.budgetsOf(one).includes(budget));
    if (budget === undefined || needed === undefined || pod === undefined) return undefined;
    return { budget, pod, needed, used: budget.disruptionsAllowed - this.#leftOf(budget) };
  }

  /** Whether the pods of one node need more disruptions than a budget allows at once. */
  exceedsAllowed(pods: readonly Pod[]): boolean {
    return [...this.#count(pods)].some(([budget, count]) => count > budget.disruptionsAllowed);
  }

  countEvictions(pods: readonly Pod[]): void {
    for (const [budget, count] of this.#count(pods)) {
      this.#left.set(budget, Math.max(0, this.#leftOf(budget) - count));
      this.#touched.add(budget);
    }
  }

  #isUntouched(budget: DisruptionBudget): boolean {
    return !this.#touched.has(budget) && budget.disruptionsAllowed >= 1;
  }

  #leftOf(budget: DisruptionBudget): number {
    return this.#left.get(budget) ?? budget.disruptionsAllowed;
  }

  #count(pods: readonly Pod[]): ReadonlyMap<DisruptionBudget, number> {
    const counts = new Map<DisruptionBudget, number>();
    for (const pod of pods) {
      for (const budget of this.#context.budgetsOf(pod)) counts.set(budget, (counts.get(budget) ?? 0) + 1);
    }
    return counts;
  }
}

/** A budget that other removals of the plan, or in progress, use already, so that one more node has to wait for it. */
interface UsedBudget {
  readonly budget: DisruptionBudget;
  /** The first pod of the node that the budget selects. */
  readonly pod: Pod;
  /** Disruptions that other removals use. */
  readonly used: number;
  /** Disruptions that the node needs. */
  readonly needed: number;
}

/** What the cluster can lose before it is below its minimum CPU or memory. Mutable, and dropped with the plan. */
export class ClusterMinimum {
  #cpuMillis = Number.POSITIVE_INFINITY;
  #memoryBytes = Number.POSITIVE_INFINITY;

  /** Counts all registered nodes, of any owner, except leaving and virtual nodes. */
  constructor(context: ScaleDownContext) {
    const { minCoresTotal, minMemoryTotalBytes } = context.policy.scaleDown;
    if (minCoresTotal === 0 && minMemoryTotalBytes === 0) return;
    const counted = [...context.observation.cluster.nodes.values()].filter((node) => !isLeaving(node, context) && !isVirtual(node.labels));
    if (minCoresTotal > 0) this.#cpuMillis = total(counted, CPU) - minCoresTotal * 1000;
    if (minMemoryTotalBytes > 0) this.#memoryBytes = total(counted, MEMORY) - minMemoryTotalBytes;
  }

  /** Why these nodes may not be removed together, with the numbers that fall short; undefined if they may. */
  shortage(nodes: readonly Node[]): string | undefined {
    const cpu = total(nodes, CPU);
    const memory = total(nodes, MEMORY);
    const parts = [
      ...(cpu > this.#cpuMillis ? [`${inCores(this.#cpuMillis)} CPU above its minimum, the removal takes ${inCores(cpu)} CPU`] : []),
      ...(memory > this.#memoryBytes
        ? [`${inGib(this.#memoryBytes)} GiB memory above its minimum, the removal takes ${inGib(memory)} GiB`]
        : []),
    ];
    return parts.length === 0 ? undefined : `the cluster has ${parts.join('; ')}`;
  }

  countRemoval(node: Node): void {
    this.#cpuMillis -= node.capacity[CPU] ?? 0;
    this.#memoryBytes -= node.capacity[MEMORY] ?? 0;
  }
}

function inCores(millis: number): number {
  return Math.max(0, millis) / 1000;
}

function inGib(bytes: number): number {
  return Math.round((Math.max(0, bytes) / 2 ** 30) * 10) / 10;
}

function total(nodes: readonly Node[], index: number): number {
  return nodes.reduce((sum, node) => sum + (node.capacity[index] ?? 0), 0);
}
