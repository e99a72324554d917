/** Child processes of the demo: the world in one, the daemon in another, as on two machines. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { AutoscalerError } from '../../domain/errors.ts';

export interface Child {
  readonly name: string;
  /** Resolves with the first line of standard output that the pattern matches; rejects when the process ends before. */
  line(pattern: RegExp): Promise<string>;
  /** Resolves with the exit code (128 + signal number when a signal ended it). */
  readonly ended: Promise<number>;
  /** Asks the process to end, and waits for it. */
  stop(): Promise<number>;
}

const MAIN = join(import.meta.dirname, '..', 'main.ts');
const SIGNAL_BASE = 128;
const SIGTERM_NUMBER = 15;

/** Starts this program's own command line in a process of its own. `onLine` sees every line of its standard output. */
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
  const complaints: string[] = [];
  const ended = endOf(child);
  createInterface({ input: child.stdout }).on('line', (line) => {
    onLine(line);
    for (const waiter of waiting.filter(({ pattern }) => pattern.test(line))) {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.found(line);
    }
  });
  createInterface({ input: child.stderr }).on('line', (line) => complaints.push(line));
  void ended.then((code) => {
    const last = complaints.slice(-3).join(' ');
    const error = new AutoscalerError({ kind: 'bug' }, `The ${name} process ended with code ${code} too early. ${last}`.trim());
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
