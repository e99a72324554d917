/** The upgrade of a node image as AKS does it: surge, cordon, drain within budgets, reimage in place, and the surge goes. */
import { afterEach, describe, expect, it } from 'vitest';
import { CLIENT } from '../../lab/client-files.ts';
import { surgeOf } from '../../simulator/arm/aks/node-upgrades.ts';
import { latestNodeImage } from '../../simulator/arm/state/node-versions.ts';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import type { NodeObject } from '../../simulator/cluster/store/objects.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import { startWorld, type World } from '../../simulator/world.ts';
import { START_MS } from '../../../test/support/builders.ts';
import { MINUTE, aPool, aWorld, operationOf, poolPath, startRig, stateOf } from './arm/harness.ts';
import { aBudgetDraft, aDeployment } from './cluster/stage.ts';
import { callCluster } from './signed-in.ts';

const IMAGE = 'kubernetes.azure.com/node-image-version';

let world: World;
let clock: VirtualSimClock;

async function begin(budget?: Record<string, unknown>): Promise<void> {
  clock = new VirtualSimClock(START_MS);
  const spec = {
    ...smallWorld(1),
    pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 3, min: 1, max: 6, mode: 'System' as const }],
  };
  world = await startWorld({ spec, clock, client: CLIENT, token: 'x' });
  if (budget !== undefined) world.cluster.apply(aBudgetDraft('web', { selector: { matchLabels: { app: 'web' } }, ...budget }));
  world.cluster.apply(aDeployment('web', 6));
  clock.advance(MINUTE);
}

const post = async (path: string): Promise<number> => (await callCluster(world, 'POST', `/agentPools/${path}`)).status;
const pool = () => world.arm.control.state().agentPools[0];
const set = () => world.arm.control.state().sets[0];
const images = (): readonly (string | undefined)[] => world.cluster.store.nodes().map(({ metadata }) => metadata.labels?.[IMAGE]);
const cordoned = (nodes: readonly NodeObject[]): readonly string[] =>
  nodes.filter(({ spec }) => spec.unschedulable === true).map(({ metadata }) => metadata.name);

describe('the upgrade of a node image', () => {
  afterEach(() => world.stop());

  it('adds a surge node, drains and reimages the old ones in turn under their names, and removes the surge node', async () => {
    await begin({ maxUnavailable: 1 });
    const before = world.cluster.store.nodes().map(({ metadata }) => metadata.name);
    const newest = latestNodeImage(clock.now());
    expect(await post('general/upgradeNodeImageVersion')).toBe(202);
    expect([pool()?.provisioningState, set()?.capacity]).toEqual(['UpgradingNodeImageVersion', 4]);
    expect(await post('general/upgradeNodeImageVersion')).toBe(409);
    let most = 0;
    let readyPods = Number.POSITIVE_INFINITY;
    for (let minute = 0; minute < 40 && pool()?.provisioningState !== 'Succeeded'; minute++) {
      for (let step = 0; step < 12; step++) {
        clock.advance(MINUTE / 12);
        most = Math.max(most, cordoned(world.cluster.store.nodes()).length);
        readyPods = Math.min(
          readyPods,
          world.cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === 'web').length,
        );
      }
    }
    clock.advance(10 * MINUTE);
    expect([pool()?.provisioningState, set()?.capacity, most]).toEqual(['Succeeded', 3, 1]);
    expect(world.cluster.store.nodes().map(({ metadata }) => metadata.name)).toEqual(before);
    expect(images()).toEqual([newest, newest, newest]);
    expect(cordoned(world.cluster.store.nodes())).toEqual([]);
    expect(readyPods).toBeGreaterThanOrEqual(5);
    expect(world.violations()).toEqual([]);
    expect(await post('general/upgradeNodeImageVersion')).toBe(202);
    expect(set()?.capacity).toBe(3);
  });

  it('gives up a node that cannot be drained in time: the pool has failed, the node is used again, the surge node goes', async () => {
    await begin({ maxUnavailable: 0 });
    await post('general/upgradeNodeImageVersion');
    clock.advance(60 * MINUTE);
    const [operation] = world.arm.control.state().operations.filter(({ code }) => code === 'PodDrainFailure');
    expect(operation).toMatchObject({ status: 'Failed', pool: 'general' });
    expect([pool()?.provisioningState, set()?.capacity, cordoned(world.cluster.store.nodes())]).toEqual(['Failed', 3, []]);
    expect(new Set(images())).toEqual(new Set(['AKSUbuntu-2204gen2containerd-202601.01.0']));
  });

  it('the event of an upgrade drains the nodes that it replaces', async () => {
    await begin();
    const [oldest] = world.cluster.store.nodes();
    expect(world.arm.control.raise({ upgrade: { pool: 'general' } })).toBeUndefined();
    clock.advance(6 * MINUTE);
    const left = world.cluster.store
      .pods()
      .filter(({ spec, metadata }) => spec.nodeName === oldest?.metadata.name && metadata.labels?.['app'] === 'web');
    expect(left).toEqual([]);
    clock.advance(15 * MINUTE);
    expect([set()?.capacity, world.cluster.store.nodes().some(({ metadata }) => metadata.name === oldest?.metadata.name)]).toEqual([
      3,
      false,
    ]);
    expect(world.cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === 'web')).toHaveLength(6);
  });
});

describe('an upgrade without a cluster', () => {
  it('without stock for a surge node fails with the reason of Azure, and leaves the pool as it was', async () => {
    const rig = await startRig(aWorld([aPool('a')], { stock: { 'Standard_D4s_v5/0': 0 } }));
    const accepted = await rig.call('POST', poolPath(rig, 'a', '/upgradeNodeImageVersion'));
    expect(accepted.status).toBe(202);
    rig.clock.advance(20 * MINUTE);
    expect((await operationOf(rig, accepted)).json).toMatchObject({ status: 'Failed', error: { code: 'AllocationFailed' } });
    expect([stateOf(rig, 'a').capacity, stateOf(rig, 'a').instances.length]).toEqual([2, 2]);
  });

  it('is refused without quota for the surge', async () => {
    const rig = await startRig(aWorld([aPool('a')], { quota: { cores: 8 } }));
    const refused = await rig.call('POST', poolPath(rig, 'a', '/upgradeNodeImageVersion'));
    expect(refused).toMatchObject({ status: 400, json: { code: 'ErrCode_InsufficientVCPUQuota' } });
    expect(stateOf(rig, 'a').capacity).toBe(2);
  });

  it.each([
    ['10%', 3, 1],
    ['10%', 11, 2],
    ['50%', 5, 3],
    ['2', 5, 2],
    ['0', 5, 1],
    [undefined, 20, 2],
  ])('maxSurge %s of %i nodes is %i', (maxSurge, count, surge) => {
    const upgradeSettings = maxSurge === undefined ? {} : { maxSurge };
    expect(surgeOf({ properties: { count, upgradeSettings } })).toBe(surge);
  });
});
