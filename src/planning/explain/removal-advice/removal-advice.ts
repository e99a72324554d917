/** Advice for nodes that are not removed: the smallest change that frees a node. Must not know how advice is shown. */
import type { NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { UnremovableReason } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { fixOf, type RemovalAdvice } from '../advice/fix.ts';
import { search } from '../advice/search.ts';
import { applyChanges, type Change } from '../changes/change-kinds.ts';
import { keyOf } from '../changes/change.ts';
import { reshaped, withWorkload } from '../changes/edits.ts';
import { explainDetail } from '../unremovable-nodes.ts';
import type { RemovalRemedy } from './kept-node.ts';
import { relatedNodes } from './related-nodes.ts';
import { remediesForNode } from './removal-remedies.ts';
import { compareRemovals, obstacleOf, type RemovalInput, RemovalSimulator, type RemovalsInTime } from './simulate-removals.ts';

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
    const [input, simulator] = [this.#input, this.#simulator];
    const remediesAfter = (plan: RemovalsInTime): readonly RemovalRemedy[] => {
      const { cluster: left, cloud: after } = plan.left.observation;
      const sameGroup = after.groups.find(({ id }) => id === group.id);
      return remediesForNode({ input: plan.left, plan, simulator, group: sameGroup, node: left.nodes.get(name) ?? node });
    };
    const { found, tried } = yield* search({
      candidates: remediesAfter(before),
      mostTried,
      mostNodes: 0,
      simulate: function* (changes, remedy: RemovalRemedy) {
        const changed = changedInput(input, remedy, simulator);
        if (changed === undefined) return undefined;
        const plan = yield* simulator.plan(changed, only);
        return { plan, proof: compareRemovals(before, plan, changed) };
      },
      // The node is freed, and no fewer nodes than before are removed.
      solvedBy: ({ plan, proof }) => (proof.nodes > 0 && obstacleOf(name, plan) === undefined ? 1 : 0),
      newNodesIn: () => 0,
      extend: ({ candidate, result }) => extended(candidate, remediesAfter(result.plan)),
    });
    if (found === undefined) return { ...defined({ obstacle: describeObstacle(name, before) }), tried };
    const { changes, result, candidate } = found;
    const { workload } = candidate;
    const fix = fixOf({ changes, proof: result.proof, observation: input.observation, workload });
    return { fix: { ...fix, ...defined({ workload }) }, tried };
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

function changedInput(input: RemovalInput, { changes, workload }: RemovalRemedy, simulator: RemovalSimulator): RemovalInput | undefined {
  return applyChanges(input, changes, {
    names: input.names,
    modelOf: (world) => simulator.modelOf(world),
    reshape: (world, edit) => {
      const shapes = new Map<PodShape, PodShape>();
      return workload === undefined ? undefined : withWorkload(world, workload, (pod) => reshaped(pod, edit, shapes));
    },
  });
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
  'ZoneDown',
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

function extended({ changes, effort, workload }: RemovalRemedy, further: readonly RemovalRemedy[]): readonly RemovalRemedy[] {
  if (changes.length >= MOST_CHANGES) return [];
  const known = new Set(changes.map(keyOf));
  return further
    .filter((more) => more.workload === undefined || workload === undefined || more.workload.name === workload.name)
    .filter((more) => more.changes.every((change) => !known.has(keyOf(change)) && !changes.some((one) => areNoPair(one, change))))
    .filter((more) => effort + more.effort <= MOST_EFFORT)
    .map((more) => ({
      changes: [...changes, ...more.changes],
      effort: effort + more.effort,
      ...defined({ workload: more.workload ?? workload }),
    }));
}

/** Two numbers for one limit are no combination, and neither is a node that is in use with pods that ask for less. */
function areNoPair(one: Change, other: Change): boolean {
  if (one.kind === other.kind) return one.kind === 'lower-minimum' || one.kind === 'raise-threshold' || one.kind === 'scale-workload';
  return one.kind === 'raise-threshold' && other.kind === 'lower-request';
}
