/** A copy of the repository, in which guards are removed, and the process that runs its tests. */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileResult, TestOrder } from './test-process.ts';

/** A mutated program may not end. Milliseconds of the machine. */
const LIMIT_MS = 15 * 60_000;
const TEST_PROCESS = join(import.meta.dirname, 'test-process.ts');

/** Owns the folder and the process; `end` removes both. */
export class Copy {
  readonly folder: string;
  #tests: ChildProcess | undefined;

  /** `root`: the repository. Files that Git ignores are not copied; what npm has installed is shared. */
  constructor(root: string) {
    this.folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-mutations-'));
    const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
    for (const file of files.split('\0').filter((name) => name !== ''))
      cpSync(join(root, file), join(this.folder, file), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Files that ended; empty if the process did not survive the run, or did not end in time. One run at a time. */
  async runTests(order: TestOrder): Promise<readonly FileResult[]> {
    if (this.#tests?.connected !== true) {
      const execArgv = ['--disable-warning=ExperimentalWarning'];
      this.#tests = fork(TEST_PROCESS, [], { cwd: this.folder, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    }
    const child = this.#tests;
    return await new Promise((done) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
      const settle = (results: readonly FileResult[]): void => {
        clearTimeout(timer);
        child.removeAllListeners();
        done(results);
      };
      child.once('message', (results: readonly FileResult[]) => settle(results));
      child.once('exit', () => settle([]));
      child.send(order);
    });
  }

  /** What the program printed, whatever its end. */
  runProgram(args: readonly string[]): Promise<string> {
    return new Promise((done, reject) => {
      const child = spawn(process.execPath, args, { cwd: this.folder, timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'ignore'] });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8');
      });
      child.once('error', reject);
      child.once('close', () => done(output));
    });
  }

  /** The process may write as long as it lives. */
  async end(): Promise<void> {
    const child = this.#tests;
    if (child?.connected === true) {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
