/** Another autoscaler's binary as a child process, with the files and variables of a simulated world. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT } from '../../lab/client-files.ts';
import type { RunningProgram, StartProgram } from '../../lab/runs/real-time-run.ts';
import { clientVariables, writeClientFiles, type ClientFiles } from '../../simulator/entry/client-files.ts';
import type { World } from '../../simulator/world.ts';
import { systemClock } from '../../../src/cli/process/process.ts';

interface RivalInput {
  readonly path: string;
  /** Its own, in addition to those that lead it into the world. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Milliseconds until a rival that does not stop is killed. */
const STOP_WITHIN_MS = 10_000;
/** Characters of its log that an error shows. */
const SHOWN_LOG = 300;

/** Its log is in `rival.log` of the run's folder. */
export function rivalProgram({ path, flags, env }: RivalInput): StartProgram {
  return async (world, dir) => {
    const { files, variables } = await filesOf(world, join(dir, 'world'));
    const logFile = join(dir, 'rival.log');
    const log = openSync(logFile, 'w');
    const child = spawn(path, [...commonFlags(files), ...flags], {
      env: { PATH: env['PATH'], HOME: dir, ...variables },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    return runningRival(world, child, logFile);
  };
}

async function filesOf(
  world: World,
  dir: string,
): Promise<{ readonly files: ClientFiles; readonly variables: Readonly<Record<string, string>> }> {
  mkdirSync(dir, { recursive: true });
  const { spec, caPem, arm, cluster } = world;
  const source = {
    spec,
    caPem,
    azureUrl: arm.url,
    metadataUrl: await arm.startMetadata(),
    kubeconfig: cluster.kubeconfig(),
    client: CLIENT,
  };
  return { files: await writeClientFiles(dir, source), variables: clientVariables(dir, source) };
}

/** As the Cluster Autoscaler names them. */
function commonFlags(files: ClientFiles): readonly string[] {
  return [
    '--cloud-provider=azure',
    `--cloud-config=${files.clusterAutoscaler}`,
    `--kubeconfig=${files.kubeconfig}`,
    '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
    '--namespace=kube-system',
    '--address=127.0.0.1:0',
    // A busy computer must not cost it its lease.
    '--leader-elect=false',
  ];
}

function runningRival(world: World, child: ChildProcess, logFile: string): RunningProgram {
  let ended: string | undefined;
  const over = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = error.message;
      resolve();
    });
    child.once('exit', (code, signal) => {
      ended ??= `${signal ?? `exit code ${code ?? 'unknown'}`}; its log ends with: ${endOf(logFile)}`;
      resolve();
    });
  });
  // A worker that is stopped must not leave it behind.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    // It writes its status after its first loop.
    hasStarted: () => world.cluster.store.get('configmaps', 'kube-system', 'cluster-autoscaler-status') !== undefined,
    ended: () => ended,
    stop: async () => {
      child.kill('SIGTERM');
      const late = new AbortController();
      await Promise.race([over, systemClock.sleep(STOP_WITHIN_MS, late.signal).catch(() => undefined)]);
      late.abort();
      kill();
      await over;
      process.off('exit', kill);
    },
  };
}

function endOf(logFile: string): string {
  return readFileSync(logFile, 'utf8').trim().slice(-SHOWN_LOG).replaceAll(/\s+/g, ' ');
}
