/** Child processes of the demo: the simulated world in one, the daemon in another, as on two machines. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AutoscalerError } from '../../../src/lib/errors.ts';

/** Production settings with shorter timers: the usual minutes before a removal would make a long demo. */
const SETTINGS = `# Written by the demo. The daemon is the production program; these are ordinary settings.
discovery:
  - selectors:
      cluster-autoscaler-enabled: "true"
kubernetes:
  leaderElect: true
scaleDown:
  unneededTime: 5s
  delayAfterAdd: 4s
  delayAfterFailure: 3s
  unremovableRecheck: 2s
  maxDrainParallelism: 4
drain:
  delayAfterTaint: 1s
  evictionRetry: 1s
loop:
  scanInterval: 2s
http:
  address: 127.0.0.1:0
`;

/**
 * The defaults of both autoscalers in a world that runs this much faster. No selection of pools: those of AKS's own autoscaler are found
 * by themselves.
 */
function shadowSettings(dir: string, speed: number): string {
  const ofMinutes = (minutes: number): string => `${Math.max(1, Math.round((minutes * 60_000) / speed))}ms`;
  return `# Written by the demo: no tags, no pools, a dry run.
scaleUp:
  prices: { Standard_D4s_v5: 0.23, Standard_E8s_v5: 0.61, Standard_F8s_v2: 0.39, Standard_D16s_v5: 0.92 }
scaleDown:
  unneededTime: ${ofMinutes(10)}
  delayAfterAdd: ${ofMinutes(10)}
loop:
  scanInterval: 500ms
azure:
  cache: { vmssTtl: 1s }
http:
  address: 127.0.0.1:0
historyDirectory: ${JSON.stringify(join(dir, 'history'))}
`;
}

export type DemoMode = 'live' | 'dry-run' | 'shadow';

/** Arguments and environment of the daemon's process. @param dir with the client files of the world. */
export async function daemonSettings(
  dir: string,
  env: Readonly<Record<string, string | undefined>>,
  { armUrl, mode, speed }: { readonly armUrl: string; readonly mode: DemoMode; readonly speed: number },
): Promise<{ readonly args: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> }> {
  const config = join(dir, 'daemon.yaml');
  await mkdir(join(dir, 'decisions'), { recursive: true });
  const settings = mode === 'shadow' ? shadowSettings(dir, speed) : SETTINGS;
  await writeFile(config, `${settings}dryRun: ${mode !== 'live'}\ndumpDirectory: ${JSON.stringify(join(dir, 'decisions'))}\n`);
  return {
    args: ['run', `--config=${config}`, `--cloud-config=${join(dir, 'azure.json')}`, `--kubeconfig=${join(dir, 'kubeconfig')}`],
    env: {
      PATH: env['PATH'],
      HOME: env['HOME'],
      AZURE_RESOURCE_MANAGER_ENDPOINT: armUrl,
      AZURE_AUTHORITY_HOST: armUrl,
      AZURE_CA_FILE: join(dir, 'ca.pem'),
    },
  };
}

export interface Child {
  readonly name: string;
  /** Resolves with the first line of standard output that matches. Rejects if the process ends before. */
  line(pattern: RegExp): Promise<string>;
  /** Resolves with the exit code; 128 + signal number if a signal ended the process. */
  readonly ended: Promise<number>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<number>;
}

const MAIN = join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'main.ts');
const SIGNAL_BASE = 128;
const SIGTERM_NUMBER = 15;

/** Runs a command of this program in a process of its own. @param onLine receives every line of its standard output. */
export function startChild(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  onLine: (line: string) => void,
): Child {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const waiting: { readonly pattern: RegExp; readonly found: (line: string) => void; readonly failed: (error: Error) => void }[] = [];
  const errors: string[] = [];
  const ended = endOf(child);
  createInterface({ input: child.stdout }).on('line', (line) => {
    onLine(line);
    for (const waiter of waiting.filter(({ pattern }) => pattern.test(line))) {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.found(line);
    }
  });
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  void ended.then((code) => {
    const last = errors.slice(-3).join(' ');
    const error = new AutoscalerError({ kind: 'bug' }, `The ${name} process ended early with exit code ${code}. ${last}`.trim());
    for (const waiter of waiting.splice(0)) waiter.failed(error);
  });
  return {
    name,
    line: (pattern) => new Promise((found, failed) => waiting.push({ pattern, found, failed })),
    ended,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? SIGNAL_BASE + SIGTERM_NUMBER));
  });
}
