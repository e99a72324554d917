/** The running programs of one control plane, which end together, and with this process. */
import { join } from 'node:path';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { ControlPlanePrograms, Part } from './find-programs.ts';
import { Program } from './program.ts';
import { Watchdog } from './watchdog.ts';

const STOP_PATIENCE_MS = 5_000;

export interface ProgramSetOptions {
  readonly programs: ControlPlanePrograms;
  /** The folder of logs. It is removed when this process is gone. */
  readonly dir: string;
  /** Where shells find programs. */
  readonly searchPath: string | undefined;
}

/** Owns the processes. */
export class ProgramSet {
  /** Resolves if a program ends without a request, with an error that ends with the end of its log. */
  readonly failed: Promise<AutoscalerError>;
  readonly #options: ProgramSetOptions;
  readonly #running = new Map<Part, Program>();
  readonly #watchdog: Watchdog;
  readonly #fail: (error: AutoscalerError) => void;

  constructor(options: ProgramSetOptions) {
    this.#options = options;
    this.#watchdog = new Watchdog(options.dir);
    let fail = (_error: AutoscalerError): void => undefined;
    this.failed = new Promise((resolve) => {
      fail = resolve;
    });
    this.#fail = fail;
  }

  start(part: Part, args: readonly string[]): void {
    const { programs, dir, searchPath } = this.#options;
    // No setting of the machine: a KUBECONFIG or a proxy must not reach these.
    const env = { PATH: searchPath, HOME: dir, GOMAXPROCS: '2' };
    const program = new Program({ name: part, command: programs[part], args, env, logFile: join(dir, `${part}.log`), ownGroup: true });
    this.#running.set(part, program);
    if (program.pid !== undefined) this.#watchdog.watch(program.pid);
    void program.ended.then(() => this.#onEnd(part, program));
  }

  has(part: Part): boolean {
    return this.#running.has(part);
  }

  /** Ends one program, which may be started again. */
  async end(part: Part, how: 'stop' | 'kill'): Promise<void> {
    await this.#running.get(part)?.[how]();
  }

  /** What a program wrote last. */
  tail(part: Part): string {
    return this.#running.get(part)?.tail() ?? '';
  }

  /** An error if the program ended, with the end of its log. undefined while it runs. */
  endOf(part: Part): AutoscalerError | undefined {
    const end = this.#running.get(part)?.end;
    if (end === undefined) return undefined;
    return new AutoscalerError(
      { kind: 'unavailable', effect: 'none' },
      `${part} ended with ${end}. The end of its log:\n${this.tail(part)}`,
    );
  }

  /** In the order of dependence: what writes to the store ends before the store. */
  async stop(): Promise<void> {
    for (const program of [...this.#running.values()].toReversed()) await program.stop(STOP_PATIENCE_MS);
    await this.#watchdog.close();
  }

  #onEnd(part: Part, program: Program): void {
    if (program.pid !== undefined) this.#watchdog.forget(program.pid);
    const error = this.endOf(part);
    if (!program.isStopping && error !== undefined) this.#fail(error);
  }
}
