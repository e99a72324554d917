import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { MAX_CLUSTER_PODS } from '../../../src/domain/platform-limits.ts';
import { mostObjectsIn, Table } from '../../../src/kubernetes/watch/object-table.ts';

const MIB = 2 ** 20;

describe('a table of objects', () => {
  it('is given up when there are more than the process has memory for: such a list has no end', () => {
    const table = new Table<number>({ keyOf: ({ metadata }) => metadata?.name ?? '', project: () => 1, maxObjects: 3 });
    const put = (at: number): void => table.put({ metadata: { name: `p${at}` } });
    for (let at = 0; at < 3; at++) put(at);
    // A known object is still read.
    put(0);
    expect(() => put(3)).toThrow(/There are more than 3 objects of one kind\. .* raise the memory limit of the daemon/);
    expect(table.items.size).toBe(3);
  });

  it.each([
    { heap: 'of 259 MiB, as with a memory limit of 512 MiB', bytes: 259 * MIB, most: 2 * MAX_CLUSTER_PODS },
    { heap: 'of 432 MiB, as with the default of 768 MiB', bytes: 432 * MIB, most: 442_368 },
    { heap: 'of 560 MiB, as with 1 GiB', bytes: 560 * MIB, most: 573_440 },
  ])('has room for $most objects in a heap $heap', ({ bytes, most }) => expect(mostObjectsIn(bytes)).toBe(most));

  it('has the limit of this process unless it is given one', () => {
    const table = new Table<number>({ keyOf: ({ metadata }) => metadata?.name ?? '', project: () => 1 });
    expect(table.maxObjects).toBe(mostObjectsIn(getHeapStatistics().heap_size_limit));
  });
});
