import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { undoLeftovers } from '../../../src/loop/scale-down/deletion-taint.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aGroup, anInstance, anObservation, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { silentLog } from '../../support/silent-log.ts';
import { aState } from '../../support/state.ts';
import { isMarked, lastOutcome, MINUTE, reasons, removalOf, setUp } from './removal-stage.ts';

describe('a removal that reimages', () => {
  const reimaged = (world: ReturnType<typeof setUp>, node: string) =>
    world.runner.start(removalOf(node, [], { cause: 'sick', reimages: true }));
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

  it('is a removal like any other if the instance is going already, so that no request was needed', async () => {
    const world = setUp();
    world.cloud.deleteInstances = ({ group, instances }) => Promise.resolve({ kind: 'accepted', group, instances });
    reimaged(world, 'g-0');
    await world.clock.advance(MINUTE);
    expect(lastOutcome(world)).toMatchObject({ kind: 'deleted', reimaged: false });
    expect(markOf(world)).toBeUndefined();
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
      [[keyOf('g-2')], false],
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
    expect(unready.cloud.deletes.map(({ reimages }) => reimages)).toEqual([false]);
  });
});

describe('a process that dies at any call of a reimage', () => {
  const NEVER = new Promise<void>(() => undefined);

  /** The first process dies at its k-th call; the second looks at the node for half an hour and removes nothing. */
  async function lives(dieAt: number) {
    const world = setUp();
    let calls = 0;
    const dying = () => (++calls >= dieAt ? NEVER : undefined);
    world.cluster.onCall = dying;
    world.cloud.onCall = dying;
    world.cloud.onDelete = ({ group, instances }) => ({ kind: 'accepted', group, instances });
    world.runner.start(removalOf('g-0', [], { cause: 'sick', reimages: true }));
    await world.clock.advance(MINUTE);
    world.cluster.onCall = () => undefined;
    const ports = { tainter: world.cluster, events: world.cluster, clock: world.clock, log: silentLog(), cordon: true, self: 'b/2' };
    let state = aState();
    const instances = [anInstance({ node: 'g-0' }), anInstance({ node: 'g-1' })];
    const leaving: boolean[] = [];
    for (let minute = 0; minute < 30; minute++) {
      const view = world.cluster.observe(world.clock.now());
      const observation = anObservation([aGroup({ id: 'g', target: 2, instances })], view, { nowMs: world.clock.now() });
      state = reduceObservation(state, observation, aPolicy());
      leaving.push(state.deleting.has('g-0'));
      await undoLeftovers({ ...ports, observation, state, inFlight: new Set() }, new AbortController().signal);
      await world.clock.advance(MINUTE);
    }
    return { world, calls, leaving };
  }

  it('leaves no taint behind, and a reimage that was sent is awaited and on its node', async () => {
    const { calls } = await lives(Infinity);
    expect(calls).toBeGreaterThan(5);
    let sent = 0;
    for (let dieAt = 1; dieAt <= calls + 1; dieAt++) {
      const { world, leaving } = await lives(dieAt);
      const noted = world.cluster.nodes.get('g-0')?.reimagedAtMs !== undefined;
      sent += world.cloud.deletes.length;
      expect({ dieAt, noted: noted || world.cloud.deletes.length === 0, marked: isMarked(world) }).toEqual({
        dieAt,
        noted: true,
        marked: false,
      });
      // For as long as a node may take to start.
      expect({ dieAt, awaited: leaving.filter(Boolean).length }).toEqual({ dieAt, awaited: noted ? 15 : 0 });
      expect(world.cluster.nodes.get('g-0')?.unschedulable).toBe(false);
    }
    expect(sent).toBeGreaterThan(0);
  });
});
