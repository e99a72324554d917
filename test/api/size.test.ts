/** The first paint needs one document of at most 60 kB, however large the cluster. */
import { expect, it } from 'vitest';
import { overviewOf } from '../../src/api/documents/overview.ts';
import { bytesOf, manyPools } from './many-pools.ts';

const MOST_BYTES = 60_000;

it('the overview of 100 pools, 5,000 nodes and 3,000 pending pods is small, and names no node list', async () => {
  const input = await manyPools();
  const overview = overviewOf(input);
  expect(overview).toMatchObject({ nodes: { total: 5_000 }, pending: { total: 3_000, classes: 60 } });
  expect(overview.pools).toHaveLength(100);
  expect(bytesOf(input)).toBeLessThan(MOST_BYTES);
});
