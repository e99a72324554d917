/**
 * Ends child processes when this process is gone, also after a SIGKILL. A shell reads from a pipe whose other end only this process
 * has: the end of the pipe is the end of this process.
 */
import { spawn, type ChildProcess } from 'node:child_process';

/** Each line has all process ids; the last line counts. `$1`: a folder of these processes. */
const SCRIPT = 'pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids 2>/dev/null; rm -rf "${1:?}"';

/** Owns the shell. */
export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #pids = new Set<number>();

  /** @param dir is removed at the end. */
  constructor(dir: string) {
    const args = ['-c', SCRIPT, 'sh', dir];
    // A session of its own: Ctrl-C in the terminal must not end it first.
    this.#shell = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: { PATH: '/usr/bin:/bin' } });
    this.#ended = new Promise((done) => {
      this.#shell.once('close', () => done());
      this.#shell.once('error', () => done());
    });
    // If the shell was ended by others, there is no watchdog, and everything else works.
    this.#shell.stdin?.on('error', () => undefined);
  }

  watch(pid: number): void {
    this.#pids.add(pid);
    this.#write();
  }

  /** Its id may soon be that of another process. */
  forget(pid: number): void {
    if (this.#pids.delete(pid)) this.#write();
  }

  /** Ends what it still watches, removes the folder, and resolves when the shell is gone. */
  async close(): Promise<void> {
    this.#shell.stdin?.end();
    await this.#ended;
  }

  #write(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}
