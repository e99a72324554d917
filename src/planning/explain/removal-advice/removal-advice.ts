/**
 * Advice for nodes that are not removed: the smallest change that frees a node, found by simulation. A change that was not seen to work
 * is never returned. Pure. Must not know how a change is carried out, or how advice is shown.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import type { UnremovableReason } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { type Change, describeChanges, type RemovalAdvice, type RemovalFix, type RemovalProof } from '../fix.ts';
import { removalStepsFor } from '../removal-steps.ts';
import { explainDetail } from '../unremovable-nodes.ts';
import { applyRemovalChanges } from './apply-removal-changes.ts';
import type { RemovalRemedy } from './kept-node.ts';
import { relatedNodes } from './related-nodes.ts';
import { remediesForNode } from './removal-remedies.ts';
import type { RemovalInput } from './after-removals.ts';
import { compareRemovals, obstacleOf, RemovalSimulator, type RemovalsInTime } from './simulate-removals.ts';

/** How many sets of changes are simulated for one node. */
const MOST_TRIED = 12;
/** Of changes that are needed together, more than these are no advice, and neither are those that together ask for too much. */
const MOST_CHANGES = 3;
const MOST_EFFORT = 9;

interface AdviserOptions {
  readonly kept?: readonly UnremovableNode[];
  readonly exactUpToNodes?: number;
}

/** Advises on the nodes of one decision. The plan without changes is made once. */
export class RemovalAdviser {
  readonly #input: RemovalInput;
  readonly #simulator: RemovalSimulator;
  readonly #groups: ReadonlyMap<string, NodeGroup>;
  readonly #kept: readonly UnremovableNode[];
  readonly #before = new Map<string, RemovalsInTime>();

  /** `kept`: of the plan that was decided, if there was one. `exactUpToNodes`: see the simulator. */
  constructor(input: RemovalInput, { kept = [], exactUpToNodes }: AdviserOptions = {}) {
    this.#input = input;
    this.#kept = kept;
    this.#simulator = new RemovalSimulator(input, exactUpToNodes);
    this.#groups = new Map(input.observation.cloud.groups.map((group) => [group.id, group]));
  }

  /** undefined: there is no such node, or it belongs to no managed group. */
  *advise(name: NodeName, mostTried = MOST_TRIED): SlicedWork<RemovalAdvice | undefined> {
    const { cluster, cloud } = this.#input.observation;
    const node = cluster.nodes.get(name);
    const group = this.#groups.get(cloud.groupOfNode.get(name) ?? '');
    if (node === undefined || group === undefined) return undefined;
    const only = relatedNodes(name, this.#input, this.#kept);
    const before = yield* this.#planFor(only);
    const wait = waitOf(name, before);
    if (wait !== undefined) return { wait, tried: 0 };
    const search = new Search({ input: this.#input, simulator: this.#simulator, before, only, node, group, groups: this.#groups });
    const fix = yield* search.firstThatWorks(mostTried);
    return { ...defined({ fix, obstacle: fix === undefined ? describeObstacle(name, before) : undefined }), tried: search.tried };
  }

  *#planFor(only: ReadonlySet<NodeName> | undefined): SlicedWork<RemovalsInTime> {
    const key = only === undefined ? '' : [...only].join();
    const known = this.#before.get(key);
    if (known !== undefined) return known;
    const plan = yield* this.#simulator.plan(this.#input, only);
    this.#before.set(key, plan);
    return plan;
  }
}

/** Reasons that end by themselves, or that no change of a person should end. */
const WAITING: ReadonlySet<UnremovableReason> = new Set([
  'CurrentlyBeingDeleted',
  'NotUnneededLongEnough',
  'NotUnreadyLongEnough',
  'BlockedByOnCompletionPod',
  'GroupFrozen',
  'GroupUnconfirmed',
  'PodsBlockedByMaximum',
]);

function waitOf(name: NodeName, plan: RemovalsInTime): string | undefined {
  const obstacle = obstacleOf(name, plan);
  if (obstacle === undefined) return 'it is removed once its idle time, cooldowns and earlier removals have passed';
  if (obstacle === 'inhibited') return plan.inhibited === 'scale-down is disabled' ? undefined : plan.inhibited;
  return WAITING.has(obstacle.reason) ? (explainDetail(obstacle) ?? obstacle.reason) : undefined;
}

function describeObstacle(name: NodeName, plan: RemovalsInTime): string | undefined {
  const obstacle = obstacleOf(name, plan);
  if (obstacle === undefined || obstacle === 'inhibited') return plan.inhibited;
  const { blocker, reason } = obstacle;
  return blocker === undefined
    ? (explainDetail(obstacle) ?? reason)
    : `pod ${blocker.pod}: ${blocker.detail === '' ? blocker.reason : blocker.detail}`;
}

interface SearchInput {
  readonly input: RemovalInput;
  readonly simulator: RemovalSimulator;
  readonly before: RemovalsInTime;
  /** The nodes that may be removed. If undefined, all. */
  readonly only: ReadonlySet<NodeName> | undefined;
  readonly node: Node;
  readonly group: NodeGroup;
  readonly groups: ReadonlyMap<string, NodeGroup>;
}

interface TriedRemedy {
  readonly plan: RemovalsInTime;
  readonly proof: RemovalProof;
}

/** One search for one node; it counts what it tries. */
class Search {
  readonly #given: SearchInput;
  readonly #seen = new Set<string>();
  tried = 0;

  constructor(given: SearchInput) {
    this.#given = given;
  }

  /** The first set that frees the node, and no fewer nodes than before. One that meets a further obstacle is tried with its remedy. */
  *firstThatWorks(mostTried: number): SlicedWork<RemovalFix | undefined> {
    const queue = [...this.#remediesAfter(this.#given.before)].sort(byEffort);
    for (let next = queue.shift(); next !== undefined && this.tried < mostTried; next = queue.shift()) {
      const tried = yield* this.#try(next);
      if (tried === undefined) continue;
      if (this.#isFreed(tried)) return this.#fixOf(next, tried.proof);
      queue.push(...this.#extended(next, tried));
      queue.sort(byEffort);
    }
    return undefined;
  }

  #remediesAfter(plan: RemovalsInTime): readonly RemovalRemedy[] {
    const { node, simulator } = this.#given;
    const input = plan.left;
    const group = input.observation.cloud.groups.find(({ id }) => id === this.#given.group.id);
    return remediesForNode({ input, plan, simulator, group, node: input.observation.cluster.nodes.get(node.name) ?? node });
  }

  #isFreed({ plan, proof }: TriedRemedy): boolean {
    return proof.nodes > 0 && obstacleOf(this.#given.node.name, plan) === undefined;
  }

  /** undefined: it was tried before, or has no meaning in this cluster. */
  *#try(remedy: RemovalRemedy): SlicedWork<TriedRemedy | undefined> {
    const key = JSON.stringify(remedy.changes);
    if (this.#seen.has(key)) return undefined;
    this.#seen.add(key);
    const { input, simulator, before, only } = this.#given;
    const changed = applyRemovalChanges(input, { changes: remedy.changes, workload: remedy.workload }, simulator);
    if (changed === undefined) return undefined;
    this.tried += 1;
    const plan = yield* simulator.plan(changed, only);
    return { plan, proof: compareRemovals(before, plan, changed) };
  }

  #extended({ changes, effort, workload }: RemovalRemedy, { plan }: TriedRemedy): readonly RemovalRemedy[] {
    if (changes.length >= MOST_CHANGES) return [];
    const known = new Set(changes.map((change) => JSON.stringify(change)));
    return this.#remediesAfter(plan)
      .filter((more) => more.workload === undefined || workload === undefined || more.workload.name === workload.name)
      .filter((more) =>
        more.changes.every((change) => !known.has(JSON.stringify(change)) && !changes.some((one) => areNoPair(one, change))),
      )
      .filter((more) => effort + more.effort <= MOST_EFFORT)
      .map((more) => ({
        changes: [...changes, ...more.changes],
        effort: effort + more.effort,
        ...defined({ workload: more.workload ?? workload }),
      }));
  }

  #fixOf({ changes, workload }: RemovalRemedy, proof: RemovalProof): RemovalFix {
    const { groups, input } = this.#given;
    const steps = removalStepsFor(changes, { groups, observation: input.observation, ...defined({ workload }) });
    return { changes, steps, text: describeChanges(changes), proof, ...defined({ workload }) };
  }
}

/** Two numbers for one limit are no combination, and neither is a node that is in use with pods that ask for less. */
function areNoPair(one: Change, other: Change): boolean {
  if (one.kind === other.kind) return one.kind === 'lower-minimum' || one.kind === 'raise-threshold' || one.kind === 'scale-workload';
  return one.kind === 'raise-threshold' && other.kind === 'lower-request';
}

function byEffort(left: RemovalRemedy, right: RemovalRemedy): number {
  return left.effort - right.effort;
}
