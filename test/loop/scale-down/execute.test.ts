import { describe, expect, it } from 'vitest';
import { Turns } from '../../../src/lib/slices.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import type { InstanceState } from '../../../src/domain/node-group.ts';
import { ownerKey, type OwnerState } from '../../../src/domain/workloads.ts';
import { reduceRemovals } from '../../../src/planning/state/loop-state.ts';
import { executeScaleDown } from '../../../src/loop/scale-down/execute.ts';
import type { OwnerReader } from '../../../src/domain/ports/cluster.ts';
import { aCluster, aGroup, anInstance, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { settle } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';
import { silentLog } from '../../support/silent-log.ts';
import { MINUTE, G, setUp, removalOf, reasons, isMarked, lastOutcome, drainFirst } from './removal-stage.ts';
import { valueOf } from '../support.ts';
import { aState } from '../../support/state.ts';
import { aScaleDownPlan } from '../../support/loop-report.ts';

describe('a removal', () => {
  it('marks, waits, deletes by id, and leaves the mark on the node that goes', async () => {
    const world = setUp();
    world.runner.start(removalOf('g-0'));
    expect(world.runner.inFlight()).toEqual(new Set(['g-0']));
    await world.clock.advance(4_999);
    expect(world.cloud.deletes).toEqual([]);
    expect(world.cluster.nodes.get('g-0')).toMatchObject({
      unschedulable: true,
      taints: [{ key: TO_BE_DELETED_TAINT, value: String(START_MS / 1000), effect: 'NoSchedule' }],
    });
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes).toMatchObject([{ group: G, instances: [keyOf('g-0')], allowBelowMin: false }]);
    expect(isMarked(world)).toBe(true);
    expect(world.runner.collect().map((outcome) => outcome.kind)).toEqual(['started', 'deleted']);
    expect(world.runner.collect()).toEqual([]);
    expect(world.runner.inFlight().size).toBe(0);
    expect(world.ends).toHaveLength(1);
    expect(reasons(world)).toEqual(['ScaleDown', 'ScaleDown']);
    expect((await world.metrics.scaleDown.nodes.get()).values).toMatchObject([{ value: 1, labels: { node_group: 'g', cause: 'empty' } }]);
  });

  it.each([
    ['works', {}, 'empty', [keyOf('g-0')]],
    ['is unready', { readiness: { ready: false, sinceMs: START_MS, reason: 'KubeletStopped' } }, 'unready', []],
    ['became unready since', { readiness: { ready: false, sinceMs: START_MS, reason: 'KubeletStopped' } }, 'empty', []],
  ] as const)('of a node that %s names what may be stopped', async (_what, node, cause, expected) => {
    const world = setUp({ node });
    world.runner.start(removalOf('g-0', [], { cause }));
    await world.clock.advance(MINUTE);
    expect(world.cloud.stoppable).toEqual([expected]);
  });

  it('is not over for a node whose instance Azure did not accept', async () => {
    const world = setUp({ nodes: 3 });
    world.cloud.onDelete = () => ({ kind: 'accepted', group: G, instances: [keyOf('g-0')] });
    world.runner.start(removalOf('g-0'));
    world.runner.start(removalOf('g-1'));
    await world.clock.advance(MINUTE);
    const outcomes = world.runner.collect().filter(({ kind }) => kind !== 'started');
    expect(outcomes).toMatchObject([
      { kind: 'deleted', node: 'g-0' },
      { kind: 'undone', node: 'g-1' },
    ]);
  });

  it('waits by signals of its own: each looks through all waits of its signal, and a thousand removals wait at once', async () => {
    const world = setUp({ nodes: 4 });
    const read = world.cluster.readFresh.bind(world.cluster);
    const signals = new Set<AbortSignal>();
    world.cluster.readFresh = (name, signal) => {
      signals.add(signal);
      return read(name, signal);
    };
    for (let index = 0; index < 4; index++) world.runner.start(removalOf(`g-${index}`));
    await world.clock.advance(MINUTE);
    expect(signals.size).toBeGreaterThanOrEqual(4);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toHaveLength(4);
  });

  it('a node is not touched when the ReplicaSet of one of its pods turns out to be gone', async () => {
    const known = new Map<string, OwnerState>();
    const read: OwnerReader['read'] = (owners) => {
      for (const owner of owners) known.set(ownerKey(owner), { exists: false });
      return Promise.resolve();
    };
    const world = setUp({ pods: [{ name: 'orphan' }], owners: { known: () => known, read } });
    await drainFirst(world);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck', message: expect.stringContaining('ControllerNotFound') });
    expect([...known.keys()]).toHaveLength(1);
    expect(world.cluster.events).toEqual([]);
    expect(world.cluster.evicted).toEqual([]);
    expect(isMarked(world)).toBe(false);
  });

  it('what is not known of an owner keeps the node, and is not asked again at once', async () => {
    const read = () => Promise.reject(new AutoscalerError({ kind: 'kube-api', status: 500 }, 'the API server is tired'));
    const world = setUp({ pods: [{ name: 'web' }], owners: { known: () => new Map(), read } });
    await drainFirst(world);
    const outcome = lastOutcome(world);
    expect(outcome).toMatchObject({ kind: 'undone', step: 'recheck', message: expect.stringContaining('the API server is tired') });
    expect(outcome).toMatchObject({ atMs: START_MS, retryAtMs: START_MS + 5 * MINUTE });
    expect(isMarked(world)).toBe(false);
    const state = reduceRemovals(aState(), outcome === undefined ? [] : [outcome], START_MS);
    expect(state.unremovable.get('g-0')).toMatchObject({ reason: 'UnexpectedError', untilMs: START_MS + 5 * MINUTE });
    expect(state.lastScaleDownFailureMs).toBeLessThan(START_MS);
  });

  it('nodes of a group that are ready together go in one call', async () => {
    const world = setUp({ nodes: 4 });
    for (const node of ['g-0', 'g-1', 'g-2']) world.runner.start(removalOf(node));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map((request) => request.instances)).toEqual([[keyOf('g-0'), keyOf('g-1'), keyOf('g-2')]]);
  });

  it('a pod that is ending already is waited for, and not asked again', async () => {
    const world = setUp({ pods: [{ name: 'ending', deletionAtMs: START_MS + 30_000 }, { name: 'running' }] });
    await drainFirst(world);
    expect(world.cluster.evicted.map(({ pod }) => pod)).toEqual(['running']);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('no plan, however wrong, begins more removals in a window than are allowed; a group that goes together counts whole', async () => {
    const world = setUp({ nodes: 8, perWindow: 3 });
    for (const node of ['g-0', 'g-1']) world.runner.start(removalOf(node));
    world.runner.startGroup([removalOf('g-2'), removalOf('g-3')]);
    world.runner.start(removalOf('g-4'));
    world.runner.start(removalOf('g-5'));
    world.runner.removeInstances([{ group: G, instance: keyOf('g-6'), cause: 'failed' }], []);
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual([keyOf('g-0'), keyOf('g-1'), keyOf('g-4')]);
    await world.clock.advance(10 * MINUTE);
    world.runner.start(removalOf('g-5'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toContain(keyOf('g-5'));
  });

  it('names the instances of the plan by their uid, so that no successor under the same key is deleted', async () => {
    const world = setUp({ nodes: 2 });
    const planned = [anInstance({ node: 'g-0', uid: 'vm-1' }), anInstance({ node: 'g-1' })];
    const removals = planned.map(({ key }) => ({ group: G, instance: key, cause: 'failed' as const }));
    world.runner.removeInstances(removals, [aGroup({ id: 'g', instances: planned })]);
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map(({ uids }) => uids)).toEqual([new Map([[keyOf('g-0'), 'vm-1']])]);
  });

  it('empty nodes have a cap of their own, which no plan exceeds either', async () => {
    const world = setUp({ nodes: 8, pods: [{ name: 'web' }], perWindow: 1, emptyPerWindow: 2 });
    world.runner.recall([], [START_MS - 9 * MINUTE]);
    world.runner.start(removalOf('g-0', world.pods));
    for (const node of ['g-1', 'g-2']) world.runner.start(removalOf(node));
    world.runner.startGroup([removalOf('g-3')]);
    world.runner.removeInstances([{ group: G, instance: keyOf('g-4'), cause: 'failed' }], []);
    const begun = world.runner.collect().flatMap((outcome) => (outcome.kind === 'started' ? [outcome] : []));
    expect(begun.map(({ node, empty }) => [node, empty])).toEqual([
      ['g-0', false],
      ['g-1', true],
    ]);
    await world.clock.advance(2 * MINUTE);
    world.runner.start(removalOf('g-2'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances).sort()).toEqual([keyOf('g-0'), keyOf('g-1'), keyOf('g-2')]);
  });

  it('what was begun before the process counts in its window, and a new limit holds at once', async () => {
    const world = setUp({ nodes: 6, perWindow: 3 });
    world.runner.recall([START_MS - 9 * MINUTE, START_MS]);
    for (const node of ['g-0', 'g-1']) world.runner.start(removalOf(node));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual([keyOf('g-0')]);
    world.runner.start(removalOf('g-1'));
    world.runner.start(removalOf('g-2'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual([keyOf('g-0'), keyOf('g-1')]);
    world.runner.reconfigure(aPolicy({ scaleDown: { maxRemovalsPerWindow: 4 } }));
    world.runner.start(removalOf('g-3'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual([keyOf('g-0'), keyOf('g-1'), keyOf('g-3')]);
  });

  it('nodes that go together wait for the last one, and go in one call', async () => {
    const world = setUp({ nodes: 3, pods: [{ name: 'slow' }] });
    world.cluster.endsAfterPolls = 4;
    world.runner.startGroup([removalOf('g-0', world.pods), removalOf('g-1'), removalOf('g-2')]);
    await world.clock.advance(6_000);
    expect(world.cloud.deletes).toEqual([]);
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map(({ instances }) => [...instances].sort())).toEqual([[keyOf('g-0'), keyOf('g-1'), keyOf('g-2')]]);
    expect(world.runner.collect().filter(({ kind }) => kind === 'deleted')).toHaveLength(3);
  });

  it('one drain that fails calls the others off: nothing is deleted, no mark is left', async () => {
    const world = setUp({ nodes: 3, pods: [{ name: 'stuck' }] });
    world.cluster.endsAfterPolls = Infinity;
    world.runner.startGroup([removalOf('g-0', world.pods), removalOf('g-1'), removalOf('g-2')]);
    await world.clock.advance(5 * MINUTE);
    expect(world.cloud.deletes).toEqual([]);
    expect(['g-0', 'g-1', 'g-2'].filter((node) => isMarked(world, node))).toEqual([]);
    const ends = world.runner.collect().filter((outcome) => outcome.kind === 'undone');
    expect(ends.map(({ node, step }) => `${node} ${step}`).sort()).toEqual(['g-0 wait', 'g-1 stopped', 'g-2 stopped']);
    expect(ends.find(({ node }) => node === 'g-1')?.message).toMatch(
      /removed as a whole or not at all, and one removal failed: g-0: .*did not terminate in time/,
    );
    expect(world.runner.inFlight().size).toBe(0);
  });

  it.each([
    ['nodes that go each by itself: the others go', false, [keyOf('g-0'), keyOf('g-2')]],
    ['nodes that go together: none goes', true, []],
  ])('a mark that cannot be written, of %s, and that node rests', async (_name, together, gone) => {
    const world = setUp({ nodes: 3 });
    world.cluster.onCall = (call, node) => {
      if (call === 'taint' && node === 'g-1') throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'the API server is away');
      return undefined;
    };
    const removals = ['g-0', 'g-1', 'g-2'].map((node) => removalOf(node));
    if (together) world.runner.startGroup(removals);
    else for (const removal of removals) world.runner.start(removal);
    await world.clock.advance(2 * MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual(gone);
    expect(['g-0', 'g-1', 'g-2'].filter((node) => isMarked(world, node) && !gone.includes(keyOf(node)))).toEqual([]);
    const undone = world.runner.collect().filter((outcome) => outcome.kind === 'undone');
    const failed = undone.find(({ node }) => node === 'g-1');
    expect([undone.length, failed?.step]).toEqual([together ? 3 : 1, 'taint']);
    expect((failed?.retryAtMs ?? 0) - (failed?.atMs ?? 0)).toBeGreaterThan(MINUTE);
  });

  it('Azure refusing the one call undoes every node', async () => {
    const world = setUp({ nodes: 2, minSize: 1 });
    world.runner.startGroup([removalOf('g-0'), removalOf('g-1')]);
    await world.clock.advance(MINUTE);
    expect(['g-0', 'g-1'].filter((node) => isMarked(world, node))).toEqual([]);
    expect(world.runner.collect().filter(({ kind }) => kind === 'undone')).toHaveLength(2);
  });

  it('an atomic group may exceed the parallel limit; no other removal starts beside it', async () => {
    const world = setUp({ nodes: 13 });
    world.runner.startGroup(Array.from({ length: 12 }, (_, index) => removalOf(`g-${index}`)));
    world.runner.start(removalOf('g-12'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map(({ instances }) => instances.length)).toEqual([12]);
  });

  it('caps the grace; ordinary pods end before critical ones', async () => {
    const world = setUp({
      pods: [
        { name: 'dns', shape: { priority: 2_000_000_000 } },
        { name: 'slow', terminationGraceMs: 20 * MINUTE },
      ],
    });
    await drainFirst(world);
    expect(world.cluster.evicted).toEqual([
      { pod: 'slow', graceMs: 10 * MINUTE },
      { pod: 'dns', graceMs: 30_000 },
    ]);
    expect(world.cluster.podsOn('g-0')).toEqual([]);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('a pod that is still there 30 s past its grace stops it', async () => {
    const world = setUp({ pods: [{ name: 'stuck', terminationGraceMs: 20 * MINUTE }] });
    world.cluster.endsAfterPolls = Infinity;
    await drainFirst(world, 5_000 + 629_000);
    expect(isMarked(world)).toBe(true);
    await world.clock.advance(2_000);
    expect(isMarked(world)).toBe(false);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'wait' });
    expect(world.cloud.deletes).toEqual([]);
  });

  it.each([
    { name: 'refused for 90 s, then granted', blockedForMs: 90_000, end: 'deleted' },
    { name: 'refused beyond 2 min', blockedForMs: 10 * MINUTE, end: 'undone' },
  ])('$name', async ({ blockedForMs, end }) => {
    const world = setUp({ pods: [{ name: 'guarded' }] });
    world.cluster.onEvict = () =>
      world.clock.now() < START_MS + 5_000 + blockedForMs ? { kind: 'blocked', message: 'budget', retryAfterMs: undefined } : undefined;
    await drainFirst(world, 5 * MINUTE);
    const outcome = lastOutcome(world);
    expect(outcome?.kind).toBe(end);
    expect(isMarked(world)).toBe(end === 'deleted');
    if (end === 'undone') {
      expect(outcome).toMatchObject({ step: 'evict', retryAtMs: expect.any(Number) });
      expect(world.cluster.nodes.get('g-0')?.unschedulable).toBe(false);
      expect(reasons(world)).toEqual(['ScaleDown', 'ScaleDown', 'ScaleDownFailed', 'ScaleDownFailed']);
    }
  });

  it('two pods of one name in different namespaces are both seen through', async () => {
    const world = setUp({
      pods: [
        { name: 'twin', namespace: 'a' },
        { name: 'twin', namespace: 'b' },
      ],
    });
    world.cluster.onEvict = (pod) => (pod.namespace === 'b' ? { kind: 'blocked', message: 'budget', retryAfterMs: undefined } : undefined);
    await drainFirst(world, 5 * MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', message: 'pod b/twin: budget' });
    expect(world.cloud.deletes).toEqual([]);
  });
});

describe('the runner', () => {
  it('takes no node twice and no more than may run in parallel', async () => {
    const world = setUp({ nodes: 14 });
    for (let index = 0; index < 14; index++) world.runner.start(removalOf(`g-${index % 12}`));
    expect(world.runner.inFlight().size).toBe(10);
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap((request) => request.instances)).toHaveLength(10);
  });

  it('stop undoes what was begun and takes nothing new', async () => {
    const world = setUp({ pods: [{ name: 'slow' }] });
    world.cluster.endsAfterPolls = Infinity;
    world.runner.start(removalOf('g-0', world.pods));
    world.runner.start(removalOf('g-1'));
    await world.clock.advance(3_000);
    const stopped = world.runner.stop(new AbortController().signal);
    await world.clock.advance(5_000);
    await stopped;
    world.runner.start(removalOf('g-1'));
    expect([isMarked(world, 'g-0'), isMarked(world, 'g-1')]).toEqual([false, false]);
    const undone = world.runner.collect().filter((outcome) => outcome.kind === 'undone');
    expect(undone.map(({ step, message }) => `${step}: ${message}`)).toEqual([
      'stopped: the autoscaler is shutting down',
      'stopped: the autoscaler is shutting down',
    ]);
    expect(world.cloud.deletes).toEqual([]);
  });

  it('stop with a signal that has fired writes nothing more', async () => {
    const world = setUp();
    await drainFirst(world, 1_000);
    await world.runner.stop(AbortSignal.abort());
    await settle();
    expect(isMarked(world)).toBe(true);
  });

  it('stop waits for a deletion that was already asked for', async () => {
    const world = setUp();
    const answer = Promise.withResolvers<void>();
    world.cloud.onCall = (call) => (call === 'deleteInstances' ? answer.promise : undefined);
    await drainFirst(world, 10_000);
    const stopped = world.runner.stop(new AbortController().signal);
    await settle();
    answer.resolve();
    await stopped;
    expect(lastOutcome(world)?.kind).toBe('deleted');
    expect(isMarked(world)).toBe(true);
  });
});

describe('executeScaleDown', () => {
  type Execution = Parameters<typeof executeScaleDown>[0];
  const UNPACED = { turns: new Turns(undefined), over: new AbortController().signal };
  const execute = ({ runner, metrics }: ReturnType<typeof setUp>, given: Pick<Execution, 'plan'> & Partial<Execution>) =>
    executeScaleDown({ sizes: undefined, groups: [], log: silentLog(), runner, metrics, ...UNPACED, ...given });
  /** Two instances that have no node, and the plan that deletes them as failed. */
  const withoutNodes = (states: readonly [InstanceState, InstanceState], host = 'host') => {
    const world = setUp();
    for (const node of ['g-0', 'g-1']) world.cluster.nodes.delete(node);
    const instances = states.map((state, index) => anInstance({ node: `g-${index}`, state, hostName: `${host}-${index}` }));
    const groups = world.cloud.observe(aCluster(), START_MS).groups.map((group) => ({ ...group, instances }));
    const plan = aScaleDownPlan({ instanceRemovals: ['g-0', 'g-1'].map((node) => ({ group: G, instance: keyOf(node), cause: 'failed' })) });
    return { world, groups, plan };
  };

  it('deletes failed instances below the minimum, strangers not, and asks again only after a rest', async () => {
    const world = setUp({ minSize: 2 });
    const instanceRemovals = [
      { group: G, instance: keyOf('g-0'), cause: 'failed' },
      { group: G, instance: keyOf('g-1'), cause: 'never-registered' },
    ] as const;
    const run = () => execute(world, { plan: aScaleDownPlan({ instanceRemovals }) });
    await run();
    await run();
    await settle();
    expect(world.cloud.deletes.map((request) => [request.instances[0], request.allowBelowMin])).toEqual([
      [keyOf('g-0'), true],
      [keyOf('g-1'), false],
    ]);
    expect(world.runner.collect().map((outcome) => outcome.kind === 'instances' && outcome.accepted)).toEqual([true, false]);
    await world.clock.advance(MINUTE);
    await run();
    await settle();
    expect(world.cloud.deletes).toHaveLength(4);
  });

  it.each([
    ['goes with it, also as a node that nothing runs on', [], ['g-0', 'g-1']],
    ['is not deleted once it is a node with a pod', [aPod({ name: 'web', nodeName: 'host-0' })], ['g-1']],
  ])('an instance of an atomic group that failed %s', async (_what, pods, deleted) => {
    const { world, groups, plan } = withoutNodes(['creating', 'creating']);
    world.cluster.nodes.set('host-0', aNode({ name: 'host-0', providerId: 'azure:///something' }));
    for (const pod of pods) world.cluster.pods.set(pod.uid, pod);
    await execute(world, { plan, groups });
    await settle();
    expect(world.cloud.deletes.map(({ instances }) => instances)).toEqual([deleted.map(keyOf)]);
  });

  it('a deletion of instances that failed demands that they have still failed, and says nothing about others', async () => {
    const { world, groups, plan } = withoutNodes(['failed', 'creating']);
    await execute(world, { plan, groups });
    await settle();
    expect(world.cloud.deletes.map(({ failed }) => [...failed])).toEqual([[keyOf('g-0')]]);
  });

  it.each([
    ['the watch shows a node with its provider id', 'other-name', 'azure:///G-0', true],
    ['the API has a node with the name of its host, and the watch is late', 'host-0', 'azure:///something', false],
  ])('an instance without a node that has become one since the plan is not deleted: %s', async (_how, name, providerId, watched) => {
    const { world, groups, plan } = withoutNodes(['failed', 'failed'], 'HOST');
    const known = world.cluster.observe(START_MS);
    world.cluster.nodes.set(name, aNode({ name, providerId }));
    if (!watched) world.cluster.observe = () => known;
    await execute(world, { plan, groups });
    await settle();
    expect(world.cloud.deletes.map(({ instances }) => instances)).toEqual([[keyOf('g-1')]]);
  });

  it('publishes the number of unneeded nodes and starts the removals', async () => {
    const world = setUp();
    const kept = [
      { node: 'a', reason: 'NotUnderutilized' },
      { node: 'b', reason: 'NotUnderutilized' },
    ] as const;
    const plan = aScaleDownPlan({ kept, removals: [removalOf('g-0')], unneeded: new Map([['g-0', START_MS]]) });
    await execute(world, { plan });
    expect(world.runner.inFlight().size).toBe(1);
    expect(await valueOf(world.metrics.scaleDown.unneeded)).toBe(1);
    await world.clock.advance(MINUTE);
  });

  it.each([
    ['lets other work have its turn after each', 0, 4, 4],
    ['starts nothing more when the process stops', 2, 2, 2],
  ])('of many removals, %s', async (_what, stopAfter, started, turned) => {
    const world = setUp({ nodes: 4 });
    const stop = new AbortController();
    let turns = 0;
    const next = async (): Promise<void> => {
      turns += 1;
      if (turns === stopAfter) stop.abort();
    };
    const plan = aScaleDownPlan({ removals: ['g-0', 'g-1', 'g-2', 'g-3'].map((node) => removalOf(node)) });

    await execute(world, { plan, turns: { next }, over: stop.signal });
    expect([world.runner.inFlight().size, turns]).toEqual([started, turned]);
    await world.clock.advance(MINUTE);
  });
});
