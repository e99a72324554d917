/** Runs as `lab run` makes them: each in a process of its own. */
import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { startChildRun } from '../../../commands/lab/child-runs.ts';
import { NO_CONTRACT } from '../../../lab/judge/price-list.ts';
import type { RunOrder } from '../../../commands/lab/run-orders.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const MINUTE = 60_000;
const LINES = [
  { format: 'aks-autoscaler-load', version: 1, name: 'x', startMs: Date.UTC(2026, 0, 5), currency: 'USD' },
  { kind: 'start-pool', pool: { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3, pricePerHour: 2 } },
  {
    kind: 'workload',
    workload: { id: 'w', name: 'w', namespace: 'n', kind: 'Deployment', pod: { containers: [{ requests: { cpu: '1' } }] } },
  },
  { kind: 'replicas', atMs: 0, workload: 'w', count: 2 },
  { kind: 'end', atMs: 3 * MINUTE },
];

const inFolder = folderOfFile();
beforeAll(() => {
  writeFileSync(inFolder('x.jsonl'), LINES.map((line) => JSON.stringify(line)).join('\n'));
  writeFileSync(inFolder('policy.yaml'), 'loop: {scanInterval: 30s}\n');
});

function orderOf(recording: string): RunOrder {
  return {
    scenario: { name: 'x', path: inFolder(recording), days: undefined, window: undefined, limits: {} },
    seed: 1,
    contestant: { kind: 'policy', name: 'policy', file: inFolder('policy.yaml') },
    contract: NO_CONTRACT,
    realTimeSpeed: undefined,
  };
}

describe('a run in a process of its own', () => {
  it('returns the result', async () => {
    const shares: number[] = [];
    const result = await startChildRun(orderOf('x.jsonl'), new AbortController().signal, (share) => shares.push(share));
    expect(shares.at(-1)).toBe(1);
    expect(result).toMatchObject({ policy: 'policy', seed: 1, figures: { hours: 0.05, costPerDay: 48, pending: { pods: 2 } }, notes: [] });
  });

  it('fails with the sentence of the process', async () => {
    await expect(startChildRun(orderOf('absent.jsonl'), new AbortController().signal)).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('absent.jsonl cannot be read: ENOENT'),
    });
  });

  it('ends when it is stopped', async () => {
    const stop = new AbortController();
    const running = startChildRun(orderOf('x.jsonl'), stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ kind: 'cancelled' });
  });
});
