/** What `init` prints for an emulated cluster is applied to it: then doctor finds nothing, and the daemon leads and scales. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Installation } from '../../../src/tools/init/installation.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../../world/lab/client-files.ts';
import type { PoolSpec, WorldSpec } from '../../../world/simulator/base/world-spec.ts';
import { realSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../world/simulator/world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from '../../scenarios/support.ts';
import { runCommand } from '../../support/run-command.ts';
import { VirtualRun } from '../../support/virtual-world.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let world: World | undefined;
let daemon: VirtualRun | undefined;
afterEach(async () => {
  await daemon?.stop();
  await world?.stop();
  [world, daemon] = [undefined, undefined];
});

/** A command in a world like this, as a user with its rights. */
async function inWorld(spec: WorldSpec, argv: readonly string[], more: Readonly<Record<string, string>> = {}) {
  await world?.stop();
  world = await startWorld({ spec, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
  const dir = temporaryFolder();
  await writeClientFiles(dir, world);
  const {
    ARM_RESOURCE_GROUP: _group,
    LOCATION: _region,
    CLUSTER_NAME: _name,
    ARM_CLUSTER_RESOURCE_GROUP: _of,
    ...env
  } = clientEnvironment(dir, world);
  return runCommand(argv, { env: { ...env, KUBECONFIG: join(dir, 'kubeconfig'), ...more } });
}

async function installationIn(spec: WorldSpec): Promise<Installation> {
  const { code, out, err } = await inWorld(spec, ['init', '-g', spec.clusterResourceGroup, '-n', spec.clusterName, '--json']);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Installation;
}

/** The world after the printed `az` commands. */
function applied(spec: WorldSpec, { roles, steps }: Installation): WorldSpec {
  const commands = steps.flatMap((step) => step.commands);
  const ofPool = (name: string): readonly string[] =>
    commands.filter((command) => command.startsWith('az aks nodepool update') && command.includes(` -n ${name} `));
  const change = (pool: PoolSpec): PoolSpec => {
    const tags = ofPool(pool.name).flatMap((command) => command.split(' --tags ')[1]?.split(' ') ?? []);
    const pairs = Object.fromEntries(tags.map((tag) => tag.split('=') as [string, string]));
    const isOff = ofPool(pool.name).some((command) => command.endsWith('--disable-cluster-autoscaler'));
    return {
      ...pool,
      tags: pairs,
      ...(isOff ? { managedAutoscaler: false } : {}),
      ...(pairs['max'] === undefined ? {} : { min: Number(pairs['min']), max: Number(pairs['max']) }),
    };
  };
  return { ...spec, pools: spec.pools.map(change), roleActions: roles.flatMap(({ definition }) => definition.Actions) };
}

const UNTAGGED = { discoveryTags: {} };

describe.each<[string, readonly PoolSpec[]]>([
  ['scale sets', [aPool({ name: 'general', managedAutoscaler: true, min: 1, max: 6 })]],
  ['pools of type VirtualMachines', [aPool({ name: 'general', kind: 'vms-pool', min: 0, max: 6 })]],
])('what init prints for %s', (_what, pools) => {
  it('is enough: doctor finds no problem, and the daemon leads and scales', async () => {
    const before = worldOf(pools, UNTAGGED);
    const installation = await installationIn(before);
    const after = applied(before, installation);
    const values = parse(installation.values) as Readonly<Record<string, string>> & {
      readonly autoDiscovery: { readonly clusterName: string };
    };
    const discovery = `label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=${values.autoDiscovery.clusterName}`;
    const env = {
      CLUSTER_NAME: values['azureClusterName'] ?? '',
      ARM_CLUSTER_RESOURCE_GROUP: values['azureResourceGroup'] ?? '',
      ARM_RESOURCE_GROUP: values['azureNodeResourceGroup'] ?? '',
      LOCATION: values['azureLocation'] ?? '',
    };
    const visit = await inWorld(after, ['doctor', '--json', `--node-group-auto-discovery=${discovery}`], env);
    const { checks } = JSON.parse(visit.out) as { readonly checks: readonly { readonly status: string; readonly message: string }[] };
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(visit.code).toBe(0);

    daemon = await VirtualRun.start({ spec: after, discovery: [discovery], flags: ['--leader-elect=true'], env });
    const run = daemon;
    run.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1' }));
    await run.until('all bound', () => bound(run, 'web') === 9, 15 * MINUTE);
    expect(run.world.violations()).toEqual([]);
  });
});

describe('init', () => {
  const spec = worldOf([aPool({ name: 'general', managedAutoscaler: true, min: 2, max: 5, tags: { team: "o'brien" } })], UNTAGGED);
  const asked = ['init', '-g', spec.clusterResourceGroup, '-n', spec.clusterName];

  it('prints a script: the values, an identity, roles without wildcards, the pools with their present tags and limits, and the chart', async () => {
    const { code, out } = await inWorld(spec, asked);
    expect(code).toBe(0);
    expect(out).toMatch(/^#!\/bin\/sh\n/);
    expect(out).toContain("'team=o'\\''brien' min=2 max=5 cluster-autoscaler-enabled=true cluster-autoscaler-name=laptop");
    expect(out).toContain('-n general --disable-cluster-autoscaler');
    expect(out).not.toContain('-n system --tags');
    expect(out).not.toContain('*');
    expect(out).toContain('helm upgrade --install aks-autoscaler');
    expect(world?.arm.control.journal().filter(({ method, principal }) => principal === CLIENT.clientId && method !== 'GET')).toEqual([]);
  });

  it('the script first installs a dry run and changes no pool; its second part hands the pools over, then lets the daemon write', async () => {
    const { out } = await inWorld(spec, asked);
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'install.sh'), out);
    // Each notes its arguments, and prints something to be used as an id.
    for (const name of ['az', 'helm', 'kubectl']) {
      writeFileSync(join(dir, name), `#!/bin/sh\necho "${name} $*" >>"$CALLS"\necho an-id\n`);
      chmodSync(join(dir, name), 0o755);
    }
    const calls = (...args: readonly string[]): readonly string[] => {
      const env = { PATH: `${dir}:/usr/bin:/bin`, IMAGE: 'registry.example/a', CALLS: join(dir, args.join('') || 'dry') };
      execFileSync('sh', ['install.sh', ...args], { cwd: dir, env, stdio: 'ignore' });
      return readFileSync(env.CALLS, 'utf8').trim().split('\n');
    };
    const [dry, writing] = [calls(), calls('write')];
    const kindsOf = (all: readonly string[]): readonly string[] => all.map((call) => call.split(' ').slice(0, 3).join(' '));
    expect(kindsOf(dry)).not.toContain('az aks nodepool');
    expect(dry.find((call) => call.startsWith('helm'))).toMatch(
      /--set image\.repository=registry\.example\/a .*azureClientID=an-id .*--dry-run$/,
    );
    expect(readFileSync(join(dir, 'values.yaml'), 'utf8')).toContain('azureClusterName: "laptop"');
    expect(kindsOf(writing)).toEqual([
      'az aks nodepool',
      'az aks nodepool',
      'az identity show',
      'helm upgrade --install',
      'kubectl -n kube-system',
      'kubectl -n kube-system',
    ]);
    expect(writing.join('\n')).not.toContain('--dry-run');
  });

  it('grants writes of agent pools only where pools need them', async () => {
    const actionsOf = async (pools: readonly PoolSpec[]): Promise<string> =>
      JSON.stringify((await installationIn(worldOf(pools, UNTAGGED))).roles);
    expect(await actionsOf([aPool({ name: 'a' })])).not.toContain('agentPools/write');
    expect(await actionsOf([aPool({ name: 'a', kind: 'vms-pool' })])).toContain('agentPools/write');
  });

  it('gives all clusters of a subscription the same roles, with names that no other subscription has', async () => {
    const rolesOf = async (change: Partial<WorldSpec>): Promise<readonly string[]> => {
      const cluster = { ...worldOf([aPool({ name: 'a' })], UNTAGGED), ...change };
      return (await installationIn(cluster)).roles.map(({ definition }) => JSON.stringify(definition));
    };
    const first = await rolesOf({});
    expect(await rolesOf({ clusterName: 'second', nodeResourceGroup: 'MC_second' })).toEqual(first);
    const other = '22222222-2222-2222-2222-222222222222';
    for (const role of await rolesOf({ subscriptionId: other })) expect(role).toContain(`"Name":"aks-autoscaler-`);
    expect((await rolesOf({ subscriptionId: other })).join('')).not.toContain(spec.subscriptionId);
  });

  it.each<[string, readonly string[], number, RegExp]>([
    ['no cluster', ['init'], 2, /^init needs --resource-group and --name; see init --help\.\n$/],
    ['an unknown flag', ['init', '--nmae=x'], 2, /see init --help\.\n$/],
    ['another cluster', ['init', '-g', spec.clusterResourceGroup, '-n', 'elsewhere'], 1, /elsewhere/],
    ['--help', ['init', '--help'], 0, /^Print what an installation/],
  ])('%s', async (_what, argv, expected, words) => {
    const { code, out, err } = await inWorld(spec, argv);
    expect(code).toBe(expected);
    expect(out + err).toMatch(words);
  });
});
