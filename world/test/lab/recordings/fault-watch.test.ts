/** What went wrong in a cluster, as lines of a recording. Times are seconds after the start. */
import { describe, expect, it } from 'vitest';
import { NameHasher } from '../../../lab/recordings/name-hasher.ts';
import { at, Session } from './observations.ts';

/** A zonal pool with a node in each of two zones. */
function zonal(options: ConstructorParameters<typeof Session>[0] = {}): Session {
  return new Session(options).node('a', { zone: 'westeurope-1' }).node('b', { zone: 'westeurope-2' }).begin();
}

const LACK = 'stock of Standard_D4s_v5 anywhere Regular';

describe('a lack of stock', () => {
  it('lasts five minutes from a single refusal: what Azure has is not known later', () => {
    expect(zonal().pass(100).refuse().pass(4_000).end().events()).toEqual([`100 ${LACK}: 0`, `400 ${LACK}: null`]);
  });

  it('lasts through repeated refusals without a new node, until five minutes after the last', () => {
    const session = zonal().pass(100).refuse().refuse().pass(1_000).refuse().pass(3_000).refuse().pass(9_000);
    expect(session.events()).toEqual([`100 ${LACK}: 0`, `3300 ${LACK}: null`]);
    expect(session.recorder.counts.refusals).toBe(3);
  });

  it('ends with the next node of its size', () => {
    const session = zonal().pass(100).refuse().pass(300).node('c').pass(500).refuse().pass(5_000).end();
    expect(session.events()).toEqual([`100 ${LACK}: 0`, `300 ${LACK}: null`, `500 ${LACK}: 0`, `800 ${LACK}: null`]);
  });

  it.each([
    { what: 'was asked for before the refusal', seconds: 250, more: {} },
    { what: 'has another size', seconds: 300, more: { pool: 'large', vmSize: 'Standard_D8s_v5' } },
    { what: 'is a Spot VM', seconds: 300, more: { pool: 'spot', isSpot: true } },
  ])('does not end with a node that $what', ({ seconds, more }) => {
    const session = zonal().pass(100).refuse().pass(seconds).node('c', more).pass(4_000).end();
    expect(session.events().filter((line) => line.includes('stock'))).toEqual([`100 ${LACK}: 0`, `400 ${LACK}: null`]);
  });

  it('is of the zone that is named, and does not end with a node of another one', () => {
    const lack = 'stock of Standard_D4s_v5 westeurope-1 Regular';
    const session = zonal().pass(100).refuse({ zone: 'westeurope-1', code: 'ZonalAllocationFailed' });
    session.pass(300).node('c', { zone: 'westeurope-2' }).pass(4_000).end();
    expect(session.events()).toEqual([`100 ${lack}: 0`, `400 ${lack}: null`]);
    expect(session.lines).toContainEqual(expect.objectContaining({ kind: 'stock', code: 'ZonalAllocationFailed' }));
  });

  it('is of the only zone of a pool', () => {
    const session = new Session().node('a', { zone: 'westeurope-3' }).begin().pass(100).refuse().end();
    expect(session.events()[0]).toBe('100 stock of Standard_D4s_v5 westeurope-3 Regular: 0');
  });

  it('of two pools of one size is one', () => {
    const session = new Session().node('a').node('b', { pool: 'other' }).begin();
    session.pass(100).refuse().pass(200).refuse({ pool: 'other' }).pass(4_000);
    expect(session.events()).toEqual([`100 ${LACK}: 0`, `500 ${LACK}: null`]);
  });

  it('ends with the recording, and has hashed pools', () => {
    const session = zonal({ hasher: new NameHasher('salt') })
      .pass(100)
      .refuse()
      .refuse({ why: 'quota' })
      .pass(120)
      .end();
    expect(session.events()).toEqual([
      `100 ${LACK}: 0`,
      `120 ${LACK}: null`,
      expect.stringMatching(/^100 h\w{11} refused by quota for 20$/),
    ]);
  });
});

describe('other failures', () => {
  it('a quota and throttling refuse the pool', () => {
    const session = zonal().pass(60).refuse({ why: 'quota' }).refuse({ why: 'throttled' }).pass(4_000);
    expect(session.events()).toEqual(['60 general refused by quota for 300', '60 general refused by throttled for 300']);
  });

  it('nodes that never came are failures of new VMs', () => {
    const session = zonal().pass(60).refuse({ why: 'no-node', count: 2 }).end();
    expect(session.events()).toEqual(['60 general no-node 2']);
  });

  it('of before the start do not count', () => {
    expect(
      zonal()
        .refuse({ atMs: at(-10) })
        .end()
        .events(),
    ).toEqual([]);
  });

  it('of pools that nothing shows are named as missing, without their names', () => {
    const session = zonal().pass(60).refuse({ pool: 'secret' }).end();
    expect(session.lines.filter(({ kind }) => kind === 'note')).toEqual([
      { kind: 'note', text: 'A pool had no node, and Azure was not read: their refusals are not recorded.' },
    ]);
  });
});

describe('a node that is not ready', () => {
  const out = { notReadySinceMs: at(100) };
  it.each([
    {
      what: 'and is ready again',
      story: (session: Session) => session.node('a', out).pass(400).node('a').take(),
      expected: ['100 general not ready for 300'],
    },
    {
      what: 'until it is gone',
      story: (session: Session) => {
        session
          .node('a', out)
          .pass(400)
          .node('a', { ...out, isLeaving: true });
        session.recorder.forgetNode('a', at(400));
        return session.take();
      },
      expected: ['100 general not ready for ever'],
    },
    {
      what: 'at the end',
      story: (session: Session) => session.node('a', out).pass(300).end(),
      expected: ['100 general not ready for 200'],
    },
    {
      what: 'since its removal began',
      story: (session: Session) => {
        session.node('a', { ...out, isLeaving: true });
        session.recorder.forgetNode('a', at(130));
        return session.take();
      },
      expected: [],
    },
    { what: 'while it starts', story: (session: Session) => session.node('c', out).pass(300).node('c').end(), expected: [] },
    {
      what: 'because Azure evicts it: that is an eviction alone',
      story: (session: Session) => {
        session
          .node('s', { pool: 'spot', isSpot: true })
          .pass(110)
          .node('s', { pool: 'spot', isSpot: true, notReadySinceMs: at(110) });
        session.recorder.forgetNode('s', at(150));
        return session.take();
      },
      expected: ['150 spot lost 1'],
    },
  ])('$what', ({ story, expected }) => {
    const session = new Session().node('a').begin().pass(110);
    expect(
      story(session)
        .events()
        .filter((line) => !line.includes('stock')),
    ).toEqual(expected);
  });
});

describe('limits of pools', () => {
  const pools = (session: Session) =>
    session.lines.flatMap((line) => (line.kind === 'start-pool' || line.kind === 'pool' ? [line.pool] : []));

  it('are those that an autoscaler publishes, and change with them', () => {
    const session = new Session().node('a');
    session.recorder.setLimits([{ pool: 'general', min: 1, max: 5 }], at(0));
    session.begin().pass(60);
    session.recorder.setLimits([{ pool: 'general', min: 1, max: 5 }], at(60));
    session.recorder.setLimits([{ pool: 'general', min: 2, max: 9 }], at(60));
    session.end();
    expect(pools(session).map(({ min, max, limitsUnknown }) => [min, max, limitsUnknown])).toEqual([
      [1, 5, undefined],
      [2, 9, undefined],
    ]);
    expect(session.recorder.poolsWithoutLimits).toEqual([]);
  });

  it('are marked as unknown if nothing says them', () => {
    const session = new Session().node('a').begin();
    expect(pools(session)).toMatchObject([{ min: 0, max: 1_000, limitsUnknown: true }]);
    expect(session.recorder.poolsWithoutLimits).toEqual(['general']);
  });

  it('are those of Azure if it is read', () => {
    const session = new Session().node('a');
    session.recorder.setPools([{ name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 3, max: 4 }], at(0));
    session.recorder.setLimits([{ pool: 'general', min: 1, max: 5 }], at(0));
    expect(pools(session.begin())).toMatchObject([{ min: 3, max: 4 }]);
  });
});
