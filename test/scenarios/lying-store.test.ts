/** A cluster whose store lies all the time: it grows, and removes, as one without a store. The soak does the same with a real server. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildCatalog } from '../../src/azure/sizes/sku-catalog.ts';
import { writeCatalog } from '../../src/azure/sizes/sku-text.ts';
import { FleetRun, type FleetCluster } from '../soak/fleet/fleet-run.ts';
import { writesOf } from '../soak/fleet/fleet-story.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { aPool, deployment, MINUTE, SECOND } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
const READS = ['HighCostGetVMScaleSet', 'GetVMScaleSet', 'GetVMScaleSetVM', 'Skus', 'Usages', 'AgentPools'];
const WRITES = ['CreateVMScaleSet', 'VMScaleSetActions', 'subscription-global-writes'];

interface Lived {
  readonly growsAfterMs: number;
  readonly idleGoneAfterMs: number;
  readonly longestIdleLoopMs: number;
}

/** One cluster gets pods, and loses them again. */
async function liveWithLies(): Promise<Lived> {
  let store: MemoryStore | undefined;
  const pools = [aPool({ name: 'web', vmSize: 'Standard_D8s_v5', count: 0 })];
  const run = await FleetRun.start({
    clusters: 1,
    pools,
    flags: FLAGS,
    storeOf: ({ name, simClock }) => (store ??= new MemoryStore(simClock)).of(name),
  });
  onTestFinished(() => run.stop());
  const { clock } = run;
  const [cluster] = run.clusters;
  if (cluster === undefined) throw new Error('there is a cluster');
  const lying = (store = new MemoryStore(clock));
  for (let at = 0; at < 10_000; at++) lying.of(`invented-${at}`);
  const lie = (): void => {
    writeLies(lying, cluster, clock.now());
    clock.after(5 * SECOND, lie);
  };
  lie();
  await run.startDaemons();
  await run.advance(MINUTE);
  const grownMs = clock.now();
  cluster.world.cluster.apply(deployment({ name: 'work', replicas: 2, cpu: '3' }));
  await run.advance(5 * MINUTE, () => writesOf(cluster, 'web').length > 0);
  const growsAfterMs = clock.now() - grownMs;
  await run.advance(2 * MINUTE);
  cluster.world.cluster.apply(deployment({ name: 'work', replicas: 0, cpu: '3' }));
  const idleMs = clock.now();
  await run.advance(10 * MINUTE, () => cluster.world.cluster.store.nodes().length === 1);
  const idle = cluster.loops.filter(({ isIdle }) => isIdle).map(({ durationMs }) => durationMs);
  expect(cluster.world.violations()).toEqual([]);
  return { growsAfterMs, idleGoneAfterMs: clock.now() - idleMs, longestIdleLoopMs: Math.max(...idle) };
}

/** Azure throttles everything for ever, thousands of clusters share no calls at all, and the only size is tiny, sold out and may not be used. */
function writeLies(store: MemoryStore, { world }: FleetCluster, nowMs: number): void {
  const liar = store.hints.of('liar');
  for (const family of [...READS, ...WRITES]) {
    liar.report('throttled', family, nowMs + 10 * MINUTE);
    liar.report('remaining', family, nowMs + 10 * MINUTE, { left: 0, of: 1_000 });
  }
  liar.report('stockout', 'standard_d8s_v5/regular/*', nowMs + 10 * MINUTE);
  const capabilities = [
    { name: 'vCPUs', value: '1' },
    { name: 'MemoryGB', value: '1' },
  ];
  const restrictions = [{ type: 'Location' as const, reasonCode: 'NotAvailableForSubscription' as const }];
  const raw = [{ resourceType: 'virtualMachines', name: 'Standard_D8s_v5', capabilities, restrictions }];
  const { subscriptionId, location } = world.spec;
  const text = writeCatalog(buildCatalog(raw, location, nowMs), { subscriptionId, location });
  store.texts.skus.put({ epoch: Math.floor(nowMs / SECOND), text, by: 'liar' });
}

describe('a store that lies', () => {
  it('keeps a cluster neither from growing nor from removing, and no loop waits for it', async () => {
    const lived = await liveWithLies();
    expect(lived.growsAfterMs).toBeLessThan(2 * SECOND);
    // A minute of idleness, and at most one in which others delay its reads.
    expect(lived.idleGoneAfterMs).toBeLessThan(5 * MINUTE);
    expect(lived.longestIdleLoopMs).toBeLessThanOrEqual(50);
  });
});
