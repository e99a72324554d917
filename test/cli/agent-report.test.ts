import { describe, expect, it } from 'vitest';
import { agentReport } from '../../src/cli/debug-documents.ts';

describe('the content of /debug/agents', () => {
  it('has each time in words too, and none that is not there', () => {
    const atMs = 1_700_000_000_000.25;
    const ran = { id: 'usage', lastStartMs: atMs, lastSuccessMs: atMs, lastRestMs: undefined, nextDueMs: 1_700_000_300_000.75 };
    const never = { ...ran, id: 'skus', lastStartMs: undefined, lastSuccessMs: undefined, nextDueMs: Number.POSITIVE_INFINITY };
    expect(JSON.parse(JSON.stringify(agentReport([ran, never])))).toEqual([
      {
        id: 'usage',
        lastStart: '2023-11-14T22:13:20.000Z',
        lastStartMs: 1_700_000_000_000,
        lastSuccess: '2023-11-14T22:13:20.000Z',
        lastSuccessMs: 1_700_000_000_000,
        nextDue: '2023-11-14T22:18:20.001Z',
        nextDueMs: 1_700_000_300_001,
      },
      { id: 'skus' },
    ]);
  });
});
