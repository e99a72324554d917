/**
 * The advice of `explain` and `plan`, followed with Azure's CLI: each command is run as the program prints it, in the order in which it prints them, and
 * the daemon then gives the pods nodes, or removes the nodes.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../../world/simulator/entry/world-entry.ts';
import { until } from '../until.ts';
import { AdvisedWorld } from './advised-world.ts';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const SIZE = 'Standard_D4s_v5';
/** A pool that pods choose by its name. */
const aPool = (name: string, more: Partial<PoolSpec> = {}): PoolSpec => ({
  name,
  vmSize: SIZE,
  count: 1,
  min: 0,
  max: 1,
  labels: { team: name },
  taints: [`team=${name}:NoSchedule`],
  ...more,
});
const SYSTEM = aPool('system', { mode: 'System', min: 1, taints: ['CriticalAddonsOnly=true:NoSchedule'] });

const begun: AdvisedWorld[] = [];
afterAll(() => Promise.all(begun.map((advised) => advised.stop())));

async function advisedIn(starting: Promise<AdvisedWorld>): Promise<AdvisedWorld> {
  const advised = await starting;
  begun.push(advised);
  return advised;
}

interface Wanted {
  readonly count?: number;
  readonly cpu?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

/** Pods for nodes of one pool. By default, two that fill a node each. */
function addPods({ cli: { world } }: AdvisedWorld, pool: string, { count = 2, cpu = '3', nodeSelector = {} }: Wanted = {}): void {
  const tolerations = [
    { key: 'team', operator: 'Equal', value: pool, effect: 'NoSchedule' },
    { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists' },
  ];
  world.addPods({ name: pool, count, cpu, spec: { nodeSelector: { team: pool, ...nodeSelector }, tolerations } });
}

/** Runs the commands one by one, each after the autoscaler had time to act on the one before. */
async function follow({ cli }: AdvisedWorld, commands: readonly string[], names: Readonly<Record<string, string>> = {}): Promise<void> {
  for (const command of commands) {
    await cli.must(Object.entries(names).reduce((text, [place, name]) => text.replaceAll(place, name), command));
    await cli.world.clock.advance(5 * 60_000);
  }
}

/** Which commands a fix has, by their first words. */
function verbsIn(commands: readonly string[]): readonly string[] {
  return commands.map((command) => command.split(' -')[0] ?? '');
}

interface Case {
  readonly pool: PoolSpec;
  readonly pods?: Wanted;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** In the places of names that a person chooses. */
  readonly names?: Readonly<Record<string, string>>;
  /** The size of the pool afterwards. Default: 2. */
  readonly size?: number;
}

const UPDATE = 'az aks nodepool update';
/** One pool each, which is full or lacks something. */
const FOR_PODS: readonly Case[] = [
  { pool: aPool('tagged'), kind: 'raise-maximum', verbs: [UPDATE, 'az tag update'] },
  { pool: aPool('machines', { kind: 'vms-pool' }), kind: 'raise-maximum', verbs: [UPDATE] },
  { pool: aPool('plain', { max: 3 }), pods: { nodeSelector: { disk: 'ssd' } }, kind: 'label-pool', verbs: [UPDATE] },
  {
    pool: aPool('zonal', { zones: ['1'] }),
    pods: { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-3' } },
    kind: 'add-pool',
    verbs: ['az aks nodepool add'],
    names: { NEW_POOL: 'zonal3', SIZE },
    size: 1,
  },
  {
    pool: aPool('spot', { priority: 'Spot', max: 3 }),
    pods: { count: 1, cpu: '12' },
    kind: 'add-pool',
    verbs: ['az aks nodepool add'],
    names: { NEW_POOL: 'spotlarge', SIZE: 'Standard_D16s_v5' },
    size: 1,
  },
];

// Each case has a world of its own, and waits most of its time.
describe.skipIf(givenAzureCli() === undefined).concurrent('the advice for pods', () => {
  it('gives them nodes', async () => {
    const world = await advisedIn(
      AdvisedWorld.start({ pools: [SYSTEM, ...FOR_PODS.map(({ pool }) => pool)] }, ['--scale-down-enabled=false']),
    );
    for (const { pool, pods } of FOR_PODS) addPods(world, pool.name, pods);
    const advice = await Promise.all(FOR_PODS.map(({ pool }) => world.adviceForPod(pool.name)));
    expect(advice.map(({ kinds, commands }) => [kinds, verbsIn(commands)])).toEqual(FOR_PODS.map(({ kind, verbs }) => [[kind], verbs]));
    for (const [at, { names }] of FOR_PODS.entries()) await follow(world, advice[at]?.commands ?? [], names);
    for (const { pool, pods, names, size = 2 } of FOR_PODS) {
      await world.untilBound(pool.name, pods?.count ?? 2);
      expect([pool.name, world.cli.world.pool(pool.name).capacity]).toEqual([pool.name, size]);
      if (names?.['NEW_POOL'] !== undefined) expect(world.cli.world.pool(names['NEW_POOL']).capacity).toBe(pods?.count ?? 2);
    }
    expect(await world.cli.must(`aks-autoscaler plan --live ${world.settings} --fail-on-pending`)).not.toContain('INCREASE');
    world.cli.world.assertSafe();
  });
});

/** Removals do not wait. */
const SOON = ['--scale-down-unneeded-time=10s', '--scale-down-delay-after-add=1s', '--unremovable-node-recheck-timeout=2s'];

/** The pools of one node each that nothing uses, and what keeps the node. */
const FOR_NODES: readonly (Pick<Case, 'pool' | 'kind' | 'verbs'> & { readonly protect?: string })[] = [
  { pool: aPool('atmin', { min: 1 }), kind: 'lower-minimum', verbs: [UPDATE, 'az tag update'] },
  { pool: aPool('atminvms', { min: 1, kind: 'vms-pool' }), kind: 'lower-minimum', verbs: [UPDATE] },
  { pool: aPool('scalein'), kind: 'unprotect-instance', verbs: ['az vmss update'], protect: '--protect-from-scale-in' },
  { pool: aPool('actions'), kind: 'unprotect-instance', verbs: ['az vmss update'], protect: '--protect-from-scale-set-actions' },
];

describe.skipIf(givenAzureCli() === undefined).concurrent('the advice for nodes', () => {
  it('frees them', async () => {
    const cli = await AzureCli.signedIn({ pools: [SYSTEM, ...FOR_NODES.map(({ pool }) => pool)] });
    const { nodeResourceGroup } = cli.world.spec;
    for (const { pool, protect } of FOR_NODES) {
      if (protect === undefined) continue;
      const set = `$(az vmss list -g ${nodeResourceGroup} --query "[?contains(name,'-${pool.name}-')].name" -o tsv)`;
      await cli.must(`az vmss update -g ${nodeResourceGroup} -n ${set} --instance-id 0 ${protect} true`);
    }
    const world = await advisedIn(AdvisedWorld.beside(cli, SOON));
    const advice = await Promise.all(FOR_NODES.map(({ pool }) => world.adviceForNode(pool.name)));
    expect(advice.map(({ kinds, commands }) => [kinds, verbsIn(commands)])).toEqual(FOR_NODES.map(({ kind, verbs }) => [[kind], verbs]));
    for (const { commands } of advice) await follow(world, commands);
    const sizes = (): readonly number[] => FOR_NODES.map(({ pool }) => cli.world.pool(pool.name).capacity);
    await until(
      'the pools are empty',
      () => sizes().every((size) => size === 0),
      90_000,
      () => `${sizes().join()}\n${world.daemon.program.tail(25)}`,
    );
    // No command has left a count that would bring a node back.
    await cli.world.clock.advance(10 * 60_000);
    expect(sizes()).toEqual([0, 0, 0, 0]);
    cli.world.assertSafe();
  });
});

describe.skipIf(givenAzureCli() === undefined).concurrent("the advice beside AKS's own autoscaler", () => {
  it('changes its limits: it then gives the pods a node, and lets go one that no pod needs', async () => {
    const managed = { managedAutoscaler: true } as const;
    const pools = [SYSTEM, aPool('busy', managed), aPool('idle', { ...managed, min: 1, max: 2 })];
    const world = await advisedIn(
      AdvisedWorld.start({ pools, managedAutoscaler: true, spec: { discoveryTags: {} } }, ['--dry-run', ...SOON]),
    );
    addPods(world, 'busy');
    const more = await world.adviceForPod('busy');
    expect([more.kinds, verbsIn(more.commands)]).toEqual([['raise-maximum'], [UPDATE]]);
    await follow(world, more.commands);
    await world.untilBound('busy', 2);
    const fewer = await world.adviceForNode('idle');
    expect([fewer.kinds, verbsIn(fewer.commands)]).toEqual([['lower-minimum'], [UPDATE]]);
    await follow(world, fewer.commands);
    await until('idle is empty', () => world.cli.world.pool('idle').capacity === 0);
  });
});
