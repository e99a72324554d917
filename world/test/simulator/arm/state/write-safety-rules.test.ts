/** What the write-safety rules report as a violation, and what they allow. */
import { describe, expect, it } from 'vitest';
import { MINUTE, VERSION, aPool, aWorld, scale, setPath, startRig, type Rig } from '../harness.ts';

type Step = (rig: Rig) => unknown;

const post = (rig: Rig, action: string, instanceIds: readonly string[]): Promise<unknown> =>
  rig.call('POST', `${setPath(rig, 'a', `/${action}`)}?${VERSION}`, { body: { instanceIds } });
const remove =
  (...ids: readonly string[]): Step =>
  (rig) =>
    post(rig, 'delete', ids);
const stop =
  (...ids: readonly string[]): Step =>
  (rig) =>
    post(rig, 'deallocate', ids);
/** A PUT without a condition. */
const put =
  (to: number): Step =>
  (rig) =>
    scale(rig, 'a', to);
/** A PUT with the current etag. */
const putIfSame =
  (to: number): Step =>
  (rig) =>
    scale(rig, 'a', to, { 'if-match': rig.arm.control.state().sets[0]?.etag ?? '' });
const read: Step = (rig) => rig.call('GET', `${setPath(rig, 'a')}?${VERSION}`);
/** Another writer. */
const foreign =
  (to: number): Step =>
  (rig) =>
    rig.arm.control.raise({ foreignScale: { pool: 'a', to } });
const wait: Step = (rig) => rig.clock.advance(10 * MINUTE);

interface Given {
  readonly pool?: Parameters<typeof aPool>[1];
  /** How many VMs Azure has. If present, those that could not be allocated are in no list. */
  readonly left?: number;
  /** VMs that could not be allocated are in the list nevertheless. */
  readonly listed?: boolean;
}

const DOWN = 'capacity-lowered-by-put';
const UNNAMED = 'instance-deleted-that-was-never-named';
const THREE: Given = { pool: { count: 3, min: 1 } };
const PARKED: Given = { pool: { count: 3, min: 2, scaleDownMode: 'Deallocate' } };

describe('write judge', () => {
  it.each<[what: string, given: Given, steps: readonly Step[], rules: readonly string[]]>([
    ['a raise within the maximum', {}, [put(10)], []],
    ['a raise above the maximum', {}, [put(11)], ['above-max']],
    ['a capacity lowered by PUT, and the machine that the platform chose', {}, [put(1)], [DOWN, UNNAMED]],
    ['a raise that could not be filled, taken back down to what was there before', { left: 0 }, [putIfSame(4), wait, putIfSame(2)], []],
    [
      'two raises in a row that could not be filled, taken back together',
      { left: 0 },
      [putIfSame(4), putIfSame(5), wait, putIfSame(2)],
      [],
    ],
    ['a raise that could not be filled, taken back without a condition', { left: 0 }, [putIfSame(4), wait, put(2)], [DOWN]],
    ['the same taken back while its operation still runs', { left: 0 }, [putIfSame(4), putIfSame(2)], [DOWN, UNNAMED, UNNAMED]],
    ['more taken back than was raised', { left: 0 }, [foreign(3), wait, read, putIfSame(4), wait, putIfSame(2)], [DOWN]],
    [
      'a raise taken back that another writer has raised since, even when the sum would fit',
      { left: 0 },
      [putIfSame(4), wait, foreign(5), wait, read, putIfSame(3)],
      [DOWN],
    ],
    ['a raise that came, taken back: its machine goes', { left: 9 }, [putIfSame(3), wait, putIfSame(2)], [DOWN, UNNAMED]],
    ['a raise that came in part, taken back by more than what did not', { left: 1 }, [putIfSame(5), wait, putIfSame(2)], [DOWN, UNNAMED]],
    ['a delete down to the minimum', {}, [remove('0')], []],
    ['a delete below the minimum', {}, [remove('0', '1')], ['below-min']],
    ['a stop down to the minimum', {}, [stop('0')], []],
    ['a stop below the minimum', {}, [stop('0', '1')], ['below-min']],
    [
      'a stop of what is stopped already, and a person who stops the rest',
      {},
      [stop('0'), stop('0'), (rig) => rig.arm.control.raise({ foreignPower: { pool: 'a', action: 'deallocate' } })],
      [],
    ],
    ['a delete for whose minimum a stopped machine would have to stand in', PARKED, [stop('0'), remove('1')], ['below-min']],
    ['a delete of a stopped machine at the minimum', PARKED, [stop('0'), remove('0')], []],
    [
      'a delete that meets a scale-in which the client could not have read: ARM takes no condition on a delete',
      THREE,
      [read, foreign(2), remove('0', '1')],
      [],
    ],
    ['the same when the client had read it', THREE, [foreign(2), read, remove('0', '1')], ['below-min']],
    ['two deletes in flight that together go below the minimum', {}, [remove('0'), remove('1')], ['below-min']],
    ['the same machine deleted twice', {}, [remove('0'), remove('0')], []],
    ['a failed machine removed below the minimum', { pool: { count: 0, min: 2 }, left: 1, listed: true }, [put(2), wait, remove('1')], []],
    ['a blind PUT over another writer', {}, [read, foreign(3), put(5)], ['lost-update']],
    ['a PUT after reading what the other wrote', {}, [foreign(3), read, put(5)], []],
    [
      'a PUT that names the present tag, learned from a list of the past that still was true',
      {},
      [foreign(3), putIfSame(5), (rig) => expect(rig.arm.control.state().sets[0]?.capacity).toBe(5)],
      [],
    ],
    [
      'a PUT after a read of the other that a fault swallowed',
      {},
      [
        read,
        foreign(3),
        (rig) => rig.arm.control.addFault({ id: 'hidden', match: { method: 'GET', times: 1 }, effect: { kind: 'empty-body' } }),
        read,
        put(5),
      ],
      ['lost-update'],
    ],
    ['a set deleted whole', {}, [(rig) => rig.call('DELETE', `${setPath(rig, 'a')}?${VERSION}`)], [UNNAMED, UNNAMED, 'below-min']],
    ['a refused PUT over another writer', {}, [read, foreign(3), (rig) => scale(rig, 'a', 5, { 'if-match': '"1"' })], []],
    ['a foreign writer, whatever it does', {}, [foreign(0)], []],
  ])('%s', async (_what, { pool, left, listed = left === undefined }, steps, rules) => {
    const stock = left === undefined ? {} : { 'Standard_D4s_v5/0': left };
    const rig = await startRig(aWorld([aPool('a', pool)], { stock }), { knobs: { listFailedInstances: listed } });
    for (const step of steps) await step(rig);
    expect(rig.violations.list().map(({ rule }) => rule)).toEqual(rules);
  });
});
