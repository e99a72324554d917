import type { Metrics } from '../telemetry/metrics.ts';
import type { LoopListener } from './report.ts';

/** Counts the orders whose machines did not become nodes in time. What Azure itself refuses is counted where it answers. */
export function joinTimeouts({ failures }: Pick<Metrics['scaleUp'], 'failures'>): LoopListener {
  return ({ observation, state }) => {
    for (const [group, { cause, lastFailureMs }] of state.backoffs) {
      if (cause === 'timeout' && lastFailureMs === observation?.nowMs) failures.inc({ node_group: group, reason: 'timeout' });
    }
  };
}
