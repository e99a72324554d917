/**
 * Planning a scale-down of a large cluster, I/O aside: 5,000 nodes and 150,000 pods in 50 groups over three zones, with
 * budgets on every workload, zone spread on a third of them and anti-affinity on some. A third of the nodes is lightly used.
 */
import { finishAtOnce } from '../src/lib/slices.ts';
import type { LoopState } from '../src/domain/loop-state.ts';
import type { Node } from '../src/domain/node.ts';
import type { Observation } from '../src/domain/observation.ts';
import type { ScaleDownPlan } from '../src/domain/plan.ts';
import type { Pod, PodShape } from '../src/domain/pod.ts';
import type { DisruptionBudget } from '../src/domain/workloads.ts';
import { RemovalAdviser } from '../src/planning/explain/removal-advice/removal-advice.ts';
import { totalsByBlocker } from '../src/planning/explain/unremovable-nodes.ts';
import { planScaleDown } from '../src/planning/scale-down/plan.ts';
import { reduceObservation, reduceScaleDownPlan } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { aBudget, aCluster, aGroup, aNode, anObservation, aPod, aShape, resourceNames, START_MS } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import type { BenchRow } from './row.ts';
import { REMOVALS_ALONE } from '../src/planning/scale-down/plan-context.ts';
import { aState } from '../test/support/state.ts';

const GROUPS = 50;
const NODES_PER_GROUP = 100;
const PODS_PER_NODE = 30;
const WORKLOADS = 1_500;
const ZONES = ['1', '2', '3'];
const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const LOOP_MS = 10_000;
const DUE_MS = 15 * 60_000;
const WARM_UP = 30;
const COLD_RUNS = 3;
const RUNS = 9;
const POLICY = aPolicy({ scaleDown: { maxParallelDrains: 10, delayAfterAddMs: 0 } });

export async function scaleDownBench(): Promise<readonly BenchRow[]> {
  const observation = largeCluster();
  const cold = Array.from({ length: COLD_RUNS }, () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    return time(() => oneLoop(observation, aState(), snapshot));
  });
  const coldPlan = Array.from({ length: COLD_RUNS }, () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    return time(() => oneLoop(observation, aState(), snapshot));
  });
  const { samples, worked, summary, plan, due } = steady(observation);
  const explained = Array.from({ length: RUNS }, () => time(() => totalsByBlocker(plan, observation)));
  return [
    { name: 'scale-down cold: model filled and planned, 5,000 nodes / 150,000 pods', samples: cold, unit: 'ms' },
    { name: 'scale-down, the first plan over a filled model', samples: coldPlan, unit: 'ms' },
    { name: 'scale-down, steady state', samples, unit: 'ms', note: summary },
    { name: 'scale-down, steady state, by the processor', samples: worked, unit: 'ms', note: 'what others on the machine take left out' },
    { name: 'scale-down, every timer over', samples: due.samples, unit: 'ms', note: due.summary },
    { name: 'scale-down explained, totals by blocker', samples: explained, unit: 'ms' },
    { name: 'advice for one node that a budget blocks, with every simulation', ...adviceOf(plan, observation), unit: 'ms' },
  ];
}

/** The search for the smallest change that frees the node, from an empty model on. */
function adviceOf({ kept }: ScaleDownPlan, observation: Observation): Pick<BenchRow, 'samples' | 'note'> {
  const blocked = kept.find(({ blocker }) => blocker?.reason === 'NotEnoughPdb')?.node ?? '';
  const input = { ...REMOVALS_ALONE, observation, state: aState(), policy: POLICY, names: resourceNames };
  let note = '';
  const samples = Array.from({ length: COLD_RUNS }, () =>
    time(() => {
      const { fix, obstacle, tried } = finishAtOnce(new RemovalAdviser(input, { kept }).advise(blocked)) ?? { tried: 0 };
      note = `${tried} tried: ${fix === undefined ? (obstacle ?? 'no fix') : `${fix.text}, frees ${fix.proof.nodes}`}`;
    }),
  );
  return { samples, note };
}

/** The state is carried from loop to loop, as the daemon does; nothing is removed, so that every loop has all the work. */
function steady(observation: Observation) {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  let state = aState();
  const samples: number[] = [];
  const worked: number[] = [];
  let plan = oneLoop(observation, state, snapshot).plan;
  for (let loop = 0; loop < WARM_UP + RUNS; loop++) {
    const now = { ...observation, nowMs: START_MS + loop * LOOP_MS };
    const before = process.cpuUsage();
    const ms = time(() => {
      const done = oneLoop(now, state, snapshot);
      state = done.state;
      plan = done.plan;
    });
    if (loop < WARM_UP) continue;
    samples.push(ms);
    worked.push(process.cpuUsage(before).user / 1000);
  }
  return { samples, worked, plan, summary: plan.summary, due: allDue(observation, state, snapshot) };
}

/** A quarter of an hour later all that is unneeded is due, and the plan chooses among hundreds. */
function allDue(observation: Observation, state: LoopState, snapshot: ClusterSnapshot) {
  const later = { ...observation, nowMs: START_MS + DUE_MS };
  let summary = '';
  const samples = Array.from({ length: RUNS }, () =>
    time(() => {
      ({ summary } = oneLoop(later, state, snapshot).plan);
    }),
  );
  return { samples, summary };
}

function oneLoop(observation: Observation, before: LoopState, snapshot: ClusterSnapshot) {
  snapshot.sync(observation.cluster);
  const state = reduceObservation(before, observation, POLICY);
  const plan = planScaleDown({
    ...REMOVALS_ALONE,
    observation,
    state,
    policy: POLICY,
    names: resourceNames,
    snapshot,
    scaleUpPlanned: false,
  });
  return { plan, state: reduceScaleDownPlan(state, plan, observation) };
}

function largeCluster(): Observation {
  const shapes = { light: workloadShapes(100), heavy: workloadShapes(350) };
  const nodes: Node[] = [];
  const pods: Pod[] = [];
  for (let group = 0; group < GROUPS; group++) {
    for (let index = 0; index < NODES_PER_GROUP; index++) {
      const serial = nodes.length;
      const name = `group${group}-${index}`;
      nodes.push(aNode({ name, cpu: '16', memory: '64Gi', labels: { [ZONE]: ZONES[serial % ZONES.length] ?? '' } }));
      const onNode = serial % 3 === 0 ? shapes.light : shapes.heavy;
      for (let slot = 0; slot < PODS_PER_NODE; slot++) pods.push(podOf(serial * PODS_PER_NODE + slot, onNode, name));
    }
  }
  const groups = Array.from({ length: GROUPS }, (_, group) => aGroup({ id: `group${group}`, target: NODES_PER_GROUP, maxSize: 200 }));
  return anObservation(groups, aCluster({ nodes, pods, disruptionBudgets: budgets() }));
}

/** A third spreads over the zones, every tenth keeps off its own kind's nodes, the rest needs room only. */
function workloadShapes(milliCpu: number): readonly PodShape[] {
  return Array.from({ length: WORKLOADS }, (_, index) => {
    const app = `w${index}`;
    const selector = { requirements: [{ key: 'app', operator: 'In', values: [app] }] } as const;
    const spread = { maxSkew: 5, minDomains: 1, selector, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' } as const;
    const apart = { topologyKey: HOST, selector, namespaces: [], namespaceSelector: undefined };
    return aShape({
      cpu: `${milliCpu + (index % 7) * 10}m`,
      memory: `${256 + (index % 5) * 64}Mi`,
      labels: { app },
      topologySpread: index % 3 === 0 ? [{ topologyKey: ZONE, ...spread }] : [],
      podAntiAffinity: index % 10 === 1 ? [apart] : [],
    });
  });
}

function budgets(): readonly DisruptionBudget[] {
  return Array.from({ length: WORKLOADS }, (_, index) =>
    aBudget({
      name: `w${index}`,
      selector: { requirements: [{ key: 'app', operator: 'In', values: [`w${index}`] }] },
      disruptionsAllowed: index % 50 === 0 ? 0 : 10,
      expectedPods: 100,
      currentHealthy: 100,
      desiredHealthy: index % 50 === 0 ? 100 : 90,
    }),
  );
}

function podOf(serial: number, shapes: readonly PodShape[], nodeName: string): Pod {
  // Each workload's pods lie far apart: no node holds two of one kind.
  const workload = serial % shapes.length;
  const shape = shapes[workload] ?? aShape();
  return aPod({ name: `pod-${serial}`, shape, nodeName, controller: { kind: 'ReplicaSet', name: `w${workload}`, uid: `rs-${workload}` } });
}

function time(action: () => void): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}
