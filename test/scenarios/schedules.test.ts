/** Rules in the running daemon: ready at the time, caught up after a downtime, the same for the next leader, and nothing left behind at their end. */
import { expect, it } from 'vitest';
import { START_MS } from '../support/builders.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10s', '--scan-interval=1m'];
// The world begins at midnight.
const RULES = `schedules:
  rules:
    - {pools: [morning], from: "00:30", to: "01:10", min: 3}
    - {pools: [ready], from: "01:30", to: "02:30", min: 3}
    - {pools: [kept], from: "00:00", to: "00:50", scaleDown: off}
    - {pools: [closed], from: "00:00", to: "01:00", max: 0}
    - {pools: [nightly], from: "00:10", to: "02:00", max: 0}
nodeGroupOptions:
  - {name: outside, maintenance: avoid}
  - {name: inside, maintenance: only}
`;
/** AKS works until half past midnight. */
const HOURS = { schedule: { daily: { intervalDays: 1 } }, durationHours: 4, utcOffset: '+01:00', startTime: '21:30' };

const until = (run: VirtualRun, time: string): Promise<void> => {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return run.advance(START_MS + (hour * 60 + minute) * MINUTE - run.clock.now());
};
const podsOf = (pool: string) => deployment({ name: `on-${pool}`, replicas: 1, cpu: '3', spec: { nodeSelector: { agentpool: pool } } });
/** Ready nodes, as the last loop saw them. */
function readyIn(run: VirtualRun, pool: string): number {
  const nodes = [...(run.reports.at(-1)?.observation?.cluster.nodes.values() ?? [])];
  return nodes.filter(({ labels, readiness }) => labels['agentpool'] === pool && readiness.ready).length;
}

it('pools follow their rules over a downtime, a change of leader and the end of each rule', async () => {
  const file = configFile(RULES);
  const pools = [
    aPool({ name: 'morning', count: 1, min: 1 }),
    aPool({ name: 'ready', count: 1, min: 1 }),
    aPool({ name: 'kept', count: 2, min: 0 }),
    aPool({ name: 'closed', count: 0, min: 0 }),
    aPool({ name: 'nightly', count: 1, min: 0 }),
    aPool({ name: 'outside', count: 2, min: 0 }),
    aPool({ name: 'inside', count: 1, min: 0 }),
  ];
  const run = await startedWorld({
    spec: worldOf(pools, { maintenance: [{ name: 'aksManagedNodeOSUpgradeSchedule', maintenanceWindow: HOURS }] }),
    flags: [...FLAGS, `--config=${file}`],
  });
  const size = (pool: string): number => capacity(run, pool);
  run.world.cluster.apply(podsOf('nightly'));
  run.world.cluster.apply(podsOf('closed'));
  await until(run, '00:15');
  expect({ morning: size('morning'), kept: size('kept'), closed: size('closed'), nightly: size('nightly') }).toEqual({
    morning: 1,
    kept: 2,
    closed: 0,
    nightly: 1,
  });
  // Idle nodes go in the hours of AKS, or outside of them.
  expect([size('outside'), size('inside')]).toEqual([2, 0]);
  expect(events(run, 'NotTriggerScaleUp').join()).toContain('maximum');

  // Down over the begin of a rule: it is caught up at once.
  run.killDaemon();
  await until(run, '00:33');
  await run.startDaemon([`--config=${file}`]);
  await run.until('the minimum is caught up', () => size('morning') === 3, 2 * MINUTE);

  // A lower maximum removes no node under pods, and the pool is cared for: the node goes when its pods do.
  expect([size('nightly'), bound(run, 'on-nightly')]).toEqual([1, 1]);
  run.world.cluster.remove(podsOf('nightly'));
  await run.until('the idle node is gone', () => size('nightly') === 0, 10 * MINUTE);
  await until(run, '00:49');
  expect(size('outside')).toBe(0);
  expect(size('kept')).toBe(2);
  await run.until('removals are free again', () => size('kept') === 0, 10 * MINUTE);
  await until(run, '01:09');
  expect([size('morning'), size('closed')]).toEqual([3, 1]);
  await run.until('the end of the rule frees the nodes', () => size('morning') === 1, 15 * MINUTE);

  // Ready at the time, and another process in that minute changes nothing.
  await until(run, '01:24');
  expect(size('ready')).toBe(1);
  await until(run, '01:30');
  expect(readyIn(run, 'ready')).toBe(3);
  run.killDaemon();
  await run.startDaemon([`--config=${file}`]);
  const writes = run.writes().length;
  await until(run, '01:45');
  expect([size('ready'), run.writes().length]).toEqual([3, writes]);
  const reported = events(run, 'ScheduleRuleBegan').join('\n');
  expect(reported).toContain('Schedule rule 2 for ');
  expect(reported).toContain('min 3 prepared for 01:30 UTC');
  expect(reported).toContain('min 3 until 02:30 UTC');
  expect(run.world.violations()).toEqual([]);
});
