/**
 * The interface of the program that a laboratory runs. The composition root supplies the program: the laboratory drives a daemon
 * and does not know how one is made.
 */
import type { LoopListener } from '../../src/domain/loop-report.ts';
import type { DecisionJournal } from '../../src/domain/ports/records.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Random } from '../../src/lib/random.ts';

/** The part of a daemon that a run drives. */
export interface DrivenDaemon {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called after each loop. Returns a function that unsubscribes. */
  onLoop(listener: LoopListener): () => void;
  readonly cloud: { inFlightCalls(): number };
}

/** The input of one start of the program. */
interface ProcessInput<Config> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  /** If absent, the journal that the configuration names is used. */
  readonly journal?: DecisionJournal;
  /** Receives each log line of level info and above. If absent, nothing is logged. */
  readonly onLog?: (line: string) => void;
}

/** A started program. `Metrics` are those of this process alone. */
interface ProgramProcess<Daemon extends DrivenDaemon, Metrics> {
  readonly metrics: Metrics;
  /** Resolves when all connections are established. */
  readonly composed: Promise<Daemon>;
}

export interface Program<Config, Daemon extends DrivenDaemon, Metrics> {
  /** @throws Error with every problem in the flags or the environment. */
  configure(flags: readonly string[], env: Readonly<Record<string, string>>): Config;
  launch(input: ProcessInput<Config>): ProgramProcess<Daemon, Metrics>;
}
