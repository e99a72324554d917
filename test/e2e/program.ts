/** A child process with a log file: started, watched, stopped or killed, and never left behind. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface ProgramOptions {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where both of its outputs go, after what is there already. */
  readonly logFile: string;
  /** Sees each line of its standard output. */
  readonly onLine?: (line: string) => void;
}

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Owns one process. */
export class Program {
  readonly name: string;
  /** Resolves with the exit code, or the signal's name, once the process is gone. */
  readonly ended: Promise<number | string>;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  #end: number | string | undefined;

  constructor({ name, command: [file, ...first], args, env, logFile, onLine }: ProgramOptions) {
    this.name = name;
    this.#logFile = logFile;
    const child = spawn(file, [...first, ...args], { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    alive.add(child);
    const log = createWriteStream(logFile, { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    if (onLine !== undefined) createInterface({ input: child.stdout }).on('line', onLine);
    this.ended = new Promise((resolve) => {
      const settle = (end: number | string): void => {
        alive.delete(child);
        this.#end = end;
        log.end();
        resolve(end);
      };
      child.once('error', (error) => settle(error.message));
      child.once('close', (code, signal) => settle(code ?? signal ?? 'unknown'));
    });
  }

  /** undefined while it runs. */
  get end(): number | string | undefined {
    return this.#end;
  }

  /** The last lines that it wrote, for whoever has to find out what happened. */
  tail(lines = 15): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks it to end and waits; after `patienceMs` it is killed. */
  async stop(patienceMs = 10_000): Promise<void> {
    if (this.#end !== undefined) return;
    // One that was stopped with SIGSTOP would not notice.
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    const overdue = setTimeout(() => this.signal('SIGKILL'), patienceMs);
    await this.ended;
    clearTimeout(overdue);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }
}
