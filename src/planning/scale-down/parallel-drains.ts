/**
 * What parallel drains must not share. One is a node that takes their pods, since both would count on the same room. The other
 * is the last node of a group in a zone: only one at a time is drained. Disruption budgets are in the BudgetLedger.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import { checkNodeDrain } from '../../scheduling/drainability/drainability.ts';
import type { ScaleDownContext } from './plan-context.ts';
import type { Unneeded } from './unneeded.ts';
import type { ZoneSurplus } from './removal-order.ts';

/** Follows one plan as nodes are selected, starting with the drains in progress. */
export class ParallelDrains {
  readonly #inSequence: boolean;
  readonly #zones: ZoneSurplus;
  readonly #destinations: Set<NodeName>;
  #drains: number;
  #endsZone = false;

  constructor(context: ScaleDownContext, zones: ZoneSurplus, reserved: ReadonlySet<NodeName>) {
    this.#inSequence = context.inSequence;
    this.#zones = zones;
    this.#destinations = new Set(reserved);
    const { nodes, podsByNode } = context.observation.cluster;
    const { groupOfNode } = context.observation.cloud;
    const draining = [...context.draining.values()]
      .flat()
      .filter((name) => checkNodeDrain(podsByNode.get(name) ?? [], context.drainOn(name)).movable.length > 0);
    this.#drains = draining.length;
    for (const name of draining) {
      const [node, group] = [nodes.get(name), groupOfNode.get(name)];
      if (node !== undefined && group !== undefined && zones.isGone(group, node)) this.#endsZone = true;
    }
  }

  /** Why this node waits for drains in progress or planned; undefined if it shares nothing with them. */
  refusal(candidate: Unneeded): Pick<UnremovableNode, 'reason' | 'detail'> | undefined {
    if (this.#inSequence || candidate.drain.movable.length === 0 || this.#drains === 0) return undefined;
    const shared = [...candidate.destinations].find((name) => this.#destinations.has(name));
    if (shared !== undefined) return { reason: 'RemovalBudgetSpent', detail: `another drain moves pods to ${shared}` };
    if (this.#endsZone || this.#zones.isLast(candidate.group.id, candidate.node)) {
      return { reason: 'RemovalBudgetSpent', detail: 'the last node of a group in a zone is only drained alone' };
    }
    return undefined;
  }

  /** Must be called before the removal is counted in the zones. */
  addDrain(candidate: Unneeded): void {
    if (candidate.drain.movable.length === 0) return;
    this.#drains += 1;
    for (const name of candidate.destinations) this.#destinations.add(name);
    if (this.#zones.isLast(candidate.group.id, candidate.node)) this.#endsZone = true;
  }
}
