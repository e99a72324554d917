import { describe, expect, it } from 'vitest';
import { mayBeListed, ListTiming, type AwaitedInstances } from '../../../src/azure/inventory/list-timing.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Looks every second for `forMs` and lists whenever that is due; returns the seconds of the lists. */
function watch(
  settling: ListTiming,
  forMs: number,
  awaited: (nowMs: number) => Pick<AwaitedInstances, 'creating' | 'missing'>,
): readonly number[] {
  const lists: number[] = [];
  let listedAtMs = -4 * MINUTE;
  for (let nowMs = 0; nowMs <= forMs; nowMs += SECOND) {
    if (!settling.isListDue('g', { nowMs, listedAtMs, ...awaited(nowMs) })) continue;
    listedAtMs = nowMs;
    lists.push(nowMs / SECOND);
  }
  return lists;
}

const NONE = { creating: 0, missing: 0 };

describe('lists while a group settles', () => {
  it('come 20, 45, 105, 165 ... seconds after the growth while machines are missing, for twenty minutes', () => {
    const settling = new ListTiming();
    settling.noteIncrease('g', 0);
    const lists = watch(settling, 60 * MINUTE, () => ({ creating: 0, missing: 2 }));
    expect(lists.slice(0, 5)).toEqual([20, 45, 105, 165, 225]);
    expect(lists.at(-1)).toBeLessThanOrEqual(20 * 60);
  });

  it('stop when all are there, and nothing is due for a group that did not grow', () => {
    const settling = new ListTiming();
    settling.noteIncrease('g', 0);
    expect(watch(settling, 5 * MINUTE, (nowMs) => (nowMs < 50 * SECOND ? { creating: 1, missing: 0 } : NONE))).toEqual([20, 45]);
    expect(watch(new ListTiming(), 5 * MINUTE, () => ({ creating: 0, missing: 3 }))).toEqual([]);
  });

  it('do not wait for machines that a failed growth left out', () => {
    const settling = new ListTiming();
    settling.noteIncrease('g', 0);
    settling.noteIncreaseEnd('g');
    expect(watch(settling, 10 * MINUTE, () => ({ creating: 0, missing: 2 }))).toEqual([]);
  });

  it('follow instances that another writer creates, and give up on one that never settles', () => {
    const lists = watch(new ListTiming(), 60 * MINUTE, () => ({ creating: 1, missing: 0 }));
    expect(lists.slice(0, 3)).toEqual([20, 45, 105]);
    expect(lists.at(-1)).toBeLessThanOrEqual(20 * 60 + 1);
  });

  it('a late list counts for the mark it passed, not for the next', () => {
    const settling = new ListTiming();
    settling.noteIncrease('g', 0);
    const due = (nowMs: number, listedAtMs: number): boolean => settling.isListDue('g', { nowMs, listedAtMs, creating: 1, missing: 0 });
    expect(due(50 * SECOND, 44 * SECOND)).toBe(true);
    expect(due(104 * SECOND, 46 * SECOND)).toBe(false);
    expect(due(105 * SECOND, 46 * SECOND)).toBe(true);
    expect(due(600 * SECOND, 590 * SECOND)).toBe(false);
  });
});

describe('an operation found at the start', () => {
  const seen = { updating: true, listedAtMs: 0, nowMs: MINUTE };

  it('holds until the set was read in another state and its machines were listed after that', () => {
    const settling = new ListTiming();
    settling.noteInherited('g', 0);
    expect(settling.isInherited('g', seen)).toBe(true);
    expect(settling.isInherited('g', { ...seen, updating: false })).toBe(true);
    expect(settling.awaitsProof('g')).toBe(true);
    expect(settling.isInherited('g', { updating: false, listedAtMs: MINUTE - 1, nowMs: 2 * MINUTE })).toBe(true);
    expect(settling.isInherited('g', { updating: false, listedAtMs: MINUTE, nowMs: 2 * MINUTE })).toBe(false);
    expect(settling.isInherited('g', seen)).toBe(false);
  });

  it('that goes on after a pause is still running', () => {
    const settling = new ListTiming();
    settling.noteInherited('g', 0);
    expect(settling.isInherited('g', { ...seen, updating: false })).toBe(true);
    expect(settling.isInherited('g', { ...seen, listedAtMs: 2 * MINUTE, nowMs: 3 * MINUTE })).toBe(true);
    expect(settling.awaitsProof('g')).toBe(false);
  });

  it('holds for ten minutes at most, and no other group', () => {
    const settling = new ListTiming();
    settling.noteInherited('g', 0);
    expect(settling.isInherited('other', seen)).toBe(false);
    expect(settling.isInherited('g', { ...seen, nowMs: 10 * MINUTE - 1 })).toBe(true);
    expect(settling.isInherited('g', { ...seen, nowMs: 10 * MINUTE })).toBe(false);
  });
});

describe('a node without a listed machine', () => {
  it.each([
    { name: 'joined after the list', createdAtMs: 100_001, listable: true },
    { name: 'joined just before, as far as clocks agree', createdAtMs: 97_000, listable: true },
    { name: 'was there long before the list', createdAtMs: 90_000, listable: false },
  ])('$name: $listable', ({ createdAtMs, listable }) => {
    expect(mayBeListed({ createdAtMs }, 100_000)).toBe(listable);
  });
});
