/**
 * A recording that is being written. Every flush adds whole lines, so a process that is killed leaves a file that can be read up to its
 * last line; the end puts the lines in order of time, in a file beside it that then takes its place. Must not know what lines mean.
 */
import { createWriteStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { linesOf } from '../loads/recording-file.ts';
import { headerLine, parseLine, type RecordingHeader, type RecordingLine } from '../loads/recording-lines.ts';

const MIB = 2 ** 20;
/** What may wait for a disk that takes nothing. */
const MOST_WAITING_BYTES = 32 * MIB;
/** Text that is put in order at once. */
const SORTED_BYTES = 32 * MIB;
const CHUNK_CHARACTERS = 2 ** 16;
const compress = promisify(gzip);

/** The part of a file that the log uses. */
export interface OpenFile extends Pick<FileHandle, 'datasync' | 'truncate' | 'close'> {
  write(data: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>;
}

export class RecordingLog {
  readonly #path: string;
  readonly #header: RecordingHeader;
  readonly #file: OpenFile;
  /** Of whole lines. */
  #bytes: number;
  #hasBegun = false;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, header: RecordingHeader, file: OpenFile, bytes: number) {
    this.#path = path;
    this.#header = header;
    this.#file = file;
    this.#bytes = bytes;
  }

  /** Creates the file. @throws AutoscalerError with one sentence if it exists or cannot be written. */
  static async create(
    path: string,
    header: RecordingHeader,
    openFile: () => Promise<OpenFile> = () => open(path, 'wx', 0o600),
  ): Promise<RecordingLog> {
    const log = await naming(path, async () => new RecordingLog(path, header, await openFile(), 0));
    log.#add(headerLine({ ...header, isOpen: true }));
    await log.flush();
    return log;
  }

  /** Goes on with a file, without a line that was cut off. @throws AutoscalerError with one sentence. */
  static async continue(path: string, header: RecordingHeader): Promise<RecordingLog> {
    await rewrite(path, wholeLines(path, headerLine({ ...header, isOpen: true })));
    return naming(path, async () => {
      const file = await open(path, 'r+');
      return new RecordingLog(path, header, file, (await file.stat()).size);
    });
  }

  /** Whether it has more than its header. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** How much has been written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether so much waits that writing has to be given up. */
  get isStuck(): boolean {
    return this.#waitingBytes > MOST_WAITING_BYTES;
  }

  append(lines: readonly RecordingLine[]): void {
    if (lines.length > 0) this.#hasBegun = true;
    for (const line of lines) this.#add(JSON.stringify(line));
  }

  /** Brings everything so far to the disk. What cannot be written waits for the next call. @throws AutoscalerError with one sentence. */
  flush(): Promise<void> {
    const flushed = this.#writing.then(() => this.#write());
    this.#writing = flushed.catch(() => undefined);
    return flushed;
  }

  /** Writes the rest and puts the lines in order. @throws AutoscalerError with one sentence; what was written before stays readable. */
  async finish(): Promise<void> {
    await this.flush();
    await this.close();
    const { isOpen: _, ...header } = this.#header;
    await rewrite(this.#path, inOrder(this.#path, headerLine(header)));
    this.#bytes = (await stat(this.#path)).size;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  #add(text: string): void {
    this.#waiting.push(text);
    this.#waitingBytes += text.length + 1;
  }

  async #write(): Promise<void> {
    const count = this.#waiting.length;
    if (count === 0) return;
    const text = Buffer.from(`${this.#waiting.join('\n')}\n`);
    const data = isCompressed(this.#path) ? await compress(text) : text;
    await naming(this.#path, () => this.#put(data));
    this.#bytes += data.length;
    this.#waitingBytes -= this.#waiting.splice(0, count).reduce((sum, line) => sum + line.length + 1, 0);
  }

  async #put(data: Buffer): Promise<void> {
    try {
      for (let done = 0; done < data.length;) {
        const { bytesWritten } = await this.#file.write(data, done, data.length - done, this.#bytes + done);
        done += bytesWritten;
      }
      await this.#file.datasync();
    } catch (cause) {
      // A part of it would be a broken line.
      await this.#file.truncate(this.#bytes).catch(() => undefined);
      throw cause;
    }
  }
}

function isCompressed(path: string): boolean {
  return path.endsWith('.gz');
}

/** Replaces the file at once: a process that is killed leaves the old or the new one. */
async function rewrite(path: string, lines: AsyncIterable<string>): Promise<void> {
  const beside = `${path}.part`;
  await naming(path, async () => {
    try {
      const out = createWriteStream(beside, { mode: 0o600, flush: true });
      const source = Readable.from(chunks(lines), { objectMode: false });
      await (isCompressed(path) ? pipeline(source, createGzip(), out) : pipeline(source, out));
      await rename(beside, path);
    } catch (cause) {
      await rm(beside, { force: true }).catch(() => undefined);
      throw cause;
    }
  });
}

async function* chunks(lines: AsyncIterable<string>): AsyncGenerator<Buffer, void> {
  let text = '';
  for await (const line of lines) {
    text += `${line}\n`;
    if (text.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

/** All lines but the header, and but a last one that was cut off. */
async function* wholeLines(path: string, header: string): AsyncGenerator<string, void> {
  yield header;
  let previous: string | undefined;
  let index = 0;
  for await (const line of linesOf(path)) {
    if (index++ === 0) continue;
    if (previous !== undefined) yield previous;
    previous = line;
  }
  if (previous !== undefined && typeof parseLine(previous) !== 'string') yield previous;
}

/** Pools, workloads, then events by time. Reads the file several times if it is large, and never holds more than a part of it. */
async function* inOrder(path: string, header: string): AsyncGenerator<string, void> {
  yield header;
  yield* linesOfKind(path, 'note');
  yield* linesOfKind(path, 'start-pool');
  yield* linesOfKind(path, 'workload');
  for (const { fromMs, toMs } of await spans(path)) {
    const part: { readonly atMs: number; readonly line: string }[] = [];
    for await (const line of wholeLines(path, header)) {
      const atMs = timeIn(line);
      if (atMs !== undefined && atMs >= fromMs && atMs < toMs && !isEnd(line)) part.push({ atMs, line });
    }
    part.sort((left, right) => left.atMs - right.atMs);
    for (const { line } of part) yield line;
  }
  yield* linesOfKind(path, 'end');
}

async function* linesOfKind(path: string, kind: string): AsyncGenerator<string, void> {
  for await (const line of wholeLines(path, '')) if (line.startsWith(`{"kind":"${kind}"`)) yield line;
}

/** Parts of the time, each with lines that fit into memory. */
async function spans(path: string): Promise<readonly { readonly fromMs: number; readonly toMs: number }[]> {
  let size = 0;
  let lastMs = 0;
  for await (const line of wholeLines(path, '')) {
    size += line.length;
    lastMs = Math.max(lastMs, timeIn(line) ?? 0);
  }
  const count = Math.ceil(size / SORTED_BYTES) || 1;
  const spanMs = (lastMs + 1) / count;
  return Array.from({ length: count }, (_, index) => ({ fromMs: index * spanMs, toMs: (index + 1) * spanMs }));
}

function isEnd(line: string): boolean {
  return line.startsWith('{"kind":"end"');
}

/** The time stands right after the kind. */
function timeIn(line: string): number | undefined {
  const [, digits] = /^\{"kind":"[a-z-]+","atMs":(\d+)/.exec(line) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Turns what the disk throws into a sentence with the name of the file. */
async function naming<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof AutoscalerError) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const why = code in REASONS ? `${REASONS[code] ?? ''} (${code})` : cause instanceof Error ? cause.message : String(cause);
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The recording ${path} cannot be written: ${why}.`, { cause, code });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'access is denied',
  ENOENT: 'its folder does not exist',
  EEXIST: 'the file exists',
};
