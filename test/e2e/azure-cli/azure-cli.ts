/**
 * A world and Azure's CLI in a shell beside it: its own code, which sleeps less and is loaded once (`forked-az.py`). Every address but this machine's is out of
 * reach, so that nothing of Azure is called.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../../../world/simulator/real-control-plane/program.ts';
import { startWorld, type RunningWorld, type StartOptions } from '../../../world/simulator/entry/world-entry.ts';
import { COMPILE_CACHE, givenProgram } from '../given.ts';
import { givenAzureCli } from './find-azure-cli.ts';

/** Runs the commands of one shell, so that each need not load the CLI. */
const FORKED_AZ = join(import.meta.dirname, 'forked-az.py');
/** A minute of Azure in a second. */
const SPEED = 60;
/**
 * Without a Retry-After, `az` asks only every 30 seconds whether an operation has ended, half an hour of this world. It sleeps a second at most here, by
 * a module that Python loads before any other. The CLI's own tests with recordings shorten its sleeps in the same way.
 */
const SHORT_SLEEPS = `import time

sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 1))
`;
/** What a person types once; the page about this client has the same lines. */
const SIGN_IN = `
az cloud register --name world --endpoint-resource-manager $AZURE_RESOURCE_MANAGER_ENDPOINT
az cloud set --name world
az login --identity`;

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class AzureCli {
  readonly world: RunningWorld;
  /** The shell's folder; the files of the world are in `world/`. */
  readonly dir: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #socket: string;
  #forks: Program | undefined;

  private constructor(world: RunningWorld, dir: string, variables: Readonly<Record<string, string>>) {
    this.world = world;
    this.dir = dir;
    this.#variables = variables;
    this.#socket = join(dir, 'az.socket');
  }

  static async start(options: StartOptions = {}): Promise<AzureCli> {
    const world = await startWorld({ clock: { speed: SPEED }, ...options });
    const dir = mkdtempSync(join(tmpdir(), 'aks-autoscaler-azure-cli-'));
    await world.writeFiles(join(dir, 'world'));
    mkdirSync(join(dir, 'python'));
    writeFileSync(join(dir, 'python', 'sitecustomize.py'), SHORT_SLEEPS);
    const cli = new AzureCli(world, dir, await world.environment(join(dir, 'world')));
    await cli.#startForks();
    return cli;
  }

  /** The same, signed in. */
  static async signedIn(options: StartOptions = {}): Promise<AzureCli> {
    const cli = await AzureCli.start(options);
    await cli.must(SIGN_IN);
    return cli;
  }

  /** A program of the shell. */
  addProgram(name: string, script: string): void {
    writeFileSync(join(this.dir, name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(this.dir, name), 0o755);
  }

  /** The program under test, as `aks-autoscaler`. */
  addAutoscaler(): void {
    this.addProgram('aks-autoscaler', `exec ${process.execPath} ${givenProgram()} "$@"`);
  }

  /** An `az` of the package is a Python program; any other one is run as it is. */
  async #startForks(): Promise<void> {
    const [first = ''] = readFileSync(join(givenAzureCli() ?? '', 'az'), 'utf8').split('\n');
    const python = /^#!(\S*python[\d.]*)$/.exec(first)?.[1];
    if (python === undefined) return;
    writeFileSync(join(this.dir, 'az'), `#!${python} -IS\n${readFileSync(FORKED_AZ, 'utf8')}`, { mode: 0o755 });
    await new Promise<void>((listens) => {
      this.#forks = new Program({
        name: 'az',
        command: ['nice', '-n', '5', python, FORKED_AZ],
        args: ['serve', this.#socket],
        env: this.#environment(),
        logFile: join(this.dir, 'az.log'),
        onLine: () => listens(),
      });
      void this.#forks.ended.then(() => listens());
    });
  }

  #environment(): Readonly<Record<string, string>> {
    const nowhere = 'http://127.0.0.1:9';
    return {
      PATH: [this.dir, givenAzureCli(), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: this.dir,
      PYTHONPATH: join(this.dir, 'python'),
      HTTPS_PROXY: nowhere,
      HTTP_PROXY: nowhere,
      NO_PROXY: 'localhost,127.0.0.1',
      AZ_INSTALLER: 'PIP',
      AZ_SOCKET: this.#socket,
      ...COMPILE_CACHE,
      ...this.#variables,
    };
  }

  /** Runs lines in bash until one fails. A command takes the processor for seconds: cases of other files, whose time is real, come first. */
  run(script: string, variables: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const env = { ...this.#environment(), ...variables };
    return new Promise((done) => {
      const child = execFile(
        'nice',
        ['-n', '5', 'bash', '-ec', script],
        { cwd: this.dir, env, maxBuffer: 50_000_000 },
        (_error, out, err) => done({ code: child.exitCode ?? 1, out, err }),
      );
    });
  }

  /** @returns standard output. @throws Error with what the shell printed. */
  async must(script: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, out, err } = await this.run(script, variables);
    if (code !== 0) throw new Error(`exit code ${code}: ${script}\n${out.slice(-2_000)}${err.slice(-3_000)}`);
    return out;
  }

  /** @returns the JSON that a command prints. */
  async json(command: string): Promise<unknown> {
    return JSON.parse(await this.must(`${command} --output json`)) as unknown;
  }

  async stop(): Promise<void> {
    this.#forks?.signal('SIGKILL');
    await this.world.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
