import { AutoscalerError } from '../domain/errors.ts';
import type { Observation } from '../domain/observation.ts';
import type { ScaleDownPlan } from '../domain/plan.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { Log } from '../telemetry/log.ts';

export interface SoftTaintInput {
  readonly plan: ScaleDownPlan;
  readonly observation: Observation;
  readonly tainter: NodeTainter;
  /** Most API calls of this loop; 0 turns soft taints off. */
  readonly budget: number;
  readonly log: Log;
}

/** Marks unneeded nodes and unmarks needed ones, within the budget. One node's failure is logged and left for the next loop. */
export function updateSoftTaints(_input: SoftTaintInput, _signal: AbortSignal): Promise<void> {
  throw new AutoscalerError({ kind: 'bug' }, 'Soft taints have not landed yet.');
}
