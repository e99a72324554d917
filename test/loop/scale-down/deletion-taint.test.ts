import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Instance } from '../../../src/domain/node-group.ts';
import type { ScaleDownPlan } from '../../../src/domain/plan.ts';
import { CORDONED_BEFORE_TAINT, DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { undoLeftovers } from '../../../src/loop/scale-down/deletion-taint.ts';
import { updateSoftTaints } from '../../../src/loop/scale-down/soft-taint.ts';
import { aCluster, aGroup, aNode, anInstance, anObservation, keyOf, START_MS, type NodeOptions } from '../../support/builders.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeCluster } from '../../support/fake-cluster.ts';
import { silentLog } from '../../support/silent-log.ts';
import { aState } from '../../support/state.ts';
import { aScaleDownPlan, ORDINARY } from '../../support/loop-report.ts';

const SIGNAL = new AbortController().signal;
const SECONDS = String(START_MS / 1000);
const soft = { key: DELETION_CANDIDATE_TAINT, value: SECONDS, effect: 'PreferNoSchedule' } as const;
const SELF = 'pod-a/7';
const going = { key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' } as const;
const cordonedBefore = { key: CORDONED_BEFORE_TAINT, value: 'true', effect: 'PreferNoSchedule' } as const;

function planOf(unneeded: readonly string[], removals: ScaleDownPlan['removals'] = []): ScaleDownPlan {
  const since = new Map(unneeded.map((node) => [node, START_MS]));
  return aScaleDownPlan({ unneeded: since, removals });
}

function softWorld(options: readonly NodeOptions[], { foreign = false, callMs = 0, softTaintTimeMs = 3_000 } = {}) {
  const nodes = options.map((option, index) => aNode({ name: `g-${String(index).padStart(2, '0')}`, ...option }));
  const instances = nodes.map((node) => anInstance({ node: node.name }));
  const groups = foreign ? [] : [aGroup({ id: 'g', target: nodes.length, instances })];
  const observation = anObservation(groups, aCluster({ nodes }));
  const cluster = new FakeCluster({ nodes });
  const calls: string[] = [];
  const clock = new FakeClock(START_MS);
  cluster.onCall = (call, node) => {
    calls.push(`${call} ${node}`);
    return callMs === 0 ? undefined : clock.sleep(callMs);
  };
  /** Returns how long it took, milliseconds. */
  const update = async (plan: ScaleDownPlan, softTaintBudget = 10, candidateTtlMs = 0): Promise<number> => {
    const rules = { softTaintBudget, softTaintTimeMs, candidateTtlMs };
    const updating = updateSoftTaints({ plan, observation, tainter: cluster, rules, clock, log: silentLog() }, SIGNAL);
    const tookMs = updating.then(
      () => clock.now() - START_MS,
      () => clock.now() - START_MS,
    );
    await settle();
    // Every wait of the step is over by then.
    await clock.advance(600_000);
    await updating;
    return tookMs;
  };
  return { cluster, calls, clock, update };
}

describe('soft taints', () => {
  it('15 changes, budget 10: removals first, the rest later', async () => {
    const world = softWorld(Array.from({ length: 15 }, (_, index) => (index >= 10 ? { taints: [soft] } : {})));
    await world.update(planOf(Array.from({ length: 10 }, (_, index) => `g-0${index}`)));
    expect(world.calls).toEqual([
      ...[10, 11, 12, 13, 14].map((index) => `untaint g-${index}`),
      ...[0, 1, 2, 3, 4].map((index) => `taint g-0${index}`),
    ]);
    expect(world.cluster.nodes.get('g-00')?.taints).toEqual([soft]);
    expect(world.cluster.nodes.get('g-10')?.taints).toEqual([]);
  });

  it.each([
    { name: 'a node that is going', nodes: [{ taints: [going] }], removals: [] },
    { name: 'a mark that is right already', nodes: [{ taints: [soft] }], removals: [] },
    {
      name: 'a node that goes in this loop',
      nodes: [{}],
      removals: [
        {
          group: nodeGroupId('g'),
          node: 'g-00',
          instance: keyOf('g-00'),
          pods: [],
          unneededSinceMs: 0,
          cause: 'empty' as const,
          utilization: 0,
          ...ORDINARY,
        },
      ],
    },
    { name: 'a node of nobody', nodes: [{ name: 'x-00' }], removals: [], foreign: true },
  ])('no change: $name', async ({ nodes, removals, foreign }) => {
    const world = softWorld(nodes, { foreign: foreign ?? false });
    await world.update(planOf(['g-00', 'x-00'], removals));
    expect(world.calls).toEqual([]);
  });

  it('turned off: marks of an earlier configuration are taken off, ten per loop, and none is written', async () => {
    const world = softWorld(Array.from({ length: 14 }, (_, index) => (index < 12 ? { taints: [soft] } : {})));
    await world.update(planOf(Array.from({ length: 14 }, (_, index) => `g-${String(index).padStart(2, '0')}`)), 0);
    expect(world.calls).toEqual(Array.from({ length: 10 }, (_, index) => `untaint g-0${index}`));
  });

  it('turned off: old marks are taken off, those within their time to live stay', async () => {
    const mark = (minutes: number) => ({ taints: [{ ...soft, value: String(START_MS / 1000 - minutes * 60) }] });
    const world = softWorld([mark(5), mark(11), { taints: [{ ...soft, value: 'not a time' }] }]);
    await world.update(planOf([]), 0, 600_000);
    expect(world.calls).toEqual(['untaint g-01', 'untaint g-02']);
    const without = softWorld([mark(5), mark(11)]);
    await without.update(planOf([]), 0);
    expect(without.calls).toEqual(['untaint g-00', 'untaint g-01']);
  });

  const many = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `g-${String(index).padStart(2, '0')}`);

  it.each([
    { name: 'ten calls take the time of one', callMs: 2_999, budget: 30, calls: 20 },
    { name: 'an API server that takes three seconds per call gets no further calls', callMs: 3_000, budget: 30, calls: 10 },
    { name: 'within the number of calls', callMs: 100, budget: 13, calls: 13 },
  ])('$name', async ({ callMs, budget, calls }) => {
    const world = softWorld(
      many(30).map(() => ({})),
      { callMs },
    );
    await world.update(planOf(many(30)), budget);
    expect(world.calls).toEqual(many(calls).map((node) => `taint ${node}`));
  });

  it.each([
    [1_000, 10],
    [10_000, 25],
  ])('--max-bulk-soft-taint-time: %i ms are enough for %i of 25', async (softTaintTimeMs, marked) => {
    const world = softWorld(
      many(25).map(() => ({})),
      { callMs: 1_200, softTaintTimeMs },
    );
    await world.update(planOf(many(25)), 25);
    expect(world.calls).toHaveLength(marked);
  });

  it('the loop waits no longer than that for calls that the API server does not answer', async () => {
    const world = softWorld(
      many(25).map(() => ({})),
      { callMs: 60_000 },
    );
    expect(await world.update(planOf(many(25)), 25)).toBe(3_000);
    await world.clock.advance(60_000);
    expect(world.calls).toHaveLength(10);
    expect(world.clock.sleeping).toBe(0);
  });

  it('a taint whose timer restarted is written again', async () => {
    const world = softWorld([{ taints: [{ ...soft, value: '5' }] }]);
    await world.update(planOf(['g-00']));
    expect(world.cluster.nodes.get('g-00')?.taints).toEqual([soft]);
  });

  it('a budget of 0 turns it off', async () => {
    const world = softWorld([{}]);
    await world.update(planOf(['g-00']), 0);
    expect(world.calls).toEqual([]);
  });

  it('one node that fails does not keep the others unmarked; a cancelled loop ends', async () => {
    const world = softWorld([{}, {}]);
    world.cluster.onCall = (_call, node) => {
      if (node === 'g-00') throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'no');
    };
    await world.update(planOf(['g-00', 'g-01']));
    expect(world.cluster.nodes.get('g-01')?.taints).toEqual([soft]);
    world.cluster.onCall = () => {
      throw new AutoscalerError({ kind: 'cancelled' }, 'stop');
    };
    await expect(world.update(planOf(['g-00']))).rejects.toMatchObject({ detail: { kind: 'cancelled' } });
  });
});

describe('leftovers', () => {
  interface Case {
    readonly name: string;
    readonly node: NodeOptions;
    readonly instance?: Partial<Instance>;
    readonly inFlight?: readonly string[];
    readonly deleting?: boolean;
    readonly cordon?: boolean;
    /** The name in its annotation. */
    readonly owner?: string;
    /** The age of its taint, as far as we know. */
    readonly agedMs?: number;
    readonly self?: string;
    /** Its group stops instances. */
    readonly stops?: boolean;
    readonly freed: boolean;
    readonly cordoned: boolean;
  }
  const marked = { taints: [going], unschedulable: true };
  /** It turned ready after its taint was written. */
  const startedAgain = {
    node: { ...marked, readiness: { ready: true, sinceMs: START_MS - 20_000, reason: '' } },
    owner: 'pod-b/since-1',
    agedMs: 60_000,
    stops: true,
  } as const;
  const cases: readonly Case[] = [
    { name: 'a marked node nobody works on', node: { taints: [going], unschedulable: true }, freed: true, cordoned: false },
    { name: 'cordoned before us', node: { taints: [cordonedBefore, going], unschedulable: true }, freed: true, cordoned: true },
    { name: 'only the marker was written', node: { taints: [cordonedBefore], unschedulable: true }, freed: true, cordoned: true },
    { name: 'we never cordon', node: { taints: [going], unschedulable: true }, cordon: false, freed: true, cordoned: true },
    { name: 'worked on now', node: { taints: [going], unschedulable: true }, inFlight: ['g-0'], freed: false, cordoned: true },
    { name: 'its deletion was accepted', node: { taints: [going], unschedulable: true }, deleting: true, freed: false, cordoned: true },
    {
      name: 'its machine is being deleted',
      node: { taints: [going], unschedulable: true },
      instance: { state: 'deleting' },
      freed: false,
      cordoned: true,
    },
    {
      name: 'its machine is not known',
      node: { taints: [going], unschedulable: true },
      instance: { key: keyOf('other') },
      freed: false,
      cordoned: true,
    },
    { name: 'a taint of this process that it gave up', node: marked, owner: SELF, agedMs: 60_000, freed: true, cordoned: false },
    { name: 'of a former leader', node: marked, owner: 'pod-b/6', agedMs: 60_000, freed: true, cordoned: false },
    { name: 'of this pod, as a former leader', node: marked, owner: 'pod-a/6', agedMs: 60_000, freed: true, cordoned: false },
    { name: 'of a later leader', node: marked, owner: 'pod-b/8', agedMs: 60_000, freed: false, cordoned: true },
    { name: 'of another leader with our number', node: marked, owner: 'pod-b/7', agedMs: 60_000, freed: false, cordoned: true },
    { name: 'of a daemon without a lease', node: marked, owner: 'pod-b/since-1', agedMs: 60_000, freed: false, cordoned: true },
    { name: 'of a writer without a name', node: marked, agedMs: 60_000, freed: false, cordoned: true },
    { name: 'of a writer without a name, almost ten minutes old', node: marked, agedMs: 599_999, freed: false, cordoned: true },
    { name: 'of a writer without a name, ten minutes old', node: marked, agedMs: 600_000, freed: true, cordoned: false },
    {
      name: 'of a daemon without a lease, ten minutes old, if we have none',
      node: marked,
      owner: 'pod-b/since-1',
      self: 'pod-a/since-2',
      agedMs: 600_000,
      freed: true,
      cordoned: false,
    },
    {
      name: 'of a leader, if we have no lease',
      node: marked,
      owner: 'pod-b/6',
      self: 'pod-a/since-2',
      agedMs: 60_000,
      freed: false,
      cordoned: true,
    },
    {
      name: 'only the marker of a daemon that may be at work',
      node: { taints: [cordonedBefore], unschedulable: true },
      owner: 'pod-b/8',
      agedMs: 60_000,
      freed: false,
      cordoned: true,
    },
    { name: 'of a daemon without a lease, and its instance was started since', ...startedAgain, freed: true, cordoned: false },
    { name: 'the same where nodes are not stopped', ...startedAgain, stops: false, freed: false, cordoned: true },
    { name: 'the same, but ready since before', ...startedAgain, agedMs: 20_000, freed: false, cordoned: true },
    {
      name: 'the same, but not ready',
      ...startedAgain,
      node: { ...marked, readiness: { ready: false, sinceMs: START_MS - 20_000, reason: '' } },
      freed: false,
      cordoned: true,
    },
    { name: 'cordoned without a mark', node: { unschedulable: true }, freed: false, cordoned: true },
  ];

  const setUp = (row: Pick<Case, 'node' | 'instance' | 'owner' | 'stops'>) => {
    const named = row.owner === undefined ? {} : { deletionOwner: row.owner };
    const node = { ...aNode({ name: 'g-0', ...row.node }), ...named };
    const cluster = new FakeCluster({ nodes: [node] });
    const listed = anInstance({ node: 'g-0', ...row.instance });
    const disk = { diskGib: undefined, diskTier: undefined, diskSku: undefined };
    const stops =
      row.stops === true ? { stopped: { kind: 'stops', instances: [], max: 10, ...disk, startsClosed: undefined } as const } : {};
    const base = anObservation([aGroup({ id: 'g', target: 1, instances: [listed], ...stops })], aCluster({ nodes: [node] }));
    const instanceOfNode = new Map([['g-0', keyOf('g-0')]]);
    return { cluster, observation: { ...base, cloud: { ...base.cloud, instanceOfNode } } };
  };

  it.each(cases)('$name: freed $freed', async (row) => {
    const { cluster, observation } = setUp(row);
    const entry = { group: nodeGroupId('g'), instance: keyOf('g-0'), sinceMs: START_MS, sentAtMs: undefined };
    const deletionTaints = new Map(row.agedMs === undefined ? [] : [['g-0', { sinceMs: START_MS - row.agedMs, text: '' }]]);
    const state: LoopState = aState({ deletionTaints, deleting: new Map(row.deleting === true ? [['g-0', entry]] : []) });
    const ports = {
      tainter: cluster,
      events: cluster,
      clock: new FakeClock(START_MS),
      log: silentLog(),
      cordon: row.cordon ?? true,
      self: row.self ?? SELF,
    };
    const freed = await undoLeftovers({ ...ports, observation, state, inFlight: new Set(row.inFlight) }, SIGNAL);
    expect(freed).toEqual(row.freed ? ['g-0'] : []);
    const after = cluster.nodes.get('g-0');
    expect(after?.unschedulable).toBe(row.cordoned);
    if (row.freed) expect([after?.taints, after?.deletionOwner]).toEqual([[], '']);
    expect(cluster.events.map((event) => event.reason)).toEqual(row.freed ? ['ClusterAutoscalerCleanup'] : []);
  });

  it('reports a node that cannot be restored now, and tries again in the next call', async () => {
    const { cluster, observation } = setUp({ node: { taints: [going], unschedulable: true } });
    const ports = { tainter: cluster, events: cluster, clock: new FakeClock(START_MS), log: silentLog(), cordon: true, self: SELF };
    const input = { ...ports, observation, state: aState(), inFlight: new Set<string>() };
    cluster.onCall = () => {
      throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'no');
    };
    expect(await undoLeftovers(input, SIGNAL)).toEqual([]);
    expect(cluster.events[0]).toMatchObject({ type: 'Warning', reason: 'ClusterAutoscalerCleanup' });
    cluster.onCall = () => undefined;
    expect(await undoLeftovers(input, SIGNAL)).toEqual(['g-0']);
    expect(hasTaint(cluster.nodes.get('g-0')?.taints ?? [], TO_BE_DELETED_TAINT)).toBe(false);
  });

  it('holds neither the loop nor the other nodes if the writes of some never end', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `g-${String(at).padStart(2, '0')}`);
    const nodes = names.map((name) => aNode({ name, taints: [going], unschedulable: true }));
    const group = aGroup({ id: 'g', target: names.length, instances: names.map((node) => anInstance({ node })) });
    const cluster = new FakeCluster({ nodes });
    const clock = new FakeClock(START_MS);
    const hangs = new Set(names.slice(0, 10));
    cluster.onCall = (_call, name) => (hangs.has(name) ? new Promise(() => undefined) : undefined);
    const ports = { tainter: cluster, events: cluster, clock, log: silentLog(), cordon: true, self: SELF };
    const freed: string[] = [];
    for (let loopId = 1; loopId <= 3; loopId++) {
      const base = anObservation([group], aCluster({ nodes: [...cluster.nodes.values()] }));
      const instanceOfNode = new Map(names.map((name) => [name, keyOf(name)]));
      const observation = { ...base, loopId, cloud: { ...base.cloud, instanceOfNode } };
      const undone = undoLeftovers({ ...ports, observation, state: aState(), inFlight: new Set<string>() }, SIGNAL);
      await clock.advance(10_000);
      freed.push(...(await undone));
    }
    expect(freed.sort()).toEqual(names.slice(10));
  });
});
