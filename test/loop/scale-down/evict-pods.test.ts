import { describe, expect, it } from 'vitest';
import { aPod, type PodOptions } from '../../support/builders.ts';
import { MINUTE, setUp, removalOf, isMarked, lastOutcome, drainFirst } from './removal-stage.ts';

describe('the drain settings of the group', () => {
  const bands = [
    { priority: 0, graceMs: 0 },
    { priority: 1_000, graceMs: 5_000 },
  ];

  it.each([
    { name: 'a longer grace period than that of all groups', own: 20 * MINUTE, drain: {}, graces: [15 * MINUTE, 15 * MINUTE] },
    { name: 'a shorter one', own: MINUTE, drain: {}, graces: [MINUTE, MINUTE] },
    { name: 'no limit', own: 0, drain: {}, graces: [15 * MINUTE, 15 * MINUTE] },
    { name: 'none of its own', own: undefined, drain: {}, graces: [10 * MINUTE, 10 * MINUTE] },
    { name: 'a limit on bands', own: MINUTE, drain: { bands }, graces: [MINUTE, 5_000] },
    { name: 'no limit beside bands', own: 0, drain: { bands }, graces: [15 * MINUTE, 5_000] },
  ])('grace period: $name', async ({ own, drain, graces }) => {
    const pods = [{ name: 'low' }, { name: 'high', shape: { priority: 1_000 } }].map((pod) => ({
      ...pod,
      terminationGraceMs: 15 * MINUTE,
    }));
    const world = setUp({ pods, drain });
    const options = own === undefined ? {} : { drain: { maxGracefulTerminationMs: own } };
    world.runner.start(removalOf('g-0', world.pods, options));
    await world.clock.advance(MINUTE);
    expect(world.cluster.evicted.map(({ graceMs }) => graceMs)).toEqual(graces);
  });

  it('evictions are repeated at its own pace and given up after its own time', async () => {
    const world = setUp({ pods: [{ name: 'app' }], drain: { evictionRetryMs: 10_000, evictionTimeoutMs: 2 * MINUTE } });
    const askedMs: number[] = [];
    world.cluster.onEvict = () => {
      askedMs.push(world.clock.now());
      return { kind: 'blocked', message: 'budget', retryAfterMs: undefined };
    };
    world.runner.start(removalOf('g-0', world.pods, { drain: { evictionRetryMs: 20_000, evictionTimeoutMs: 45_000 } }));
    await world.clock.advance(2 * MINUTE);
    const [first = 0] = askedMs;
    expect(askedMs.map((atMs) => atMs - first)).toEqual([0, 20_000, 40_000]);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'evict' });
  });

  it('its own rules about blocking pods hold in the checks on fresh data', async () => {
    const pods = [{ name: 'app', localVolumes: [{ name: 'cache', kind: 'emptyDir' as const }] }];
    const strict = setUp({ pods });
    strict.runner.start(removalOf('g-0', strict.pods, { drain: { skipNodesWithLocalStorage: true } }));
    await strict.clock.advance(MINUTE);
    expect(lastOutcome(strict)).toMatchObject({ kind: 'undone', message: 'pod default/app blocks: LocalStorageRequested' });
    const usual = setUp({ pods });
    usual.runner.start(removalOf('g-0', usual.pods));
    await usual.clock.advance(MINUTE);
    expect(lastOutcome(usual)?.kind).toBe('deleted');
  });
});

describe('the order of evictions', () => {
  const daemon = (name: string, rest: PodOptions = {}): PodOptions => ({ name, daemonSet: true, ...rest });
  const occupied = { fromOccupied: true, fromEmpty: false };
  const app: PodOptions = { name: 'app' };

  it.each([
    { name: 'occupied node, by default', pods: [app, daemon('log')], evicted: ['app', 'log'] },
    { name: 'occupied node, opted out', pods: [app, daemon('log', { daemonEviction: false })], evicted: ['app'] },
    { name: 'empty node, by default', pods: [daemon('log')], evicted: [] },
    { name: 'empty node, opted in', pods: [daemon('log', { daemonEviction: true })], evicted: ['log'] },
    { name: 'occupied node, turned off', pods: [app, daemon('log')], policy: undefined, evicted: ['app'] },
  ])('pods of a DaemonSet: $name', async ({ pods, evicted, ...rest }) => {
    const evictDaemonPods = 'policy' in rest ? { fromOccupied: false, fromEmpty: false } : occupied;
    const world = setUp({ pods, drain: { evictDaemonPods } });
    // The agent never ends by itself: it must not be waited for.
    const exists = world.cluster.podExists.bind(world.cluster);
    world.cluster.podExists = async (pod, signal) => (pod.uid.endsWith('log') ? true : exists(pod, signal));
    world.runner.start(
      removalOf(
        'g-0',
        world.pods.filter((pod) => !pod.daemonSet),
      ),
    );
    await world.clock.advance(MINUTE);
    expect(world.cluster.evicted.map(({ pod }) => pod)).toEqual(evicted);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('a refusal to evict a pod of a DaemonSet stops nothing and is not repeated', async () => {
    const world = setUp({ pods: [app, daemon('log')], drain: { evictDaemonPods: occupied } });
    let asked = 0;
    world.cluster.onEvict = (pod) => {
      if (!pod.daemonSet) return undefined;
      asked += 1;
      return { kind: 'blocked', message: 'budget', retryAfterMs: undefined };
    };
    world.runner.start(removalOf('g-0', world.pods.slice(0, 1)));
    await world.clock.advance(MINUTE);
    expect(asked).toBe(1);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('a pod of a priority below the cutoff is asked to go, and not waited for', async () => {
    const world = setUp({ pods: [app, { name: 'worthless', controller: undefined, shape: { priority: -11 } }] });
    world.cluster.onEvict = (pod) => (pod.name === 'app' ? undefined : { kind: 'blocked', message: 'budget', retryAfterMs: undefined });
    let asked = 0;
    world.cluster.onCall = (call, subject) => {
      if (call === 'evict' && subject === 'worthless') asked += 1;
    };
    world.runner.start(removalOf('g-0', world.pods.slice(0, 1)));
    await world.clock.advance(MINUTE);
    expect(asked).toBe(1);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('with named bands, pods of DaemonSets may be asked last: they go band by band after all others have gone, with the cap of their band, and are waited for', async () => {
    const bands = [
      { priority: 0, graceMs: 20_000 },
      { priority: 1_000, graceMs: 5_000 },
    ];
    const pods: readonly PodOptions[] = [
      daemon('low-agent', {}),
      { name: 'vip', shape: { priority: 5_000 } },
      { name: 'plain' },
      daemon('agent', { shape: { priority: 1_000 } }),
    ];
    const world = setUp({ pods, drain: { bands, evictDaemonPods: occupied, daemonPodsLast: true } });
    world.cluster.endsAfterPolls = 1;
    world.runner.start(removalOf('g-0', world.pods.slice(1, 3)));
    await world.clock.advance(2 * MINUTE);
    expect(world.cluster.evicted).toEqual([
      { pod: 'plain', graceMs: 20_000 },
      { pod: 'vip', graceMs: 5_000 },
      { pod: 'low-agent', graceMs: 20_000 },
      { pod: 'agent', graceMs: 5_000 },
    ]);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('named bands go one after the other, DaemonSet pods among them, each with its own cap', async () => {
    const bands = [
      { priority: 0, graceMs: 20_000 },
      { priority: 1_000, graceMs: 0 },
    ];
    const pods: readonly PodOptions[] = [
      { name: 'vip', shape: { priority: 5_000 }, terminationGraceMs: 20 * MINUTE },
      { name: 'low', shape: { priority: -5 } },
      { name: 'plain' },
      daemon('agent', { shape: { priority: 1_000 } }),
    ];
    const world = setUp({ pods, drain: { bands, evictDaemonPods: occupied } });
    world.cluster.endsAfterPolls = 1;
    world.runner.start(removalOf('g-0', world.pods.slice(0, 3)));
    await world.clock.advance(5_500);
    expect(world.cluster.evicted).toEqual([
      { pod: 'low', graceMs: 20_000 },
      { pod: 'plain', graceMs: 20_000 },
    ]);
    await world.clock.advance(MINUTE);
    expect(world.cluster.evicted.slice(2)).toEqual([
      { pod: 'vip', graceMs: 20 * MINUTE },
      { pod: 'agent', graceMs: 30_000 },
    ]);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });
});

describe('a node with a delay annotation', () => {
  const ask = (world: ReturnType<typeof setUp>, delayDeletion: readonly string[]) => {
    const node = world.cluster.nodes.get('g-0');
    if (node !== undefined) world.cluster.nodes.set('g-0', { ...node, delayDeletion });
  };

  it.each([
    { name: 'is deleted once nobody asks any more', asksForMs: 40_000, deletedWithinMs: 52_000 },
    { name: 'is deleted when the time is up', asksForMs: 60 * MINUTE, deletedWithinMs: 130_000 },
  ])('$name', async ({ asksForMs, deletedWithinMs }) => {
    const world = setUp({ drain: { deletionDelayTimeoutMs: 2 * MINUTE } });
    await drainFirst(world, 2_000);
    // Set after the drain began: only a fresh read can see it.
    ask(world, ['csi']);
    const heldMs = Math.min(asksForMs, 2 * MINUTE);
    await world.clock.advance(heldMs);
    expect(world.cloud.deletes).toEqual([]);
    if (asksForMs === heldMs) ask(world, []);
    await world.clock.advance(deletedWithinMs - heldMs);
    expect(world.cloud.deletes).toHaveLength(1);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it('is deleted at once when delays are turned off', async () => {
    const world = setUp({ node: { delayDeletion: ['csi'] }, drain: { deletionDelayTimeoutMs: 0 } });
    await drainFirst(world, 6_000);
    expect(world.cloud.deletes).toHaveLength(1);
  });

  it('stays when a pod arrives while another operation holds its group up', async () => {
    const world = setUp({});
    world.cloud.onTurn = () => world.clock.sleep(10 * MINUTE, new AbortController().signal);
    await drainFirst(world, 5 * MINUTE);
    const late = aPod({ name: 'late', nodeName: 'g-0' });
    world.cluster.pods.set(late.uid, late);
    await world.clock.advance(6 * MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', message: expect.stringContaining('late') });
    expect(world.cloud.deletes).toEqual([]);
  });

  it('stays when a pod arrives during the delay', async () => {
    const world = setUp({ node: { delayDeletion: ['csi'] }, drain: { deletionDelayTimeoutMs: 2 * MINUTE } });
    await drainFirst(world, 30_000);
    const late = aPod({ name: 'late', nodeName: 'g-0' });
    world.cluster.pods.set(late.uid, late);
    await world.clock.advance(5 * MINUTE);
    expect(lastOutcome(world)?.kind).toBe('undone');
    expect(isMarked(world)).toBe(false);
    expect(world.cloud.deletes).toEqual([]);
  });
});

describe('a drained node with volumes', () => {
  const VOLUME = 'kubernetes.io/csi/disk.csi.azure.com^/subscriptions/s/disks/pvc-1';

  it.each([
    { name: 'is deleted once they are detached', detachedAfterMs: 30_000, deletedWithinMs: 40_000, says: [] },
    {
      name: 'is deleted when the time is up, which an event says',
      detachedAfterMs: 60 * MINUTE,
      deletedWithinMs: 130_000,
      says: ['the instance is deleted although volumes are attached after 2 min: pvc-1'],
    },
  ])('$name', async ({ detachedAfterMs, deletedWithinMs, says }) => {
    const world = setUp({ drain: { volumeDetachTimeoutMs: 2 * MINUTE } });
    world.cluster.volumes.set('g-0', [VOLUME]);
    world.runner.start(removalOf('g-0'));
    const heldMs = Math.min(detachedAfterMs, 2 * MINUTE);
    await world.clock.advance(heldMs);
    expect(world.cloud.deletes).toEqual([]);
    if (detachedAfterMs === heldMs) world.cluster.volumes.delete('g-0');
    await world.clock.advance(deletedWithinMs - heldMs);
    expect(world.cloud.deletes).toHaveLength(1);
    const warnings = world.cluster.events.filter(({ type }) => type === 'Warning').map(({ message }) => message);
    expect([lastOutcome(world)?.kind, warnings]).toEqual(['deleted', says]);
  });

  it.each([
    { name: 'the wait is off', drain: { volumeDetachTimeoutMs: 0 }, part: {} },
    {
      name: 'the node is broken: its kubelet unmounts nothing',
      drain: { volumeDetachTimeoutMs: 2 * MINUTE },
      part: { cause: 'unready' as const },
    },
  ])('is deleted at once if $name', async ({ drain, part }) => {
    const broken = { readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } };
    const world = setUp({ drain, node: 'cause' in part ? broken : {} });
    world.cluster.volumes.set('g-0', [VOLUME]);
    world.runner.start({ ...removalOf('g-0'), ...part });
    await world.clock.advance(6_000);
    expect(world.cloud.deletes).toHaveLength(1);
  });

  it('stays when a pod arrives while it waits', async () => {
    const world = setUp({ drain: { volumeDetachTimeoutMs: 2 * MINUTE } });
    world.cluster.volumes.set('g-0', [VOLUME]);
    await drainFirst(world, 30_000);
    const late = aPod({ name: 'late', nodeName: 'g-0' });
    world.cluster.pods.set(late.uid, late);
    await world.clock.advance(5 * MINUTE);
    expect([lastOutcome(world)?.kind, isMarked(world), world.cloud.deletes]).toEqual(['undone', false, []]);
  });
});

describe('a drained node behind load balancers', () => {
  const EXCLUDED = { labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } };
  const broken = { readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } };

  it.each([
    { name: 'empty: as long as configured since its taint', heldMs: 39_000, deletedMs: 42_000 },
    { name: 'with pods: as long as configured since they left', pods: true, heldMs: 44_000, deletedMs: 50_000 },
    { name: 'excluded by its label: not at all', node: EXCLUDED, heldMs: 4_000, deletedMs: 7_000 },
    { name: 'broken: not at all', node: broken, part: { cause: 'unready' as const }, heldMs: 4_000, deletedMs: 7_000 },
    { name: 'without the setting: not at all', waitMs: 0, heldMs: 4_000, deletedMs: 7_000 },
  ])('$name', async ({ node = {}, part = {}, pods = false, waitMs = 40_000, heldMs, deletedMs }) => {
    const world = setUp({ drain: { loadBalancerWaitMs: waitMs }, node });
    const pod = aPod({ name: 'web', nodeName: 'g-0' });
    if (pods) world.cluster.pods.set(pod.uid, pod);
    world.runner.start({ ...removalOf('g-0', pods ? [pod] : []), ...part });
    await world.clock.advance(heldMs);
    expect(world.cloud.deletes).toEqual([]);
    await world.clock.advance(deletedMs - heldMs);
    expect(world.cloud.deletes).toHaveLength(1);
  });
});
