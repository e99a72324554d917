import { AutoscalerError } from '../domain/errors.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { Observation } from '../domain/observation.ts';
import type { EventRecorder } from '../ports/event-recorder.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';
import type { Log } from '../telemetry/log.ts';
import type { NodeName } from '../domain/ids.ts';

export interface LeftoversInput {
  readonly observation: Observation;
  /** After reduceRemovals and reduceObservation. */
  readonly state: LoopState;
  /** `runner.inFlight()`. */
  readonly inFlight: ReadonlySet<NodeName>;
  readonly tainter: NodeTainter;
  readonly events: EventRecorder;
  readonly log: Log;
  /** `policy.drain.cordon`. */
  readonly cordon: boolean;
}

/**
 * Frees nodes that carry our deletion taint while nobody works on them. Costs nothing when there are none: call it in
 * every loop, before planning (a deletion that failed late leaves such a node, too). Returns the nodes that were freed.
 */
export function undoLeftovers(_input: LeftoversInput, _signal: AbortSignal): Promise<readonly NodeName[]> {
  throw new AutoscalerError({ kind: 'bug' }, 'Undoing leftovers has not landed yet.');
}
