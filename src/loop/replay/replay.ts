/** Makes a dumped decision again and compares: the same observation, state and policy must give the same plans. */
import { isDeepStrictEqual } from 'node:util';
import { nodeGroupId } from '../../domain/ids.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { planScaleDown } from '../../planning/scale-down/plan.ts';
import { planScaleUp } from '../../planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { plainPlan, type Dump } from './dump.ts';

export interface Replay {
  readonly scaleUp: ScaleUpPlan | undefined;
  readonly scaleDown: ScaleDownPlan | undefined;
  /** Whether every recorded plan came out again. */
  readonly equal: boolean;
}

/** Plans again what the dump recorded: its scale-up, its scale-down, or both. */
export function replay(dump: Dump, names: ResourceNames): Replay {
  const { observation, state, policy } = dump;
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  const input = { observation, state, policy, names, snapshot };
  const turn = dump.request === undefined ? {} : { request: dump.request };
  const recorded = dump.scaleUp[0];
  const scaleUp =
    recorded === undefined
      ? undefined
      : planScaleUp({ ...input, exclude: new Set(dump.excluded.map(nodeGroupId)), ...cutLike(recorded), ...turn });
  const hasScaleDown = dump.scaleDown !== null && dump.scaleDown !== undefined;
  const scaleDown = hasScaleDown ? planScaleDown({ ...input, scaleUpPlanned: dump.scaleUpPlanned, ...cutLike(dump.scaleDown) }) : undefined;
  const equal = same(scaleUp, recorded) && same(scaleDown, hasScaleDown ? dump.scaleDown : undefined);
  return { scaleUp, scaleDown, equal };
}

/** The clock is no part of a dump: the plan is cut where the recorded one was. */
export function cutLike(recorded: unknown): { readonly isLate?: (made: number) => boolean } {
  const after =
    typeof recorded === 'object' && recorded !== null && 'cutShortAfter' in recorded ? Number(recorded.cutShortAfter) : undefined;
  return after === undefined ? {} : { isLate: (made) => made >= after };
}

function same(plan: object | undefined, recorded: unknown): boolean {
  return plan === undefined ? recorded === undefined : isDeepStrictEqual(throughJson(plainPlan(plan)), recorded);
}

/** The recorded plan went through JSON; so must the new one (-0 and the like). */
function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
