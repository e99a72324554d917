/**
 * How large a recording is: seven days of a busy cluster with 500 nodes and a million builds, minute by minute in virtual time, through
 * the recorder and its file as `record` uses them. Reads the file at the end: what is not in it was not recorded.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LoadRecorder } from '../world/lab/recordings/load-recorder.ts';
import { RecordingLog } from '../world/lab/recordings/recording-log.ts';
import { readRecording } from '../world/lab/loads/recording-file.ts';
import { START_MS } from '../test/support/builders.ts';
import { BusyCluster } from '../test/support/busy-cluster.ts';
import type { BenchRow } from './row.ts';

const MINUTES = 7 * 24 * 60;
const MB = 1_000_000;

export async function recordBench(): Promise<BenchRow[]> {
  const dir = await mkdtemp(join(tmpdir(), 'record-bench-'));
  try {
    const path = join(dir, 'week.jsonl.gz');
    const before = process.cpuUsage();
    const peakMb = await recordWeek(path);
    const { user, system } = process.cpuUsage(before);
    const bytes = (await stat(path)).size;
    const { scenario, isComplete } = await readRecording(path);
    const count = (kind: string): number => scenario.events.filter((event) => event.kind === kind).length;
    const note = `${scenario.durationMs / 86_400_000} days, ${scenario.workloads.length} workloads, ${count('run')} runs, ${count('replicas')} changes of replicas, ${count('spot-eviction')} evictions, ${count('node-failure')} node failures, ${count('stock')} changes of stock, ${isComplete ? 'complete' : 'not complete'}`;
    return [
      { name: 'record: a week of 500 nodes, compressed', samples: [bytes / MB], unit: 'MB', note },
      { name: 'record: a week of 500 nodes, CPU', samples: [(user + system) / 1_000], unit: 'ms' },
      { name: 'record: a week of 500 nodes, peak heap', samples: [peakMb], unit: 'MB' },
    ];
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** @returns the largest heap after an hour of the week, MB. */
async function recordWeek(path: string): Promise<number> {
  const log = await RecordingLog.create(path, { name: 'week', startMs: START_MS, currency: 'USD' });
  const recorder = new LoadRecorder({ startMs: START_MS });
  const cluster = new BusyCluster(recorder);
  let peakMb = 0;
  cluster.begin();
  for (let minute = 1; minute <= MINUTES; minute++) {
    log.append(recorder.take(cluster.play(minute)));
    await log.flush();
    if (minute % 60 === 0) peakMb = Math.max(peakMb, process.memoryUsage().heapUsed / MB);
  }
  log.append(recorder.end(START_MS + MINUTES * 60_000));
  await log.finish();
  return peakMb;
}
