/**
 * Advice for nodes, followed to the letter: `explain node` is asked on a daemon that runs, the printed commands are run by the real
 * kubectl, and the node goes. Changes of the configuration are applied as written.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { podName } from '../../src/domain/ids.ts';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { runCommand } from '../support/run-command.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

let dir: string | undefined;
afterEach(async () => {
  if (dir !== undefined) await rm(dir, { recursive: true });
  dir = undefined;
});

interface Blocked {
  readonly pool: string;
  readonly objects: readonly ObjectDraft[];
  readonly text: string;
}

const SAFE = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
const budgetOf = (name: string, spec: object): ObjectDraft => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: name } }, ...spec },
});
const cache = { volumes: [{ name: 'cache', emptyDir: {} }] };

/** One pool of one node each. */
const BLOCKED: readonly Blocked[] = [
  {
    pool: 'pdb',
    objects: [deployment({ name: 'pdb', replicas: 1, cpu: '300m' }), budgetOf('pdb', { minAvailable: 1 })],
    text: 'run 2 replicas of default/pdb',
  },
  {
    pool: 'never',
    objects: [deployment({ name: 'never', replicas: 1, cpu: '300m' }), budgetOf('never', { maxUnavailable: 0 })],
    text: 'let PodDisruptionBudget default/never allow 1 unavailable pod',
  },
  {
    pool: 'two',
    objects: [
      deployment({ name: 'two', replicas: 1, cpu: '300m' }),
      ...['two', 'two-more'].map((name) => ({ ...budgetOf('two', { maxUnavailable: 1 }), metadata: { name, namespace: 'default' } })),
    ],
    text: 'delete PodDisruptionBudget default/two',
  },
  {
    pool: 'unsafe',
    objects: [deployment({ name: 'unsafe', replicas: 1, cpu: '300m', annotations: { [SAFE]: 'false' } })],
    text: `remove the annotation ${SAFE} from the pods of Deployment default/unsafe`,
  },
  {
    pool: 'local',
    objects: [deployment({ name: 'local', replicas: 1, cpu: '300m', spec: cache })],
    text: `annotate the pods of Deployment default/local with ${SAFE}-local-volumes: "cache"`,
  },
  {
    pool: 'bare',
    objects: [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'bare', namespace: 'default' },
        spec: { containers: [{ name: 'c', image: 'c', resources: { requests: { cpu: '300m' } } }] },
      },
    ],
    text: 'run pod default/bare as a Deployment, StatefulSet or Job',
  },
  { pool: 'held', objects: [], text: 'remove the annotation cluster-autoscaler.kubernetes.io/scale-down-disabled from the node' },
  { pool: 'atmin', objects: [], text: 'lower the minimum of POOL from 1 to 0' },
  {
    pool: 'busy',
    objects: [deployment({ name: 'busy', replicas: 1, cpu: '2300m' })],
    text: 'raise the utilization threshold of POOL from 50 % to ',
  },
];

interface Answer {
  readonly advice?: {
    readonly text: string;
    readonly fix?: {
      readonly steps: readonly { readonly command?: string; readonly patch?: string; readonly where: string }[];
      readonly proof: { readonly nodes: number };
    };
  };
}

describe.skipIf(!hasKubectl)('advice for nodes, followed with kubectl (skipped where it is not installed)', () => {
  it('frees each of the nodes', async () => {
    const pools = BLOCKED.map(({ pool }) => aPool({ name: pool, min: pool === 'atmin' ? 1 : 0 }));
    const spec = worldOf([aPool({ name: 'roomy', vmSize: 'Standard_D32s_v5', min: 1 }), ...pools]);
    const flags = [
      '--scan-interval=1m',
      '--scale-down-unneeded-time=15m',
      '--skip-nodes-with-local-storage=true',
      '--unremovable-node-recheck-timeout=10s',
    ];
    const world = await startedWorld({ spec, flags });
    dir = await mkdtemp(join(tmpdir(), 'advice-'));
    await writeFile(join(dir, 'kubeconfig'), world.world.cluster.kubeconfig());
    await world.advance(MINUTE);
    const nodeOf = (pool: string): string =>
      world.world.cluster.store.nodes().find(({ metadata }) => metadata.labels?.['agentpool'] === pool)?.metadata.name ?? '';
    const nodes = new Map(['roomy', ...BLOCKED.map(({ pool }) => pool)].map((pool) => [pool, nodeOf(pool)]));
    await shell(`kubectl cordon ${[...nodes.values()].join(' ')}`);
    for (const { pool, objects } of BLOCKED) {
      await shell(`kubectl uncordon ${nodes.get(pool)}`);
      for (const object of objects) world.world.cluster.apply(object);
      await world.until(
        `${pool} runs`,
        () =>
          objects.length === 0 || world.world.cluster.store.boundPods().some((pod) => podName(place(pod)).startsWith(`default/${pool}`)),
        MINUTE,
      );
      await shell(`kubectl cordon ${nodes.get(pool)}`);
    }
    await shell(`kubectl annotate node ${nodes.get('held')} cluster-autoscaler.kubernetes.io/scale-down-disabled=true`);
    await shell(`kubectl uncordon ${[...nodes.values()].join(' ')}`);
    await world.advance(2 * MINUTE);

    const fixes: Record<string, string> = {};
    const patches: string[] = [];
    for (const { pool } of BLOCKED) {
      const { code, out } = await runCommand(['explain', 'node', nodes.get(pool) ?? '', '--json', '--url', world.daemon.url ?? '']);
      expect(code).toBe(0);
      const { advice } = JSON.parse(out) as Answer;
      fixes[pool] = (advice?.text ?? '').replace(/aks-\w+-\d+-vmss/, 'POOL');
      for (const { command, patch } of advice?.fix?.steps ?? []) {
        if (command?.startsWith('kubectl') === true) await shell(command.replace('delete pod ', 'delete --wait=false pod '));
        else if (command !== undefined) await retag(world, pool, command);
        else if (patch !== undefined) patches.push(patch);
      }
    }
    for (const { pool, text } of BLOCKED) expect(fixes[pool]).toMatch(new RegExp(`^${escaped(text)}`));
    world.daemon.reconfigure(configured(world, flags, patches));
    await world.until('the nodes go', () => BLOCKED.every(({ pool }) => capacity(world, pool) === 0), 90 * MINUTE);
    expect(world.world.violations()).toEqual([]);
    expect(['pdb', 'never', 'two', 'unsafe', 'local', 'busy'].map((name) => bound(world, name))).toEqual([2, 1, 1, 1, 1, 1]);
  });
});

const place = (pod: { readonly metadata: { readonly name: string; readonly namespace?: string } }) => ({
  namespace: pod.metadata.namespace ?? '',
  name: pod.metadata.name,
});

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** As a person pastes it. */
function shell(command: string): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir ?? '', KUBECONFIG: join(dir ?? '', 'kubeconfig') };
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', command], { env, timeout: 250_000 }, (error, out, err) => {
      if (error === null) resolve(out);
      else reject(new Error(`${command}: ${err}`));
    });
  });
}

/** What `az aks nodepool update --tags` does to an agent pool: the tags that are given replace all. The other command has the same effect. */
function retag(world: VirtualRun, pool: string, command: string): Promise<void> {
  const [, tags] = /^az aks nodepool update .* --tags (.*)$/.exec(command) ?? [];
  if (tags === undefined) return Promise.resolve();
  const all = Object.fromEntries(tags.split(' ').map((tag) => tag.split('=')) as [string, string][]);
  expect(Object.keys(all)).toEqual(expect.arrayContaining(['min', 'max', 'cluster-autoscaler-enabled']));
  expect(world.world.arm.control.raise({ retag: { pool, tags: all } })).toBeUndefined();
  return Promise.resolve();
}

/** The texts of the fixes for the configuration, as its file says them. */
function configured(world: VirtualRun, flags: readonly string[], patches: readonly string[]) {
  const { azure, ...rest } = world.configWith(flags);
  const nodeGroupOptions = patches.flatMap((patch) => {
    const { nodeGroupOptions: options = [] } = parse(patch) as {
      nodeGroupOptions?: readonly { name: string; scaleDownUtilizationThreshold: number }[];
    };
    return options.map(({ name, scaleDownUtilizationThreshold }) => ({
      name,
      options: { utilizationThreshold: scaleDownUtilizationThreshold },
    }));
  });
  return { ...rest, azure: { ...azure, nodeGroupOptions } };
}
