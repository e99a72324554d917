/** What stops a removal that was begun, and what is put back then. */
import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { CORDONED_BEFORE_TAINT } from '../../../src/loop/scale-down/deletion-taint.ts';
import { aNode, aPod } from '../../support/builders.ts';
import { MINUTE, G, setUp, removalOf, isMarked, lastOutcome } from './removal-stage.ts';

describe('the re-check on fresh data', () => {
  const arrival = aPod({ name: 'late', nodeName: 'g-0' });

  it('AC07: a pod that lands on an "empty" node during the wait stops it', async () => {
    const world = setUp();
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(1_000);
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
    world.runner.start(removalOf('g-0', world.pods));
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)?.kind).toBe('undone');
    expect(world.cloud.deletes).toEqual([]);
  });

  it.each([
    { name: 'annotated meanwhile', node: { scaleDownDisabled: true } },
    { name: 'taken by somebody else', node: { taints: [{ key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' as const }] } },
  ])('touches nothing on a node that was $name', async ({ node }) => {
    const world = setUp({ node });
    const before = world.cluster.nodes.get('g-0');
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(MINUTE);
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
    world.runner.start(removalOf('g-0', world.pods));
    await world.clock.advance(1_000);
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
    world.runner.start(removalOf('g-0', world.pods));
    await world.clock.advance(5 * MINUTE);
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

describe('undoing', () => {
  it('AC19: a node that a human had cordoned stays cordoned', async () => {
    const world = setUp({ node: { unschedulable: true }, minSize: 2 });
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(1_000);
    expect(hasTaint(world.cluster.nodes.get('g-0')?.taints ?? [], CORDONED_BEFORE_TAINT)).toBe(true);
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'delete' });
    expect(world.cluster.nodes.get('g-0')).toMatchObject({ unschedulable: true, taints: [] });
  });

  it('a taint whose answer was lost is taken off all the same', async () => {
    const world = setUp();
    const taint = world.cluster.taint.bind(world.cluster);
    world.cluster.taint = async (...args) => {
      await taint(...args);
      throw new AutoscalerError({ kind: 'kube-api', status: 504 }, 'gateway timeout');
    };
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(MINUTE);
    expect(world.cluster.nodes.get('g-0')).toMatchObject({ unschedulable: false, taints: [] });
    expect(lastOutcome(world)).toMatchObject({ kind: 'undone', step: 'taint' });
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
    world.runner.start(removalOf('g-0'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes).toHaveLength(3);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });
});
