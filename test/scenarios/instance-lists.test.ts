/** The list of a set's instances is the most expensive read: at most two of them in a minute, whatever happens in the set. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=30s', '--scale-down-delay-after-add=10s'];

/** A list of a set's instances, or of all virtual machines. */
const LISTS = /(aks-general[^/]*|Microsoft\.Compute)\/virtualMachines$/i;
const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;

/** The most lists of the pool's instances that the daemon sent within a minute. A list has one page here. */
function mostListsInAMinute(world: VirtualRun, sinceMs: number): number {
  const lists = world.world.arm.control
    .journal()
    .filter(({ at, method, path, principal }) => at >= sinceMs && principal !== '' && method === 'GET' && LISTS.test(path));
  return Math.max(0, ...lists.map(({ at }) => lists.filter((other) => other.at >= at && other.at < at + MINUTE).length));
}

const nodesOf = ({ world }: VirtualRun, pool: string) =>
  world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['kubernetes.azure.com/agentpool'] === pool);

describe('lists of the instances of one set', () => {
  it.each(KINDS)('of a %s stay within two a minute while it grows in steps', async (kind) => {
    const pool = aPool({ name: 'general', kind, count: 1, max: 40 });
    const world = await startedWorld({ spec: worldOf([pool]), flags: ['--scale-down-enabled=false'] });
    const since = world.clock.now() + 30 * SECOND;
    await world.advance(30 * SECOND);
    for (let step = 1; step <= 8; step++) {
      world.world.cluster.apply(deployment({ name: `web-${step}`, replicas: 3, cpu: '3' }));
      await world.advance(15 * SECOND);
    }
    await world.until('all bound', () => bound(world, 'web-8') === 3, 8 * MINUTE);
    expect(mostListsInAMinute(world, since)).toBeLessThanOrEqual(2);
    expect(world.world.violations()).toEqual([]);
  });

  it.each(KINDS)('of a %s stay within two a minute while thirty of its nodes are removed', async (kind) => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', kind, count: 30, max: 40 })]), flags: FLAGS });
    const since = world.clock.now() + 30 * SECOND;
    await world.until('all removed', () => nodesOf(world, 'general').length === 0, 20 * MINUTE);
    await world.advance(3 * MINUTE);
    expect(mostListsInAMinute(world, since)).toBeLessThanOrEqual(2);
    expect(world.world.violations()).toEqual([]);
  });
});

const within = (seconds: number) => ({ p50: (seconds / 2) * SECOND, p95: seconds * SECOND });

/** Grows the pool four times in a minute. How many nodes joined, and how long at most one of them had no instance in the loops' views. */
async function longestWithoutInstance(world: VirtualRun, pool: string, grow: (step: number) => void) {
  const joinedAt = new Map<string, number>();
  const knownAt = new Map<string, number>();
  for (let second = 0; second < 240; second++) {
    if (second % 15 === 0 && second < 60) grow(second / 15);
    await world.advance(SECOND);
    const now = world.clock.now();
    const instances = world.reports.at(-1)?.observation?.cloud.instanceOfNode;
    for (const { metadata } of nodesOf(world, pool)) {
      if (!joinedAt.has(metadata.name)) joinedAt.set(metadata.name, now);
      if (instances?.has(metadata.name) === true && !knownAt.has(metadata.name)) knownAt.set(metadata.name, now);
    }
  }
  const waits = [...joinedAt].map(([name, at]) => (knownAt.get(name) ?? world.clock.now()) - at);
  return { joined: joinedAt.size, longestMs: Math.max(0, ...waits) };
}

describe('a node that joined after the last list', () => {
  it.each(KINDS)('of a %s gets its instance within two loops', async (kind) => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general', kind, count: 0, max: 40 })]),
      flags: ['--scale-down-enabled=false'],
      // Nodes that join within seconds join after the lists of a minute were used up.
      knobs: {
        instanceVisible: within(2),
        allocated: within(2),
        osUp: within(6),
        provisioned: within(9),
        aksGrowthEnd: within(0),
        aksPatienceMs: MINUTE,
      },
    });
    const grow = (step: number) => world.world.cluster.apply(deployment({ name: `web-${step}`, replicas: 3, cpu: '3' }));
    const { joined, longestMs } = await longestWithoutInstance(world, 'general', grow);
    expect(joined).toBe(12);
    // One loop requests the read, and the next one sees its result.
    expect(longestMs).toBeLessThanOrEqual(22 * SECOND);
  });
});
