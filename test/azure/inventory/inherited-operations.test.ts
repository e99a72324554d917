import { describe, expect, it } from 'vitest';
import { InheritedOperations } from '../../../src/azure/inventory/inherited-operations.ts';

const MINUTE = 60_000;

describe('an operation found at the start', () => {
  const seen = { updating: true, listedAtMs: 0, nowMs: MINUTE };

  it('holds until the set was read in another state and its machines were listed after that', () => {
    const operations = new InheritedOperations();
    operations.note('g', 0);
    expect(operations.mayGoOn('g', seen)).toBe(true);
    expect(operations.mayGoOn('g', { ...seen, updating: false })).toBe(true);
    expect(operations.awaitsProof('g')).toBe(true);
    expect(operations.mayGoOn('g', { updating: false, listedAtMs: MINUTE - 1, nowMs: 2 * MINUTE })).toBe(true);
    expect(operations.mayGoOn('g', { updating: false, listedAtMs: MINUTE, nowMs: 2 * MINUTE })).toBe(false);
    expect(operations.mayGoOn('g', seen)).toBe(false);
  });

  it('that goes on after a pause is still running', () => {
    const operations = new InheritedOperations();
    operations.note('g', 0);
    expect(operations.mayGoOn('g', { ...seen, updating: false })).toBe(true);
    expect(operations.mayGoOn('g', { ...seen, listedAtMs: 2 * MINUTE, nowMs: 3 * MINUTE })).toBe(true);
    expect(operations.awaitsProof('g')).toBe(false);
  });

  it('holds for ten minutes at most, and no other group', () => {
    const operations = new InheritedOperations();
    operations.note('g', 0);
    expect(operations.mayGoOn('other', seen)).toBe(false);
    expect(operations.mayGoOn('g', { ...seen, nowMs: 10 * MINUTE - 1 })).toBe(true);
    expect(operations.mayGoOn('g', { ...seen, nowMs: 10 * MINUTE })).toBe(false);
  });
});
