/** Room that a setting keeps free: there before pods ask, taken at once, requested again, given back, and of no concern to people. */
import { describe, expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

/** Three vCPU each, on a node of their own. */
function apply(run: VirtualRun, name: string, pool: string, replicas: number): void {
  run.world.cluster.apply(deployment({ name, replicas, cpu: '3', spec: { nodeSelector: { agentpool: pool } } }));
}

async function isBoundAtOnce(run: VirtualRun, name: string, replicas: number): Promise<void> {
  const startedMs = run.clock.now();
  await run.until(`${name} is bound`, () => bound(run, name) === replicas, MINUTE);
  expect(run.clock.now() - startedMs).toBeLessThan(20 * SECOND);
}

const CONFIG = `
scaleDown: {unneededTime: 2m, delayAfterAdd: 1m}
nodeGroupOptions:
  - {name: free, headroom: {nodes: 1}}
  - {name: capped, headroom: {nodes: 1}}
  - {name: pieces, headroom: {cpu: "2"}}
schedules:
  rules:
    - {pools: [timed], from: "00:00", to: "00:10", headroom: {nodes: 1}}
`;

describe('headroom', () => {
  it('is there for the next pods each time, over a restart, beside another writer, and a full pool disturbs no one', async () => {
    const pools = [
      aPool({ name: 'free' }),
      aPool({ name: 'capped', max: 1 }),
      aPool({ name: 'pieces' }),
      aPool({ name: 'timed', count: 0 }),
    ];
    const run = await startedWorld({ spec: worldOf(pools) });
    await run.stopDaemon();
    const flags = [`--config=${configFile(CONFIG)}`];
    await run.startDaemon(flags);
    apply(run, 'cap', 'capped', 1);
    apply(run, 'web', 'free', 1);
    await isBoundAtOnce(run, 'web', 1);
    await run.until('the room is made again', () => capacity(run, 'free') === 2, MINUTE);
    // Room that a rule keeps while it holds. The world began at midnight.
    await run.until('room by a rule', () => capacity(run, 'timed') === 1, MINUTE);
    await run.advance(4 * MINUTE);
    // A second time, and one pod more than there is room for.
    apply(run, 'web', 'free', 3);
    await run.until('one is bound at once', () => bound(run, 'web') === 2, 20 * SECOND);
    await run.until('a node for the other, and the room', () => capacity(run, 'free') === 4, MINUTE);
    // The nodes on their way are not requested again by the next process.
    await run.stopDaemon();
    await run.startDaemon(flags);
    await run.advance(6 * MINUTE);
    expect([capacity(run, 'free'), bound(run, 'web')]).toEqual([4, 3]);
    // Another writer adds a node: one free node is enough.
    run.world.arm.control.raise({ foreignScale: { pool: 'free', to: 5 } });
    await run.until('the other free node goes', () => capacity(run, 'free') === 4, 15 * MINUTE);
    apply(run, 'web', 'free', 1);
    await run.until('nodes are given back, and one stays free', () => capacity(run, 'free') === 2, 30 * MINUTE);
    // Two vCPU beside a pod of three are not free on a node of four: a second node has them.
    apply(run, 'part', 'pieces', 1);
    await run.until('pieces need a second node', () => capacity(run, 'pieces') === 2, 2 * MINUTE);
    await run.advance(5 * MINUTE);
    expect([capacity(run, 'capped'), capacity(run, 'pieces'), capacity(run, 'timed')]).toEqual([1, 2, 0]);
    expect(bound(run, 'cap')).toBe(1);
    // The full pool: no event, no pending pod, no pool that counts as held.
    expect(events(run, 'NotTriggerScaleUp')).toEqual([]);
    const warnings = run.world.cluster.store.events().filter(({ type, reason }) => type === 'Warning' && reason !== 'FailedScheduling');
    expect(warnings).toEqual([]);
    expect(run.reports.at(-1)?.state.heldGroups).toEqual(new Map());
    const metrics = await run.metrics.registry.metrics();
    expect(metrics).toMatch(/aks_autoscaler_headroom\{node_group="aks-capped-[^"]*",state="missing"\} 1/);
    expect(metrics).toMatch(/aks_autoscaler_unschedulable_pods\{verdict="blocked-by-max"\} 0/);
    expect(run.world.violations()).toEqual([]);
    expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
  });
});
