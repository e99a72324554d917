/** `record` beside a daemon in virtual time: a load is played, and the command follows it from the first second to the last. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run as record } from '../../../commands/record/record-command.ts';
import type { Scenario } from '../../../lab/loads/load.ts';
import { readRecording } from '../../../lab/loads/recording-file.ts';
import { clockOf } from '../../../lab/process-clock.ts';
import { LoadDriver } from '../../../lab/runs/load-driver.ts';
import type { WorldSpec } from '../../../simulator/base/world-spec.ts';
import { VirtualRun } from '../../../../test/support/virtual-world.ts';
import { aTerminal } from './recorded-world.ts';

interface RecordedRun {
  readonly spec: WorldSpec;
  /** Of the daemon. */
  readonly flags: readonly string[];
  readonly load: Scenario;
  /** Lets the time of the load pass. */
  readonly play: (run: VirtualRun) => Promise<void>;
}

/** Starts the world, and ends it. `run` is over when this resolves: only its journal is there to be read. */
export async function recordRun({ spec, flags, load, play }: RecordedRun) {
  const run = await VirtualRun.start({ spec, flags, reportsKept: 1 });
  const dir = await mkdtemp(join(tmpdir(), 'recorded-run-'));
  try {
    const [kubeconfig, out] = [join(dir, 'kubeconfig'), join(dir, 'load.jsonl')];
    await writeFile(kubeconfig, run.world.cluster.kubeconfig());
    const terminal = aTerminal();
    const ended = record(['--out', out, '--kubeconfig', kubeconfig], terminal, clockOf(run.clock));
    await terminal.begun(ended);
    const driver = new LoadDriver(run.world, load);
    driver.start();
    await play(run);
    driver.stop();
    terminal.signal();
    const code = await ended;
    return { ...(await readRecording(out)), code, said: terminal.said(), problems: [...driver.problems], run, driver };
  } finally {
    await run.stop();
    await rm(dir, { recursive: true });
  }
}
