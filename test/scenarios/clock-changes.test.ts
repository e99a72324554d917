/**
 * Whole loops over both changes of daylight saving, with a second replica, a holiday, and a downtime. Only the hours around the changes, at coarse
 * loops; `npm run soak -- --weeks` runs whole weeks. What must hold is written in UTC, by hand.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DAEMON } from '../../world/commands/lab/lab-program.ts';
import { VirtualRun } from '../../world/lab/virtual-run.ts';
import { aPool, capacity, MINUTE, worldOf } from './support.ts';

// A lease that is renewed rarely costs little; a replica that stops gives it back at once.
const LEASE = ['--leader-elect-lease-duration=120s', '--leader-elect-renew-deadline=90s', '--leader-elect-retry-period=20s'];
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10s', '--scan-interval=2m', '--leader-elect=true', ...LEASE];
// The lists of Azure are read at half the usual rate: that is most of what such a run costs.
const ENV = { AZURE_VMSS_CACHE_TTL: '120' };

const started = async (from: string, pools: Parameters<typeof worldOf>[0], rules: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'clock-changes-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  const config = `schedules:\n  zone: Europe/Berlin\n  rules:\n${rules}`;
  await writeFile(file, config);
  await writeFile(`${file}.second`, `kubernetes: {identity: second}\n${config}`);
  const input = { startMs: Date.parse(from), spec: worldOf(pools), flags: [...FLAGS, `--config=${file}`], env: ENV, reportsKept: 1 };
  const run = await VirtualRun.start(DAEMON, input);
  onTestFinished(() => run.stop());
  const day = (time: string): number => Date.parse(`${new Date(run.clock.now() + 30 * MINUTE).toISOString().slice(0, 10)}T${time}:00Z`);
  return {
    run,
    startStandby: (): Promise<void> => run.startStandby([`--config=${file}.second`]),
    /** Lets time pass until then, by UTC. */
    until: (time: string): Promise<void> => run.advance(day(time) - run.clock.now()),
    size: (pool: string): number => capacity(run, pool),
    ready: (pool: string): number =>
      run.world.cluster.store
        .nodes()
        .filter(
          ({ metadata, status }) =>
            metadata.labels?.['agentpool'] === pool &&
            (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
        ).length,
    /** Changes of the size of a pool, by either replica. A write from old data is refused, and counts as none. */
    writesOf: (pool: string): number => run.writes().filter(({ path, status }) => path.includes(`-${pool}-`) && status < 300).length,
  };
};

it('when clocks are set forward and the leader goes at the minute of a rule, nodes are ready at the time, and nothing is written twice', async () => {
  const { run, startStandby, until, size, ready, writesOf } = await started(
    '2026-03-29T00:00Z',
    [aPool({ name: 'early', count: 1, min: 1 }), aPool({ name: 'kept', count: 2, min: 0 }), aPool({ name: 'gap', count: 1, min: 1 })],
    `    - {pools: [early], from: "03:30", to: "04:30", min: 3}
    - {pools: [kept], from: "01:00", to: "04:00", scaleDown: off}
    - {pools: [gap], from: "02:15", to: "02:45", min: 3}
`,
  );
  await until('01:20');
  await startStandby();
  expect([size('early'), size('kept'), size('gap')]).toEqual([1, 2, 1]);
  // 03:25 in summer time: the nodes of 03:30 are requested now, by whichever replica leads.
  await until('01:25');
  await run.stopDaemon();
  await until('01:30');
  expect(run.world.cluster.store.list('leases').map(({ spec }) => (spec as { holderIdentity?: string }).holderIdentity)).toEqual([
    'second',
  ]);
  expect([ready('early'), writesOf('early')]).toEqual([3, 1]);
  await until('01:59');
  expect([size('kept'), writesOf('kept')]).toEqual([2, 0]);
  await until('02:20');
  expect(size('kept')).toBe(0);
  await until('02:29');
  expect([ready('early'), writesOf('early'), writesOf('gap')]).toEqual([3, 1, 0]);
  await until('02:45');
  expect(size('early')).toBe(1);
  expect(run.world.violations()).toEqual([]);
});

it('when clocks are set back, on a holiday, a process that was down over the change goes on as before', async () => {
  const { run, until, size, ready, writesOf } = await started(
    '2026-10-24T23:45Z',
    [aPool({ name: 'early', count: 1, min: 1 }), aPool({ name: 'kept', count: 2, min: 0 }), aPool({ name: 'holiday', count: 1, min: 1 })],
    `    - {pools: [early], from: "02:30", to: "03:30", min: 3}
    - {pools: [kept], from: "01:00", to: "03:00", scaleDown: off}
    - {pools: [holiday], from: "02:00", to: "23:00", except: "10-25", min: 3}
`,
  );
  await until('00:20');
  expect([size('early'), size('kept')]).toEqual([1, 2]);
  await until('00:30');
  expect(ready('early')).toBe(3);
  // Clocks go from 03:00 back to 02:00 at 01:00 UTC: 02:30 comes once more, and is no other begin.
  await until('00:55');
  run.killDaemon();
  await until('01:10');
  await run.startDaemon();
  await until('01:59');
  expect([ready('early'), writesOf('early'), size('kept'), writesOf('kept')]).toEqual([3, 1, 2, 0]);
  await until('02:20');
  expect([size('kept'), size('early')]).toEqual([0, 3]);
  await until('02:45');
  expect([size('early'), writesOf('holiday')]).toEqual([1, 0]);
  expect(run.world.violations()).toEqual([]);
});
