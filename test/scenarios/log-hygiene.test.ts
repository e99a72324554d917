import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, MINUTE, worldOf } from './support.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

let texts: string[] = [];

function start(options: VirtualRunOptions): Promise<VirtualRun> {
  texts = [];
  return startedWorld({ ...options, onLog: (line) => texts.push(line) });
}

const lines = (): readonly Line[] => texts.map((text) => JSON.parse(text) as Line);

/** What no line may hold: the secret and token of this simulation, and whatever looks like one. */
const SECRETS = [/only-known-to-this-simulation/, /\beyJ[\w-]{8,}\.[\w-]{8,}/, /Bearer\s+[\w.~+/-]{8,}/i, /client_secret=/, /access_token/];

function secretsIn(all: readonly string[]): readonly string[] {
  return all.filter((text) => SECRETS.some((pattern) => pattern.test(text)));
}

describe('the log', () => {
  it('of an idle half hour is shorter than ten lines', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general' }), aPool({ name: 'memory', count: 0 })]) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 4, 5 * MINUTE);
    texts = [];
    await world.advance(30 * MINUTE);
    expect(lines().map(({ level, msg }) => `${level} ${msg}`).length).toBeLessThan(10);
    expect(world.reports.length).toBeGreaterThan(150);
  });

  it('of half an hour in which the same pods cannot be helped and the same node cannot be drained is as short', async () => {
    const world = await start({
      spec: worldOf([aPool({ name: 'general', count: 2, max: 2 })]),
      flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s'],
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '100m' }));
    world.world.cluster.apply(budget('web', 0));
    world.world.cluster.apply(deployment({ name: 'huge', replicas: 3, cpu: '64' }));
    await world.advance(5 * MINUTE);
    texts = [];
    await world.advance(30 * MINUTE);
    expect(lines().map(({ level, msg }) => `${level} ${msg}`).length).toBeLessThan(10);
  });

  it('of twenty minutes in which Azure refuses every write folds the refusals', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.arm.control.addFault({
      id: 'down',
      match: { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*' },
      effect: { kind: 'answer', status: 500, body: { error: { code: 'InternalServerError', message: 'An error occurred.' } } },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.advance(20 * MINUTE);
    // Each cause once a minute at most, with how often it was left out.
    const failed = lines().filter(({ msg }) => msg === 'Scale-up failed');
    expect(failed.length).toBeLessThanOrEqual(21);
    expect(world.writes().length).toBeGreaterThan(failed.length);
    expect(failed.some((line) => Number(line['repeated']) > 0)).toBe(true);
    expect(secretsIn(texts)).toEqual([]);
  });

  it('logs each decision in one line with its reason, and no secret at all', async () => {
    const world = await start({
      spec: worldOf(
        [aPool({ name: 'general' }), aPool({ name: 'compute', vmSize: 'Standard_F8s_v2', count: 0, labels: { workload: 'batch' } })],
        {
          stock: { 'Standard_F8s_v2/0': 0 },
        },
      ),
      flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s', '--leader-elect=true'],
    });
    world.world.arm.control.raise({ foreignScale: { pool: 'general', delta: 1, when: 'before-next-write' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    world.world.cluster.apply(deployment({ name: 'batch', replicas: 2, cpu: '1500m', spec: { nodeSelector: { workload: 'batch' } } }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    // A token that Azure takes back in the middle makes the sign-in speak.
    world.world.arm.control.addFault({
      id: 'unauthorized',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets' },
      effect: {
        kind: 'answer',
        status: 401,
        body: { error: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' } },
      },
    });
    await world.advance(2 * MINUTE);
    world.world.arm.control.removeFault('unauthorized');
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '700m' }));
    await world.until('nodes removed', () => capacity(world, 'general') === 1, 30 * MINUTE);
    await world.stopDaemon();

    const writes = world.writes().filter(({ route, pool, status }) => route.startsWith('PUT') && pool === 'general' && status < 300);
    const accepted = lines().filter(({ msg, nodeGroup }) => msg === 'Scale-up accepted' && String(nodeGroup).includes('general'));
    expect(accepted.map(({ from, to }) => [from, to])).toEqual(
      writes.map(({ capacityBefore, capacityAfter }) => [capacityBefore, capacityAfter]),
    );
    expect(accepted.every(({ pods, cause, loopId }) => pods !== undefined && cause !== undefined && loopId !== undefined)).toBe(true);
    const removed = lines().filter(({ msg }) => msg === 'Node removal started');
    expect(removed.length).toBeGreaterThan(0);
    expect(
      removed.every(({ cause, utilization, unneededSinceMs }) => [cause, utilization, unneededSinceMs].every((fact) => fact !== undefined)),
    ).toBe(true);
    expect(texts.length).toBeGreaterThan(10);
    expect(secretsIn(texts)).toEqual([]);
  });

  it('the search for secrets finds them where they are', () => {
    const jwt = ['eyJhbGciOiJSUzI1NiJ9', 'eyJhdWQiOiJodHRwcyJ9', 'c2ln'].join('.');
    expect(
      secretsIn([`{"error":"${jwt}"}`, '{"a":"Bearer abcdefgh123"}', '{"b":"only-known-to-this-simulation"}', '{"c":"fine"}']),
    ).toHaveLength(3);
  });
});
