/** Recordings on disk: JSON lines, compressed with gzip if the name ends in `.gz`. Must not know where a load comes from. */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline, type Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { constants, createGunzip, createGzip, type Gzip } from 'node:zlib';
import { AutoscalerError, configError } from '../../../src/lib/errors.ts';
import type { LoadEvent, LoadPool, Scenario, Workload } from './load.ts';
import { headerLine, parseHeader, parseLine, type RecordingHeader, type RecordingLine } from './recording-lines.ts';

const MIB = 2 ** 20;
/** Limits that protect the reader: a small gzip file may contain very much. */
const MOST_LINE_BYTES = MIB;
const MOST_BYTES = 4_096 * MIB;
const MOST_LINES = 20_000_000;

export interface RecordingWriter {
  /** Resolves when the writer can take more. */
  write(line: RecordingLine): Promise<void>;
  /** Brings everything so far to the disk: a process that is killed later loses only what follows. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Creates the file, or empties it. @throws what the disk throws, as the writer does. */
export async function createRecording(path: string, header: RecordingHeader): Promise<RecordingWriter> {
  const file = createWriteStream(path, { mode: 0o600 });
  await once(file, 'open');
  const gzip = path.endsWith('.gz') ? createGzip() : undefined;
  const out: Writable = gzip ?? file;
  if (gzip !== undefined) gzip.pipe(file);
  const done = finished(file);
  // `write` or `close` report the error.
  done.catch(() => undefined);
  const put = (text: string): Promise<void> =>
    Promise.race([done, new Promise<void>((resolve) => (out.write(`${text}\n`) ? resolve() : out.once('drain', resolve)))]);
  await put(headerLine(header));
  return {
    write: (line) => put(JSON.stringify(line)),
    flush: () => (gzip === undefined ? Promise.resolve() : Promise.race([done, flushed(gzip)])),
    close: async () => {
      out.end();
      await done;
    },
  };
}

function flushed(gzip: Gzip): Promise<void> {
  return new Promise((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, () => resolve()));
}

/** Milliseconds after the start. */
interface RecordingGap {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Recording {
  readonly scenario: Scenario;
  /** false: the file has no end, because its writer was interrupted or still works. The scenario ends with the last event. */
  readonly isComplete: boolean;
  /** Times that nothing was seen of, in order. */
  readonly gaps: readonly RecordingGap[];
  /** What a reader must know about it, as sentences, each once. */
  readonly notes: readonly string[];
}

/** @throws AutoscalerError `config` with the file, the line and what is wrong. */
export async function readRecording(path: string): Promise<Recording> {
  const collected = new CollectedLines(path);
  let previous: string | undefined;
  // The last line may be cut off, so each line is read when the next one begins.
  for await (const text of linesOf(path)) {
    if (previous !== undefined) collected.add(previous);
    previous = text;
  }
  if (previous !== undefined) collected.addLast(previous);
  return collected.result();
}

/** Lines of the file, decompressed and not checked. The last one may be cut off. @throws AutoscalerError `config` if it cannot be read. */
export async function* linesOf(path: string): AsyncGenerator<string, void> {
  let size = 0;
  let rest = '';
  try {
    for await (const chunk of contentOf(path).setEncoding('utf8') as AsyncIterable<string>) {
      size += chunk.length;
      if (size > MOST_BYTES) throw recordingError(path, `is larger than ${MOST_BYTES / MIB} MiB`);
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MOST_LINE_BYTES) throw recordingError(path, `has a line of more than ${MOST_LINE_BYTES / MIB} MiB`);
      yield* lines;
    }
  } catch (cause) {
    throw readError(path, cause);
  }
  if (rest !== '') yield rest;
}

function contentOf(path: string): Readable {
  const file = createReadStream(path);
  if (!path.endsWith('.gz')) return file;
  // With this flush mode a stream that was cut off ends like a file.
  const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  // Errors of both reach the reader of the last one.
  pipeline(file, gunzip, () => undefined);
  return gunzip;
}

function readError(path: string, cause: unknown): AutoscalerError {
  if (cause instanceof AutoscalerError) return cause;
  const why = cause instanceof Error ? cause.message.split(',')[0] : String(cause);
  return configError(`The recording ${path} cannot be read: ${why}.`, { cause });
}

function recordingError(path: string, what: string): AutoscalerError {
  return configError(`The recording ${path} ${what}.`);
}

/** What the lines say together. Checks that events are in order and name known workloads and pools. */
class CollectedLines {
  readonly #path: string;
  readonly #pools: LoadPool[] = [];
  readonly #workloads: Workload[] = [];
  readonly #events: LoadEvent[] = [];
  readonly #gaps: RecordingGap[] = [];
  readonly #notes = new Set<string>();
  readonly #knownPools = new Set<string>();
  readonly #knownWorkloads = new Set<string>();
  #header: RecordingHeader | undefined;
  #line = 0;
  #lastMs = 0;
  #ended = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws AutoscalerError `config` if the line is wrong. */
  add(text: string): void {
    this.#line++;
    if (this.#line > MOST_LINES) throw recordingError(this.#path, `has more than ${MOST_LINES} lines`);
    if (this.#header === undefined) {
      const header = parseHeader(text);
      if (typeof header === 'string') throw recordingError(this.#path, header);
      this.#header = header;
      return;
    }
    const line = parseLine(text);
    const wrong = typeof line === 'string' ? line : this.#misplaced(line);
    if (typeof line === 'string' || wrong !== undefined) throw recordingError(this.#path, `has an invalid line ${this.#line}: it ${wrong}`);
    this.#take(line);
  }

  /** Adds the last line of the file. It is skipped if it was cut off. */
  addLast(text: string): void {
    if (this.#header === undefined || typeof parseLine(text) !== 'string') this.add(text);
  }

  /** @throws AutoscalerError `config` if the file has no header. */
  result(): Recording {
    if (this.#header === undefined) throw recordingError(this.#path, 'is empty');
    const { name, startMs, currency } = this.#header;
    return {
      isComplete: this.#ended,
      gaps: this.#gaps.toSorted((left, right) => left.fromMs - right.fromMs),
      notes: [...this.#notes],
      scenario: {
        name,
        startMs,
        currency,
        durationMs: this.#lastMs,
        pools: this.#pools,
        workloads: this.#workloads,
        events: this.#header.isOpen === true ? this.#events.toSorted((left, right) => left.atMs - right.atMs) : this.#events,
      },
    };
  }

  /** Why the line cannot stand here. */
  #misplaced(line: RecordingLine): string | undefined {
    if (this.#ended) return 'follows the end';
    if ('atMs' in line && line.atMs < this.#lastMs && this.#header?.isOpen !== true)
      return `is at ${line.atMs} ms, before the line above it`;
    if ('workload' in line && typeof line.workload === 'string' && !this.#knownWorkloads.has(line.workload))
      return `names the workload ${line.workload}, which no line above it describes`;
    if ('pool' in line && typeof line.pool === 'string' && !this.#knownPools.has(line.pool))
      return `names the pool ${line.pool}, which no line above it describes`;
    if (line.kind === 'workload' && this.#knownWorkloads.has(line.workload.id)) return `describes ${line.workload.id} a second time`;
    return undefined;
  }

  #take(line: RecordingLine): void {
    if ('atMs' in line) this.#lastMs = Math.max(this.#lastMs, line.atMs);
    switch (line.kind) {
      case 'end':
        this.#ended = true;
        return;
      case 'gap':
        this.#gaps.push({ fromMs: line.atMs, untilMs: line.untilMs });
        return;
      case 'note':
        this.#notes.add(line.text);
        return;
      case 'start-pool':
        this.#pools.push(line.pool);
        this.#knownPools.add(line.pool.name);
        return;
      case 'workload':
        this.#workloads.push(line.workload);
        this.#knownWorkloads.add(line.workload.id);
        return;
      case 'pool':
        this.#knownPools.add(line.pool.name);
        this.#events.push(line);
        return;
      default:
        this.#events.push(line);
    }
  }
}
