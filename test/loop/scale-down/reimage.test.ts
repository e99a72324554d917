import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { Removal } from '../../../src/domain/plan.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { keyOf, START_MS } from '../../support/builders.ts';
import { isMarked, lastOutcome, MINUTE, reasons, removalOf, setUp } from './removal-stage.ts';

describe('a removal that reimages', () => {
  const reimaged = (world: ReturnType<typeof setUp>, node: string, rest: Partial<Removal> = {}) =>
    world.runner.start(removalOf(node, [], { cause: 'sick', condition: 'XIDErrors=True', reimages: true, ...rest }));
  const markOf = (world: ReturnType<typeof setUp>, node = 'g-0') => world.cluster.nodes.get(node)?.reimagedAtMs;
  const lost = new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, 'the connection was reset');

  it('notes it on the node before it is sent, in the same second as the taint, and counts no removed node', async () => {
    const world = setUp();
    const marks: (number | undefined)[] = [];
    world.cloud.onDelete = ({ group, instances }) => {
      marks.push(markOf(world));
      return { kind: 'accepted', group, instances };
    };
    reimaged(world, 'g-0');
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes).toMatchObject([{ instances: [keyOf('g-0')], reimages: true }]);
    expect(marks).toEqual([START_MS + 5_000]);
    expect(world.cluster.nodes.get('g-0')?.taints).toMatchObject([{ key: TO_BE_DELETED_TAINT, value: String(START_MS / 1000 + 5) }]);
    expect(world.runner.collect().at(-1)).toMatchObject({ kind: 'deleted', reimaged: true });
    expect(reasons(world)).toEqual(['ScaleDown', 'NodeReimaged']);
    expect((await world.metrics.scaleDown.nodes.get()).values).toEqual([]);
  });

  it('is one call for each node, beside the one that deletes others', async () => {
    const world = setUp({ nodes: 4 });
    reimaged(world, 'g-0');
    reimaged(world, 'g-1');
    world.runner.start(removalOf('g-2'));
    await world.clock.advance(MINUTE);
    expect(world.cloud.deletes.map(({ instances, reimages }) => [instances, reimages])).toEqual([
      [[keyOf('g-0')], true],
      [[keyOf('g-1')], true],
      [[keyOf('g-2')], undefined],
    ]);
  });

  it.each([
    {
      name: 'that Azure refuses is undone, and stays noted',
      answer: new AutoscalerError({ kind: 'conflict' }, 'busy'),
      kind: 'undone',
      marked: false,
    },
    { name: 'whose answer was lost is awaited', answer: lost, kind: 'deleted', marked: true },
  ])('$name, and is sent once', async ({ answer, kind, marked }) => {
    const world = setUp();
    world.cloud.onDelete = ({ group }) => ({ kind: 'failed', group, error: answer });
    reimaged(world, 'g-0');
    await world.clock.advance(5 * MINUTE);
    expect([world.cloud.deletes.length, lastOutcome(world)?.kind, isMarked(world)]).toEqual([1, kind, marked]);
    expect(markOf(world)).toBe(START_MS + 5_000);
  });

  it('is not sent if the taint is another daemon’s by then, or the node does not work any more', async () => {
    const world = setUp({ nodes: 3 });
    const taint = world.cluster.taint.bind(world.cluster);
    world.cluster.taint = (node, wanted, options, signal) =>
      options.note === undefined ? taint(node, wanted, options, signal) : Promise.resolve({ uncordonLater: false, heldBy: 'b/2' });
    reimaged(world, 'g-0');
    await world.clock.advance(MINUTE);
    expect([world.cloud.deletes, lastOutcome(world)?.kind]).toEqual([[], 'undone']);
    const unready = setUp({ node: { readiness: { ready: false, sinceMs: START_MS, reason: '' } } });
    reimaged(unready, 'g-0');
    await unready.clock.advance(MINUTE);
    expect(unready.cloud.deletes.map(({ reimages }) => reimages)).toEqual([undefined]);
  });
});
