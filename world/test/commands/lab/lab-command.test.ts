import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../../commands/lab/lab-command.ts';
import type { RunOrder, StartRun } from '../../../commands/lab/run-orders.ts';
import { loadScenario } from '../../../commands/lab/scenario-source.ts';
import type { Terminal } from '../../../../src/cli/process/process.ts';
import { asAutoscalerError, AutoscalerError } from '../../../../src/lib/errors.ts';
import { aRun } from '../../lab/judge/builders.ts';
import { runCommand } from '../../../../test/support/run-command.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const FILES: Readonly<Record<string, string>> = {
  'current.yaml': 'scaleDown: {unneededTime: 10m}\n',
  'proposed.yaml': 'dryRun: true\nscaleDown: {unneededTime: 3m}\n',
  'contract.yaml': `scaleUp: {priceDiscounts: [{sizes: "*", percent: 30}], paidNodes: [{size: Standard_D4s_v5, count: 2}]}
`,
  'euros.yaml': 'scaleUp: {retailPrices: {enabled: true, currency: EUR}, paidNodes: [{size: Standard_D4s_v5, count: 5}]}\n',
  'broken.yaml': 'scaleDown: {unneededTime: soon, unknown: 1}\n',
};
const TWO = ['--policy', 'current.yaml', '--policy', 'proposed.yaml'];

const inFolder = folderOfFile();

/** Results by policy: the second one is cheaper and has more evictions. */
const played: StartRun = ({ contestant: policy, seed }) => {
  const isOther = policy.name !== 'current';
  const slow = { pods: 100, podSeconds: 6_000 + (seed % 2) * 300 * (isOther ? 1 : 0), p50Seconds: 0, maxSeconds: 200, unfinished: 0 };
  return Promise.resolve({
    ...aRun(policy.name, seed, {
      costPerDay: (1_700 + seed * 7) * (isOther ? 0.89 : 1),
      pending: { ...slow, p95Seconds: isOther ? 118 + (seed % 3) - (seed % 2) * 4 : 118 },
      evictions: isOther && seed !== 3 ? 40 : 37,
      armCalls: (isOther ? 84 : 88) * 24,
    }),
    notes: isOther ? ['A note.'] : [],
  });
};

interface Played {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly orders: readonly RunOrder[];
}

async function lab(
  argv: readonly string[],
  start: StartRun = played,
  raise: (signal: () => void) => void = () => undefined,
): Promise<Played> {
  const written = { out: '', err: '' };
  const orders: RunOrder[] = [];
  let onSignal = (): void => undefined;
  let nowMs = 0;
  const terminal: Terminal = {
    env: {},
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    readFile: (path) => FILES[path] ?? readFileSync(path, 'utf8'),
    readChunks: () => {
      throw new Error('not read');
    },
    hostname: 'here',
    clock: { now: () => (nowMs += 96_000), sleep: () => Promise.resolve() },
    signals: {
      on: (_name, listener) => {
        onSignal = listener;
      },
      off: () => undefined,
      exit: () => undefined,
    },
  };
  const program = () => Promise.reject(new Error('no worker here'));
  const watched: StartRun = (order, signal, onProgress) => {
    orders.push(order);
    raise(onSignal);
    return start(order, signal, onProgress);
  };
  const code = await run(argv, terminal, { program, start: watched }).catch((thrown: unknown) => {
    written.err += `${asAutoscalerError(thrown).message}\n`;
    return asAutoscalerError(thrown).kind === 'config' ? 2 : 1;
  });
  return { code, ...written, orders };
}

describe('lab run', () => {
  it('prints the verdict first, then the figures, then where the report is', async () => {
    const { code, out } = await lab(['run', 'office-week', ...TWO, '--out', inFolder('text')]);
    expect(code).toBe(0);
    expect(out.replaceAll(inFolder(), 'DIR').split('\n')).toEqual([
      'proposed compared with current: 11.0 % less cost (sure, 5 of 5 seeds); no sure difference in',
      'waiting; 2.4 more evictions a day (sure, 4 of 5 seeds).',
      '7 virtual days, 5 seeds, 0 unsafe writes in both; ran 96 s.',
      'proposed is configured as a dry run; in the laboratory it acts.',
      'A note.',
      '',
      '                           current  proposed  DIFFERENCE  SURE',
      'Interrupted jobs, per day        2         2           0  same in all 5 seeds',
      'Cost, USD/day              1 721.0   1 531.7     -11.0 %  yes, 5 of 5',
      'Pending p95, s                 118       117      -1.0 %  no, 3 of 5',
      'Evictions, per day              37        39        +2.4  yes, 4 of 5',
      'ARM calls, per hour             88        84      -4.5 %  yes, 5 of 5',
      'Report: DIR/text/lab-office-week.html, .md, .json',
      '',
    ]);
    expect(readdirSync(inFolder('text')).sort()).toEqual(['lab-office-week.html', 'lab-office-week.json', 'lab-office-week.md']);
  });

  it('compares each policy with the first one', async () => {
    const third = ['--policy', 'current.yaml'];
    const { out } = await lab(['run', 'ci-bursts', ...TWO, ...third, '--seeds', '3', '--out', inFolder('three')]);
    const lines = out.split('\n');
    expect(lines.filter((line) => line.includes('compared'))).toEqual([
      expect.stringMatching(/^proposed compared with current: 11\.0 % less cost \(sure, 3 of 3 seeds\)/),
      expect.stringMatching(/^current \(2\) compared with current: 11\.0 % less cost/),
    ]);
    expect(lines.filter((line) => line.includes('SURE'))).toEqual([
      '                           current  proposed  DIFFERENCE  SURE',
      '                           current  current (2)  DIFFERENCE  SURE',
    ]);
    expect(lines.filter((line) => line.startsWith('Cost'))).toEqual([
      'Cost, USD/day              1 714.0   1 525.5     -11.0 %  yes, 3 of 3',
      'Cost, USD/day              1 714.0      1 525.5     -11.0 %  yes, 3 of 3',
    ]);
  });

  it('has the figures of one policy alone', async () => {
    const { out } = await lab(['run', 'ci-bursts', '--policy', 'current.yaml', '--seeds', '1', '--out', inFolder('alone')]);
    expect(out.split('\n').slice(0, 5)).toEqual([
      'Only current ran; a second policy gives a comparison.',
      '1 virtual day, 1 seed, 0 unsafe writes; ran 96 s.',
      '',
      '                           current',
      'Interrupted jobs, per day        2',
    ]);
  });

  it('bills every run by the first contract that a policy states, and says so', async () => {
    const policies = ['current', 'contract', 'euros'].flatMap((name) => ['--policy', `${name}.yaml`]);
    const { orders, out } = await lab(['run', 'ci-bursts', ...policies, '--seeds', '1', '--out', inFolder('contract')]);
    const contract = {
      prices: undefined,
      priceDiscounts: [{ sizes: '*', percent: 30, priority: 'Regular' }],
      paidNodes: [{ size: 'standard_d4s_v5', count: 2 }],
    };
    expect(orders.map((order) => order.contract)).toEqual([contract, contract, contract]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      'All costs follow the prices, discounts and paid nodes that contract states. euros states others: they change what it does, not how its ' +
        'costs are counted. euros reads prices in EUR; those of the scenario are in USD, and their numbers count as they are.',
    );
    const { orders: plain } = await lab(['run', 'ci-bursts', ...TWO, '--seeds', '1', '--out', inFolder('plain')]);
    expect(plain[0]?.contract).toMatchObject({ prices: undefined, priceDiscounts: [], paidNodes: [] });
  });

  it('runs every policy with every seed, by default five', async () => {
    const { orders } = await lab(['run', 'ci-bursts', ...TWO, '--first-seed', '7', '--days', '0.5', '--out', inFolder('orders')]);
    expect(orders.map(({ contestant, seed }) => `${contestant.name} ${seed}`)).toEqual(
      [7, 8, 9, 10, 11].flatMap((seed) => [`current ${seed}`, `proposed ${seed}`]),
    );
    expect(orders[0]).toMatchObject({
      scenario: { name: 'ci-bursts', path: undefined, days: 0.5 },
      contestant: { kind: 'policy', name: 'current', file: 'current.yaml' },
    });
  });

  it('prints the same JSON for the same runs, and writes it, too', async () => {
    const argv = ['run', 'ci-bursts', ...TWO, '--seeds', '2', '--json', '--out', inFolder('json')];
    const { out } = await lab(argv);
    expect((await lab([...argv, '--jobs', '1'])).out).toBe(out);
    expect(readFileSync(inFolder('json', 'lab-ci-bursts.json'), 'utf8')).toBe(out);
    expect(JSON.parse(out)).toMatchObject({
      scenario: { name: 'ci-bursts' },
      comparison: { policies: ['current', 'proposed'], seeds: [1, 2] },
    });
  });

  it('gives the same file twice two names, and finds no difference', async () => {
    const same: StartRun = ({ contestant: policy, seed }) => Promise.resolve(aRun(policy.name, seed, { costPerDay: seed }));
    const { out } = await lab(
      ['run', 'ci-bursts', '--policy', 'current.yaml', '--policy', 'current.yaml', '--out', inFolder('same')],
      same,
    );
    expect(out.split('\n')[0]).toBe('No difference shown: current (2) and current have the same figures in each of 5 seeds.');
  });

  it('runs a recording by its path', async () => {
    const path = inFolder('shop.jsonl');
    writeFileSync(
      path,
      [
        { format: 'aks-autoscaler-load', version: 1, name: 'x', startMs: 0, currency: 'EUR' },
        { kind: 'start-pool', pool: { name: 'a', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 2 } },
        { kind: 'end', atMs: 7_200_000 },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    );
    const { out, orders } = await lab(['run', path, ...TWO, '--seeds', '3', '--out', inFolder('recording')]);
    expect(orders[0]?.scenario).toEqual({ name: 'shop', path, days: undefined, window: undefined, limits: {} });
    expect(out).toContain('2 virtual hours, 3 seeds');
    expect(out).toContain('Cost, EUR/day');
    expect(readdirSync(inFolder('recording'))).toContain('lab-shop.md');
  });

  it('needs limits where a recording has none, passes its notes on, and takes limits that are given', async () => {
    const path = inFolder('bare.jsonl');
    const pool = { name: 'a', vmSize: 'Standard_D4s_v5', count: 2, min: 0, max: 1000, limitsUnknown: true };
    const lines = [
      { format: 'aks-autoscaler-load', version: 1, name: 'x', startMs: 0, currency: 'EUR' },
      { kind: 'note', text: 'Azure was not read.' },
      { kind: 'start-pool', pool },
      { kind: 'start-pool', pool: { ...pool, name: 'b', count: 1 } },
      { kind: 'pool', atMs: 60_000, pool: { ...pool, name: 'b' } },
      { kind: 'end', atMs: 7_200_000 },
    ];
    writeFileSync(path, lines.map((line) => JSON.stringify(line)).join('\n'));
    const out = ['--out', inFolder('bare')];
    const refused = await lab(['run', path, ...TWO, '--limits', 'a=1:5', ...out]);
    expect(refused.err).toBe(
      'bare does not say the minimum and maximum of b (Standard_D4s_v5, 2 nodes); add them, such as --limits b=1:10.\n',
    );
    expect([refused.code, refused.orders]).toEqual([2, []]);
    const taken = await lab(['run', path, ...TWO, '--limits', 'a=1:5', '--limits', 'b=0:3', '--seeds', '1', ...out]);
    expect(taken.orders[0]?.scenario.limits).toEqual({ a: { min: 1, max: 5 }, b: { min: 0, max: 3 } });
    expect(taken.out).toContain('Azure was not read.');
    const { scenario } = await loadScenario(taken.orders[0]!.scenario, 1);
    expect(scenario.pools).toMatchObject([
      { min: 1, max: 5 },
      { min: 0, max: 3 },
    ]);
    expect(scenario.events).toMatchObject([{ kind: 'pool', pool: { min: 0, max: 3 } }]);
  });

  it('runs no more at a time than asked', async () => {
    let [now, most] = [0, 0];
    const counted: StartRun = async (order, signal) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      return played(order, signal);
    };
    await lab(['run', 'ci-bursts', ...TWO, '--jobs', '3', '--out', inFolder('jobs')], counted);
    expect(most).toBe(3);
  });

  it('shows every tenth of all runs', async () => {
    const slow: StartRun = (order, signal, onProgress) => {
      for (const share of [0.1, 0.3, 0.5, 1]) onProgress?.(share);
      return played(order, signal);
    };
    const { err } = await lab(['run', 'ci-bursts', ...TWO, '--seeds', '1', '--jobs', '1', '--out', inFolder('tenths')], slow);
    expect(err.split('\n')).toEqual([
      '10 % of all runs',
      '20 % of all runs',
      '50 % of all runs',
      'current, seed 1: done (1 of 2 runs)',
      '60 % of all runs',
      '70 % of all runs',
      'proposed, seed 1: done (2 of 2 runs)',
      '',
    ]);
  });

  it('plays a part of a scenario', async () => {
    const { out, orders } = await lab(['run', 'office-week', ...TWO, '--from', '1d8h', '--for', '90m', '--out', inFolder('part')]);
    expect(orders[0]?.scenario.window).toEqual({ fromMs: 32 * 3_600_000, durationMs: 5_400_000 });
    expect(out).toContain('90 virtual minutes, 5 seeds');
  });

  it('runs everything in real time and at once beside a rival, and says what that means', async () => {
    let [now, most] = [0, 0];
    const counted: StartRun = async (order, signal) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      return played(order, signal);
    };
    const rival = ['--rival', 'ca=package.json', '--rival-flag=--v=4', '--speed', '5', '--jobs', '1'];
    const { code, out, orders } = await lab(
      ['run', 'ci-bursts', '--policy', 'current.yaml', ...rival, '--out', inFolder('rival')],
      counted,
    );
    expect(code).toBe(0);
    expect(most).toBe(6);
    expect(orders.map(({ contestant, seed, realTimeSpeed }) => `${contestant.name} ${seed} ${realTimeSpeed}`)).toEqual(
      [1, 2, 3].flatMap((seed) => [`current ${seed} 5`, `ca ${seed} 5`]),
    );
    expect(orders[0]?.scenario.window).toEqual({ fromMs: 0, durationMs: 1_800_000 });
    expect(orders[1]?.contestant).toEqual({ kind: 'rival', name: 'ca', path: join(process.cwd(), 'package.json'), flags: ['--v=4'] });
    const text = out.replaceAll('\n', ' ');
    expect(text).toContain('6 min in real time, the world 5 times faster, 3 seeds');
    expect(text).toContain('ca is a binary that cannot follow virtual time');
    expect(text).toContain("in the world's time they are 5 times longer, so nodes cost more");
    expect(text).toContain('ca ran with its defaults and --v=4, not with the settings of current.');
  });

  it('stops every run on Ctrl-C and writes no report', async () => {
    const hanging: StartRun = (order, signal) =>
      order.seed === 1
        ? played(order, signal)
        : new Promise((_resolve, reject) => {
            const stop = (): void => reject(new AutoscalerError({ kind: 'cancelled' }, 'The run was stopped.'));
            if (signal.aborted) stop();
            else signal.addEventListener('abort', stop);
          });
    let runs = 0;
    const afterThree = (signal: () => void): void => {
      if (++runs === 3) signal();
    };
    const { code, err, out } = await lab(['run', 'ci-bursts', ...TWO, '--jobs', '2', '--out', inFolder('stopped')], hanging, afterThree);
    expect(code).toBe(130);
    expect(err).toMatch(/Stopped after 2 of 10 runs; no report was written\.\n$/);
    expect(out).toBe('');
    expect(readdirSync(inFolder())).not.toContain('stopped');
  });

  it('ends all runs when one fails', async () => {
    const signals: AbortSignal[] = [];
    const failing: StartRun = (order, signal) => {
      signals.push(signal);
      return order.contestant.name === 'proposed'
        ? Promise.reject(new AutoscalerError({ kind: 'bug' }, 'It failed.'))
        : played(order, signal);
    };
    const { code, err } = await lab(['run', 'ci-bursts', ...TWO, '--jobs', '2', '--out', inFolder('failed')], failing);
    expect([code, err.split('\n').at(-2)]).toEqual([1, 'It failed.']);
    expect(signals.length).toBeLessThan(6);
    expect(signals[0]?.aborted).toBe(true);
  });

  it.each<[line: string, says: string]>([
    ['run', 'lab run needs a scenario; see lab --help.'],
    ['run office-week', 'lab run needs at least one --policy FILE; see lab --help.'],
    ['run office-wek TWO', '"office-wek" is neither a scenario nor a file; did you mean office-week?'],
    ['run nothing TWO', '"nothing" is neither a scenario nor a file; the scenarios are office-week, batch-nights,'],
    ['run ci-bursts more TWO', 'lab run takes one scenario, but there is also "more"; see lab --help.'],
    ['run ci-bursts TWO --seeds 0', '--seeds is "0"; it must be a whole number from 1 to 100.'],
    ['run ci-bursts TWO --days -1', '--days'],
    ['run ci-bursts TWO --days 0', '--days is "0"; it must be a number above 0, at most 366.'],
    ['run ci-bursts TWO --colour', "Unknown option '--colour'"],
    ['run package.json TWO --days 1', '--days is for generated scenarios; a recording has its own length.'],
    ['run package.json TWO', 'The recording package.json is not a recording of a load.'],
    ['run ci-bursts --policy absent.yaml', 'absent.yaml: --config is "absent.yaml": the file does not exist.'],
    ['run ci-bursts --policy current.yaml --policy broken.yaml', 'broken.yaml: key scaleDown.unneededTime'],
    ['run ci-bursts TWO --rival ca', '--rival is "ca"; it must be NAME=PATH, such as cluster-autoscaler=./cluster-autoscaler.'],
    ['run ci-bursts TWO --rival ca=/nowhere/ca', '--rival names "/nowhere/ca", which is not a file.'],
    ['run ci-bursts TWO --rival ca=package.json --speed 0', '--speed is "0"; it must be a whole number from 1 to 100.'],
    ['run ci-bursts TWO --speed 5', '--speed and --rival-flag need --rival: without one, runs are in virtual time.'],
    ['run ci-bursts TWO --for long', '--for is "long"; it must be a time such as 30m, 8h or 1d12h.'],
    ['run ci-bursts TWO --for 0', '--for is "0"'],
    ['run ci-bursts TWO --from 2d', 'ci-bursts lasts 24.0 h; the part to play begins later.'],
    ['run ci-bursts TWO --limits a=5:1', '--limits is "a=5:1"; it must be POOL=MIN:MAX, such as general=1:10.'],
    ['run ci-bursts TWO --limits a=1:5', '--limits names the pool a, which ci-bursts does not have; its pools are'],
    ['walk', '"walk" is not an action of lab; it has two: run, savings.'],
    ['worker', 'no worker here'],
  ])('refuses "lab %s"', async (line, says) => {
    const { code, err, orders } = await lab(line.replace('TWO', TWO.join(' ')).split(' '));
    expect(err).toContain(says);
    expect(orders).toEqual([]);
    expect(code).toBe(line === 'worker' ? 1 : 2);
  });

  it('names every mistake of every policy', async () => {
    const { err } = await lab(['run', 'ci-bursts', '--policy', 'broken.yaml', '--policy', 'absent.yaml']);
    expect(
      err
        .trim()
        .split('\n')
        .map((line) => line.split(':')[0]),
    ).toEqual(['broken.yaml', 'broken.yaml', 'absent.yaml']);
  });

  it('has help with the scenarios', async () => {
    const { code, out } = await runCommand(['lab', '--help']);
    expect(code).toBe(0);
    expect(out).toContain('office-week   services that follow office hours, builds by day, reports by night (7 d)');
  });
});
