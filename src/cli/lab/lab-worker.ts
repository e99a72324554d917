/** `lab worker`, which `lab run` starts: a process that makes one run. It receives an order and sends the result, or what went wrong. */
import type { Config } from '../../config/types/config.ts';
import { asAutoscalerError, configError } from '../../lib/errors.ts';
import type { DrivenDaemon, Program } from '../../lab/program.ts';
import { runPolicy } from '../../lab/runs/policy-run.ts';
import { EXIT_FAILED, EXIT_OK } from '../process/process.ts';
import type { WorkerAnswer } from './child-runs.ts';
import type { RunOrder } from './run-orders.ts';
import { loadScenario } from './scenario-source.ts';

export type LabProgram = Program<Config, DrivenDaemon, object>;

/** Does not return: the process ends. @throws AutoscalerError `config` if no process waits for the answer. */
export async function workForParent(program: LabProgram): Promise<never> {
  if (process.send === undefined) throw configError('lab worker is started by lab run.');
  // Without its parent it has no reader.
  process.once('disconnect', () => process.exit(EXIT_FAILED));
  const order = await new Promise<RunOrder>((resolve) => process.once('message', resolve));
  const answer = await answerOf(program, order);
  await new Promise<void>((resolve) => process.send?.(answer, () => resolve()));
  process.exit(EXIT_OK);
}

async function answerOf(program: LabProgram, { scenario: source, policy: { name, file }, seed }: RunOrder): Promise<WorkerAnswer> {
  try {
    const scenario = await loadScenario(source, seed);
    const policy = { name, flags: [`--config=${file}`] };
    const result = await runPolicy({ program, scenario, seed, policy });
    return result === undefined ? { kind: 'failed', message: 'the run ended early', isConfig: false } : { kind: 'done', result };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    return { kind: 'failed', message: error.message, isConfig: error.kind === 'config' };
  }
}
