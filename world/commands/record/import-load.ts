/** Records the past of a cluster from files: dumps of kubectl and results of Prometheus, in any number and order. */
import { AutoscalerError, configError } from '../../../src/lib/errors.ts';
import type { Terminal } from '../../../src/cli/process/process.ts';
import { readObjectStream } from '../../../src/tools/plan/files/object-stream.ts';
import { DumpPicture, stepsOf } from './dump-pictures.ts';
import { isDecisionDump, readDumpFacts, type DecidedFaults } from './faults/decision-dumps.ts';
import { FROM_DUMPS, NO_EVENTS, visibilityNotes } from './faults/visibility-notes.ts';
import { isPrometheusResult, readPrometheusResult } from './prometheus-file.ts';
import { PrometheusLoad } from './prometheus-load.ts';
import { PodReader } from './seen-pod.ts';
import type { Step } from './timeline.ts';

interface ImportedLoad {
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly steps: readonly Step[];
  /** How long a number of pods must last to count, milliseconds. If absent, the usual time. */
  readonly settleMs?: number;
  /** What the files do not say, as sentences. */
  readonly notes: readonly string[];
}

/** One string in memory. Larger ranges are queried in parts. */
const MOST_RESULT_BYTES = 400 * 2 ** 20;
const HEAD_BYTES = 512;
const SETTLE_STEPS = 2;
const LEAST_SETTLE_MS = 120_000;

/** @throws AutoscalerError `config` with one sentence for a file that cannot be read, or if no file has pods. */
export async function importLoad(files: readonly string[], readChunks: Terminal['readChunks']): Promise<ImportedLoad> {
  const pictures: DumpPicture[] = [];
  const prometheus = new PrometheusLoad();
  const dumps: DecidedFaults[] = [];
  const pods = new PodReader();
  let stepMs = Infinity;
  for (const file of files) {
    const { head, chunks } = await opened(file, readChunks);
    if (isDecisionDump(head)) {
      dumps.push(readDumpFacts(await textOf(file, chunks)));
      continue;
    }
    if (!isPrometheusResult(head)) {
      const picture = new DumpPicture(pods);
      await readObjectStream(file, chunks, (object) => picture.add(object));
      pictures.push(picture);
      continue;
    }
    for (const series of readPrometheusResult(file, await textOf(file, chunks))) {
      stepMs = Math.min(stepMs, series.stepMs);
      prometheus.add(series);
    }
  }
  const load = fromSources({ pictures, prometheus, stepMs, files });
  return dumps.length === 0 ? load : withDumps(load, dumps);
}

/** The limits of the first decision are those of the start. */
function withDumps(load: ImportedLoad, dumps: readonly DecidedFaults[]): ImportedLoad {
  const ordered = dumps.toSorted((left, right) => left.atMs - right.atMs);
  const steps = ordered.flatMap((dump, at) => stepsOfDump(dump, at === 0 ? load.startMs : dump.atMs));
  return { ...load, steps: [...load.steps, ...steps], notes: load.notes.map((note) => (note === NO_EVENTS ? FROM_DUMPS : note)) };
}

interface Sources {
  readonly pictures: readonly DumpPicture[];
  readonly prometheus: PrometheusLoad;
  readonly stepMs: number;
  readonly files: readonly string[];
}

function fromSources({ pictures, prometheus, stepMs, files }: Sources): ImportedLoad {
  if (pictures.length === 0) return fromPrometheus(prometheus, stepMs, files);
  if (Number.isFinite(prometheus.range.firstMs))
    throw configError(
      '--import has dumps of kubectl and results of Prometheus; record them in two files, since they name the same pods differently.',
    );
  return fromPictures(pictures, files);
}

function stepsOfDump({ refusals, limits }: DecidedFaults, atMs: number): readonly Step[] {
  return [
    { atMs, apply: (recorder) => recorder.setLimits(limits, atMs) },
    ...refusals.map((refusal): Step => ({ atMs: refusal.atMs, apply: (recorder) => recorder.seeRefusal(refusal) })),
  ];
}

function fromPrometheus(prometheus: PrometheusLoad, stepMs: number, files: readonly string[]): ImportedLoad {
  const { firstMs, lastMs } = prometheus.range;
  if (!Number.isFinite(firstMs))
    throw configError(`${files.join(', ')}: no series of kube-state-metrics that record reads; world/docs/record.md has the queries.`);
  const step = Number.isFinite(stepMs) ? stepMs : 0;
  const settleMs = Math.max(LEAST_SETTLE_MS, SETTLE_STEPS * step);
  return { startMs: floor(firstMs), endMs: lastMs + step, steps: prometheus.steps(step), settleMs, notes: prometheus.notes };
}

function fromPictures(pictures: readonly DumpPicture[], files: readonly string[]): ImportedLoad {
  const startMs = alignStart(pictures);
  if (startMs === undefined) throw configError(`${files.join(', ')}: no file has pods; write them with kubectl get pods -A -o json.`);
  const endMs = Math.max(startMs, ...pictures.map(({ atMs }) => atMs));
  const notes = visibilityNotes({ events: pictures.some(({ kinds }) => kinds.has('Event')), azure: false });
  return { startMs, endMs, steps: stepsOf(pictures), notes };
}

/**
 * Nodes and controllers may be in files of their own, whose newest times are others. With one file of pods, all files are of one moment;
 * with several, the first file of each kind is of the start. @returns the start, milliseconds since the epoch.
 */
function alignStart(pictures: readonly DumpPicture[]): number | undefined {
  const ordered = pictures.toSorted((left, right) => left.atMs - right.atMs);
  const withPods = ordered.filter(({ kinds }) => kinds.has('Pod'));
  const [first] = withPods;
  if (first === undefined) return undefined;
  const isOneMoment = withPods.length === 1;
  const startMs = isOneMoment ? (ordered.at(-1)?.atMs ?? first.atMs) : first.atMs;
  const seen = new Set<string>();
  for (const picture of ordered) {
    const isFirst = [...picture.kinds].every((kind) => !seen.has(kind));
    for (const kind of picture.kinds) seen.add(kind);
    if (isOneMoment || (isFirst && !picture.kinds.has('Pod'))) picture.atMs = startMs;
  }
  return startMs;
}

function floor(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

async function opened(
  file: string,
  readChunks: Terminal['readChunks'],
): Promise<{ readonly head: string; readonly chunks: AsyncIterable<Uint8Array> }> {
  const source = readChunks(file)[Symbol.asyncIterator]();
  try {
    const first = await source.next();
    const head = first.done === true ? new Uint8Array() : first.value;
    return { head: Buffer.from(head.subarray(0, HEAD_BYTES)).toString('utf8'), chunks: again(head, source) };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw cause instanceof AutoscalerError ? cause : configError(`File "${file}" cannot be read (${code}).`, { cause });
  }
}

async function* again(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function textOf(file: string, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of chunks) {
    bytes += part.length;
    if (bytes > MOST_RESULT_BYTES)
      throw configError(`${file} has more than ${MOST_RESULT_BYTES / 2 ** 20} MiB; query a shorter range, and import several files.`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
