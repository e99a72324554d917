/**
 * How long a plan for mixed pods keeps the process from other work, as the daemon makes it and at once: 5,000 nodes, 150,000 bound pods. On a
 * machine with other work a turn includes the time that others had the processor; the minimum of the runs includes the least of it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns, type SlicedWork } from '../src/lib/slices.ts';
import { planScaleUpInSlices } from '../src/planning/scale-up/plan.ts';
import { emptyLoopState } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { resourceNames, START_MS } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { FULL_SIZE, mixedObservation } from './mixed-world.ts';
import type { BenchRow } from './row.ts';

const RUNS = 5;
const SLICE_MS = 20;
const POLICY = aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000, enforceMinSize: false } });

export async function turnsBench(): Promise<readonly BenchRow[]> {
  const observation = mixedObservation(FULL_SIZE);
  const startPlan = (): SlicedWork<unknown> => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    return planScaleUpInSlices({ observation, state: emptyLoopState(START_MS), policy: POLICY, names: resourceNames, snapshot });
  };
  const sliced = await longestTurns(startPlan, SLICE_MS);
  const whole = await longestTurns(startPlan, Number.POSITIVE_INFINITY);
  return [
    { name: 'mixed plan in slices: the longest turn', samples: sliced.map(({ wallMs }) => wallMs), unit: 'ms' },
    { name: 'mixed plan in slices: the longest turn, by the processor', samples: sliced.map(({ cpuMs }) => cpuMs), unit: 'ms' },
    { name: 'mixed plan at once, by the processor', samples: whole.map(({ cpuMs }) => cpuMs), unit: 'ms' },
  ];
}

interface Turn {
  readonly wallMs: number;
  /** Of all threads: garbage is collected beside the turn. */
  readonly cpuMs: number;
}

async function longestTurns(startPlan: () => SlicedWork<unknown>, sliceMs: number): Promise<readonly Turn[]> {
  const longest: Turn[] = [];
  for (let run = 0; run <= RUNS; run++) {
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
    if (run > 0) longest.push({ wallMs: most(({ wallMs }) => wallMs), cpuMs: most(({ cpuMs }) => cpuMs) });
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
