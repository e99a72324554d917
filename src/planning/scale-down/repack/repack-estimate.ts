/** What repacking would save, by the search that would act, in every pool, whether it is on or not. What only delays it is left out. */
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Policy } from '../../../domain/policy.ts';
import { NOTHING_SAVED, type RepackEstimate } from '../../../domain/repack.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { makeScaleDownContext, REMOVALS_ALONE } from '../plan-context.ts';
import { growablePools } from './growable-pools.ts';
import { findRepackCandidates, repackBlockers, sumOf } from './repack-candidates.ts';
import { searchRepacks } from './repack-search.ts';

export interface EstimateInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
}

/** Fills a snapshot of its own. */
export function* estimateRepacks(input: EstimateInput): SlicedWork<RepackEstimate> {
  const { observation, names } = input;
  const snapshot = new ClusterSnapshot({ names });
  yield* snapshot.syncInSlices(observation.cluster);
  const context = makeScaleDownContext({ ...REMOVALS_ALONE, ...input, snapshot, inSequence: true });
  const { candidates, kept } = yield* findRepackCandidates(context);
  const { sets, cutShort } = yield* searchRepacks({
    context,
    candidates,
    pools: growablePools(context, names),
    closed: new Set(),
    mostAtOnce: Infinity,
  });
  const saved = sets.reduce((sum, set) => sumOf(sum, set.saved), NOTHING_SAVED);
  const { groupOfNode } = observation.cloud;
  const nodes = [...observation.cluster.nodes.values()].filter(({ name, readiness }) => readiness.ready && groupOfNode.has(name)).length;
  return { atMs: observation.nowMs, nodes, needed: nodes - saved.nodes, saved, sets, blockers: repackBlockers(kept, context), cutShort };
}
