import { describe, expect, it } from 'vitest';
import type { ScaleDownPlan, UnremovableNode } from '../../../src/domain/plan.ts';
import type { AutoscalerEvent } from '../../../src/domain/ports/records.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { blockedNodeEvents } from '../../../src/observers/events/blocked-node-events.ts';
import { limitChanges } from '../../../src/observers/events/limit-changes.ts';
import { NodeAnnotations } from '../../../src/observers/events/node-annotations.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { anInstance, aNode, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aReport } from '../history/support.ts';

const HOUR = 3_600_000;
const names = ['a-0', 'a-1', 'a-2'];
const instances = names.map((node) => anInstance({ node }));
const nodes = names.map((name) => aNode({ name }));
const pdb = (node: string): UnremovableNode => ({
  node,
  reason: 'BlockedByPod',
  blocker: { pod: 'pay/api-1', reason: 'NotEnoughPdb', detail: 'pay/api: 3 of 3 required pods are healthy' },
});
const recently = (node: string): UnremovableNode => ({ node, reason: 'RecentlyUnremovable' });
const needed = (node: string): UnremovableNode => ({ node, reason: 'NotUnderutilized' });

function look(afterMs: number, kept: readonly UnremovableNode[], change: Partial<ScaleDownPlan> = {}, seen = nodes) {
  return aReport({ afterMs, instances, nodes: seen, scaleDown: { kept, ...change } });
}

describe('the event on a node that is blocked for a day', () => {
  function messages(...looks: readonly ReturnType<typeof look>[]): readonly string[] {
    const events: AutoscalerEvent[] = [];
    const observe = blockedNodeEvents({ record: (event) => void events.push(event) });
    for (const each of looks) observe(each);
    return events.map(({ message }) => message);
  }
  const said = 'Not removed since 2026-11-21 00:00 UTC: NotEnoughPdb, pod pay/api-1: pay/api: 3 of 3 required pods are healthy';

  it.each<[string, readonly ReturnType<typeof look>[], readonly string[]]>([
    ['comes after a day, not before', [look(0, [pdb('a-0')]), look(24 * HOUR - 1, [pdb('a-0')])], []],
    ['names the cause and since when', [look(0, [pdb('a-0')]), look(24 * HOUR, [pdb('a-0')])], [said]],
    [
      'counts checks that are remembered',
      [look(0, [pdb('a-0')]), look(HOUR, [recently('a-0')]), look(24 * HOUR, [recently('a-0')])],
      [said],
    ],
    ['comes once a day', [0, 24, 25, 47, 48].map((hours) => look(hours * HOUR, [pdb('a-0')])), [said, said]],
    [
      'never comes of a node that is kept free on purpose',
      [
        look(0, [{ node: 'a-0', reason: 'RoomKeptFree' }]),
        ...[1, 25].map((hours) =>
          look(hours * HOUR, [{ node: 'a-0', reason: 'RecentlyUnremovable' as const, cause: 'RoomKeptFree' as const }]),
        ),
      ],
      [],
    ],
    ['starts again if the node was needed', [look(0, [pdb('a-0')]), look(HOUR, [needed('a-0')]), look(24 * HOUR, [pdb('a-0')])], []],
    [
      'starts again if the cause changed',
      [look(0, [pdb('a-0')]), look(24 * HOUR, [{ node: 'a-0', reason: 'NoPlaceToMovePods', detail: 'no room' }])],
      [],
    ],
    [
      'goes on while removals are inhibited',
      [look(0, [pdb('a-0')]), look(HOUR, [], { inhibited: 'x' }), look(24 * HOUR, [pdb('a-0')])],
      [said],
    ],
  ])('%s', (_, looks, expected) => expect(messages(...looks)).toEqual(expected));
});

describe('the annotation on nodes that are not removed', () => {
  function stage(fails = false) {
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const written: string[] = [];
    const annotations = new NodeAnnotations({
      annotator: {
        annotate: (node, value) => {
          if (fails) return Promise.reject(new AutoscalerError({ kind: 'conflict' }, 'Changed.'));
          written.push(`${node} ${value ?? 'removed'}`);
          return Promise.resolve();
        },
      },
      clock,
      log: createLog('info', { write: (line) => void lines.push(line) }),
    });
    const stop = new AbortController();
    return { clock, lines, written, loop: (report: ReturnType<typeof look>) => annotations.loopEnded(report, stop.signal) };
  }
  const value = 'NotEnoughPdb since 2026-11-21T00:00:00Z: pod pay/api-1: pay/api: 3 of 3 required pods are healthy';

  it('has the reason code, since when, and the cause; one node a second is written', async () => {
    const { clock, written, loop } = stage();
    loop(look(0, names.map(pdb)));
    await clock.advance(0);
    expect(written).toEqual([`a-0 ${value}`]);
    await clock.advance(1_000);
    expect(written).toHaveLength(2);
    await clock.advance(10_000);
    expect(written).toHaveLength(3);
  });

  it('is not written again for the same reason, not even by the next process', async () => {
    const { clock, written, loop } = stage();
    loop(look(0, [pdb('a-0')]));
    await clock.advance(10_000);
    loop(look(HOUR, [pdb('a-0')]));
    await clock.advance(10_000);
    expect(written).toHaveLength(1);
    const next = stage();
    next.loop(look(HOUR, [pdb('a-0')], {}, [aNode({ name: 'a-0', unremovableNote: value })]));
    await next.clock.advance(10_000);
    expect(next.written).toEqual([]);
  });

  it('is removed when the node is needed or can be removed', async () => {
    const { clock, written, loop } = stage();
    loop(look(0, [needed('a-0')], {}, [aNode({ name: 'a-0', unremovableNote: value }), aNode({ name: 'a-1' })]));
    await clock.advance(10_000);
    expect(written).toEqual(['a-0 removed']);
  });

  it('stays while removals are inhibited', async () => {
    const { clock, written, loop } = stage();
    loop(look(0, [], { inhibited: 'busy' }, [aNode({ name: 'a-0', unremovableNote: value })]));
    await clock.advance(10_000);
    expect(written).toEqual([]);
  });

  it('that cannot be written is a warning, and is tried again', async () => {
    const { clock, lines, loop } = stage(true);
    for (const afterMs of [0, 1, 2]) {
      loop(look(afterMs, names.map(pdb)));
      await clock.advance(5_000);
    }
    expect(lines.filter((line) => line.includes('Annotation of a node could not be written'))).toHaveLength(1);
  });
});

describe('the event about limits', () => {
  it.each<[string, object, object, readonly string[]]>([
    ['none without a change', { minSize: 0 }, { minSize: 0 }, []],
    [
      'a maximum in a tag',
      { maxSize: 4, maxFrom: 'tag' },
      { maxSize: 7, maxFrom: 'tag' },
      ['Node group a: maximum from 4 to 7, set by a tag'],
    ],
    [
      'both in the configuration',
      { minSize: 0, maxSize: 4 },
      { minSize: 1, maxSize: 5, maxFrom: 'settings' },
      ['Node group a: minimum from 0 to 1, maximum from 4 to 5, set by the configuration'],
    ],
  ])('%s', (_, before, after, expected) => {
    const events: AutoscalerEvent[] = [];
    const observe = limitChanges({ record: (event) => void events.push(event) }, 'kube-system');
    observe(aReport({ group: before }));
    observe(aReport({ group: after }));
    expect(events.map(({ message }) => message)).toEqual(expected);
    expect(events.every(({ reason, subject }) => reason === 'NodeGroupLimitsChanged' && subject.kind === 'ConfigMap')).toBe(true);
  });
});
