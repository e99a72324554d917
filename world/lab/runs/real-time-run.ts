/**
 * One run in real time: a world, one program in it, and the clock of the computer. For programs that cannot follow virtual time. With a
 * speed above 1 the world is faster, and the timers of the program are not. Must not know which program it is.
 */
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { seededStreams } from '../../../src/lib/random.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { realSimClock, type SimClock } from '../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../simulator/world.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../client-files.ts';
import type { Contract } from '../judge/price-list.ts';
import { RunMeters } from '../judge/run-meters.ts';
import type { RunResult } from '../judge/run-figures.ts';
import type { Scenario } from '../loads/load.ts';
import type { DrivenDaemon, Program } from '../program.ts';
import { LoadDriver } from './load-driver.ts';
import { worldOfScenario } from './scenario-world.ts';

const TOKEN = 'only-known-to-this-simulation';
/** Simulated milliseconds in which the first nodes join. */
const WARM_UP_MS = 60_000;
/** Milliseconds of the computer in which a program must have looked at the cluster once. */
const START_WITHIN_MS = 120_000;
const POLL_MS = 250;

export interface RunningProgram {
  /** It has looked at the cluster once. */
  readonly hasStarted: () => boolean;
  /** undefined while it runs, else how it ended by itself. */
  readonly ended: () => string | undefined;
  readonly stop: () => Promise<void>;
}

/** Starts the program in a world. `dir` is a folder of this run, for files. */
export type StartProgram = (world: World, dir: string) => Promise<RunningProgram>;

export interface RealTimeRunInput {
  /** The window that is played. */
  readonly scenario: Scenario;
  readonly seed: number;
  readonly contract: Contract;
  readonly name: string;
  readonly speed: number;
  readonly dir: string;
  readonly start: StartProgram;
  /** The clock of the computer. */
  readonly clock: Pick<Clock, 'sleep'>;
  /** If absent, the clock of the computer at `speed`. */
  readonly worldClock?: SimClock;
}

/** @throws AutoscalerError if the program does not start. */
export async function runInRealTime(input: RealTimeRunInput): Promise<RunResult> {
  const { scenario, seed, contract, name, speed, dir, start, clock, worldClock = realSimClock(speed) } = input;
  const signal = new AbortController().signal;
  const world = await startWorld({ spec: worldOfScenario(scenario, seed), clock: worldClock, client: CLIENT, token: TOKEN });
  try {
    await clock.sleep(WARM_UP_MS / speed, signal);
    const program = await start(world, dir);
    try {
      await untilStarted(program, name, clock);
      const meters = new RunMeters({ world, scenario, principal: CLIENT.clientId, contract });
      const driver = new LoadDriver(world, scenario);
      driver.start();
      await clock.sleep(scenario.durationMs / speed, signal);
      meters.end();
      driver.stop();
      const ended = program.ended();
      return {
        policy: name,
        seed,
        figures: meters.figures(driver.jobs.counts),
        samples: meters.samples(),
        waitQuantiles: meters.waitQuantiles(),
        notes: [
          ...(ended === undefined ? [] : [`${name} ended by itself with seed ${seed}: ${ended}.`]),
          ...meters.notes,
          ...driver.problems,
        ],
      };
    } finally {
      await program.stop();
    }
  } finally {
    await world.stop();
  }
}

async function untilStarted(program: RunningProgram, name: string, clock: Pick<Clock, 'sleep'>): Promise<void> {
  for (let waitedMs = 0; !program.hasStarted(); waitedMs += POLL_MS) {
    const ended = program.ended();
    if (ended !== undefined || waitedMs >= START_WITHIN_MS)
      throw new AutoscalerError({ kind: 'bug' }, `${name} did not start: ${ended ?? `no loop within ${START_WITHIN_MS / 1_000} s`}.`);
    await clock.sleep(POLL_MS, new AbortController().signal);
  }
}

/** The daemon with a policy, in this process and on the clock of the computer. */
export function daemonProgram<Config, Daemon extends DrivenDaemon, Metrics>(
  program: Program<Config, Daemon, Metrics>,
  flags: readonly string[],
  clock: Clock,
): StartProgram {
  return async (world, dir) => {
    await writeClientFiles(dir, world);
    const common = [`--kubeconfig=${dir}/kubeconfig`, '--leader-elect=false', '--address=127.0.0.1:0'];
    const config = program.configure([...common, ...flags], clientEnvironment(dir, world));
    const daemon = await program.launch({ config, clock, random: seededStreams(world.spec.seed) }).composed;
    let loops = 0;
    daemon.onLoop(() => {
      loops++;
    });
    await daemon.start();
    return { hasStarted: () => loops > 0, ended: () => undefined, stop: () => daemon.stop() };
  };
}
