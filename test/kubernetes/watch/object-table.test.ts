import { describe, expect, it } from 'vitest';
import { MAX_CLUSTER_PODS } from '../../../src/domain/platform-limits.ts';
import { Table } from '../../../src/kubernetes/watch/object-table.ts';

describe('a table of objects', () => {
  it('is given up when there are more than twice the pods of a cluster: such a list has no end', () => {
    const table = new Table<number>({ keyOf: ({ metadata }) => metadata?.name ?? '', project: () => 1 });
    const put = (at: number): void => table.put({ metadata: { name: `p${at}` } });
    for (let at = 0; at < 2 * MAX_CLUSTER_PODS; at++) put(at);
    // A known object is still read.
    put(0);
    expect(() => put(2 * MAX_CLUSTER_PODS)).toThrow(/There are more than 300000 objects of one kind/);
    expect(table.items.size).toBe(2 * MAX_CLUSTER_PODS);
  });
});
