/** What a GET shows while a removal of ours runs is not believed yet; where it shows less, it counts as the least there is. */
import { describe, expect, it } from 'vitest';
import { NO_CONTENT } from '../../../src/cache/table/mutation.ts';
import { getSet, list, setRow, sets } from '../support.ts';

function removing(capacity: number, count: number) {
  const at = sets();
  at.table.commitList(list(at, [setRow(capacity, 'e1')]));
  const mutation = at.table.beginMutation({ kind: 'remove', key: 'pool', count });
  return { at, mutation };
}

describe('a GET while a removal runs', () => {
  it.each([
    { shows: 2, low: 2, what: 'others took one, too' },
    { shows: 0, low: 0, what: 'others took all' },
    { shows: 3, low: 3, what: 'only ours is gone' },
    { shows: 5, low: 3, what: 'the number lags behind, or others added' },
  ])('of 2 of 5 that shows $shows: at least $low are there ($what)', ({ shows, low }) => {
    const { at, mutation } = removing(5, 2);
    mutation.accepted(NO_CONTENT);
    getSet(at, shows, { etag: 'e1' });
    expect(at.table.view('pool')).toMatchObject({ base: 5, target: 3, high: 3, low, inFlight: 1 });
  });

  it('says nothing when it began before the answer to the removal', () => {
    const { at, mutation } = removing(5, 2);
    const stamp = at.order.stamp();
    mutation.accepted(NO_CONTENT);
    getSet(at, 1, { stamp, etag: 'e1' });
    expect(at.table.view('pool')).toMatchObject({ low: 3 });
  });

  it('says nothing while a raise runs beside', () => {
    const { at, mutation } = removing(5, 2);
    mutation.accepted(NO_CONTENT);
    at.table.beginMutation({ kind: 'set-target', key: 'pool', target: 8 }).accepted(NO_CONTENT);
    getSet(at, 2, { etag: 'e1' });
    expect(at.table.view('pool')).toMatchObject({ target: 8, low: 8 });
  });

  it('a list says nothing', () => {
    const { at, mutation } = removing(5, 2);
    mutation.accepted(NO_CONTENT);
    at.table.commitList(list(at, [setRow(1, 'e1')]));
    expect(at.table.view('pool')).toMatchObject({ low: 3 });
  });

  it('what is removed after it comes off, too; a refused removal does not', () => {
    const { at, mutation } = removing(9, 2);
    mutation.accepted(NO_CONTENT);
    getSet(at, 5, { etag: 'e1' });
    const second = at.table.beginMutation({ kind: 'remove', key: 'pool', count: 3 });
    expect(at.table.view('pool')).toMatchObject({ target: 4, low: 2 });
    second.settle('refused');
    expect(at.table.view('pool')).toMatchObject({ target: 7, low: 5 });
  });

  it('a later one counts instead, and a believed read ends it', () => {
    const { at, mutation } = removing(5, 2);
    mutation.accepted(NO_CONTENT);
    getSet(at, 1, { etag: 'e1' });
    getSet(at, 4, { etag: 'e1' });
    expect(at.table.view('pool')).toMatchObject({ low: 3 });
    getSet(at, 1, { etag: 'e1' });
    mutation.settle('succeeded');
    getSet(at, 4, { etag: 'e2' });
    expect(at.table.view('pool')).toMatchObject({ base: 4, target: 4, low: 4 });
  });
});
