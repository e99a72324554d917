/**
 * `npm run soak -- --weeks DAYS`: weeks of whole loops over a change of daylight saving, with a holiday, a new leader at the minute of a rule each
 * morning, and a downtime over the end of a rule. Judged minute by minute by the clocks of the zone, as the platform's locale text has them.
 * `--weeks short`: the sixty hours around each change, with few loops, for the gate.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DAEMON } from '../../../world/commands/lab/lab-program.ts';
import { VirtualRun } from '../../../world/lab/virtual-run.ts';
import { aPool, MINUTE, worldOf } from '../../scenarios/support.ts';

const ZONE = 'Europe/Berlin';
const HOUR = 60 * MINUTE;
/** A node is ready five minutes after its request, at the latest; loops are two minutes apart. */
const SETTLED_MS = 15 * MINUTE;

interface WeekResult {
  readonly week: string;
  readonly loops: number;
  /** Minutes that were judged. */
  readonly checks: number;
  readonly problems: readonly string[];
}

/** A lease that is renewed rarely costs little; a process that stops gives it back at once. */
const LEASE = ['--leader-elect-lease-duration=300s', '--leader-elect-renew-deadline=200s', '--leader-elect-retry-period=60s'];

/** How much of a week, and how often it is looked at. */
interface Pace {
  readonly hours: number;
  /** Minutes. Loops are as far apart, and so are looks. */
  readonly scan: number;
  readonly look: number;
  /** On the Tuesday nobody runs between these times. */
  readonly down: readonly [from: string, to: string];
  /** No sooner are nodes of a rule of half past seven there. */
  readonly soonest: string;
}

/** A week begins on a Thursday: a change of clocks comes on the Sunday. The short one begins on the eve of that. */
const WEEKS = [
  { from: '2026-03-26T00:00Z', eve: '2026-03-28T22:00Z', holiday: '2026-03-30' },
  { from: '2026-10-22T00:00Z', eve: '2026-10-24T22:00Z', holiday: '2026-10-26' },
] as const;

/** Loops that are far apart request nodes later: they have more time. */
const rulesOf = (holiday: string, scan: number): string => `schedules:
  zone: ${ZONE}
  ahead: ${2 * (scan - 2)}m
  rules:
    - {pools: [office], days: Mon-Fri, except: "${holiday}", from: "07:30", to: "19:30", min: 4}
    - {pools: [night], from: "20:00", to: "06:00", scaleDown: only}
`;

/** What clocks show. Not the code that is judged: a locale whose text has the form of ISO. */
function clocksAt(atMs: number): { readonly day: string; readonly time: string; readonly weekend: boolean } {
  const [day = '', time = ''] = new Date(atMs).toLocaleString('sv-SE', { timeZone: ZONE }).split(' ');
  return { day, time: time.slice(0, 5), weekend: [0, 6].includes(new Date(`${day}T12:00Z`).getUTCDay()) };
}

async function liveWeek(from: string, holiday: string, { hours, scan, look, down, soonest }: Pace): Promise<WeekResult> {
  const folder = await mkdtemp(join(tmpdir(), 'weeks-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, rulesOf(holiday, scan));
  const pools = [aPool({ name: 'office', count: 1, min: 1 }), aPool({ name: 'night', count: 1, min: 1 })];
  const flags = [
    '--scale-down-unneeded-time=4m',
    '--scale-down-delay-after-add=1m',
    `--scan-interval=${scan}m`,
    ...LEASE,
    `--config=${file}`,
  ];
  const input = {
    startMs: Date.parse(from),
    spec: worldOf(pools),
    flags,
    // Scale sets and instances are not read in between, where loops are far apart.
    env: { AZURE_VMSS_CACHE_TTL: String(scan * 60), AZURE_VMSS_VMS_CACHE_TTL: String(Math.max(scan, 5) * 60) },
    reportsKept: 1,
  };
  const run = await VirtualRun.start(DAEMON, input);
  const problems: string[] = [];
  let [checks, upSinceMs, morningWrites, seen] = [0, run.clock.now(), 0, 0];
  const ready = (pool: string): number =>
    run.world.cluster.store.nodes().filter(({ metadata, status }) => {
      const isReady = (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True');
      return metadata.labels?.['agentpool'] === pool && isReady;
    }).length;
  const judge = (): void => {
    const { day, time, weekend } = clocksAt(run.clock.now());
    const isWorkday = !weekend && day !== holiday;
    const isUp = run.isRunning && run.clock.now() - upSinceMs >= SETTLED_MS;
    const writes = run.writes().slice(seen);
    seen += writes.length;
    for (const { path, method, status, at } of writes) {
      const then = clocksAt(at).time;
      if (status >= 300) continue;
      if (method === 'PUT' && path.includes('-office-')) morningWrites += 1;
      if (method === 'POST' && path.includes('-night-') && then >= '06:00' && then < '20:00')
        problems.push(`${day} ${then}: a node of night was removed outside of its window`);
      if (method === 'POST' && path.includes('-office-') && isWorkday && then >= '07:30' && then < '19:30' && ready('office') < 4)
        problems.push(`${day} ${then}: a node of office was removed below its minimum`);
    }
    checks += 1;
    // The new leader of each morning has the same minimum to prepare, so the nodes are ready at the time all the same.
    if (isWorkday && time >= '07:30' && time < '19:30' && run.isRunning && ready('office') < 4)
      problems.push(`${day} ${time}: ${ready('office')} of 4 nodes of office are ready`);
    if (isUp && (!isWorkday || time < soonest || time >= '20:30') && ready('office') > 1)
      problems.push(`${day} ${time}: ${ready('office')} nodes of office are left`);
    if (time === '12:00') {
      const expected = isWorkday ? 1 : 0;
      if (morningWrites !== expected) problems.push(`${day}: ${morningWrites} writes of office, expected ${expected}`);
      morningWrites = 0;
    }
  };
  try {
    for (const endMs = run.clock.now() + hours * HOUR; run.clock.now() < endMs;) {
      await run.advance(look * MINUTE - (run.clock.now() % (look * MINUTE)));
      const { day, time } = clocksAt(run.clock.now());
      if (time === '07:25') {
        await run.stopDaemon();
        await run.startDaemon();
      }
      // Once a week nobody runs over the end of a rule: of the office, or in the short form of the night.
      const isDown = new Date(`${day}T12:00Z`).getUTCDay() === 2 && time >= down[0] && time < down[1];
      if (isDown && run.isRunning) run.killDaemon();
      if (!isDown && !run.isRunning) {
        await run.startDaemon();
        upSinceMs = run.clock.now();
      }
      if (time === '09:00' || time === '21:00') run.world.arm.control.raise({ foreignScale: { pool: 'night', to: 3 } });
      judge();
    }
    problems.push(...run.world.violations().map((violation) => JSON.stringify(violation)));
    return { week: from.slice(0, 10), loops: run.loops, checks, problems };
  } finally {
    await run.stop();
    await rm(folder, { recursive: true });
  }
}

/** @returns the exit code. `days`: of each week; `short`: the gate's form. */
export async function runWeeks(days: number | 'short', print: (line: string) => void): Promise<number> {
  let bad = 0;
  for (const { from, eve, holiday } of WEEKS) {
    const lived =
      days === 'short'
        ? liveWeek(eve, holiday, { hours: 62, scan: 20, look: 5, down: ['05:00', '06:20'], soonest: '06:20' })
        : liveWeek(from, holiday, { hours: days * 24, scan: 2, look: 1, down: ['18:00', '21:00'], soonest: '07:20' });
    const { problems, ...result } = await lived;
    bad += problems.length;
    print(JSON.stringify({ ...result, problems: problems.slice(0, 20) }));
  }
  return bad === 0 ? 0 : 1;
}
