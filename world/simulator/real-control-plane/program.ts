/** A child process with a log file: started, watched, stopped or killed. It ends with this process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { realTime } from './waits.ts';

export interface ProgramOptions {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives both of its outputs, after what is there already. */
  readonly logFile: string;
  /** Called with each line of its standard output. */
  readonly onLine?: (line: string) => void;
  /** In a process group of its own, which Ctrl-C in a terminal does not reach. Default: false. */
  readonly ownGroup?: boolean;
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
  #isStopping = false;

  constructor({ name, command: [file, ...first], args, env, logFile, onLine, ownGroup = false }: ProgramOptions) {
    this.name = name;
    this.#logFile = logFile;
    const child = spawn(file, [...first, ...args], { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: ownGroup });
    this.#child = child;
    alive.add(child);
    const log = createWriteStream(logFile, { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    if (onLine !== undefined) createInterface({ input: child.stdout }).on('line', onLine);
    this.ended = new Promise((resolve) => {
      const settle = (end: number | string): void => {
        if (this.#end !== undefined) return;
        alive.delete(child);
        this.#end = end;
        // The last lines must be in the file when the end is reported.
        log.end(() => resolve(end));
      };
      child.once('error', (error) => settle(error.message));
      child.once('close', (code, signal) => settle(code ?? signal ?? 'unknown'));
    });
  }

  /** undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** undefined while it runs. */
  get end(): number | string | undefined {
    return this.#end;
  }

  /** Whether its end was requested by `stop` or `kill`. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The last lines that it wrote. */
  tail(lines = 15): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends SIGTERM and waits for the end; after `patienceMs` milliseconds it is killed. */
  async stop(patienceMs = 10_000): Promise<void> {
    this.#isStopping = true;
    if (this.#end !== undefined) return;
    // A process that was stopped with SIGSTOP would not notice.
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    const cancel = realTime.after(patienceMs, () => this.signal('SIGKILL'));
    await this.ended;
    cancel();
  }

  async kill(): Promise<void> {
    this.#isStopping = true;
    this.signal('SIGKILL');
    await this.ended;
  }
}
