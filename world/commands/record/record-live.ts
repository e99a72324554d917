/** Records a live cluster until the time is over or a signal comes, and writes what is known every half minute. */
import type { Clock } from '../../../src/lib/clock.ts';
import { asAutoscalerError } from '../../../src/lib/errors.ts';
import type { LoadRecorder } from '../../lab/recordings/load-recorder.ts';
import type { RecordingLog } from '../../lab/recordings/recording-log.ts';
import type { AzurePicture } from './azure-pools.ts';
import { visibilityNotes } from './faults/visibility-notes.ts';
import type { WatchedLoad } from './watched-load.ts';

interface RecordLiveInput {
  readonly recorder: LoadRecorder;
  readonly log: Pick<RecordingLog, 'append' | 'flush' | 'finish' | 'close' | 'isStuck'>;
  readonly watched: Pick<WatchedLoad, 'start' | 'takeGap' | 'ended'>;
  readonly clock: Clock;
  /** Milliseconds. If absent, until the signal. */
  readonly forMs?: number | undefined;
  /** Reads the pools from Azure. If absent, pools are those of the nodes. */
  readonly readPools?: ((signal: AbortSignal) => Promise<AzurePicture>) | undefined;
  /** Receives sentences for people. */
  readonly say: (sentence: string) => void;
  /** Nothing was seen since then: an earlier process recorded until it. Milliseconds since the epoch. */
  readonly gapFromMs?: number | undefined;
}

const FLUSH_MS = 30_000;
const POOLS_MS = 3_600_000;

/**
 * Resolves when the recording has ended well. @throws AutoscalerError if the cluster cannot be read at the start (`cancelled` after a
 * signal), or if the disk has taken nothing for too long.
 */
export async function recordLive(input: RecordLiveInput, signal: AbortSignal): Promise<void> {
  const { recorder, log, watched, clock } = input;
  const work = new AbortController();
  const life = AbortSignal.any([signal, work.signal]);
  try {
    await begin(input, life);
    await untilOver(input, signal);
    log.append(recorder.end(clock.now()));
    await log.finish();
  } catch (thrown) {
    await log.close().catch(() => undefined);
    throw thrown;
  } finally {
    work.abort();
    await watched.ended();
  }
}

async function begin({ recorder, watched, clock, readPools, say, gapFromMs, log }: RecordLiveInput, signal: AbortSignal): Promise<void> {
  const [missing, azure] = await Promise.all([watched.start(signal), readPools?.(signal)]);
  if (missing.length > 0) say(`Without the right to list and watch ${missing.join(', ')}: ${consequencesOf(missing)}.`);
  if (azure !== undefined) takeAzure(recorder, azure, clock.now());
  recorder.begin(clock.now());
  for (const sentence of visibilityNotes({ events: !missing.includes('events'), azure: azure !== undefined })) recorder.note(sentence);
  const without = recorder.poolsWithoutLimits;
  if (without.length > 0) say(`Nothing says the minimum and maximum of ${without.join(', ')}: lab run will need them by --limits.`);
  if (gapFromMs !== undefined) recorder.markGap(gapFromMs, clock.now());
  log.append(recorder.take(clock.now()));
  await log.flush();
  say('Recording. Ctrl-C or SIGTERM ends it.');
}

function takeAzure(recorder: LoadRecorder, { pools, refusals }: AzurePicture, nowMs: number): void {
  recorder.setPools(pools, nowMs);
  for (const refusal of refusals) recorder.seeRefusal(refusal);
}

const CONSEQUENCES: readonly (readonly [resources: readonly string[], consequence: string])[] = [
  [['deployments', 'statefulsets'], 'the number of pods is taken from the pods, and a change counts once it has lasted two minutes'],
  [['poddisruptionbudgets'], 'disruption budgets are not recorded'],
  [['events'], 'what Azure refuses is not recorded'],
  [['configmaps'], 'limits of pools are not known'],
];

function consequencesOf(missing: readonly string[]): string {
  return CONSEQUENCES.flatMap(([resources, text]) => (resources.some((each) => missing.includes(each)) ? [text] : [])).join('; ');
}

async function untilOver(input: RecordLiveInput, signal: AbortSignal): Promise<void> {
  const { clock, forMs = Infinity } = input;
  const startMs = clock.monotonic();
  let poolsReadMs = startMs;
  for (;;) {
    const leftMs = startMs + forMs - clock.monotonic();
    if (leftMs <= 0 || !(await waited(clock, Math.min(leftMs, FLUSH_MS), signal))) return;
    if (clock.monotonic() - poolsReadMs >= POOLS_MS) {
      poolsReadMs = clock.monotonic();
      await readPoolsAgain(input, signal);
    }
    await write(input);
  }
}

/** @returns false if the signal came first. */
async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind === 'cancelled') return false;
    throw thrown;
  }
}

/** A read that fails leaves the pools as they were. */
async function readPoolsAgain({ recorder, clock, readPools, say }: RecordLiveInput, signal: AbortSignal): Promise<void> {
  try {
    const azure = await readPools?.(signal);
    if (azure !== undefined) takeAzure(recorder, azure, clock.now());
  } catch (thrown) {
    if (!signal.aborted) say(`The pools could not be read: ${asAutoscalerError(thrown).message}`);
  }
}

/** A disk that takes nothing may have room again later. */
async function write({ recorder, log, watched, clock, say }: RecordLiveInput): Promise<void> {
  const gap = watched.takeGap();
  if (gap !== undefined) recorder.markGap(gap.fromMs, gap.untilMs);
  log.append(recorder.take(clock.now()));
  try {
    await log.flush();
  } catch (thrown) {
    if (log.isStuck) throw thrown;
    say(`${asAutoscalerError(thrown).message} What is new waits in memory.`);
  }
}
