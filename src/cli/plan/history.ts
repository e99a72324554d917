/** What a daemon would remember, for a cluster that is seen for the first time. */
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import { isMarked } from '../../planning/scale-down/scope.ts';

/** Before everything: what began then has lasted as long as it must. */
const LONG_AGO_MS = -1e15;

/** A file has no history: every node counts as long unneeded, and every rest as over. */
export function withoutHistory(observation: Observation): LoopState {
  return {
    unremovable: new Map(),
    backoffs: new Map(),
    stockouts: [],
    increases: new Map(),
    deleting: leavingNodes(observation),
    ...timersRunOut(observation),
  };
}

/** What a file shows of a removal that is under way: the mark. The daemon remembers its own. */
function leavingNodes({ cluster, cloud, nowMs }: Observation): LoopState['deleting'] {
  const marked = [...cluster.nodes.values()].filter((node) => isMarked(node, nowMs));
  return new Map(
    marked.flatMap(({ name }) => {
      const group = cloud.groupOfNode.get(name);
      const instance = cloud.instanceOfNode.get(name);
      return group === undefined || instance === undefined ? [] : [[name, { group, instance, sinceMs: nowMs }] as const];
    }),
  );
}

/** Of nodes that were looked at only now, too. */
export function timersRunOut(observation: Observation) {
  return {
    unneededSince: new Map([...observation.cluster.nodes.keys()].map((name) => [name, LONG_AGO_MS])),
    lastScaleUpMs: LONG_AGO_MS,
    lastScaleDownMs: LONG_AGO_MS,
    lastScaleDownFailureMs: LONG_AGO_MS,
    removals: [],
  };
}
