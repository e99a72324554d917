import { describe, expect, it } from 'vitest';
import { singleReadsPerInstanceList, singleReadsPerVmList } from '../../../src/azure/inventory/read-prices.ts';

describe('one list costs as much as', () => {
  // A list is one of 1,080 and n of 30,000 views, a single read one of 6,000.
  it.each([
    [0, 5],
    [1, 5],
    [27, 5],
    [30, 6],
    [50, 10],
    [100, 20],
    [1_000, 200],
  ])('%i instances listed: %i single reads', (instances, singles) => {
    expect(singleReadsPerInstanceList(instances)).toBe(singles);
  });

  it('26 single reads of virtual machines, however many it shows', () => {
    expect(singleReadsPerVmList()).toBe(26);
  });
});
