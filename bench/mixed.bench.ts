/**
 * One whole plan for mixed pods, at full size, at a tenth of it, and with one dimension at a tenth: from these follow the exponents with
 * which its time grows.
 */
import type { Observation } from '../src/domain/observation.ts';
import type { ScaleUpPlan } from '../src/domain/plan.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { emptyLoopState } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { resourceNames, START_MS } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { FULL_SIZE, mixedObservation, type MixedSize } from './mixed-world.ts';
import type { BenchRow } from './row.ts';

const RUNS = 5;
const POLICY = aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000, enforceMinSize: false } });

interface MixedRow extends MixedSize {
  readonly name: string;
  readonly samples: readonly number[];
  /** The same in time of the processor, which a busy machine changes less. */
  readonly cpu: readonly number[];
  readonly served: number;
}

export function mixedBench(): readonly BenchRow[] {
  const { pods, nodes, pools } = FULL_SIZE;
  const full = measure('mixed, full size', FULL_SIZE);
  const fewPods = measure('mixed, a tenth of the pods', { pods: pods / 10, nodes, pools });
  const fewNodes = measure('mixed, a tenth of the nodes', { pods, nodes: nodes / 10, pools });
  const fewPools = measure('mixed, a tenth of the pools', { pods, nodes, pools: pools / 10 });
  return [
    toRow(measure('mixed, a tenth', { pods: pods / 10, nodes: nodes / 10, pools: pools / 10 })),
    toRow(full),
    toRow(fewPods, exponent(fewPods, full)),
    toRow(fewNodes, exponent(fewNodes, full)),
    toRow(fewPools, exponent(fewPools, full)),
  ];
}

/** Each plan is the first one over its model of the cluster: it has to count the present pods for all rules. */
function measure(name: string, size: MixedSize): MixedRow {
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
  return { name, ...size, samples, cpu, served };
}

function planOf(observation: Observation, snapshot: ClusterSnapshot): ScaleUpPlan {
  return planScaleUp({ observation, state: emptyLoopState(START_MS), policy: POLICY, names: resourceNames, snapshot });
}

function toRow({ name, pods, nodes, pools, samples, cpu, served }: MixedRow, grows?: number): BenchRow {
  const sorted = [...samples].sort((left, right) => left - right);
  const medianMs = sorted[Math.floor(sorted.length / 2)];
  const growth = grows === undefined ? '' : `, to full size it grows with exponent ${grows.toFixed(2)}`;
  return {
    name,
    samples,
    unit: 'ms',
    note: `${served} of ${pods} pods served, ${Math.min(...cpu).toFixed(0)} ms of the processor${growth}`,
    facts: {
      name,
      pods,
      nodes,
      pools,
      medianMs,
      minMs: sorted[0],
      minCpuMs: Math.min(...cpu),
      served,
      ...(grows === undefined ? {} : { exponent: grows }),
    },
  };
}

/** With ten times as much of one dimension, by the least time of the processor: what others on the machine take is left out. */
function exponent(tenth: MixedRow, full: MixedRow): number {
  return Math.log10(Math.min(...full.cpu) / Math.min(...tenth.cpu));
}
