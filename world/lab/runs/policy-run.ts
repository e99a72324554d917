/**
 * One run: a scenario, one policy and one seed, in virtual time. Must not know how a daemon is composed, nor how runs are compared.
 */
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { defined } from '../../../src/lib/defined.ts';
import { configError } from '../../../src/lib/errors.ts';
import { CLIENT } from '../client-files.ts';
import type { Contract } from '../judge/price-list.ts';
import { RunMeters } from '../judge/run-meters.ts';
import type { RunResult } from '../judge/run-figures.ts';
import type { Scenario } from '../loads/load.ts';
import type { DrivenDaemon, Program } from '../program.ts';
import { VirtualRun } from '../virtual-run.ts';
import { LoadDriver } from './load-driver.ts';
import { worldOfScenario } from './scenario-world.ts';

/** By then the daemon has looked at the cluster. */
const FIRST_LOOK_MS = 60_000;
/** Entries of Azure's journal in memory: nothing reads old ones. */
const JOURNAL_LIMIT = 1_000;

export interface PolicyRunInput<Config, Daemon extends DrivenDaemon, Metrics> {
  readonly program: Program<Config, Daemon, Metrics>;
  readonly scenario: Scenario;
  readonly seed: number;
  /** By which the run is billed. If absent, list prices hold. */
  readonly contract?: Contract;
  readonly policy: {
    readonly name: string;
    /** Flags of the `run` command that name the policy's file. */
    readonly flags: readonly string[];
  };
  /** Called now and then with the share of the run that is over, from 0 to 1. Returns false to end the run. */
  readonly onProgress?: (share: number) => boolean;
}

/** undefined: it was ended early. @throws AutoscalerError `config` if the policy or the scenario cannot run. */
export async function runPolicy<Config, Daemon extends DrivenDaemon, Metrics>(
  input: PolicyRunInput<Config, Daemon, Metrics>,
): Promise<RunResult | undefined> {
  const { program, scenario, seed, policy, contract } = input;
  const run = await VirtualRun.start(program, {
    spec: worldOfScenario(scenario, seed),
    startMs: scenario.startMs,
    flags: policy.flags,
    // Without rules of its own the policy selects every pool: all have the tags with the cluster's name.
    discovery: [],
    knobs: { journalLimit: JOURNAL_LIMIT },
    reportsKept: 1,
  });
  try {
    const meters = new RunMeters({ world: run.world, scenario, principal: CLIENT.clientId, ...defined({ contract }) });
    const driver = new LoadDriver(run.world, scenario);
    driver.start();
    await run.advance(Math.min(FIRST_LOOK_MS, scenario.durationMs));
    const unknown = unknownGroups(input, run.reports.at(-1)?.observation?.cloud.groups ?? []);
    if (!(await advanceAll(input, run))) return undefined;
    meters.end();
    driver.stop();
    return {
      policy: policy.name,
      seed,
      figures: meters.figures(driver.jobs.counts),
      samples: meters.samples(),
      waitQuantiles: meters.waitQuantiles(),
      notes: [...unknown, ...meters.notes, ...driver.problems],
    };
  } finally {
    await run.stop();
  }
}

/** @returns sentences about pools that only the policy has. @throws AutoscalerError `config` if it has none of the scenario's. */
function unknownGroups<Config, Daemon extends DrivenDaemon, Metrics>(
  { policy, scenario }: PolicyRunInput<Config, Daemon, Metrics>,
  groups: readonly NodeGroup[],
): readonly string[] {
  const pools = scenario.pools.map(({ name }) => name).join(', ');
  const unknown = groups.filter(({ vmSize }) => vmSize === '');
  if (unknown.length === groups.length)
    throw configError(
      `The policy ${policy.name} selects none of the pools of ${scenario.name}, which are ${pools}; remove its nodeGroups and discovery, or name these.`,
    );
  return unknown.map(({ id }) => `${policy.name} names the pool ${id}, which ${scenario.name} does not have.`);
}

/** In slices, for the progress. @returns whether it got to the end. */
async function advanceAll<Config, Daemon extends DrivenDaemon, Metrics>(
  { scenario, onProgress = () => true }: PolicyRunInput<Config, Daemon, Metrics>,
  run: VirtualRun<Config, Daemon, Metrics>,
): Promise<boolean> {
  const sliceMs = Math.max(FIRST_LOOK_MS, scenario.durationMs / 100);
  for (let doneMs = FIRST_LOOK_MS; doneMs < scenario.durationMs; doneMs += sliceMs) {
    if (!onProgress(doneMs / scenario.durationMs)) return false;
    await run.advance(Math.min(sliceMs, scenario.durationMs - doneMs));
  }
  return onProgress(1);
}
