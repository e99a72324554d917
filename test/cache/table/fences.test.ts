import { describe, expect, it } from 'vitest';
import { NO_CONTENT } from '../../../src/cache/table/mutation.ts';
import { getMachine, getSet, list, LISTER, machineRows, machines, setRow, sets } from '../support.ts';

function poolOf(capacity: number, etag?: string) {
  const at = sets();
  at.table.commitList(list(at, [setRow(capacity, etag)]));
  at.events.length = 0;
  return at;
}

function setOf(...keys: readonly string[]) {
  const at = machines();
  at.table.commitList(list(at, machineRows(...keys)));
  at.events.length = 0;
  return at;
}

const listed = (at: ReturnType<typeof sets>, capacity: number, etag?: string) => at.table.commitList(list(at, [setRow(capacity, etag)]));

describe('a change of the number', () => {
  it('is seen at once, and the base is not touched', () => {
    const at = poolOf(5);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 8, low: 8, high: 8, confirmed: true, inFlight: 1 });
    expect(at.table.get('pool')?.value.capacity).toBe(5);
  });

  it('a refused list is counted with its reason, and the fence is shown with its age', async () => {
    const at = poolOf(5);
    const stamp = at.order.stamp();
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    at.table.commitList(list(at, [setRow(5)], { stamp }));
    await at.clock.advance(4000);
    expect(at.reports).toEqual(['rejected before-fence']);
    expect(at.table.fences()).toEqual([
      { key: 'pool', group: 'fenced', inFlight: 1, ageMs: 4000, minSeq: mutation.seq, expect: undefined, graceUntilMs: 0 },
    ]);
  });

  it('lets the rest of a row through while the number is fenced', () => {
    const at = poolOf(5, 'e1');
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    const outcome = getSet(at, 6, { tag: 'updating', etag: 'e2' });
    expect(outcome).toEqual({ changed: true, rejected: [{ group: 'fenced', reason: 'in-flight' }] });
    expect(at.table.get('pool')).toMatchObject({ value: { capacity: 5, tag: 'updating' }, etag: 'e1' });
  });

  it('stays laid over after success until a newer read confirms it', () => {
    const at = poolOf(5);
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    mutation.accepted({ ...NO_CONTENT, etag: 'e2' });
    const early = at.order.stamp();
    expect(mutation.settle('succeeded')).toBe(true);
    expect(at.wanted).toEqual(['pool']);
    expect(getSet(at, 5, { stamp: early }).rejected).toEqual([{ group: 'fenced', reason: 'before-fence' }]);
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 8 });
    getSet(at, 8, { etag: 'e3' });
    expect(at.table.view('pool')).toMatchObject({ base: 8, target: 8, inFlight: 0, confirmed: true });
    expect(at.table.fences()).toEqual([]);
    expect(at.table.get('pool')?.etag).toBe('e3');
  });

  it('a list that denies a success is refused within the grace time and a GET is asked for; later it is believed', async () => {
    const at = poolOf(5);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).settle('succeeded');
    at.wanted.length = 0;
    listed(at, 5);
    expect(at.reports).toEqual(['rejected contradicts-expectation']);
    expect(at.wanted).toEqual(['pool']);
    expect(at.table.view('pool')?.target).toBe(8);
    await at.clock.advance(120_000);
    listed(at, 5);
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 5 });
    expect(at.events.filter((event) => event.kind === 'not-applied')).toEqual([
      { kind: 'not-applied', key: 'pool', expected: 8, actual: 5 },
    ]);
  });

  it('a GET that says 5 as well is believed, and the scale-up is reported as not applied', () => {
    const at = poolOf(5);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).settle('succeeded');
    listed(at, 5);
    getSet(at, 5);
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 5, confirmed: true });
    expect(at.events.filter((event) => event.kind === 'not-applied')).toEqual([
      { kind: 'not-applied', key: 'pool', expected: 8, actual: 5 },
    ]);
  });

  it('a refusal leaves no trace on the target, but the row is unconfirmed until a GET', () => {
    const at = poolOf(5, 'e1');
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    mutation.settle('refused');
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 5, low: 5, high: 5, confirmed: false });
    expect(at.wanted).toEqual(['pool']);
    getSet(at, 7, { etag: 'e2' });
    expect(at.table.view('pool')).toMatchObject({ base: 7, target: 7, confirmed: true });
    expect(at.table.get('pool')?.etag).toBe('e2');
  });

  it.each([
    { outcome: 'failed', op: { kind: 'set-target', key: 'pool', target: 8 }, low: 5, high: 8 },
    { outcome: 'unknown', op: { kind: 'set-target', key: 'pool', target: 8 }, low: 5, high: 8 },
    { outcome: 'failed', op: { kind: 'remove', key: 'pool', count: 2 }, low: 3, high: 5 },
  ] as const)('after $outcome $op.kind the number is a range until a read', ({ outcome, op, low, high }) => {
    const at = poolOf(5);
    at.table.beginMutation(op).settle(outcome);
    expect(at.table.view('pool')).toMatchObject({ low, high, target: high, confirmed: false });
    listed(at, 4);
    expect(at.table.view('pool')).toMatchObject({ low: 4, high: 4, target: 4, confirmed: true });
  });

  it('sizes are judged with what is in flight: of 4, two are being removed', () => {
    const at = poolOf(4);
    at.table.beginMutation({ kind: 'remove', key: 'pool', count: 1 });
    expect(at.table.view('pool')?.low).toBe(3);
    at.table.beginMutation({ kind: 'remove', key: 'pool', count: 1 });
    expect(at.table.view('pool')?.low).toBe(2);
  });

  it('after a lost delete the size is neither below 0 nor below the last GET, and unconfirmed', async () => {
    const at = poolOf(1);
    at.table.beginMutation({ kind: 'remove', key: 'pool', count: 3 }).settle('unknown');
    expect(at.table.view('pool')).toMatchObject({ low: 0, target: 1, confirmed: false });
    await at.clock.advance(3_600_000);
    expect(at.table.view('pool')).toMatchObject({ target: 1, confirmed: false });
  });

  it('a success that was not read back within 30 s is unconfirmed', async () => {
    const at = poolOf(5);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).settle('succeeded');
    await at.clock.advance(30_000);
    expect(at.table.view('pool')?.confirmed).toBe(true);
    await at.clock.advance(1);
    expect(at.table.view('pool')).toMatchObject({ target: 8, confirmed: false });
  });

  it('an increase that adds to what is there comes on top of removals that Azure does not show yet', () => {
    const at = poolOf(6);
    const shrink = at.table.beginMutation({ kind: 'remove', key: 'pool', count: 2 });
    shrink.accepted(NO_CONTENT);
    const grow = at.table.beginMutation({ kind: 'add', key: 'pool', count: 1 });
    grow.accepted(NO_CONTENT);
    expect(at.table.view('pool')).toMatchObject({ base: 6, target: 5, low: 5, high: 5, inFlight: 2 });
    expect(getSet(at, 7).rejected).toEqual([{ group: 'fenced', reason: 'in-flight' }]);
    shrink.settle('succeeded');
    grow.settle('unknown');
    expect(at.table.view('pool')).toMatchObject({ target: 5, low: 4, high: 5, confirmed: false });
    getSet(at, 5);
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 5, confirmed: true });
  });

  it('overlapping changes apply in order, and the fence opens when all are settled and read', () => {
    const at = poolOf(5);
    const grow = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 9 });
    const shrink = at.table.beginMutation({ kind: 'remove', key: 'pool', count: 2 });
    expect(at.table.view('pool')).toMatchObject({ target: 7, inFlight: 2 });
    grow.settle('succeeded');
    expect(getSet(at, 9).rejected).toEqual([{ group: 'fenced', reason: 'in-flight' }]);
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 7, inFlight: 1 });
    shrink.settle('succeeded');
    listed(at, 7);
    expect(at.table.view('pool')).toMatchObject({ base: 7, target: 7, inFlight: 0 });
  });

  it('settles once: what comes later changes nothing', () => {
    const at = poolOf(5);
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    expect(mutation.settle('refused')).toBe(true);
    mutation.accepted({ ...NO_CONTENT, etag: 'late', expect: 99 });
    expect(mutation.settle('succeeded')).toBe(false);
    expect(at.table.view('pool')?.target).toBe(5);
  });

  it('takes the number that the answer announced', () => {
    const at = poolOf(5);
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    mutation.accepted({ ...NO_CONTENT, expect: 7 });
    expect(at.table.view('pool')?.target).toBe(7);
  });

  it('gives a change up as lost after half an hour', async () => {
    const at = poolOf(5);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    await at.clock.advance(30 * 60_000);
    at.table.reap();
    expect(at.table.view('pool')?.inFlight).toBe(1);
    await at.clock.advance(1);
    at.table.reap();
    expect(at.reports).toEqual(['lost pool']);
    expect(at.table.view('pool')).toMatchObject({ inFlight: 0, confirmed: false, low: 5, high: 8 });
  });

  it('drops the fence of a set that is gone', async () => {
    const at = poolOf(5);
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    at.table.observeGone('pool', at.order.stamp());
    mutation.settle('failed');
    await at.clock.advance(120_000);
    at.table.reap();
    expect(at.table.view('pool')).toBeUndefined();
    expect(at.table.fences()).toEqual([]);
  });
});

describe('entity tags', () => {
  it('the tag of the answer is adopted at once; an answer without one makes the old tag untrue', () => {
    const at = poolOf(5, 'e1');
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).accepted({ ...NO_CONTENT, etag: 'e2' });
    expect(at.table.get('pool')?.etag).toBe('e2');
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 9 }).accepted(NO_CONTENT);
    expect(at.table.get('pool')?.etag).toBeUndefined();
  });

  it('an answer to an earlier change does not replace the tag of a later one', () => {
    const at = poolOf(5, 'e1');
    const first = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    const second = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 9 });
    second.accepted({ ...NO_CONTENT, etag: 'e3' });
    first.accepted({ ...NO_CONTENT, etag: 'e2' });
    expect(at.table.get('pool')?.etag).toBe('e3');
  });

  it('adopts the tag of the ended operation only with the number we expect', () => {
    for (const [amount, etag] of [
      [8, 'e3'],
      [11, 'e2'],
    ] as const) {
      const at = poolOf(5, 'e1');
      const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
      mutation.accepted({ ...NO_CONTENT, etag: 'e2' });
      mutation.settle('succeeded', { etag: 'e3', amount });
      expect(at.table.get('pool')?.etag).toBe(etag);
    }
  });

  it('a list that still carries the tag from before our change is stale, though it shows the number', () => {
    const at = poolOf(8, 'e1');
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    mutation.accepted({ ...NO_CONTENT, etag: 'e2' });
    mutation.settle('succeeded');
    listed(at, 8, 'e1');
    expect(at.reports).toEqual(['rejected stale-etag']);
    expect(at.table.get('pool')?.etag).toBe('e2');
  });

  it('a changed value without a tag leaves none, an unchanged one keeps it', () => {
    const at = poolOf(5, 'e1');
    listed(at, 5);
    expect(at.table.get('pool')?.etag).toBe('e1');
    listed(at, 6);
    expect(at.table.get('pool')?.etag).toBeUndefined();
  });

  it('a new tag on an old value is a change that listeners hear', () => {
    const at = poolOf(5, 'e1');
    listed(at, 5, 'e2');
    expect(at.events).toHaveLength(1);
    expect(at.events[0]).toMatchObject({ kind: 'changed', before: { etag: 'e1' }, after: { etag: 'e2' } });
  });
});

describe('a second writer while our operation is still running', () => {
  it('after an answer that showed the change, a GET with a new tag is believed and planned from', () => {
    const at = poolOf(5, 'e1');
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    mutation.accepted({ ...NO_CONTENT, etag: 'e2', modelled: true });
    expect(getSet(at, 9, { etag: 'e3' }).rejected).toEqual([]);
    expect(at.table.view('pool')).toMatchObject({ base: 9, target: 9, inFlight: 1 });
    expect(at.table.get('pool')?.etag).toBe('e3');
    expect(at.events.filter((event) => event.kind === 'external-change')).toEqual([
      { kind: 'external-change', key: 'pool', from: 8, to: 9 },
    ]);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 11 });
    expect(at.table.view('pool')?.target).toBe(11);
    mutation.settle('succeeded');
    expect(at.table.view('pool')).toMatchObject({ base: 9, target: 11, inFlight: 1 });
  });

  it.each([
    { name: 'a list', via: 'list', etag: 'e3', modelled: true },
    { name: 'the tag from before', via: 'get', etag: 'e1', modelled: true },
    { name: 'no tag', via: 'get', etag: undefined, modelled: true },
    { name: 'an answer that did not show it', via: 'get', etag: 'e3', modelled: false },
  ] as const)('is not believed from $name', ({ via, etag, modelled }) => {
    const at = poolOf(5, 'e1');
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).accepted({ ...NO_CONTENT, etag: 'e2', modelled });
    at.table.observe({ ...setRow(9, etag), stamp: at.order.stamp(), via, agentId: LISTER });
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 8 });
  });

  it('is not believed when the GET began before the answer', () => {
    const at = poolOf(5, 'e1');
    const mutation = at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 });
    const stamp = at.order.stamp();
    mutation.accepted({ ...NO_CONTENT, etag: 'e2', modelled: true });
    getSet(at, 9, { stamp, etag: 'e3' });
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 8 });
  });

  it('a GET that says exactly what we expect brings its tag along', () => {
    const at = poolOf(8, 'e1');
    at.table.beginMutation({ kind: 'remove', key: 'pool', count: 2 }).accepted(NO_CONTENT);
    getSet(at, 6, { etag: 'e2' });
    expect(at.table.view('pool')).toMatchObject({ base: 6, target: 6, inFlight: 1 });
    expect(at.table.get('pool')?.etag).toBe('e2');
  });
});

describe('existence', () => {
  it('a machine being deleted is shown as such, and a list begun before cannot bring it back', () => {
    const at = setOf('a/1', 'a/2');
    const stamp = at.order.stamp();
    const mutation = at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] });
    expect(at.table.removalOf('a/1')).toBe('under-way');
    expect(at.table.view('a/1')).toMatchObject({ removal: 'under-way', inFlight: 1 });
    mutation.settle('succeeded');
    at.table.observeGone('a/1', at.order.stamp());
    at.table.commitList(list(at, machineRows('a/1', 'a/2'), { stamp }));
    expect([...at.table.snapshot().keys()]).toEqual(['a/2']);
    expect(at.reports).toContain('rejected resurrection');
    expect(at.table.fences()).toEqual([]);
  });

  it('within the grace time a read that shows it is kept as deleting; after that it lives again', async () => {
    const at = setOf('a/1');
    at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] }).settle('succeeded');
    getMachine(at, 'a/1');
    expect(at.table.removalOf('a/1')).toBe('under-way');
    await at.clock.advance(120_000);
    getMachine(at, 'a/1');
    expect(at.table.removalOf('a/1')).toBe('none');
    expect(at.events.filter((event) => event.kind === 'not-applied')).toEqual([
      { kind: 'not-applied', key: 'a/1', expected: 'gone', actual: 'present' },
    ]);
  });

  it('an ended machine that is listed again within the grace time comes back as deleting', () => {
    const at = setOf('a/1');
    const mutation = at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] });
    at.table.commitList(list(at, []));
    expect(at.table.get('a/1')).toBeUndefined();
    expect(getMachine(at, 'a/1').rejected).toEqual([{ group: 'existence', reason: 'in-flight' }]);
    mutation.settle('succeeded');
    at.wanted.length = 0;
    at.table.commitList(list(at, machineRows('a/1')));
    expect(at.table.view('a/1')?.removal).toBe('under-way');
    expect(at.wanted).toEqual(['a/1']);
  });

  it('the next read decides after a failed or lost delete', () => {
    for (const outcome of ['failed', 'unknown'] as const) {
      const at = setOf('a/1');
      at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] }).settle(outcome);
      expect(at.table.view('a/1')).toMatchObject({ removal: 'unconfirmed', confirmed: false });
      at.table.commitList(list(at, machineRows('a/1')));
      expect(at.table.view('a/1')).toMatchObject({ removal: 'none', confirmed: true });
    }
  });

  it('a read begun before a failed delete ended does not show its result', () => {
    const at = setOf('a/1');
    const mutation = at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] });
    const early = at.order.stamp();
    mutation.settle('failed');
    expect(getMachine(at, 'a/1', early).rejected).toEqual([{ group: 'existence', reason: 'before-fence' }]);
    expect(at.table.observeGone('a/1', early).rejected).toEqual([{ group: 'existence', reason: 'before-fence' }]);
    expect(at.table.removalOf('a/1')).toBe('unconfirmed');
  });

  it('a refused delete is no removal', () => {
    const at = setOf('a/1');
    at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1'] }).settle('refused');
    expect(at.table.removalOf('a/1')).toBe('none');
  });

  it('every row that a settled change touched is asked for', () => {
    const at = setOf('a/1', 'a/2', 'a/3');
    at.table.beginMutation({ kind: 'remove-rows', keys: ['a/1', 'a/3'] }).settle('failed');
    expect(at.wanted).toEqual(['a/1', 'a/3']);
  });
});
