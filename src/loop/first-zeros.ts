import type { NodeGroupId } from '../domain/ids.ts';
import type { Removal } from '../domain/plan.ts';
import type { IncreaseOutcome, RemovalStep } from '../domain/outcome.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { LoopListener } from './report.ts';
import { STAGES } from './stage-times.ts';

const OUTCOMES: readonly IncreaseOutcome['kind'][] = ['accepted', 'conflict', 'refused', 'failed'];
const CAUSES: readonly Removal['cause'][] = ['empty', 'underutilized', 'unready'];
const STEPS: readonly RemovalStep[] = ['recheck', 'taint', 'evict', 'wait', 'delete', 'stopped'];

/**
 * Begins the counters of each group at 0 when it is first seen: what is counted is rare, and a first event that made its own
 * series would be no increase to who reads it.
 */
export function firstZeros(metrics: Metrics): LoopListener {
  const begun = new Set<NodeGroupId>();
  for (const outcome of ['evicted', 'stayed']) metrics.cluster.preemptedPods.inc({ outcome }, 0);
  return ({ observation }) => {
    for (const { id } of observation?.cloud.groups ?? []) {
      if (begun.has(id)) continue;
      begun.add(id);
      begin(metrics, id);
    }
  };
}

function begin({ scaleUp, scaleDown, cache, cluster }: Metrics, group: NodeGroupId): void {
  const own = { node_group: group };
  for (const outcome of OUTCOMES) scaleUp.writes.inc({ ...own, outcome }, 0);
  for (const counter of [scaleUp.nodes, scaleUp.conflicts, scaleUp.givenBack, cache.externalChanges, cluster.preemptedNodes])
    counter.inc(own, 0);
  for (const cause of CAUSES) scaleDown.nodes.inc({ ...own, cause }, 0);
  for (const step of STEPS) scaleDown.failures.inc({ ...own, step }, 0);
  for (const stage of STAGES) scaleUp.groupStages.begin({ ...own, stage });
  scaleUp.podsToBound.zero(own);
}
