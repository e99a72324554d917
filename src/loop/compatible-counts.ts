import type { Policy } from '../domain/policy.ts';
import type { CompatibleMetrics } from '../telemetry/compatible-metrics.ts';
import { failedCreations } from './failed-creations.ts';
import { removalLatency } from './removal-latency.ts';
import type { LoopListener } from './report.ts';

/** What is told under the Cluster Autoscaler's names and needs a memory from loop to loop. `policy`: the rules that hold now. */
export function compatibleCounts(metrics: CompatibleMetrics, policy: () => Policy): readonly LoopListener[] {
  return [failedCreations(metrics), removalLatency(metrics, policy), neverNodes(metrics)];
}

function neverNodes({ oldUnregisteredRemoved }: Pick<CompatibleMetrics, 'oldUnregisteredRemoved'>): LoopListener {
  return ({ removed }) => {
    for (const outcome of removed) {
      if (outcome.kind === 'instances' && outcome.accepted && outcome.cause === 'never-registered')
        oldUnregisteredRemoved.inc(outcome.instances.length);
    }
  };
}
