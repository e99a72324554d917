/**
 * Carries out a scale-down plan: starts its removals in the background and publishes its numbers. Must not decide which
 * nodes are removed.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Removal, ScaleDownPlan } from '../../domain/plan.ts';
import type { Turns } from '../../lib/slices.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { GroupSizes } from '../../planning/facts/removal-budgets.ts';
import type { DrainRunner } from './drain-runner.ts';

interface ExecuteScaleDownInput {
  readonly plan: ScaleDownPlan;
  /** The groups that the plan was made from. */
  readonly groups: readonly NodeGroup[];
  /** For budgets of removals. undefined: unknown, so that a budget in percent allows nothing. */
  readonly sizes: GroupSizes | undefined;
  readonly runner: DrainRunner;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly turns: Pick<Turns, 'next'>;
  /** Fires when nothing new may begin. */
  readonly over: AbortSignal;
}

/** Starts the planned removals in the background and publishes the plan's gauges. Waits for no removal. Never throws. */
export async function executeScaleDown(input: ExecuteScaleDownInput): Promise<void> {
  const { plan, groups, sizes, runner, log, metrics, turns, over } = input;
  publish(plan, metrics);
  for (const removal of plan.removals) {
    const { node, group, cause, utilization, unneededSinceMs } = removal;
    log.info({ node, nodeGroup: group, cause, utilization, unneededSinceMs, pods: removal.pods.length }, 'Node removal started');
    if (removal.together !== true) runner.start(removal, sizes);
    await turns.next();
    if (over.aborted) return;
  }
  for (const together of atomicGroups(plan.removals)) runner.startGroup(together, sizes);
  runner.removeInstances(plan.instanceRemovals, groups);
  if (plan.kept.length > 0) log.debug({ kept: plan.kept.length, summary: plan.summary }, 'Unremovable nodes');
}

/** The removals of atomic groups, which are carried out together. */
function atomicGroups(removals: readonly Removal[]): readonly (readonly Removal[])[] {
  const groups = new Map<NodeGroupId, readonly Removal[]>();
  for (const removal of removals) {
    if (removal.together === true) groups.set(removal.group, [...(groups.get(removal.group) ?? []), removal]);
  }
  return [...groups.values()];
}

function publish(plan: ScaleDownPlan, metrics: Metrics): void {
  metrics.scaleDown.unneeded.set(plan.unneeded.size);
}
