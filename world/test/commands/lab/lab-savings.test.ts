import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runSavings } from '../../../commands/lab/lab-savings.ts';
import { checkPolicies } from '../../../commands/lab/policy-files.ts';
import type { RunOrder, StartRun } from '../../../commands/lab/run-orders.ts';
import { loadScenario } from '../../../commands/lab/scenario-source.ts';
import { SAVING_STUDIES } from '../../../lab/studies/saving-studies.ts';
import type { Terminal } from '../../../../src/cli/process/process.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { aRun } from '../../lab/judge/builders.ts';

interface Played {
  readonly code: number;
  readonly out: string;
  readonly orders: readonly RunOrder[];
  readonly configs: readonly unknown[];
}

async function savings(argv: readonly string[], movedTwice = 0): Promise<Played> {
  const orders: RunOrder[] = [];
  const configs: unknown[] = [];
  let out = '';
  const terminal: Terminal = {
    env: {},
    out: (text) => void (out += text),
    err: () => undefined,
    readFile: (path) => readFileSync(path, 'utf8'),
    readChunks: () => {
      throw new Error('not read');
    },
    hostname: 'here',
    signals: { on: () => undefined, off: () => undefined, exit: () => undefined },
  };
  const start: StartRun = (order) => {
    orders.push(order);
    const { contestant, seed } = order;
    const config: unknown = contestant.kind === 'policy' ? JSON.parse(readFileSync(contestant.file, 'utf8')) : undefined;
    configs.push(config);
    const isRepacking = JSON.stringify(config).includes('repack');
    return Promise.resolve(
      aRun(contestant.name, seed, { costPerDay: isRepacking ? 80 + seed : 100 + seed, movedTwice: isRepacking ? movedTwice : 0 }),
    );
  };
  const code = await runSavings(argv, terminal, start);
  return { code, out, orders, configs };
}

describe('lab savings', () => {
  it.each(SAVING_STUDIES)('$name has loads that exist and configurations that are valid', async ({ without, with: turnedOn }) => {
    for (const { scenario, config } of [without, turnedOn]) {
      await loadScenario({ name: scenario, path: undefined, days: 1, window: undefined, limits: {} }, 1);
      const { errors } = checkPolicies([{ name: 'p', file: 'p.yaml' }], { readFile: () => JSON.stringify(config) });
      expect(errors).toEqual([]);
    }
    expect(JSON.stringify(without)).not.toBe(JSON.stringify(turnedOn));
  });

  it('runs each side once for each seed, although several pairs have it, and compares seed by seed', async () => {
    const { code, out, orders } = await savings(['--study', 'prices', '--study', 'repack', '--seeds', '2', '--jobs', '1']);
    expect(code).toBe(0);
    expect(orders.map(({ contestant, seed }) => `${contestant.name} ${seed}`)).toEqual(['p0 1', 'p1 1', 'p2 1', 'p0 2', 'p1 2', 'p2 2']);
    expect(orders[0]?.scenario).toMatchObject({ name: 'office-week', days: 1, window: { fromMs: 0, durationMs: 86_400_000 } });
    expect(out.split('\n').filter((line) => line.startsWith('| repacking'))).toEqual([
      expect.stringContaining('| 102 → 81.5: -19.7 % (-19.7 to -19.7) |'),
    ]);
  });

  it('fails where repacking moves a pod twice within an hour, and keeps the figures in a file', async () => {
    const file = join(temporaryFolder(), 'savings.json');
    const { code, out } = await savings(['--study', 'repack', '--seeds', '1', '--out', file], 1);
    expect(code).toBe(1);
    expect(out).toContain('repack: 1 pods a day were moved twice within an hour');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      command: 'npm run --silent cli -- lab savings --seeds 1',
      seeds: [1],
    });
  });

  it('names the studies if one does not exist', async () => {
    await expect(savings(['--study', 'unknown'])).rejects.toThrow(/--study is "unknown"; the studies are prices, /);
    await expect(savings(['--studies', 'prices'])).rejects.toThrow();
  });
});
