/** One life of scale-down over a fake world that can be stopped dead at any port call. Shared by the tests of crash safety. */
import { Turns } from '../../../src/lib/slices.ts';
import { expect } from 'vitest';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import type { OwnerState } from '../../../src/domain/workloads.ts';
import { DrainRunner } from '../../../src/loop/scale-down/drain-runner.ts';
import { undoLeftovers } from '../../../src/loop/scale-down/deletion-taint.ts';
import { executeScaleDown } from '../../../src/loop/scale-down/execute.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { emptyLoopState, reduceObservation, reduceRemovals, reduceScaleDownPlan } from '../../../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aGroup, aNode, aPod, resourceNames, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { FakeCluster } from '../../support/fake-cluster.ts';
import { aPolicy } from '../../support/policy.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { silentLog } from '../../support/silent-log.ts';

const MIN = 1;
const NODES = 4;
const BASE = aPolicy({
  scaleDown: { unneededForMs: 0, delayAfterFailureMs: 0, maxParallelDrains: 5, skipNodesWithCustomControllerPods: true },
});
export const POLICY: Policy = {
  ...BASE,
  drain: { ...BASE.drain, deletionDelayTimeoutMs: 7_000, evictDaemonPods: { fromOccupied: true, fromEmpty: false } },
};

export function makeWorld() {
  // g-0 carries a pod and was cordoned by a human; g-1 carries two pods and an agent; g-2 is empty, and a driver asks to wait
  // with it; g-3 carries too much to move.
  const nodes = Array.from({ length: NODES }, (_, index) =>
    aNode({ name: `g-${index}`, unschedulable: index === 0, ...(index === 2 ? { delayDeletion: ['driver'] } : {}) }),
  );
  const pods = [
    aPod({ name: 'a', nodeName: 'g-0', cpu: '200m' }),
    aPod({ name: 'b', nodeName: 'g-1', cpu: '200m' }),
    aPod({ name: 'c', nodeName: 'g-1', cpu: '200m' }),
    aPod({ name: 'agent', nodeName: 'g-1', cpu: '10m', daemonSet: true }),
    aPod({ name: 'big', nodeName: 'g-3', cpu: '3' }),
  ];
  const cluster = new FakeCluster({ nodes, pods });
  cluster.endsAfterPolls = 2;
  const cloud = new FakeCloud([aGroup({ id: 'g', target: NODES, minSize: MIN })]);
  const breaches: string[] = [];
  const remove = cloud.deleteInstances.bind(cloud);
  cloud.deleteInstances = async (request, signal) => {
    for (const key of request.instances) {
      const name = key.split('|').at(-1) ?? '';
      if (cluster.podsOn(name).some((pod) => !pod.daemonSet)) breaches.push(`${name} was deleted with pods on it`);
    }
    return remove(request, signal);
  };
  return { cluster, cloud, clock: new FakeClock(START_MS), breaches };
}

export type World = ReturnType<typeof makeWorld>;

let lives = 0;
/** No test reads them, and to make them takes longer than a loop. */
const METRICS = createMetrics();

/** One life of the daemon as far as scale-down goes: its memory begins empty. */
export class Life {
  readonly #world: World;
  readonly #policy: Policy;
  /** Each life holds the lease after the one before. */
  readonly #self = `life/${++lives}`;
  readonly #snapshot = new ClusterSnapshot({ names: resourceNames });
  readonly runner: DrainRunner;
  #state: LoopState;

  constructor(world: World, policy: Policy) {
    this.#world = world;
    this.#policy = policy;
    const { cluster, cloud, clock } = world;
    const owners = {
      known: () => new Map<string, OwnerState>(),
      read: async () => {
        await cluster.onCall('readOwner', '');
      },
    };
    const ports = {
      deletionOwner: () => this.#self,
      reader: cluster,
      tainter: cluster,
      evictor: cluster,
      events: cluster,
      owners,
      cloud,
      clock,
      onEnd: () => undefined,
    };
    this.runner = new DrainRunner({ ...ports, log: silentLog(), metrics: METRICS, policy });
    this.#state = emptyLoopState(clock.now());
  }

  async loop(): Promise<void> {
    const { cluster, cloud, clock } = this.#world;
    const nowMs = clock.now();
    const view = cluster.observe(nowMs);
    const observation = { loopId: 1, nowMs, cluster: view, cloud: cloud.observe(view, nowMs) };
    this.#state = reduceObservation(reduceRemovals(this.#state, this.runner.collect(), nowMs), observation, this.#policy);
    const own = {
      state: this.#state,
      inFlight: this.runner.inFlight(),
      cordon: this.#policy.drain.cordon,
      self: this.#self,
      log: silentLog(),
    };
    await undoLeftovers({ ...own, observation, clock, tainter: cluster, events: cluster }, new AbortController().signal);
    this.#snapshot.sync(view);
    const input = { observation, state: this.#state, policy: this.#policy, names: resourceNames, snapshot: this.#snapshot };
    const plan = planScaleDown({ ...REMOVALS_ALONE, ...input, scaleUpPlanned: false });
    this.#state = reduceScaleDownPlan(this.#state, plan, observation);
    const unpaced = { turns: new Turns(undefined), over: new AbortController().signal };
    await executeScaleDown({
      sizes: undefined,
      plan,
      groups: observation.cloud.groups,
      runner: this.runner,
      log: silentLog(),
      metrics: METRICS,
      ...unpaced,
    });
  }

  async live(loops: number): Promise<void> {
    for (let count = 0; count < loops; count++) {
      await this.loop();
      await this.#world.clock.advance(10_000);
      for (const name of this.#world.cloud.finishDeletions()) this.#world.cluster.removeNode(name);
    }
  }
}

/** Hooks every port call; `onKth` decides what happens at the k-th. Counting ends with the first life. */
export function hook(world: World, onCall: (count: number) => Promise<void> | undefined): () => number {
  let count = 0;
  const counting = () => onCall(++count);
  world.cluster.onCall = counting;
  world.cloud.onCall = counting;
  return () => count;
}

/** A process that has died: none of its calls ever returns. */
const NEVER = new Promise<void>(() => undefined);

export async function firstLife(world: World, policy: Policy, dieAt: number): Promise<number> {
  const calls = hook(world, (count) => (count >= dieAt ? NEVER : undefined));
  const life = new Life(world, policy);
  for (let round = 0; round < 8; round++) {
    // A loop may be what hangs, so nobody waits for it. Who is dead begins none.
    if (calls() < dieAt) void life.loop();
    await world.clock.advance(10_000);
    if (calls() < dieAt) for (const name of world.cloud.finishDeletions()) world.cluster.removeNode(name);
  }
  return calls();
}

export function assertSafe(world: World): void {
  expect(world.breaches).toEqual([]);
  for (const group of world.cloud.groups.values()) {
    expect(group.target.known ? group.target.value : -1).toBeGreaterThanOrEqual(MIN);
    expect((group.instances ?? []).length).toBeGreaterThanOrEqual(MIN);
  }
}
