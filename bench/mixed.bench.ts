/**
 * One whole plan for mixed pods, at a tenth and at full size. `growth` measures with which exponents its time grows: each dimension alone
 * is made ten times larger, and pools a hundred times.
 */
import type { Observation } from '../src/domain/observation.ts';
import type { ScaleUpPlan } from '../src/domain/plan.ts';
import { planningTimer } from '../src/loop/scale-up/rounds.ts';
import { waitedGroups } from '../src/planning/scale-down/full-groups.ts';
import { decideScaleUpInSlices, planScaleUp } from '../src/planning/scale-up/plan.ts';
import { explainPlanInSlices } from '../src/planning/scale-up/plan-result.ts';
import { finishAtOnce } from '../src/lib/slices.ts';
import { rememberStop } from '../src/planning/state/stopped-plans.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { resourceNames, type ShapeOptions } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { HOPELESS_KINDS, hopelessObservation } from './hostile-worlds.ts';
import { FULL_SIZE, mixedObservation, type MixedSize } from './mixed-world.ts';
import type { BenchRow } from './row.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { aState } from '../test/support/state.ts';

const RUNS = 5;
const POLICY = aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000, enforceMinSize: false } });

interface Measured {
  readonly samples: readonly number[];
  /** The same in time of the processor, which a busy machine changes less. */
  readonly cpu: readonly number[];
  readonly served: number;
}

export function mixedBench(): readonly BenchRow[] {
  const { pods, nodes, pools } = FULL_SIZE;
  return [
    mixedRow('mixed, a tenth of the full size', { pods: pods / 10, nodes: nodes / 10, pools: pools / 10 }),
    mixedRow('mixed, full size', FULL_SIZE),
    ...Object.entries(HOPELESS_KINDS).map(([name, shapeOf]) => hopelessRow(`${pods} hopeless pods of one team ${name}`, shapeOf)),
  ];
}

/** The defaults of the daemon. */
const PLANNING_MS = 5_000;
const LOOPS = 6;

/**
 * Loops one after the other, with the time limit of the daemon. The pod of the other team waits in all of them, as if the write failed, so that
 * each shows whether its turn came.
 */
function hopelessRow(name: string, shapeOf: (at: number) => ShapeOptions): BenchRow {
  const { observation, other } = hopelessObservation(FULL_SIZE, shapeOf);
  const policy = { ...POLICY, scaleUp: { ...POLICY.scaleUp, maxPlanningMs: PLANNING_MS } };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const samples: number[] = [];
  const explainMs: number[] = [];
  const served: number[] = [];
  const free: number[] = [];
  let state = aState();
  for (let loopId = 1; loopId <= LOOPS; loopId++) {
    const seen = { ...observation, loopId };
    snapshot.sync(seen.cluster);
    const isLate = planningTimer({ clock: { monotonic: () => performance.now() }, policy }, 0);
    const started = performance.now();
    const decided = finishAtOnce(
      decideScaleUpInSlices({ ...FIRST_PLAN, observation: seen, state, policy, names: resourceNames, snapshot, isLate }),
    );
    samples.push(performance.now() - started);
    const plan = finishAtOnce(explainPlanInSlices(decided));
    explainMs.push(Math.round(performance.now() - started - (samples.at(-1) ?? 0)));
    if (plan.verdicts.get(other)?.kind === 'triggered') served.push(loopId);
    free.push(FULL_SIZE.pools - waitedGroups(plan, { observation: seen, names: resourceNames }).size);
    state = rememberStop(state, plan, loopId);
  }
  const note = `until increases are written; the other team's pod is served in loops ${served.join(', ') || 'none'}; pools open to removals, loop by loop: ${free.join(', ')} of ${FULL_SIZE.pools}`;
  return { name, samples, unit: 'ms', note, facts: { name, ...FULL_SIZE, loopsMs: samples.map(Math.round), explainMs, served, free } };
}

function mixedRow(name: string, size: MixedSize): BenchRow {
  const { samples, cpu, served } = measure(size);
  const sorted = [...samples].sort((left, right) => left - right).map((ms) => Number(ms.toFixed(2)));
  return {
    name,
    samples,
    unit: 'ms',
    note: `${served} of ${size.pods} pods served, ${Math.min(...cpu).toFixed(0)} ms of the processor`,
    facts: { name, ...size, medianMs: sorted[Math.floor(sorted.length / 2)], minMs: sorted[0], served },
  };
}

interface Growth {
  readonly dimension: keyof MixedSize;
  readonly from: number;
  readonly to: number;
  /** The exponent at most, as aimed at. Flat is 0.2: ten times as many cost at most 60 % more. */
  readonly aim: number;
}

const GROWTHS: readonly Growth[] = [
  { dimension: 'pods', from: 2_000, to: 20_000, aim: 1.1 },
  { dimension: 'nodes', from: 500, to: 5_000, aim: 0.2 },
  { dimension: 'pools', from: 10, to: 100, aim: 1 },
  { dimension: 'pools', from: 5, to: 500, aim: 1 },
];

/** The other dimensions are at their full size. */
export function growthBench(): readonly BenchRow[] {
  return GROWTHS.map(({ dimension, from, to, aim }) => {
    const small = measure({ ...FULL_SIZE, [dimension]: from });
    const large = measure({ ...FULL_SIZE, [dimension]: to });
    const [fromMs, toMs] = [Math.min(...small.cpu), Math.min(...large.cpu)];
    // By the least time of the processor: what others on the machine take is left out.
    const exponent = Number((Math.log(toMs / fromMs) / Math.log(to / from)).toFixed(3));
    const name = `mixed, from ${from} to ${to} ${dimension}`;
    return {
      name,
      samples: large.samples,
      unit: 'ms',
      note: `${fromMs.toFixed(0)} to ${toMs.toFixed(0)} ms of the processor: exponent ${exponent.toFixed(2)}, aim at most ${aim}`,
      facts: { name, dimension, from, to, fromCpuMs: fromMs, toCpuMs: toMs, exponent, aim, served: large.served },
    };
  });
}

/** Each plan is the first one over its model of the cluster: it has to count the present pods for all rules. */
function measure(size: MixedSize): Measured {
  const observation = mixedObservation(size);
  let served = 0;
  const samples: number[] = [];
  const cpu: number[] = [];
  for (let run = 0; run <= RUNS; run++) {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const started = performance.now();
    const before = process.cpuUsage();
    const plan = planOf(observation, snapshot);
    const { user, system } = process.cpuUsage(before);
    if (run > 0) {
      samples.push(performance.now() - started);
      cpu.push((user + system) / 1000);
    }
    served = plan.increases.reduce((sum, increase) => sum + increase.pods.length, 0);
  }
  return { samples, cpu, served };
}

function planOf(observation: Observation, snapshot: ClusterSnapshot): ScaleUpPlan {
  return planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy: POLICY, names: resourceNames, snapshot });
}
