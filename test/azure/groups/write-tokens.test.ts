import { describeBlock } from '../../../src/domain/group-blocks.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnWrites } from '../../../src/azure/groups/own-writes.ts';

const MINUTE = 60_000;

describe('writes to one scale set', () => {
  it('allows increases ten writes at once and then one in 15 seconds, and deletes two more', () => {
    const writes = new OwnWrites();
    for (let write = 0; write < 10; write++) {
      expect(writes.increaseHeldReason('a', 1_000)).toBeUndefined();
      writes.noteScaleSetWrite('a', 1_000);
    }
    expect(describeBlock(writes.increaseHeldReason('a', 1_000))).toMatch(/^it has used up its writes/);
    expect(writes.increaseHeldReason('b', 1_000)).toBeUndefined();
    expect(writes.deletionWaitMs('a', 1_000)).toBe(0);
    writes.noteScaleSetWrite('a', 1_000);
    writes.noteScaleSetWrite('a', 1_000);
    expect(writes.deletionWaitMs('a', 1_000)).toBe(15_000);
    expect(writes.deletionWaitMs('a', 16_000)).toBe(0);
    expect(writes.increaseHeldReason('a', 45_999)).toBeDefined();
    expect(writes.increaseHeldReason('a', 46_000)).toBeUndefined();
  });

  it('never sends more than 12 writes and 4 a minute, whatever is requested and when', () => {
    const asked = fc.record({ gapMs: fc.integer({ min: 0, max: 20_000 }), removal: fc.boolean() });
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 80 }), (all) => {
        const writes = new OwnWrites();
        const sent: number[] = [];
        let nowMs = 0;
        for (const { gapMs, removal } of all) {
          nowMs += gapMs;
          if (removal) nowMs += writes.deletionWaitMs('a', nowMs);
          else if (writes.increaseHeldReason('a', nowMs) !== undefined) continue;
          writes.noteScaleSetWrite('a', nowMs);
          sent.push(nowMs);
        }
        for (const [from, start] of sent.entries()) {
          for (const [to, end] of sent.entries()) {
            if (to >= from) expect(to - from + 1).toBeLessThanOrEqual(12 + (4 * (end - start)) / MINUTE + 1e-9);
          }
        }
      }),
      { seed: 17, numRuns: 300 },
    );
  });
});
