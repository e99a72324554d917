/** What stops a removal that was begun, and what is put back then. */
import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { CORDONED_BEFORE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { MINUTE, G, SELF, setUp, removalOf, isMarked, lastOutcome, drainFirst } from './removal-stage.ts';

describe('the re-check on fresh data', () => {
  const arrival = aPod({ name: 'late', nodeName: 'g-0' });

  it('a pod that lands on an "empty" node during the wait stops it', async () => {
    const world = setUp();
    await drainFirst(world, 1_000);
    world.cluster.pods.set(arrival.uid, arrival);
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck' });
    expect(isMarked(world)).toBe(false);
    expect(world.cluster.nodes.get('g-0')?.unschedulable).toBe(false);
    expect(world.cloud.deletes).toEqual([]);
  });

  it('a pod that lands while others are evicted stops it', async () => {
    const world = setUp({ pods: [{ name: 'one' }] });
    world.cluster.onEvict = () => {
      world.cluster.pods.set(arrival.uid, arrival);
      return undefined;
    };
    await drainFirst(world);
    expect(lastOutcome(world)?.kind).toBe('undone');
    expect(world.cloud.deletes).toEqual([]);
  });

  it.each([
    { name: 'annotated meanwhile', node: { scaleDownDisabled: true } },
    { name: 'taken by somebody else', node: { taints: [{ key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' as const }] } },
  ])('touches nothing on a node that was $name', async ({ node }) => {
    const world = setUp({ node });
    const before = world.cluster.nodes.get('g-0');
    await drainFirst(world);
    expect(world.cluster.nodes.get('g-0')).toBe(before);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck' });
  });

  it.each([
    { what: 'the wait before its pods are asked to go', meets: 'mark' },
    { what: 'the time in which they go', meets: 'evict' },
  ])('a node of the same name that takes its place in $what is another one: nothing of it is touched', async ({ meets }) => {
    const world = setUp({ pods: [{ name: 'one' }] });
    const replace = (): undefined => {
      world.cluster.nodes.set('g-0', { ...aNode({ name: 'g-0' }), uid: 'reborn' });
    };
    if (meets === 'evict') world.cluster.onEvict = replace;
    await drainFirst(world, 1_000);
    if (meets === 'mark') replace();
    await world.clock.advance(5 * MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck', message: expect.stringContaining('another node') });
    expect(isMarked(world)).toBe(false);
    expect(world.cloud.deletes).toEqual([]);
  });

  it('a node that disappears with its pods leaves an unchecked instance, which is not deleted', async () => {
    const world = setUp({ pods: [{ name: 'one' }] });
    world.cluster.onEvict = () => {
      world.cluster.nodes.delete('g-0');
      return undefined;
    };
    await drainFirst(world, 5 * MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', message: 'the node is gone' });
    expect(world.cloud.deletes).toEqual([]);
  });

  it('an unready node that recovered stays', async () => {
    const world = setUp();
    world.runner.start(removalOf('g-0', [], { cause: 'unready' }));
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', message: 'the node is ready again' });
  });

  it('DaemonSet and finished pods are nothing to wait for', async () => {
    const world = setUp({ pods: [{ daemonSet: true }, { phase: 'Succeeded', restartPolicy: 'Never' }] });
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });
});

describe('a deletion taint that another writer takes away', () => {
  /** Another daemon has cleared our taint. With `deletionOwner` it has then written its own. */
  const change = (world: ReturnType<typeof setUp>, how: 'removed' | 'foreign'): void => {
    const node = world.cluster.nodes.get('g-0');
    if (node === undefined) throw new Error('there is no node g-0');
    const foreign = { ...node, deletionOwner: 'other/7' };
    world.cluster.nodes.set('g-0', how === 'foreign' ? foreign : { ...node, taints: [], unschedulable: false, deletionOwner: '' });
  };

  it.each([
    { meets: 'in the wait after it was written', at: 1_000, how: 'removed', evicted: 0 },
    { meets: 'in the wait after it was written', at: 1_000, how: 'foreign', evicted: 0 },
    { meets: 'between two attempts to evict', at: 20_000, how: 'removed', evicted: 0 },
    { meets: 'between two attempts to evict', at: 20_000, how: 'foreign', evicted: 0 },
  ] as const)('$how $meets: the removal is called off, nothing is evicted, and the node rests', async ({ at, how }) => {
    const world = setUp({ pods: [{ name: 'one' }] });
    world.cluster.onEvict = () =>
      world.clock.now() < START_MS + 25_000 ? { kind: 'blocked', message: 'budget', retryAfterMs: undefined } : undefined;
    await drainFirst(world, at);
    change(world, how);
    const before = world.cluster.nodes.get('g-0');
    await world.clock.advance(5 * MINUTE);
    const outcome = lastOutcome(world);
    expect(outcome).toMatchObject({ kind: 'undone', step: 'recheck', message: expect.stringContaining('its deletion taint') });
    expect(outcome).toMatchObject({ retryAtMs: (outcome?.atMs ?? 0) + 5 * MINUTE });
    expect(world.cluster.evicted).toEqual([]);
    expect(world.cluster.nodes.get('g-0')).toEqual(before);
    expect(world.cloud.deletes).toEqual([]);
  });

  it('between two bands of pods: the second is not evicted', async () => {
    const world = setUp({ pods: [{ name: 'first' }, { name: 'critical', shape: { priority: 2_000_000_000 } }] });
    world.cluster.onEvict = () => {
      change(world, 'removed');
      return undefined;
    };
    await drainFirst(world, 5 * MINUTE);
    expect(world.cluster.evicted.map(({ pod }) => pod)).toEqual(['first']);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck' });
  });

  it('a node that cannot be read between two attempts is not evicted from, and nothing is called off for that', async () => {
    const world = setUp({ pods: [{ name: 'one' }] });
    let isAway = false;
    world.cluster.onEvict = () => {
      isAway = world.clock.now() < START_MS + 30_000;
      return isAway ? { kind: 'blocked', message: 'budget', retryAfterMs: undefined } : undefined;
    };
    world.cluster.onCall = (call) => {
      if (call === 'readFresh' && isAway && world.clock.now() < START_MS + 50_000)
        throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'the API server is away');
    };
    await drainFirst(world, 2 * MINUTE);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });

  it.each([
    { lasts: 40_000, end: { kind: 'deleted' } },
    { lasts: 120_000, end: { kind: 'undone', step: 'wait', message: 'the API server is away' } },
  ])('a node that cannot be read for $lasts ms after its pods have moved: $end.kind', async ({ lasts, end }) => {
    const world = setUp({ pods: [{ name: 'one' }] });
    let awaySinceMs = Infinity;
    world.cluster.onEvict = () => {
      awaySinceMs = world.clock.now();
      return undefined;
    };
    world.cluster.onCall = (call) => {
      if (call === 'readFresh' && world.clock.now() >= awaySinceMs && world.clock.now() < awaySinceMs + lasts)
        throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'the API server is away');
    };
    await drainFirst(world, 3 * MINUTE);
    expect(lastOutcome(world)).toMatchObject(end);
    expect(isMarked(world)).toBe(end.kind === 'deleted');
  });

  it('is not replaced: a daemon that comes second writes nothing', async () => {
    const world = setUp();
    const theirs = { key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' } as const;
    world.cluster.onCall = (call) => {
      const node = world.cluster.nodes.get('g-0');
      if (call === 'taint' && node !== undefined) world.cluster.nodes.set('g-0', { ...node, taints: [theirs], deletionOwner: 'other/7' });
    };
    await drainFirst(world);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'recheck', message: 'another component is removing the node' });
    expect(world.cluster.nodes.get('g-0')).toMatchObject({ taints: [theirs], deletionOwner: 'other/7', unschedulable: false });
  });

  it('names its owner from the first write on', async () => {
    const world = setUp();
    await drainFirst(world, 1_000);
    expect(world.cluster.nodes.get('g-0')?.deletionOwner).toBe(SELF);
  });
});

describe('the last look, right before the request', () => {
  const late = aPod({ name: 'late', nodeName: 'g-0' });
  /** What happens while Azure is read and waited for: after every other look. */
  const duringDelete = (world: ReturnType<typeof setUp>, happen: () => void): void => {
    world.cloud.onCall = (call) => (call === 'deleteInstances' ? happen() : undefined);
  };

  it('finds a pod that came while Azure was read: the node is not deleted, the others of the request are', async () => {
    const world = setUp({ nodes: 3 });
    duringDelete(world, () => void world.cluster.pods.set(late.uid, late));
    for (const node of ['g-0', 'g-1']) world.runner.start(removalOf(node));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.flatMap(({ instances }) => instances)).toEqual([keyOf('g-1')]);
    const outcomes = world.runner.collect();
    expect(outcomes).toContainEqual(expect.objectContaining({ kind: 'deleted', node: 'g-1' }));
    const undone = { kind: 'undone', node: 'g-0', step: 'recheck', message: 'pod default/late is still on the node' };
    expect(outcomes).toContainEqual(expect.objectContaining(undone));
    expect(isMarked(world)).toBe(false);
  });

  it('of a group that is removed as a whole spares all of it for one node', async () => {
    const world = setUp({ nodes: 2 });
    duringDelete(world, () => void world.cluster.pods.set(late.uid, late));
    world.runner.startGroup([removalOf('g-0'), removalOf('g-1')]);
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes).toEqual([]);
    const undone = world.runner.collect().flatMap((outcome) => (outcome.kind === 'undone' ? [outcome] : []));
    expect(undone.map(({ node, step }) => `${node} ${step}`).sort()).toEqual(['g-0 recheck', 'g-1 recheck']);
    for (const { message } of undone) expect(message).toMatch(/as a whole or not at all.*late is still on the node/);
  });

  it('is repeated with the request, but a node that was spared once stays spared', async () => {
    const world = setUp({ nodes: 3 });
    const lost = { kind: 'failed', group: G, error: new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, 'cut off') } as const;
    let tries = 0;
    world.cloud.onDelete = () => (tries === 1 ? lost : undefined);
    duringDelete(world, () => {
      tries += 1;
      if (tries === 1) world.cluster.pods.set(late.uid, late);
      else world.cluster.pods.delete(late.uid);
    });
    for (const node of ['g-0', 'g-1']) world.runner.start(removalOf(node));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map(({ instances }) => instances)).toEqual([[keyOf('g-1')], [keyOf('g-1')]]);
  });
});

describe('undoing', () => {
  it('a node that a human had cordoned stays cordoned', async () => {
    const world = setUp({ node: { unschedulable: true }, minSize: 2 });
    await drainFirst(world, 1_000);
    expect(hasTaint(world.cluster.nodes.get('g-0')?.taints ?? [], CORDONED_BEFORE_TAINT)).toBe(true);
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'delete', ofGroup: true });
    expect(world.cluster.nodes.get('g-0')).toMatchObject({ unschedulable: true, taints: [] });
  });

  it('a taint whose answer was lost is taken off all the same', async () => {
    const world = setUp();
    const taint = world.cluster.taint.bind(world.cluster);
    world.cluster.taint = async (...args) => {
      await taint(...args);
      throw new AutoscalerError({ kind: 'kube-api', status: 504 }, 'gateway timeout');
    };
    await drainFirst(world);
    expect(world.cluster.nodes.get('g-0')).toMatchObject({ unschedulable: false, taints: [] });
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'taint' });
  });

  it('a deletion that Azure refuses may be refused in other groups, too', async () => {
    const world = setUp();
    world.cloud.onDelete = () => ({ kind: 'failed', group: G, error: new AutoscalerError({ kind: 'auth' }, 'no right') });
    await drainFirst(world);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'delete', message: 'no right', ofGroup: false });
  });

  it('a delete that is throttled is asked again; not-found is success; a refusal is undone', async () => {
    const errors = [
      new AutoscalerError({ kind: 'throttled', retryAfterMs: 3_000 }, 'slow down'),
      new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, 'cut off'),
      new AutoscalerError({ kind: 'not-found' }, 'gone'),
    ];
    const world = setUp();
    world.cloud.onDelete = () => {
      const error = errors.shift();
      return error === undefined ? undefined : { kind: 'failed', group: G, error };
    };
    await drainFirst(world);
    expect(world.cloud.deletes).toHaveLength(3);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });
});
