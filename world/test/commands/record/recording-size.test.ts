/**
 * How large a recording is: an hour of a busy cluster with 500 nodes, as its API describes it, times the hours of a week.
 * `npm run bench -- record` plays the whole week.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { LoadRecorder } from '../../../lab/recordings/load-recorder.ts';
import { RecordingLog } from '../../../lab/recordings/recording-log.ts';
import { BusyCluster } from '../../../../test/support/busy-cluster.ts';
import { START_MS } from '../../../../test/support/builders.ts';

const HOUR_MS = 3_600_000;
const HOURS = 168;
const MB = 1_000_000;
/** A tenth of the cluster, so that the test is short; everything grows with the number of pods. */
const SHARE = 0.1;

const dirs: string[] = [];
afterAll(async () => {
  for (const dir of dirs) await rm(dir, { recursive: true });
});

/** @returns bytes after so many hours. */
async function sizeAfter(hours: number): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), 'recording-size-'));
  dirs.push(dir);
  const path = join(dir, `${hours}.jsonl.gz`);
  const log = await RecordingLog.create(path, { name: 'week', startMs: START_MS, currency: 'USD' });
  const recorder = new LoadRecorder({ startMs: START_MS });
  const cluster = new BusyCluster(recorder, SHARE);
  cluster.begin();
  for (let minute = 1; minute <= 60 * hours; minute++) log.append(recorder.take(cluster.play(minute)));
  log.append(recorder.end(START_MS + hours * HOUR_MS));
  await log.finish();
  return (await stat(path)).size;
}

it('a week of 500 busy nodes has less than 50 MB compressed', async () => {
  const [one, two] = [await sizeAfter(1), await sizeAfter(2)];
  // The workloads are in a week once.
  const hourly = two - one;
  const week = (one - hourly + HOURS * hourly) / SHARE;
  expect(week / MB).toBeLessThan(50);
  // Not because nothing was recorded.
  expect(week / MB).toBeGreaterThan(5);
});
