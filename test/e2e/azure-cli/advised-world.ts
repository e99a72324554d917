/** A world with Azure's CLI and the daemon beside it. Asks the program what helps, and runs the commands that it prints. */
import { join } from 'node:path';
import type { PodObject, StartOptions } from '../../../world/simulator/entry/world-entry.ts';
import { Program } from '../../../world/simulator/real-control-plane/program.ts';
import { Daemon } from '../daemon.ts';
import { COMPILE_CACHE, givenProgram } from '../given.ts';
import { until } from '../until.ts';
import { AzureCli } from './azure-cli.ts';

const DISCOVERY = '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true';

interface FixStep {
  readonly where: string;
  readonly command?: string;
  readonly warning?: string;
}

/** The answer of `explain --json`, as far as it is looked at here. */
interface Answer {
  readonly sentence: string;
  readonly advice?: {
    readonly text: string;
    readonly fix?: { readonly steps: readonly FixStep[]; readonly changes: readonly { readonly kind: string }[] };
  };
}

export interface Advice {
  readonly text: string;
  /** The kinds of its changes. */
  readonly kinds: readonly string[];
  readonly commands: readonly string[];
}

export class AdvisedWorld {
  readonly cli: AzureCli;
  readonly daemon: Daemon;

  private constructor(cli: AzureCli, daemon: Daemon) {
    this.cli = cli;
    this.daemon = daemon;
  }

  /** Azure's CLI is signed in, and the daemon has looped. */
  static async start(options: StartOptions, flags: readonly string[] = []): Promise<AdvisedWorld> {
    return AdvisedWorld.beside(await AzureCli.signedIn(options), flags);
  }

  /** Starts the daemon. */
  static async beside(cli: AzureCli, flags: readonly string[]): Promise<AdvisedWorld> {
    cli.addAutoscaler();
    const lines: string[] = [];
    const settings = AdvisedWorld.#settings(cli);
    const program = new Program({
      name: 'daemon',
      command: [process.execPath],
      args: [givenProgram(), 'run', ...settings, '--address=127.0.0.1:0', '--leader-elect=false', '--scan-interval=2s', ...flags],
      // A minute of Azure passes in a second.
      env: {
        ...(await cli.world.environment(join(cli.dir, 'world'))),
        PATH: process.env['PATH'],
        ...COMPILE_CACHE,
        AZURE_VMSS_CACHE_TTL: '1',
      },
      logFile: join(cli.dir, 'daemon.log'),
      onLine: (line) => lines.push(line),
    });
    const world = new AdvisedWorld(cli, new Daemon({ name: 'daemon', program, lines, principal: '' }));
    await world.daemon.ready();
    return world;
  }

  static #settings({ dir }: AzureCli): readonly string[] {
    return [`--cloud-config=${join(dir, 'world', 'azure.json')}`, `--kubeconfig=${join(dir, 'world', 'kubeconfig')}`, DISCOVERY];
  }

  /** The settings of the daemon, for commands that read the cluster and Azure by themselves. */
  get settings(): string {
    return AdvisedWorld.#settings(this.cli).join(' ');
  }

  /** What `explain` prints as a fix for a pending pod of an app, as soon as there is one. */
  adviceForPod(app: string): Promise<Advice> {
    return this.#advice('pod', () => {
      const pod = this.cli.world.pods().pending.find(({ metadata }) => metadata.labels?.['app'] === app);
      return pod === undefined ? undefined : `default/${pod.metadata.name}`;
    });
  }

  /** The same for the first node of a pool. */
  adviceForNode(pool: string): Promise<Advice> {
    return this.#advice('node', () => this.nodesOf(pool)[0]);
  }

  nodesOf(pool: string): readonly string[] {
    const nodes = this.cli.world.nodes().filter(({ metadata }) => metadata.labels?.['kubernetes.azure.com/agentpool'] === pool);
    return nodes.map(({ metadata }) => metadata.name);
  }

  #advice(kind: 'pod' | 'node', find: () => string | undefined): Promise<Advice> {
    let last = '';
    return until(
      `a fix for a ${kind}`,
      async () => {
        const name = find();
        if (name === undefined) return undefined;
        last = await this.cli.must(`aks-autoscaler explain ${kind} ${name} --json --url ${this.daemon.url}`);
        const { advice } = JSON.parse(last) as Answer;
        return advice === undefined ? undefined : adviceIn(advice);
      },
      60_000,
      () => last,
    );
  }

  /** Until all pods of this app have a node. */
  async untilBound(app: string, count: number): Promise<readonly PodObject[]> {
    return until(
      `${count} pods of ${app} have nodes`,
      () => {
        const pods = this.cli.world.pods().bound.filter(({ metadata }) => metadata.labels?.['app'] === app);
        return pods.length === count ? pods : undefined;
      },
      90_000,
      () => this.daemon.program.tail(25),
    );
  }

  async stop(): Promise<void> {
    await this.daemon.program.stop();
    await this.cli.stop();
  }
}

/** undefined: nothing was found that helps. */
function adviceIn({ text, fix }: NonNullable<Answer['advice']>): Advice | undefined {
  if (fix === undefined) return undefined;
  const commands = fix.steps.flatMap(({ command }) => (command === undefined ? [] : [command]));
  return { text, kinds: fix.changes.map(({ kind }) => kind), commands };
}
