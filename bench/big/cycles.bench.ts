/**
 * Many scale-ups and removals one after the other in a small cluster, with the bundled daemon: what of each stays in its heap. Virtual machines
 * start and end sixty times as fast as in Azure, and loops run every two seconds. Linux only.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleInto } from '../../test/support/bundle.ts';
import type { BenchRow } from '../row.ts';
import { BigRows } from './big-report.ts';
import { MeasuredDaemon } from './daemon-process.ts';
import { WorldProcess } from './world-client.ts';

export interface CyclesOptions {
  readonly cycles: number;
  /** A folder for the daemon's log, and for snapshots of its heap after a third of the cycles and at the end. If absent, there are none. */
  readonly profileDir?: string | undefined;
}

const SIZE = { nodes: 100, pods: 3_000 };
const SPEED = 60;
/** Nodes that come and go in each cycle. */
const BURST = 60;
const FLAGS = ['--scan-interval=2s', '--scale-down-unneeded-time=2s', '--max-scale-down-parallelism=100'];
/** The limits of removals would delay later cycles; half of them counts as used at the start of a process. */
const CONFIG = 'scaleDown:\n  maxEmptyRemovalsPerWindow: 100000\n';

export async function cyclesBench({ cycles, profileDir }: CyclesOptions): Promise<readonly BenchRow[]> {
  const dir = profileDir ?? mkdtempSync(join(tmpdir(), 'cycles-bench-'));
  mkdirSync(dir, { recursive: true });
  const main = bundleInto(join(dir, 'bundle'), { readable: profileDir !== undefined });
  const world = new WorldProcess({ scene: 'day', ...SIZE, speed: SPEED, dir }, []);
  const report = new BigRows('cycles', SIZE);
  try {
    const daemon = await MeasuredDaemon.start({ main, world: await world.ready, dir, nodeOptions: [], flags: FLAGS, config: CONFIG });
    try {
      addRows(report, await liveHeaps({ daemon, world, cycles, snapshotDir: profileDir }));
    } finally {
      await daemon.stop();
    }
    report.keep();
    return report.rows;
  } finally {
    await world.stop();
    if (profileDir === undefined) await rm(dir, { recursive: true, force: true });
  }
}

interface LiveHeapsInput {
  readonly daemon: MeasuredDaemon;
  readonly world: WorldProcess;
  readonly cycles: number;
  readonly snapshotDir: string | undefined;
}

/** Megabytes after each cycle. */
async function liveHeaps({ daemon, world, cycles, snapshotDir }: LiveHeapsInput): Promise<readonly number[]> {
  const heaps: number[] = [];
  await daemon.ready(performance.now());
  for (let cycle = 1; cycle <= cycles; cycle++) {
    await world.obey({ verb: 'add-pods', count: BURST });
    const { nodes } = await world.obey({ verb: 'remove-pods' });
    const { usedMb, externalMb } = await daemon.liveHeap();
    heaps.push(usedMb + externalMb);
    process.stderr.write(`  cycle ${cycle}: ${nodes} nodes removed, ${usedMb.toFixed(2)} MB live, ${externalMb.toFixed(2)} MB beside\n`);
    const isKept = cycle === Math.ceil(cycles / 3) || cycle === cycles;
    if (isKept && snapshotDir !== undefined) await daemon.writeSnapshot(join(snapshotDir, `cycle-${cycle}.heapsnapshot`));
  }
  return heaps;
}

function addRows(report: BigRows, heaps: readonly number[]): void {
  const third = Math.ceil(heaps.length / 3);
  report.add(`live heap after ${third} cycles`, 'MB', heaps[third - 1] ?? Number.NaN);
  report.add(`live heap after ${heaps.length} cycles`, 'MB', heaps.at(-1) ?? Number.NaN);
  report.add('growth of the live heap by a cycle', 'MB', slopeOf(heaps.slice(third - 1)), 'the line that fits the last two thirds best');
}

/** Of the line through values at equal distances with the least squares of differences. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const squares = values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
  return values.reduce((sum, value, index) => sum + (index - middle) * value, 0) / squares;
}
