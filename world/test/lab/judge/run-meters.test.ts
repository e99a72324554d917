import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { RunMeters } from '../../../lab/judge/run-meters.ts';
import type { LoadPool, Scenario } from '../../../lab/loads/load.ts';
import { worldOfScenario } from '../../../lab/runs/scenario-world.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { deployment } from '../../../../test/scenarios/support.ts';
import { START_MS } from '../../../../test/support/builders.ts';

const MINUTE = 60_000;
const CLIENT = { clientId: 'ours', clientSecret: 's' };
const POOLS: readonly LoadPool[] = [
  { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 5, pricePerHour: 10 },
  { name: 'spot', vmSize: 'Standard_F8s_v2', count: 0, min: 0, max: 5, priority: 'Spot' },
];

let world: World;
let clock: VirtualSimClock;
afterEach(() => world.stop());

async function measured(pools: readonly LoadPool[] = POOLS): Promise<RunMeters> {
  const scenario: Scenario = { name: 's', startMs: START_MS, durationMs: 1, currency: 'USD', pools, workloads: [], events: [] };
  clock = new VirtualSimClock(START_MS);
  world = await startWorld({ spec: worldOfScenario(scenario, 1), clock, client: CLIENT, token: 't' });
  clock.advance(5 * MINUTE);
  return new RunMeters({ world, scenario, principal: CLIENT.clientId });
}

const JOBS = { finished: 0, interrupted: 0 };
const raise = (pool: string, to: number) => world.arm.control.raise({ foreignScale: { pool, to } });

describe('the figures of a run', () => {
  it('count what VMs cost from their start to their end, by the price of their pool', async () => {
    const meters = await measured();
    clock.advance(30 * MINUTE);
    expect(meters.figures(JOBS)).toMatchObject({ hours: 0.5, costPerDay: 240, vcpuHours: 2 });
    raise('general', 2);
    clock.advance(30 * MINUTE);
    const { costPerDay, nodes } = meters.figures(JOBS);
    // One VM for an hour, and another one for half of it, up to one look.
    expect(costPerDay / 24).toBeGreaterThan(14.8);
    expect(costPerDay / 24).toBeLessThanOrEqual(15);
    expect(nodes).toMatchObject({ bought: 1, removed: 0 });
  });

  it('take the invented price of the simulated list where the scenario has none, and say so', async () => {
    const meters = await measured([{ ...POOLS[1]!, count: 1 }]);
    clock.advance(60 * MINUTE);
    // 8 vCPU and 16 GiB, a quarter for Spot.
    expect(meters.figures(JOBS).costPerDay).toBeCloseTo(((8 * 0.048 + 16 * 0.004) / 4) * 24, 1);
    expect(meters.notes).toEqual(['The scenario has no price of spot: the invented price of the simulated list counts there.']);
  });

  it('have the waits of workloads, also of pods that still wait, and not those of the cluster itself', async () => {
    const meters = await measured();
    world.cluster.apply(deployment({ name: 'fits', replicas: 1, cpu: '100m' }));
    world.cluster.apply(deployment({ name: 'waits', replicas: 2, cpu: '64' }));
    world.cluster.apply({
      ...deployment({ name: 'system', replicas: 1, cpu: '64' }),
      metadata: { name: 'system', namespace: 'kube-system' },
    });
    clock.advance(10 * MINUTE);
    const { pending, requestedVcpuHours } = meters.figures(JOBS);
    expect(pending).toMatchObject({ pods: 3, podSeconds: 1_200, p50Seconds: 600, maxSeconds: 600, unfinished: 2 });
    // 128.1 vCPU for ten minutes, but for the first look.
    expect(requestedVcpuHours).toBeCloseTo((128.1 / 6) * (20 / 21), 1);
    expect(meters.waitQuantiles().slice(0, 40)).toContain(0);
    expect(meters.waitQuantiles().at(-1)).toBe(600);
  });

  it('count evictions that were granted, and calls of Azure by the autoscaler alone', async () => {
    const meters = await measured();
    world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '100m' }));
    clock.advance(MINUTE);
    const dispatcher = new Agent({ connect: { ca: world.caPem } });
    const post = async (url: string, body: string, headers: Record<string, string>) => {
      const { statusCode, body: answer } = await request(url, { method: 'POST', body, headers, dispatcher });
      return { statusCode, text: await answer.text() };
    };
    const [pod, other] = world.cluster.store.pods().filter(({ metadata }) => metadata.namespace === 'default');
    const eviction = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod?.metadata.name } });
    const url = `${world.cluster.url}/api/v1/namespaces/default/pods/${pod?.metadata.name}/eviction`;
    const kube = { authorization: 'Bearer t', 'content-type': 'application/json' };
    expect((await post(`${url}?dryRun=All`, eviction, kube)).statusCode).toBe(201);
    expect((await post(url.replace('/web', '/other'), eviction, kube)).statusCode).toBe(404);
    expect((await post(url, eviction, kube)).statusCode).toBe(201);
    expect(meters.figures(JOBS)).toMatchObject({ evictions: 1, movedTwice: 0 });
    // What replaces it is moved again within an hour.
    clock.advance(2 * MINUTE);
    const next = world.cluster.store
      .pods()
      .find(({ metadata }) => metadata.namespace === 'default' && metadata.uid !== other?.metadata.uid);
    const again = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: next?.metadata.name } });
    expect((await post(url.replace(pod?.metadata.name ?? '', next?.metadata.name ?? ''), again, kube)).statusCode).toBe(201);
    await request(`${world.arm.url}/subscriptions/${world.spec.subscriptionId}?api-version=2022-12-01`, { dispatcher }).then(({ body }) =>
      body.dump(),
    );
    await dispatcher.close();
    expect(meters.figures(JOBS)).toMatchObject({ evictions: 2, movedTwice: 1, armCalls: 0 });
  });

  it('stop at the end', async () => {
    const meters = await measured();
    clock.advance(10 * MINUTE);
    meters.end();
    const before = [meters.figures(JOBS), meters.samples()];
    raise('general', 3);
    world.cluster.apply(deployment({ name: 'waits', replicas: 2, cpu: '64' }));
    clock.advance(10 * MINUTE);
    expect([meters.figures(JOBS), meters.samples()]).toEqual(before);
  });

  it('have means of equal intervals for plots', async () => {
    const meters = await measured();
    clock.advance(240 * MINUTE);
    raise('general', 3);
    clock.advance(240 * MINUTE - 1);
    const samples = meters.samples();
    expect(samples.length).toBeLessThanOrEqual(360);
    expect(samples[1]!.atMs - samples[0]!.atMs).toBe(90_000);
    expect(samples[0]).toEqual({ atMs: 0, nodes: { general: 1 }, vcpus: 4, requestedVcpus: 0, pending: 0, costPerHour: 10 });
    expect(samples.at(-1)).toMatchObject({ nodes: { general: 3 }, vcpus: 12, costPerHour: 30 });
  });
});
