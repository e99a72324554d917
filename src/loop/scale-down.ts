import { AutoscalerError } from '../domain/errors.ts';
import type { ScaleDownPlan } from '../domain/plan.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { DrainRunner } from './drain.ts';

export interface ExecuteScaleDownInput {
  readonly plan: ScaleDownPlan;
  readonly runner: DrainRunner;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Begins what the plan says, in the background, and publishes the plan's gauges. Never waits and never throws. */
export function executeScaleDown(_input: ExecuteScaleDownInput): void {
  throw new AutoscalerError({ kind: 'bug' }, 'The scale-down effects have not landed yet.');
}
