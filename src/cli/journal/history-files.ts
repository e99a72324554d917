/**
 * The history on disk: one JSON line per entry in files of limited size. The oldest files are deleted. Lines that cannot be read are
 * skipped. A full disk or a directory that cannot be written is a warning, never a failure. Must not know what entries mean.
 */
import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { messageOf } from '../../lib/errors.ts';

export interface HistoryFilesDeps {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<HistoryFileLimits>;
  /** The first word of the files' names. Default: `history`. */
  readonly name?: RecordName;
}

/** Records of one directory: each has files of its own. */
export type RecordName = 'history' | 'shadow';

interface HistoryFileLimits {
  /** After this size, a new file begins. */
  readonly fileBytes: number;
  /** Of all files together. */
  readonly totalBytes: number;
  /** What may wait for a slow disk. More is dropped. */
  readonly waitingBytes: number;
  /** After this time, a new file begins, milliseconds. */
  readonly fileMs: number;
  /** Files that began earlier are deleted when a new one begins, milliseconds. */
  readonly keptMs: number;
}

const MIB = 2 ** 20;
const LIMITS: HistoryFileLimits = { fileBytes: 4 * MIB, totalBytes: 64 * MIB, waitingBytes: 8 * MIB, fileMs: Infinity, keptMs: Infinity };
/** A repeated failure is logged again after this time. */
const SAME_WARNING_MS = 600_000;

export class HistoryFiles {
  readonly #deps: HistoryFilesDeps;
  readonly #limits: HistoryFileLimits;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  /** The file that lines are added to. undefined: the next write begins one. */
  #file: { readonly path: string; readonly beganAtMs: number; bytes: number } | undefined;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  /** The end of the last write may lie within a line. */
  #broken = false;
  /** Begins the next new file. */
  #first: readonly object[] = [];

  constructor(deps: HistoryFilesDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
  }

  /** Adds the entries in the background. Never throws and never waits. `first`: what a new file begins with, so that it can be read alone. */
  append(entries: readonly object[], first: readonly object[] = []): void {
    this.#first = first;
    const lines = entries.map((entry) => JSON.stringify(entry));
    for (const line of lines) {
      const bytes = Buffer.byteLength(line) + 1;
      if (this.#waitingBytes + bytes > this.#limits.waitingBytes) {
        this.#warn('the disk is slow: entries are dropped');
        break;
      }
      this.#waiting.push(line);
      this.#waitingBytes += bytes;
    }
    if (this.#busy || this.#waiting.length === 0) return;
    this.#busy = true;
    this.#writing = this.#drain();
  }

  /** Resolves when everything is written, or could not be. Never rejects. */
  settled(): Promise<void> {
    return this.#writing;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const text = `${this.#broken ? '\n' : ''}${this.#waiting.join('\n')}\n`;
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#write(text);
    }
    this.#busy = false;
  }

  async #write(lines: string): Promise<void> {
    const { directory, clock, name = 'history' } = this.#deps;
    const nowMs = clock.now();
    let text = lines;
    try {
      if (this.#file === undefined || this.#isFull(this.#file, nowMs)) {
        await mkdir(directory, { recursive: true });
        await this.#deleteOldest(nowMs);
        this.#file = { path: join(directory, `${name}-${stampOf(nowMs)}.jsonl`), beganAtMs: nowMs, bytes: 0 };
        text = `${this.#first.map((entry) => `${JSON.stringify(entry)}\n`).join('')}${text}`;
      }
      await appendFile(this.#file.path, text, { mode: 0o600 });
      this.#file.bytes += Buffer.byteLength(text);
      this.#broken = false;
    } catch (thrown) {
      this.#broken = true;
      // Another process may have deleted the directory.
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') this.#file = undefined;
      this.#warn(messageOf(thrown));
    }
  }

  #warn(error: string): void {
    const nowMs = this.#deps.clock.monotonic();
    if (nowMs - this.#warnedAtMs < SAME_WARNING_MS) return;
    this.#warnedAtMs = nowMs;
    this.#deps.log.warn({ directory: this.#deps.directory, error }, 'History could not be written');
  }

  #isFull({ bytes, beganAtMs }: { readonly bytes: number; readonly beganAtMs: number }, nowMs: number): boolean {
    return bytes >= this.#limits.fileBytes || nowMs - beganAtMs >= this.#limits.fileMs;
  }

  async #deleteOldest(nowMs: number): Promise<void> {
    const { directory, name: record = 'history' } = this.#deps;
    const { totalBytes, fileBytes, keptMs } = this.#limits;
    const oldest = keptMs === Infinity ? '' : `${record}-${stampOf(nowMs - keptMs)}`;
    let left = totalBytes - fileBytes;
    for (const name of (await historyFilesIn(directory, record)).toReversed()) {
      const { size } = await stat(join(directory, name));
      left -= size;
      if (left < 0 || name < oldest) await rm(join(directory, name));
    }
  }
}

/** Sorts by time. */
function stampOf(ms: number): string {
  return new Date(ms).toISOString().replace(/[:.]/g, '-');
}

async function historyFilesIn(directory: string, record: RecordName): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith(`${record}-`) && name.endsWith('.jsonl')).sort();
}

/** What one or more processes wrote, and how many lines could not be read. */
export interface ReadHistory {
  /** The oldest first. */
  readonly entries: readonly unknown[];
  readonly skippedLines: number;
}

/** Every entry in the directory. A directory that does not exist holds none. @throws what the disk throws. */
export async function readHistoryFiles(directory: string, record: RecordName = 'history'): Promise<ReadHistory> {
  const entries: unknown[] = [];
  let skippedLines = 0;
  for (const name of await namesOrNone(directory, record)) {
    for (const line of (await readFile(join(directory, name), 'utf8')).split('\n')) {
      if (line === '') continue;
      const entry = parsed(line);
      if (entry === undefined) skippedLines += 1;
      else entries.push(entry);
    }
  }
  return { entries, skippedLines };
}

async function namesOrNone(directory: string, record: RecordName): Promise<readonly string[]> {
  try {
    return await historyFilesIn(directory, record);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return [];
    throw thrown;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
