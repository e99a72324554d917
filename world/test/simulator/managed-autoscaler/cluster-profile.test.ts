/** `autoScalerProfile` of the cluster: the published defaults, what AKS refuses, and that its own autoscaler follows it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT } from '../../../lab/client-files.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { profileOf } from '../../../simulator/managed-autoscaler/profile.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { aPool, deployment, MINUTE, worldOf } from '../../../../test/scenarios/support.ts';
import { START_MS } from '../../../../test/support/builders.ts';
import { callCluster, PROMPT } from '../signed-in.ts';

let world: World;
let clock: VirtualSimClock;

beforeEach(async () => {
  clock = new VirtualSimClock(START_MS);
  const pools = [aPool({ name: 'general', count: 0, max: 5, managedAutoscaler: true })];
  world = await startWorld({ spec: worldOf(pools), clock, client: CLIENT, token: 't', managedAutoscaler: true, knobs: PROMPT });
});
afterEach(() => world.stop());

interface Reply {
  readonly status: number;
  readonly body: { readonly message?: string; readonly eTag?: string; readonly properties?: { readonly autoScalerProfile: unknown } };
}

async function call(method: 'GET' | 'PUT', autoScalerProfile?: unknown): Promise<Reply> {
  const sent = autoScalerProfile === undefined ? undefined : { location: world.spec.location, properties: { autoScalerProfile } };
  const { status, text } = await callCluster(world, method, '', sent);
  return { status, body: JSON.parse(text) as Reply['body'] };
}

const capacity = (): number => world.arm.control.state().sets.find(({ pool }) => pool === 'general')?.capacity ?? Number.NaN;

describe('the profile of the cluster', () => {
  it('has the published defaults, and what a PUT leaves out has them again', async () => {
    const before = (await call('GET')).body;
    expect(before.properties?.autoScalerProfile).toMatchObject({
      'scan-interval': '10s',
      'scale-down-unneeded-time': '10m',
      expander: 'random',
    });
    expect((await call('PUT', { 'scale-down-unneeded-time': '1m', 'max-empty-bulk-delete': '3' })).status).toBe(200);
    clock.advance(5 * MINUTE);
    const changed = (await call('GET')).body;
    expect(changed.properties?.autoScalerProfile).toMatchObject({ 'scale-down-unneeded-time': '1m', 'max-empty-bulk-delete': '3' });
    expect(changed.eTag).not.toBe(before.eTag);
    expect((await call('PUT', { 'max-empty-bulk-delete': null })).status).toBe(200);
    clock.advance(5 * MINUTE);
    expect((await call('GET')).body.properties?.autoScalerProfile).toEqual(before.properties?.autoScalerProfile);
  });

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{ 'scan-intervall': '10s' }, 'autoScalerProfile.scan-intervall is invalid: there is no such setting'],
    [
      { 'scale-down-unneeded-time': 'soon' },
      'autoScalerProfile.scale-down-unneeded-time is invalid: it must be a whole number with the unit s, m or h',
    ],
    [{ 'max-empty-bulk-delete': 'ten' }, 'autoScalerProfile.max-empty-bulk-delete is invalid: it must be a whole number'],
    [
      { 'scale-down-utilization-threshold': '50' },
      'autoScalerProfile.scale-down-utilization-threshold is invalid: it must be a number from 0 to 1',
    ],
    [{ 'skip-nodes-with-system-pods': 'no' }, 'autoScalerProfile.skip-nodes-with-system-pods is invalid: it must be true or false'],
  ])('%j is refused', async (profile, words) => {
    const { status, body } = await call('PUT', profile);
    expect([status, body.message]).toEqual([400, expect.stringContaining(words)]);
  });

  it("is what AKS's own autoscaler follows", async () => {
    await call('PUT', { 'scale-down-unneeded-time': '1m', 'scale-down-delay-after-add': '1m' });
    clock.advance(5 * MINUTE);
    const web = { name: 'web', replicas: 9, cpu: '1' };
    world.cluster.apply(deployment(web));
    clock.advance(5 * MINUTE);
    expect(capacity()).toBe(3);
    world.cluster.remove(deployment(web));
    // With the defaults a node goes ten minutes after it is unneeded.
    clock.advance(4 * MINUTE);
    expect(capacity()).toBe(0);
  });

  it('is read with its units', () => {
    const published = {
      'scan-interval': '20',
      'scale-down-unneeded-time': '2h',
      'max-graceful-termination-sec': '30',
      'skip-nodes-with-system-pods': 'false',
    };
    expect(profileOf(published)).toMatchObject({
      scanIntervalMs: 20_000,
      unneededForMs: 7_200_000,
      maxDrainMs: 30_000,
      keepsSystemPods: false,
    });
  });
});
