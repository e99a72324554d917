/**
 * The program that a laboratory runs, as the laboratory sees it. The composition root hands it in: the laboratory knows a
 * daemon by what it drives, and nothing of how one is made.
 */
import type { LoopListener } from '../domain/loop-report.ts';
import type { DecisionJournal } from '../domain/ports/records.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';

/** A daemon, as far as a run drives it. */
export interface DrivenDaemon {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called after each loop. Returns the way to unsubscribe. */
  onLoop(listener: LoopListener): () => void;
  readonly cloud: { inFlightCalls(): number };
}

/** One start of the program: what a process would find around it. */
export interface ProcessInput<Config> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  /** If absent, the journal that the configuration names is used. */
  readonly journal?: DecisionJournal;
  /** Receives each log line of level info and above. If absent, nothing is logged. */
  readonly onLog?: (line: string) => void;
}

/** What a start of the program results in. `Metrics` are those of this process alone. */
export interface ProgramProcess<Daemon extends DrivenDaemon, Metrics> {
  readonly metrics: Metrics;
  /** Resolves when connections stand. */
  readonly composed: Promise<Daemon>;
}

export interface Program<Config, Daemon extends DrivenDaemon, Metrics> {
  /** @throws Error with every problem that the flags or the environment have. */
  configure(flags: readonly string[], env: Readonly<Record<string, string>>): Config;
  launch(input: ProcessInput<Config>): ProgramProcess<Daemon, Metrics>;
}
