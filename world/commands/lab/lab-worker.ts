/** `lab worker`, which `lab run` starts: a process that makes one run. It receives an order and sends the result, or what went wrong. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../../src/config/types/config.ts';
import { asAutoscalerError, configError } from '../../../src/lib/errors.ts';
import type { RunResult } from '../../lab/judge/run-figures.ts';
import type { Scenario } from '../../lab/loads/load.ts';
import type { DrivenDaemon, Program } from '../../lab/program.ts';
import { runPolicy } from '../../lab/runs/policy-run.ts';
import { daemonProgram, runInRealTime, type StartProgram } from '../../lab/runs/real-time-run.ts';
import { EXIT_FAILED, EXIT_OK, systemClock } from '../../../src/cli/process/process.ts';
import type { WorkerAnswer, WorkerProgress } from './child-runs.ts';
import { rivalProgram } from './rival-process.ts';
import type { Contestant, RunOrder } from './run-orders.ts';
import { loadScenario } from './scenario-source.ts';

export type LabProgram = Program<Config, DrivenDaemon, object>;

/** Does not return: the process ends. @throws AutoscalerError `config` if no process waits for the answer. */
export async function workForParent(program: LabProgram): Promise<never> {
  if (process.send === undefined) throw configError('lab worker is started by lab run.');
  // What this process started ends with it. Without its parent it has no reader.
  for (const end of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(end, () => process.exit(EXIT_FAILED));
  const order = await new Promise<RunOrder>((resolve) => process.once('message', resolve));
  const answer = await answerOf(program, order);
  await new Promise<void>((resolve) => process.send?.(answer, () => resolve()));
  process.exit(EXIT_OK);
}

async function answerOf(program: LabProgram, order: RunOrder): Promise<WorkerAnswer> {
  try {
    const { scenario } = await loadScenario(order.scenario, order.seed);
    const { realTimeSpeed } = order;
    const result =
      realTimeSpeed === undefined
        ? await runVirtually(program, order, scenario)
        : await runReally(program, { order, scenario, speed: realTimeSpeed });
    return result === undefined ? { kind: 'failed', message: 'the run ended early', isConfig: false } : { kind: 'done', result };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    return { kind: 'failed', message: error.message, isConfig: error.kind === 'config' };
  }
}

async function runVirtually(
  program: LabProgram,
  { contestant, seed, contract }: RunOrder,
  scenario: Scenario,
): Promise<RunResult | undefined> {
  if (contestant.kind === 'rival') throw configError(`${contestant.name} is a binary, which cannot run in virtual time.`);
  return runPolicy({ program, scenario, seed, contract, policy: { name: contestant.name, flags: flagsOf(contestant) }, onProgress });
}

function onProgress(share: number): boolean {
  const progress: WorkerProgress = { kind: 'progress', share };
  process.send?.(progress);
  return true;
}

interface RealRun {
  readonly order: RunOrder;
  readonly scenario: Scenario;
  readonly speed: number;
}

async function runReally(program: LabProgram, { order: { contestant, seed, contract }, scenario, speed }: RealRun): Promise<RunResult> {
  const dir = mkdtempSync(join(tmpdir(), 'run-'));
  const start = startOf(program, contestant);
  return runInRealTime({ scenario, seed, contract, name: contestant.name, speed, dir, start, clock: systemClock });
}

function startOf(program: LabProgram, contestant: Contestant): StartProgram {
  if (contestant.kind === 'rival') return rivalProgram({ path: contestant.path, flags: contestant.flags, env: process.env });
  return daemonProgram(program, flagsOf(contestant), systemClock);
}

function flagsOf({ file }: { readonly file: string }): readonly string[] {
  return [`--config=${file}`];
}
