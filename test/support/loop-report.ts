/** What one loop did, as observers get it. */
import { type LoopReport, NO_REPACKS } from '../../src/domain/loop-report.ts';
import { NO_PRICES } from '../../src/domain/policy.ts';
import { NOTHING_PLANNED, type ScaleDownPlan, type ScaleUpPlan } from '../../src/domain/plan.ts';
import { START_MS } from './builders.ts';
import { aState, withMade } from './state.ts';
import { followIncreases } from '../../src/planning/state/increases/follow-increases.ts';

/** A loop without an observation that completed and did nothing, with `change`. */
export function aLoopReport(change: Partial<LoopReport> = {}): LoopReport {
  return {
    loopId: 1,
    trigger: 'scan',
    startedAtMs: START_MS,
    durationMs: 1,
    observation: undefined,
    rounds: [],
    scaleDown: undefined,
    replanSoon: false,
    unfinished: false,
    answered: [],
    removed: [],
    stepMs: {},
    failures: [],
    outcome: 'completed',
    repacks: NO_REPACKS,
    prices: NO_PRICES,
    state: aState(),
    ...change,
  };
}

/** No group grows. */
export function aScaleUpPlan(change: Partial<ScaleUpPlan> = {}): ScaleUpPlan {
  return { ...NOTHING_PLANNED, ...change };
}

/** No node is unneeded. */
/** A removal in itself: of a node that is not sick, alone, drained as all are. */
export const ORDINARY = { condition: undefined, reimages: undefined, together: undefined, drain: undefined } as const;

export function aScaleDownPlan(change: Partial<ScaleDownPlan> = {}): ScaleDownPlan {
  return {
    unneeded: new Map(),
    removals: [],
    instanceRemovals: [],
    kept: [],
    cutShortAfter: undefined,
    inhibited: undefined,
    summary: '',
    ...change,
  };
}

/** Reports of one loop after the other: each state has the increases that the loop has made by then, with their instances. */
export function inSequence(): (report: LoopReport) => LoopReport {
  let increases: LoopReport['state']['increases'] = new Map();
  return (report) => {
    const made = report.rounds.flatMap(({ increases }) => increases);
    const seen = report.observation === undefined ? increases : followIncreases(increases, report.observation);
    increases = withMade(seen, made, report.loopId);
    return { ...report, state: { ...report.state, increases } };
  };
}
