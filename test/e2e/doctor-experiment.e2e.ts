/**
 * `doctor --experiment` as the page of the first hour runs it: the page's configuration and command lines in a shell, the program as a process of its
 * own, against an emulated Azure. Needs no Azure CLI: the sign-in of the page is replaced by a client secret.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { givenProgram } from './given.ts';
import { CREDENTIALS, startWorld, type AzureRequest, type PoolSpec, type RunningWorld } from '../../world/simulator/entry/world-entry.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const PAGE = join(ROOT, 'docs', 'first-hour.md');
/** The experiment looks every five seconds: by then, an operation of minutes is over. */
const SPEED = 60;
const POOL = { vmSize: 'Standard_D2s_v5', count: 1, min: 0, max: 3 };
/** The pools that the page makes. */
const POOLS: readonly PoolSpec[] = [
  { ...POOL, name: 'sets' },
  { ...POOL, name: 'vms', kind: 'vms-pool' },
];

/** The page's block that writes the configuration, and its lines that run the experiment. */
function linesOfPage(): { readonly configuration: string; readonly commands: readonly string[] } {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  const configuration = blocks.find((block) => block.startsWith('cat > first-hour.yaml')) ?? '';
  const { clientId, clientSecret } = CREDENTIALS;
  return {
    configuration: configuration.replace(
      '{ method: azure-cli }',
      `{ method: client-secret, clientId: ${clientId}, clientSecret: ${clientSecret} }`,
    ),
    commands: blocks.flatMap((block) => block.split('\n')).filter((line) => /^aks-autoscaler doctor .*--experiment /.test(line)),
  };
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A world with the page's pools, and a shell with its variables and configuration. */
class FirstHour {
  readonly world: RunningWorld;
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(world: RunningWorld, dir: string, env: NodeJS.ProcessEnv) {
    this.world = world;
    this.#dir = dir;
    this.#env = env;
  }

  static async start(): Promise<FirstHour> {
    const world = await startWorld({ pools: POOLS, clock: { speed: SPEED } });
    const dir = mkdtempSync(join(tmpdir(), 'aks-autoscaler-experiment-'));
    await world.writeFiles(join(dir, 'world'));
    mkdirSync(join(dir, 'bin'));
    const program = join(dir, 'bin', 'aks-autoscaler');
    writeFileSync(program, `#!/bin/bash\nexec ${process.execPath} ${givenProgram()} "$@"\n`);
    chmodSync(program, 0o755);
    const { spec } = world;
    const env = {
      ...(await world.environment(join(dir, 'world'))),
      PATH: `${join(dir, 'bin')}:/usr/local/bin:/usr/bin:/bin`,
      SUB: spec.subscriptionId,
      TENANT: spec.tenantId,
      NODES: spec.nodeResourceGroup,
      CL: spec.clusterName,
      RG: spec.clusterResourceGroup,
      REGION: spec.location,
      SIZE: POOL.vmSize,
    };
    const hour = new FirstHour(world, dir, env);
    expect(await hour.run(linesOfPage().configuration)).toMatchObject({ code: 0, err: '' });
    return hour;
  }

  run(line: string): Promise<Ran> {
    return new Promise((done) => {
      const child = execFile('sh', ['-c', line], { cwd: this.#dir, env: this.#env }, (_error, out, err) =>
        done({ code: child.exitCode ?? 1, out, err }),
      );
    });
  }

  /** What a command has written to a file of the shell's folder. */
  report(file: string): Report {
    return JSON.parse(readFileSync(join(this.#dir, file), 'utf8')) as Report;
  }

  /** Requests that change something, in order. */
  writes(): readonly AzureRequest[] {
    return this.world
      .journal()
      .filter(({ method, path }) => !['GET', 'HEAD', 'EVENT'].includes(method) && path.startsWith('/subscriptions/'));
  }

  async stop(): Promise<void> {
    await this.world.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

interface Report {
  readonly ok: boolean;
  readonly pool: { readonly name: string; readonly type: string; readonly vmSize: string };
  readonly requests: { readonly reads: number; readonly writes: number };
  readonly facts: readonly { readonly id: string; readonly seen: string }[];
  readonly removed?: boolean;
  readonly failure?: string;
}

/** What the page explains of the report. */
const EXPLAINED = [...readFileSync(PAGE, 'utf8').matchAll(/^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|/gm)].flatMap(([, names = '']) =>
  [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
);

describe('doctor --experiment', () => {
  it.concurrent('without --yes says what it would do, and writes nothing', async () => {
    const hour = await FirstHour.start();
    try {
      const [command = ''] = linesOfPage().commands;
      expect(command).not.toContain('--yes');
      const { code, out, err } = await hour.run(command);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('To go on: aks-autoscaler doctor --experiment sets --yes');
      expect(out).toContain(`Cost: one ${POOL.vmSize}`);
      expect(hour.writes()).toEqual([]);
      expect(hour.world.journal().length).toBeGreaterThan(5);
    } finally {
      await hour.stop();
    }
  });

  it.concurrent.each([
    ['sets', 'scale set', /virtualMachineScaleSets\/[^/]+\/delete$/],
    ['vms', 'VirtualMachines', /agentPools\/vms\/deleteMachines$/],
  ] as const)(
    'with --yes adds one node to the pool %s and deletes it again, and the pool ends as it began',
    async (pool, type, deletion) => {
      const hour = await FirstHour.start();
      try {
        const { world } = hour;
        const before = world.pool(pool);
        expect(before).toMatchObject({ capacity: 1, ready: 1 });
        const nodes = namesOf(world);
        const command = linesOfPage().commands.find((line) => line.includes(`--experiment ${pool} --yes`)) ?? '';
        const { code, err } = await hour.run(command);
        // For a process that is killed: the report itself has no such names.
        expect(err).toMatch(/^Adding one node, .* delete the newest one:\n {2}az [^\n]* INSTANCE\n$/);
        const report = hour.report(`${pool}.json`);
        expect([code, report.failure, report.ok, report.removed]).toEqual([0, undefined, true, true]);
        expect(report.pool).toEqual({ name: pool, type, vmSize: POOL.vmSize });
        expect(EXPLAINED).toEqual(expect.arrayContaining(report.facts.map(({ id }) => id)));
        expect(report.facts.find(({ id }) => id === 'deletion')?.seen).toMatch(/size 1 \(1 before\), instance gone/);
        const writes = hour.writes();
        expect(writes).toHaveLength(report.requests.writes);
        expect(writes.filter(({ path }) => deletion.test(path))).toHaveLength(1);
        expect(writes.filter(({ path }) => path.includes('agentPools/') && !path.includes(`agentPools/${pool}`))).toEqual([]);
        await world.until(() => world.pool(pool).nodes === 1, { what: `one node of ${pool}` });
        expect(world.pool(pool)).toEqual(before);
        expect(namesOf(world)).toEqual(nodes);
        world.assertSafe();
      } finally {
        await hour.stop();
      }
    },
  );
});

function namesOf(world: RunningWorld): readonly string[] {
  return world
    .nodes()
    .map(({ metadata }) => metadata.name)
    .toSorted();
}
