/**
 * How long a plan for mixed pods, or a search for repacks, keeps the process from other work: 5,000 nodes, 100,000 bound pods and more. On a
 * machine with other work a turn includes the time that others had the processor; the minimum of the runs includes the least of it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns, type SlicedWork } from '../src/lib/slices.ts';
import { planScaleUpInSlices } from '../src/planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { resourceNames } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import type { Observation } from '../src/domain/observation.ts';
import { hostileObservation, HOSTILE_WORKLOADS } from './hostile-worlds.ts';
import { FULL_SIZE, mixedObservation } from './mixed-world.ts';
import { repackPlans } from './repack-world.ts';
import type { BenchRow } from './row.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { aState } from '../test/support/state.ts';

const RUNS = 5;
const SLICE_MS = 20;
const HOSTILE_RUNS = 2;
/** As many as there are pods: some keep off each other. */
const POLICY = aPolicy({ scaleUp: { maxNodesPerScaleUp: FULL_SIZE.pods, enforceMinSize: false } });

export async function turnsBench(): Promise<readonly BenchRow[]> {
  const startPlan = plansFor(mixedObservation(FULL_SIZE));
  const sliced = await longestTurns(startPlan, { sliceMs: SLICE_MS, runs: RUNS });
  const whole = await longestTurns(startPlan, { sliceMs: Number.POSITIVE_INFINITY, runs: RUNS });
  return [
    { name: 'mixed plan in slices: the longest turn', samples: sliced.map(({ wallMs }) => wallMs), unit: 'ms' },
    { name: 'mixed plan in slices: the longest turn, by the processor', samples: sliced.map(({ cpuMs }) => cpuMs), unit: 'ms' },
    { name: 'mixed plan at once, by the processor', samples: whole.map(({ cpuMs }) => cpuMs), unit: 'ms' },
    ...(await hostileRows()),
    ...(await repackRows()),
  ];
}

async function hostileRows(): Promise<readonly BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, shapeOf] of Object.entries(HOSTILE_WORKLOADS)) {
    const runs = await longestTurns(plansFor(hostileObservation(FULL_SIZE, shapeOf)), { sliceMs: SLICE_MS, runs: HOSTILE_RUNS });
    const note = `the whole plan takes ${Math.min(...runs.map(({ planCpuMs }) => planCpuMs)).toFixed(0)} ms of the processor`;
    rows.push({ name: `${name}: the longest turn, by the processor`, samples: runs.map(({ cpuMs }) => cpuMs), unit: 'ms', note });
  }
  return rows;
}

/** Where repacking is on: the search that is made every five minutes, and then the check of what it found. */
async function repackRows(): Promise<readonly BenchRow[]> {
  const runs = await longestTurns(repackPlans(FULL_SIZE.nodes), { sliceMs: SLICE_MS, runs: RUNS });
  const note = `the whole search takes ${Math.min(...runs.map(({ planCpuMs }) => planCpuMs)).toFixed(0)} ms of the processor`;
  return [{ name: 'search for repacks: the longest turn, by the processor', samples: runs.map(({ cpuMs }) => cpuMs), unit: 'ms', note }];
}

function plansFor(observation: Observation): () => SlicedWork<unknown> {
  return () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    return planScaleUpInSlices({ ...FIRST_PLAN, observation, state: aState(), policy: POLICY, names: resourceNames, snapshot });
  };
}

interface Turn {
  readonly wallMs: number;
  /** Of all threads: garbage is collected beside the turn. */
  readonly cpuMs: number;
}

interface LongestTurn extends Turn {
  /** Of all turns of the plan. */
  readonly planCpuMs: number;
}

interface RunOptions {
  readonly sliceMs: number;
  /** After the first, which is not counted. */
  readonly runs: number;
}

async function longestTurns(startPlan: () => SlicedWork<unknown>, { sliceMs, runs }: RunOptions): Promise<readonly LongestTurn[]> {
  const longest: LongestTurn[] = [];
  for (let run = 0; run <= runs; run++) {
    const turns: Turn[] = [];
    const work = startPlan();
    let end = startTurn(turns);
    const pause = async (): Promise<void> => {
      end();
      await nextTurn();
      end = startTurn(turns);
    };
    await new Turns({ clock: { monotonic: () => performance.now() }, sliceMs, pause }).finish(work);
    end();
    const most = (of: (turn: Turn) => number): number => turns.reduce((max, turn) => Math.max(max, of(turn)), 0);
    const planCpuMs = turns.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
    if (run > 0) longest.push({ wallMs: most(({ wallMs }) => wallMs), cpuMs: most(({ cpuMs }) => cpuMs), planCpuMs });
  }
  return longest;
}

function startTurn(turns: Turn[]): () => void {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    turns.push({ wallMs: performance.now() - startedMs, cpuMs: (user + system) / 1000 });
  };
}
