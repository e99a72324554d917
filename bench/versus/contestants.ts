/** The programs that are compared, as child processes with the files and variables of a simulated world. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClientFiles } from '../../world/simulator/entry/world-entry.ts';

export interface Contestant {
  readonly name: string;
  readonly command: readonly string[];
  /** Names the cloud configuration that it signs in with. */
  readonly cloudConfig: (files: ClientFiles) => string;
  readonly isOurs: boolean;
  /** Settings that differ from its defaults. */
  readonly environment: Readonly<Record<string, string>>;
  /** The only case in which its settings matter. If absent, it takes part in all of them. */
  readonly only?: string;
}

/** Our daemon, as it is shipped: one bundle. At rest also with the setting that skips lists. */
export function ownDaemons(bundle: string): readonly Contestant[] {
  const own = { isOurs: true, command: [process.execPath, bundle, 'run'], cloudConfig: (files: ClientFiles) => files.azure };
  return [
    { ...own, name: 'aks-autoscaler', environment: {} },
    { ...own, name: 'aks-autoscaler with opt-ins', environment: { AZURE_CACHE_READ_ON_CHANGE: 'true' }, only: 'idle' },
  ];
}

/**
 * What makes a Cluster Autoscaler 1.36 safer here and is off by default. VMs pools (AZURE_ENABLE_VMS_AGENT_POOLS) are left out: their client
 * accepts no host but management.azure.com.
 */
const BEST_OPT_INS = { AZURE_ENABLE_VMSS_ETAG: 'true', AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING: 'true' };

export function rivals(name: string, path: string): readonly Contestant[] {
  const rival = { isOurs: false, command: [path], cloudConfig: (files: ClientFiles) => files.clusterAutoscaler };
  return [
    { ...rival, name, environment: {} },
    { ...rival, name: `${name} with opt-ins`, environment: BEST_OPT_INS },
  ];
}

export interface RunningContestant {
  readonly isAlive: () => boolean;
  /** Seconds of CPU time so far, and MiB in memory now. */
  readonly usage: () => { readonly cpuSeconds: number; readonly memoryMiB: number };
  readonly stop: () => Promise<void>;
}

export interface StartInput {
  readonly contestant: Contestant;
  readonly files: ClientFiles;
  readonly environment: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly dir: string;
}

/** Its log is in `DIR/contestant.log`. */
export function startContestant({ contestant, files, environment, flags, dir }: StartInput): RunningContestant {
  const log = openSync(join(dir, 'contestant.log'), 'w');
  const [program = '', ...rest] = contestant.command;
  const child = spawn(program, [...rest, ...commonFlags(contestant, files), ...flags], {
    env: { PATH: process.env['PATH'], HOME: dir, ...environment, ...contestant.environment },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  return {
    isAlive: () => child.exitCode === null && child.signalCode === null,
    usage: () => usageOf(child.pid),
    stop: () => stopChild(child),
  };
}

function commonFlags(contestant: Contestant, files: ClientFiles): readonly string[] {
  return [
    '--cloud-provider=azure',
    `--cloud-config=${contestant.cloudConfig(files)}`,
    `--kubeconfig=${files.kubeconfig}`,
    '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
    '--namespace=kube-system',
    '--address=127.0.0.1:0',
    // One replica each: a busy machine must not cost a contestant its lease.
    '--leader-elect=false',
  ];
}

const TICKS_PER_SECOND = 100;
const PAGES_PER_MIB = 256;

/** From `/proc`, which only Linux has; zeros elsewhere. */
function usageOf(pid: number | undefined): { readonly cpuSeconds: number; readonly memoryMiB: number } {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
      memoryMiB: Number(fields[21]) / PAGES_PER_MIB,
    };
  } catch {
    return { cpuSeconds: 0, memoryMiB: 0 };
  }
}

const STOP_WITHIN_MS = 10_000;

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  await Promise.race([ended, pause(STOP_WITHIN_MS)]);
  child.kill('SIGKILL');
  await ended;
}
