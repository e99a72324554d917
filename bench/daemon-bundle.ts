/** What the image and the chart give the program, and what Linux says of its process. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');

/** What the image sets. */
export function imageEnvironment(): Record<string, string> {
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^ENV (\w+)=(\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** The chart's limit is for as many. */
const NODES_OF_LIMIT = 5_000;

/**
 * The heap that V8 takes in a container with the chart's limit of memory, as an option of Node.js: half of it. V8 lets a heap that may become
 * large grow to four times of what is live before it collects, so that a process without a limit measures another program than the one that ships.
 */
export function containerOptions({ nodes }: { readonly nodes: number }): readonly string[] {
  const limitMb = chartLimitMb() * Math.max(1, nodes / NODES_OF_LIMIT);
  return [`--max-old-space-size=${Math.ceil(limitMb / 2)}`];
}

function chartLimitMb(): number {
  const values = parse(readFileSync(join(ROOT, 'helm', 'aks-autoscaler', 'values.yaml'), 'utf8')) as {
    readonly resources: { readonly limits: { readonly memory: string } };
  };
  return Number.parseInt(values.resources.limits.memory.replace(/Mi$/, ''), 10);
}

/** Resident memory now and at most, MB. */
export function memoryMb({ pid }: ChildProcess): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid ?? 0}/status`, 'utf8');
  const megabytes = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** CPU time so far, in steps of 10 ms. */
export function cpuMs({ pid }: ChildProcess): number {
  const [user, system] = (readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
