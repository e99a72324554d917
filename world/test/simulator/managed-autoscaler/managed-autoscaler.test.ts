/** The imitation of AKS's own autoscaler, against its published default profile, in virtual time and without a program under test. */
import { afterEach, describe, expect, it } from 'vitest';
import { CLIENT } from '../../../lab/client-files.ts';
import type { PoolSpec, WorldSpec } from '../../../simulator/base/world-spec.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { aPool, budget, deployment, MINUTE, SECOND, worldOf, type Workload } from '../../../../test/scenarios/support.ts';
import { START_MS } from '../../../../test/support/builders.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const ofAks = (change: Partial<PoolSpec> & { readonly name: string }): PoolSpec => aPool({ ...change, managedAutoscaler: true });

interface Stage {
  readonly world: World;
  readonly capacity: (pool: string) => number;
  readonly advance: (ms: number) => void;
  readonly apply: (workload: Workload) => void;
  /** `REASON message`, of its own events. */
  readonly events: () => readonly string[];
}

async function stageOf(pools: readonly PoolSpec[], change: Partial<WorldSpec> = {}): Promise<Stage> {
  const clock = new VirtualSimClock(START_MS);
  const made = await startWorld({ spec: worldOf(pools, change), clock, client: CLIENT, token: 't', managedAutoscaler: true });
  world = made;
  clock.advance(2 * MINUTE);
  return {
    world: made,
    capacity: (pool) => made.arm.control.state().sets.find((set) => set.pool === pool)?.capacity ?? Number.NaN,
    advance: (ms) => clock.advance(ms),
    apply: (workload) => void made.cluster.apply(deployment(workload)),
    events: () =>
      made.cluster.store
        .events()
        .filter(({ source }) => (source as { readonly component?: string } | undefined)?.component === 'cluster-autoscaler')
        .map(({ reason, message }) => `${reason} ${message}`),
  };
}

const bound = ({ world: { cluster } }: Stage, app: string): number =>
  cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === app).length;

describe("an increase by AKS's own autoscaler", () => {
  it('follows within a scan of 10 s, for exactly the pods that are pending, and says so at the pods', async () => {
    const stage = await stageOf([ofAks({ name: 'general', max: 5 })]);
    stage.apply({ name: 'web', replicas: 9, cpu: '1' });
    stage.advance(12 * SECOND);
    expect(stage.capacity('general')).toBe(3);
    expect(stage.events().filter((line) => line.startsWith('TriggeredScaleUp'))[0]).toMatch(
      /pod triggered scale-up: \[\{aks-general-\S+ 1->3 \(max: 5\)\}\]/,
    );
    stage.advance(5 * MINUTE);
    expect([bound(stage, 'web'), stage.capacity('general')]).toEqual([9, 3]);
  });

  it('stops at the maximum, and leaves pools alone that it does not scale', async () => {
    const stage = await stageOf([ofAks({ name: 'general', max: 2 }), aPool({ name: 'other', max: 9 })]);
    stage.apply({ name: 'web', replicas: 40, cpu: '1' });
    stage.advance(10 * MINUTE);
    expect([stage.capacity('general'), stage.capacity('other')]).toEqual([2, 1]);
    expect(stage.events().some((line) => line.startsWith('NotTriggerScaleUp'))).toBe(true);
  });

  it('chooses among fitting pools at random: more than one pool over some seeds', async () => {
    const chosen = new Set<string>();
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const stage = await stageOf([ofAks({ name: 'small', count: 0 }), ofAks({ name: 'large', count: 0, vmSize: 'Standard_D8s_v5' })], {
        seed,
      });
      stage.apply({ name: 'web', replicas: 3, cpu: '1' });
      stage.advance(15 * SECOND);
      for (const pool of ['small', 'large']) if (stage.capacity(pool) > 0) chosen.add(pool);
      await stage.world.stop();
      world = undefined;
    }
    expect([...chosen].sort()).toEqual(['large', 'small']);
  });

  it('gives back instances that failed, and backs the pool off for 5 minutes', async () => {
    const stage = await stageOf([ofAks({ name: 'general', count: 0 })], { stock: { 'Standard_D4s_v5/0': 0 } });
    stage.apply({ name: 'web', replicas: 3, cpu: '1' });
    stage.advance(4 * MINUTE);
    expect(stage.capacity('general')).toBe(0);
    stage.world.arm.control.setStock('Standard_D4s_v5', '0', 10);
    stage.advance(10 * MINUTE);
    expect(bound(stage, 'web')).toBe(3);
  });
});

describe("a removal by AKS's own autoscaler", () => {
  const idle = [ofAks({ name: 'general', count: 4, min: 1 })];

  it('waits until a node is unneeded for 10 minutes, then removes empty ones together, down to the minimum', async () => {
    const stage = await stageOf(idle);
    stage.advance(7 * MINUTE);
    expect(stage.capacity('general')).toBe(4);
    stage.advance(4 * MINUTE);
    expect(stage.capacity('general')).toBe(1);
  });

  it('waits for 10 minutes after an increase', async () => {
    const stage = await stageOf([...idle, ofAks({ name: 'gpu', count: 0, labels: { gpu: 'yes' } })]);
    stage.advance(5 * MINUTE);
    stage.apply({ name: 'train', replicas: 1, cpu: '2', spec: { nodeSelector: { gpu: 'yes' } } });
    stage.advance(9 * MINUTE);
    expect(stage.capacity('general')).toBe(4);
    stage.advance(3 * MINUTE);
    expect(stage.capacity('general')).toBe(1);
  });

  it('moves the pods of a little used node through evictions', async () => {
    const stage = await stageOf([ofAks({ name: 'general', count: 2, min: 0 })]);
    stage.apply({ name: 'web', replicas: 2, cpu: '1' });
    stage.advance(15 * MINUTE);
    expect([stage.capacity('general'), bound(stage, 'web')]).toEqual([1, 2]);
    expect(stage.world.violations()).toEqual([]);
  });

  it.each<[string, Partial<Workload>]>([
    ['local storage', { spec: { volumes: [{ name: 'data', emptyDir: {} }] } }],
    ['safe-to-evict false', { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } }],
  ])('keeps a node that has a pod with %s', async (_what, change) => {
    const stage = await stageOf([ofAks({ name: 'general', count: 2, min: 0 })]);
    stage.apply({ name: 'web', replicas: 2, cpu: '1', ...change });
    stage.advance(30 * MINUTE);
    expect(stage.capacity('general')).toBe(2);
  });

  it('keeps nodes whose pods a budget protects', async () => {
    const stage = await stageOf([ofAks({ name: 'general', count: 2, min: 0 })]);
    stage.world.cluster.apply(budget('web', 0));
    stage.apply({ name: 'web', replicas: 2, cpu: '1' });
    stage.advance(30 * MINUTE);
    expect(stage.capacity('general')).toBe(2);
  });
});
