import { describe, expect, it } from 'vitest';
import { list, LISTER, getMachine, machineRows, machines, setRow, sets } from '../support.ts';

const keysOf = (map: ReadonlyMap<string, unknown>): readonly string[] => [...map.keys()].sort();

describe('store and commit', () => {
  it('an empty table answers at once, and asks for nothing', () => {
    const at = machines();
    expect(at.table.get('a/1')).toBeUndefined();
    expect(at.table.view('a/1')).toBeUndefined();
    expect(at.table.snapshot().size).toBe(0);
    expect(at.table.listedAtMs(LISTER)).toBeUndefined();
    expect(at.wanted).toEqual([]);
  });

  it('a row missing from the next complete list is gone, counted as absent', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    const commit = at.table.commitList(list(at, machineRows('a/1')));
    expect(commit).toMatchObject({ evicted: 1, added: 0, changed: 0 });
    expect(keysOf(at.table.snapshot())).toEqual(['a/1']);
    expect(at.reports).toEqual(['evicted 1 absent']);
  });

  it('a list that broke off removes nothing and may still add', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    const commit = at.table.commitList(list(at, machineRows('a/3'), { complete: false }));
    expect(commit).toMatchObject({ evicted: 0, added: 1 });
    expect(keysOf(at.table.snapshot())).toEqual(['a/1', 'a/2', 'a/3']);
  });

  it('a list that broke off does not make the rows fresh', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1'), { complete: false }));
    expect(at.table.listedAtMs(LISTER)).toBeUndefined();
  });

  it('a list without a single page is no list', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    at.table.commitList(list(at, [], { pages: [] }));
    expect(keysOf(at.table.snapshot())).toEqual(['a/1']);
  });

  it('an empty list of 40 rows is doubted once, the second is believed', () => {
    const at = machines();
    const keys = Array.from({ length: 40 }, (_, index) => `a/${index}`);
    at.table.commitList(list(at, machineRows(...keys)));
    const listedAt = at.table.listedAtMs(LISTER);
    expect(at.table.commitList(list(at, []))).toMatchObject({ evicted: 0, listAgain: true });
    expect(at.table.snapshot().size).toBe(40);
    expect(at.table.listedAtMs(LISTER)).toBe(listedAt);
    expect(at.table.commitList(list(at, []))).toMatchObject({ evicted: 40, listAgain: false });
    expect(at.table.snapshot().size).toBe(0);
    expect(at.reports).toEqual(['doubted', 'evicted 40 absent']);
  });

  it.each([
    { rows: 5, left: 0, doubted: false },
    { rows: 6, left: 3, doubted: false },
    { rows: 6, left: 2, doubted: true },
    { rows: 10, left: 5, doubted: false },
    { rows: 10, left: 4, doubted: true },
  ])('doubts the loss of more than half of more than five rows: $rows -> $left', ({ rows, left, doubted }) => {
    const at = machines();
    const keys = Array.from({ length: rows }, (_, index) => `a/${index}`);
    at.table.commitList(list(at, machineRows(...keys)));
    expect(at.table.commitList(list(at, machineRows(...keys.slice(0, left)))).listAgain).toBe(doubted);
  });

  it('a believed list in between makes the next short one doubtful again', () => {
    const at = machines();
    const keys = Array.from({ length: 8 }, (_, index) => `a/${index}`);
    at.table.commitList(list(at, machineRows(...keys)));
    expect(at.table.commitList(list(at, [])).listAgain).toBe(true);
    expect(at.table.commitList(list(at, machineRows(...keys))).listAgain).toBe(false);
    expect(at.table.commitList(list(at, [])).listAgain).toBe(true);
    expect(at.table.snapshot().size).toBe(8);
  });

  it('does not doubt a list that lacks what we are deleting ourselves', () => {
    const at = machines();
    const keys = Array.from({ length: 8 }, (_, index) => `a/${index}`);
    at.table.commitList(list(at, machineRows(...keys)));
    at.table.beginMutation({ kind: 'remove-rows', keys: keys.slice(0, 6) });
    expect(at.table.commitList(list(at, machineRows('a/6', 'a/7')))).toMatchObject({ listAgain: false, evicted: 6 });
  });

  it('what one agent no longer lists is another agent’s to keep', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1'), { agentId: 'one' }));
    at.table.commitList(list(at, machineRows('b/1'), { agentId: 'two' }));
    at.table.commitList(list(at, [], { agentId: 'one' }));
    expect(keysOf(at.table.snapshot())).toEqual(['b/1']);
  });

  it('a list of one scope says nothing about another', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'b/1')));
    at.table.commitList(list(at, [], { scope: 'a' }));
    expect(keysOf(at.table.snapshot())).toEqual(['b/1']);
  });

  it('a partial result removes nothing', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    at.table.commitList(list(at, [], { complete: false }));
    expect(keysOf(at.table.snapshot())).toEqual(['a/1']);
  });

  it('an unchanged row is not reported, keeps its identity, and only its age moves', async () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    const { version } = at.table;
    const before = { row: at.table.get('a/1'), snapshot: at.table.snapshot(), scope: at.table.scope('a'), seen: at.table.seen('a/1') };
    at.events.length = 0;
    await at.clock.advance(60_000);
    at.table.commitList(list(at, machineRows('a/1')));
    expect(at.events).toEqual([]);
    expect(at.table.get('a/1')).toBe(before.row);
    expect(at.table.snapshot()).toBe(before.snapshot);
    expect(at.table.scope('a')).toBe(before.scope);
    expect(at.table.version).toBe(version);
    expect(at.table.seen('a/1')?.restSeq).toBeGreaterThan(before.seen?.restSeq ?? 0);
    expect(at.table.oldestAgeMs()).toBe(0);
  });

  it('of a key listed twice the later page wins, and it is counted', () => {
    const at = machines();
    const pages = ['first', 'second'].map((state) => ({
      stamp: at.order.stamp(),
      rows: [{ key: 'a/1', value: { state }, etag: undefined }],
    }));
    expect(at.table.commitList(list(at, [], { pages }))).toMatchObject({ duplicates: 1, added: 1 });
    expect(at.table.get('a/1')?.value.state).toBe('second');
    expect(at.events).toHaveLength(1);
    expect(at.reports).toEqual(['duplicates 1']);
  });

  it('a value is replaced as a whole', () => {
    const at = sets();
    at.table.commitList(list(at, [setRow(3, 'e1', 'old')]));
    at.table.commitList(list(at, [setRow(3, 'e2', '')]));
    expect(at.table.get('pool')?.value).toEqual({ capacity: 3, tag: '' });
  });

  it('rows of a scope that is gone go with it, and a list that began before cannot bring them back', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'a/2', 'b/1'), { agentId: 'one' }));
    const late = list(at, machineRows('a/1'), { agentId: 'one' });
    at.table.endScope('a');
    expect(keysOf(at.table.snapshot())).toEqual(['b/1']);
    expect(at.reports).toEqual(['evicted 2 absent']);
    at.table.commitList({ ...late, complete: false });
    expect(keysOf(at.table.snapshot())).toEqual(['b/1']);
    at.table.commitList({ ...list(at, machineRows('a/1'), { agentId: 'one' }), complete: false });
    expect(keysOf(at.table.snapshot())).toContain('a/1');
  });

  it('the reaper removes rows of agents that are no longer configured', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1'), { agentId: 'one' }));
    at.table.commitList(list(at, machineRows('b/1'), { agentId: 'two' }));
    at.table.reap(new Set(['two']));
    expect(keysOf(at.table.snapshot())).toEqual(['b/1']);
    expect(at.reports).toEqual(['evicted 1 unknown-agent']);
    expect(at.table.listedAtMs('one')).toBeUndefined();
  });

  it('a list begun before one that was committed is dropped whole', () => {
    const at = machines();
    const early = at.order.stamp();
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    expect(at.table.commitList(list(at, machineRows('a/3'), { stamp: early }))).toMatchObject({ dropped: 'older-list', added: 0 });
    expect(keysOf(at.table.snapshot())).toEqual(['a/1', 'a/2']);
  });
});

describe('snapshots and listeners', () => {
  it('replaces a snapshot and never edits it; other scopes keep theirs', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'b/1')));
    const all = at.table.snapshot();
    const other = at.table.scope('b');
    at.table.commitList(list(at, machineRows('a/1', 'a/2', 'b/1')));
    expect(keysOf(all)).toEqual(['a/1', 'b/1']);
    expect(keysOf(at.table.snapshot())).toEqual(['a/1', 'a/2', 'b/1']);
    expect(at.table.scope('b')).toBe(other);
    expect('set' in at.table.snapshot()).toBe(false);
    expect(Object.isFrozen(at.table.get('a/1'))).toBe(true);
  });

  it('moves a row to its new scope', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    expect(keysOf(at.table.scope('a'))).toEqual(['a/1']);
    at.table.observeGone('a/1', at.order.stamp());
    expect(at.table.scope('a').size).toBe(0);
  });

  it('passes old and new when all of a commit is visible, and survives a listener that throws', () => {
    const at = machines();
    const seen: number[] = [];
    at.table.subscribe(() => {
      throw new Error('bad listener');
    });
    at.table.subscribe(() => seen.push(at.table.snapshot().size));
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    expect(seen).toEqual([2, 2]);
    expect(at.events.map((event) => event.kind === 'changed' && [event.before?.key, event.after?.key])).toEqual([
      [undefined, 'a/1'],
      [undefined, 'a/2'],
    ]);
    expect(at.reports).toEqual(['threw listener: Unexpected failure: bad listener', 'threw listener: Unexpected failure: bad listener']);
  });

  it('a listener may observe in turn', () => {
    const at = machines();
    at.table.subscribe((event) => {
      if (event.key === 'a/1') getMachine(at, 'a/2');
    });
    at.table.commitList(list(at, machineRows('a/1')));
    expect(keysOf(at.table.snapshot())).toEqual(['a/1', 'a/2']);
    expect(at.events.map((event) => event.key)).toEqual(['a/1', 'a/2']);
  });
});

describe('order of reads', () => {
  it('refuses a read begun before the one the row shows', () => {
    const at = sets();
    const early = at.order.stamp();
    at.table.commitList(list(at, [setRow(5, 'e2')]));
    const outcome = at.table.observe({ ...setRow(4, 'e1'), stamp: early, via: 'get', agentId: LISTER });
    expect(outcome).toEqual({
      changed: false,
      rejected: [
        { group: 'rest', reason: 'older-than-row' },
        { group: 'fenced', reason: 'older-than-row' },
      ],
    });
    expect(at.table.get('pool')).toMatchObject({ value: { capacity: 5 }, etag: 'e2' });
    expect(at.reports).toEqual(['rejected older-than-row']);
  });

  it('a row learned after a list began is not missing from it', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    const stamp = at.order.stamp();
    getMachine(at, 'a/2');
    at.table.commitList(list(at, machineRows('a/1'), { stamp }));
    expect(keysOf(at.table.snapshot())).toEqual(['a/1', 'a/2']);
  });

  it('a 404 stands against every read begun before it, also of a row never seen', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1')));
    const stamp = at.order.stamp();
    at.table.observeGone('a/1', at.order.stamp());
    at.table.observeGone('a/9', at.order.stamp());
    at.table.commitList(list(at, machineRows('a/1', 'a/9'), { stamp }));
    expect(at.table.snapshot().size).toBe(0);
    expect(at.reports).toEqual(['evicted 1 not-found', 'rejected resurrection', 'rejected resurrection']);
    at.table.commitList(list(at, machineRows('a/1')));
    expect(keysOf(at.table.snapshot())).toEqual(['a/1']);
  });

  it('a 404 begun before the row was read is refused', () => {
    const at = machines();
    const early = at.order.stamp();
    getMachine(at, 'a/1');
    expect(at.table.observeGone('a/1', early).rejected).toEqual([{ group: 'existence', reason: 'older-than-row' }]);
    expect(at.table.snapshot().size).toBe(1);
  });

  it('remembers an ended row until a later list left it out again, then forgets', async () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    const old = at.order.stamp();
    at.table.commitList(list(at, machineRows('a/1')));
    await at.clock.advance(200_000);
    at.table.reap();
    expect(getMachine(at, 'a/2', old).rejected).toEqual([{ group: 'existence', reason: 'resurrection' }]);
    at.table.commitList(list(at, machineRows('a/1')));
    at.table.reap();
    expect(getMachine(at, 'a/2', old).changed).toBe(true);
  });

  it('a foreign change is accepted and reported', () => {
    const at = sets();
    at.table.commitList(list(at, [setRow(5, 'e1')]));
    at.table.commitList(list(at, [setRow(9, 'e2')]));
    expect(at.table.view('pool')).toMatchObject({ base: 9, target: 9, confirmed: true });
    expect(at.events.filter((event) => event.kind === 'external-change')).toEqual([
      { kind: 'external-change', key: 'pool', from: 5, to: 9 },
    ]);
  });
});

describe('age', () => {
  it('counts from the start of the read', async () => {
    const at = machines();
    const stamp = at.order.stamp();
    await at.clock.advance(7000);
    at.table.commitList(list(at, machineRows('a/1'), { stamp }));
    expect(at.table.oldestAgeMs()).toBe(7000);
    expect(at.table.listedAtMs(LISTER)).toBe(stamp.atMs);
  });

  it('invalidate drops trust in ages and no row; a read already under way does not restore it', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'b/1')));
    const underWay = at.order.stamp();
    at.table.invalidate({ scope: 'a' });
    expect(at.table.oldestAgeMs('a')).toBe(Number.POSITIVE_INFINITY);
    expect(at.table.oldestAgeMs('b')).toBe(0);
    expect(at.table.listedAtMs(LISTER)).toBe(Number.NEGATIVE_INFINITY);
    at.table.commitList(list(at, machineRows('a/1', 'b/1'), { stamp: underWay }));
    expect(at.table.oldestAgeMs('a')).toBe(Number.POSITIVE_INFINITY);
    expect(at.table.listedAtMs(LISTER)).toBe(Number.NEGATIVE_INFINITY);
    at.table.commitList(list(at, machineRows('a/1', 'b/1')));
    expect(at.table.oldestAgeMs('a')).toBe(0);
    expect(at.table.snapshot().size).toBe(2);
  });

  it('invalidate of one key leaves its neighbours alone', () => {
    const at = machines();
    at.table.commitList(list(at, machineRows('a/1', 'a/2')));
    at.table.invalidate({ key: 'a/1' });
    expect(at.table.seen('a/1')?.atMs).toBe(Number.NEGATIVE_INFINITY);
    expect(at.table.seen('a/2')?.atMs).toBe(1_000_000);
  });
});
