/**
 * The record of a dry run: follows every loop, keeps eight days in memory and, if there is a directory, on disk, and compares them
 * on request. Must not know what the lines mean.
 */
import type { LoopReport } from '../../domain/loop-report.ts';
import type { RepackEstimate } from '../../domain/repack.ts';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { compareShadow } from '../../planning/shadow/compare.ts';
import type { ForeignStatement, ShadowLine } from '../../planning/shadow/record.ts';
import type { ShadowReport } from '../../planning/shadow/report.ts';
import { followLoop, openLines, savingsLine, type ShadowMemory } from '../../planning/shadow/shadow.ts';
import { HistoryFiles } from './history-files.ts';
import { readShadowLines } from './shadow-lines.ts';

const DAY_MS = 86_400_000;
/** A report about a week needs the day before it, too. */
const KEPT_MS = 8 * DAY_MS;
/** A day in a file, so that whole files become too old. */
const FILES = { fileMs: DAY_MS, keptMs: KEPT_MS + DAY_MS };
/** About 30 MB. A quiet cluster has two thousand in eight days. */
const MOST_LINES = 100_000;
const SAVINGS_EVERY_MS = 3_600_000;
const READ_EVERY_MS = 60_000;
/** The `source` of the events of AKS's own autoscaler. */
const OTHER = 'cluster-autoscaler';

interface ShadowRecordDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Where lines are kept for later processes. undefined: only in memory. */
  readonly directory: string | undefined;
  /** Of the price list. undefined: there is none. */
  readonly currency: string | undefined;
  /** How many lines are kept in memory at most. If absent, 100,000. */
  readonly mostLines?: number;
  /** What the other autoscaler said after this time. Never rejects. */
  readonly statements: (component: string, sinceMs: number, signal: AbortSignal) => Promise<readonly ForeignStatement[]>;
}

export class ShadowRecord {
  readonly #deps: ShadowRecordDeps;
  readonly #files: HistoryFiles | undefined;
  readonly #closing = new AbortController();
  #lines: ShadowLine[] = [];
  #memory: ShadowMemory | undefined;
  #said: readonly ForeignStatement[] = [];
  #saidUntilMs: number;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: ShadowRecordDeps) {
    const { directory, clock, log } = deps;
    this.#deps = deps;
    this.#files = directory === undefined ? undefined : new HistoryFiles({ directory, clock, log, name: 'shadow', limits: FILES });
    this.#saidUntilMs = deps.clock.now();
  }

  /** Reads the lines of earlier processes. A directory that cannot be read is a warning: then the record begins with this process. */
  async restore(): Promise<void> {
    const { directory, log } = this.#deps;
    if (directory === undefined) return;
    try {
      const { lines, skippedLines } = await readShadowLines(directory);
      this.#lines = [...lines, ...this.#lines];
      this.#forgetOld();
      log.info({ directory, lines: lines.length, skippedLines }, 'Record of earlier dry runs read');
    } catch (thrown) {
      log.warn({ directory, error: asAutoscalerError(thrown).message }, 'Record of earlier dry runs could not be read');
    }
  }

  observe(report: LoopReport): void {
    const said = this.#said;
    this.#said = [];
    const followed = followLoop(this.#memory, report, said);
    this.#memory = followed.memory;
    const lines = followed.lines.map((line) => this.#withCurrency(line));
    this.#lines.push(...lines);
    this.#forgetOld();
    if (lines.length > 0) this.#files?.append(lines, this.#poolsBefore(lines));
    this.#readStatements();
  }

  /** Whether what repacking would save was not recorded lately. */
  get wantsSavings(): boolean {
    const last = this.#lines.findLast(({ kind }) => kind === 'repacking');
    return last === undefined || Math.abs(this.#deps.clock.now() - last.atMs) >= SAVINGS_EVERY_MS;
  }

  /** What a search found just now. */
  noteSavings(estimate: RepackEstimate): void {
    const { currency } = this.#deps;
    const line = savingsLine(estimate, currency);
    this.#lines.push(line);
    this.#files?.append([line]);
  }

  /** @throws nothing; a record that begins later says so. */
  report(sinceMs: number): ShadowReport {
    return compareShadow({ lines: [...this.#lines, ...this.#openLines()], sinceMs, nowMs: this.#deps.clock.now() });
  }

  /** Reads the last events, writes what is open, and waits for writes. */
  async close(): Promise<void> {
    if (this.#memory !== undefined) {
      await this.#reading;
      await this.#readOnce();
    }
    this.#closing.abort();
    this.#files?.append([...this.#said.map((statement) => ({ kind: 'said', ...statement })), ...this.#openLines()]);
    await this.#files?.settled();
  }

  #withCurrency(line: ShadowLine): ShadowLine {
    return line.kind === 'pools' ? { ...line, ...defined({ currency: this.#deps.currency }) } : line;
  }

  /** The pools as they are at the first of these lines: later lines refer to them, and what described them may be gone. */
  #poolsBefore(lines: readonly ShadowLine[]): readonly PoolsLine[] {
    const pools = this.#lines.findLast(isPools);
    return pools === undefined ? [] : [poolsAsOf(pools, Math.min(...lines.map(({ atMs }) => atMs)))];
  }

  #openLines(): readonly ShadowLine[] {
    return this.#memory === undefined ? [] : openLines(this.#memory);
  }

  #readStatements(): void {
    const { clock } = this.#deps;
    if (clock.monotonic() - this.#readAtMs < READ_EVERY_MS || this.#closing.signal.aborted) return;
    this.#readAtMs = clock.monotonic();
    this.#reading = this.#readOnce();
  }

  async #readOnce(): Promise<void> {
    const said = await this.#deps.statements(OTHER, this.#saidUntilMs, this.#closing.signal);
    this.#saidUntilMs = Math.max(this.#saidUntilMs, ...said.map(({ atMs }) => atMs));
    this.#said = [...this.#said, ...said];
  }

  #forgetOld(): void {
    const oldestMs = this.#deps.clock.now() - KEPT_MS;
    const isOld = ({ atMs }: ShadowLine): boolean => atMs < oldestMs;
    const first = this.#lines.findIndex((line) => !isOld(line));
    const drop = Math.max(first === -1 ? 0 : first, this.#lines.length - (this.#deps.mostLines ?? MOST_LINES));
    if (drop <= 0) return;
    // The last description of the pools stays, as of the first line that is kept: the record begins there.
    const pools = this.#lines.slice(0, drop).findLast(isPools);
    const kept = this.#lines.slice(drop);
    this.#lines = [...(pools === undefined ? [] : [poolsAsOf(pools, kept[0]?.atMs ?? oldestMs)]), ...kept];
  }
}

type PoolsLine = Extract<ShadowLine, { kind: 'pools' }>;

function isPools(line: ShadowLine): line is PoolsLine {
  return line.kind === 'pools';
}

/** No process started then. */
function poolsAsOf({ started: _started, ...line }: PoolsLine, atMs: number): PoolsLine {
  return { ...line, atMs };
}
