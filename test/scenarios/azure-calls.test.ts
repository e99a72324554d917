import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const INSTANCE_LIST = 'GET virtualMachineScaleSets/{name}/virtualMachines';
const POLL = 'GET locations/{location}/operations/{id}';
const PUT = 'PUT virtualMachineScaleSets/{name}';
const DELETE = 'POST virtualMachineScaleSets/{name}/delete';
const LISTS = new Set([
  'GET virtualMachineScaleSets',
  INSTANCE_LIST,
  'GET virtualMachines',
  'GET managedClusters/{cluster}/agentPools',
  'GET skus',
  'GET locations/{location}/usages',
]);

/** What the daemon asked of ARM since then. */
function calls(world: VirtualRun, sinceMs: number): readonly JournalEntry[] {
  return world.world.arm.control.journal().filter((entry) => entry.at >= sinceMs && entry.principal !== '');
}

/** How often each route was asked, periodic reads of other things aside. */
function tally(entries: readonly JournalEntry[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { route } of entries) counts[route] = (counts[route] ?? 0) + 1;
  return counts;
}

/** Twenty pools, the system pool included. */
function fleet(nodes: number): WorldSpec {
  return worldOf(Array.from({ length: 19 }, (_, index) => aPool({ name: `p${index + 1}`, count: nodes, min: nodes, max: 200 })));
}

/** Three times the interval of the lists of instances. */
const WHILE_MS = 15 * MINUTE;

/** A quarter of an hour of twenty pools takes its real seconds, more of them on a busy machine. */
const REAL_MS = 120_000;

describe('calls at rest', () => {
  async function atRestFor(ms: number, spec: WorldSpec): Promise<readonly JournalEntry[]> {
    const world = await startedWorld({ spec });
    const since = world.clock.now() + SECOND;
    await world.advance(ms);
    const seen = calls(world, since);
    expect(new Set(world.reports.map(({ outcome }) => outcome)).has('failed')).toBe(false);
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
    return seen;
  }

  it(
    '20 pools: at most 2.5 + 20/5 lists a minute, nothing else, and not one more for ten times the nodes',
    async () => {
      const many = await atRestFor(WHILE_MS, fleet(10));
      expect(many.filter(({ route }) => !LISTS.has(route))).toEqual([]);
      expect(many.length).toBeLessThanOrEqual((WHILE_MS / MINUTE) * (2.5 + 20 / 5));
      const few = await atRestFor(10 * MINUTE, fleet(1));
      const within = many.filter(({ at }) => at - (many[0]?.at ?? 0) <= (few.at(-1)?.at ?? 0) - (few[0]?.at ?? 0));
      expect(tally(within)).toEqual(tally(few));
    },
    REAL_MS,
  );

  it(
    'a pool of three pages is one list of three pages, every five minutes',
    async () => {
      const seen = await atRestFor(20 * MINUTE, worldOf([aPool({ name: 'big', count: 250, min: 250, max: 300 })]));
      const ofBig = seen.filter(({ route, path }) => route === INSTANCE_LIST && path.includes('-big-'));
      expect(ofBig.length % 3).toBe(0);
      expect(ofBig.length / 3).toBeLessThanOrEqual(20 / 5 + 1);
    },
    REAL_MS,
  );
});

describe('calls of a change', () => {
  /** Of one pool; lists of all scale sets and of agent pools have their own rhythm. */
  function costOf(world: VirtualRun, pool: string, window: { readonly since: number; readonly until: number }) {
    const concerns = calls(world, window.since).filter(
      ({ at, path, route }) => at <= window.until && (path.includes(`-${pool}-`) || route === POLL),
    );
    const counts = tally(concerns);
    return {
      writes: (counts[PUT] ?? 0) + (counts[DELETE] ?? 0),
      instanceLists: counts[INSTANCE_LIST] ?? 0,
      setGets: counts['GET virtualMachineScaleSets/{name}'] ?? 0,
      instanceGets: counts['GET virtualMachineScaleSets/{name}/virtualMachines/{instance}'] ?? 0,
      polls: counts[POLL] ?? 0,
    };
  }

  /** When the only operation of a kind ended, plus a moment for what follows at once. */
  function endOf(world: VirtualRun, route: string): number {
    const poll = calls(world, 0).findLast((entry) => entry.route === POLL);
    const write = calls(world, 0).findLast((entry) => entry.route === route);
    return Math.max(poll?.at ?? 0, write?.at ?? 0) + 5 * SECOND;
  }

  it('a scale-up: one write, one GET, and lists only while machines are awaited', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(15 * SECOND);
    const since = world.clock.now();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    await world.advance(MINUTE);
    const until = endOf(world, PUT);
    // Lists at 15 s of the ladder and at the end of the operation, which runs for a minute; between them, the instance of a node that joined is read alone.
    const cost = costOf(world, 'general', { since, until });
    expect(cost).toMatchObject({ writes: 1, instanceLists: 2, setGets: 1, instanceGets: 1 });
    expect(cost.polls).toBeLessThanOrEqual(8);
    // Afterwards nothing but the usual list every five minutes.
    await world.advance(10 * MINUTE);
    const later = costOf(world, 'general', { since: until, until: world.clock.now() });
    expect(later).toMatchObject({ writes: 0, setGets: 0, instanceGets: 0, polls: 0 });
    expect(later.instanceLists).toBeLessThanOrEqual(3);
  });

  it('a scale-down: one GET per machine and of the set before, one write, one GET of the set and one list after', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general', count: 4, min: 1 })]),
      flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s', '--scan-interval=10s'],
    });
    const since = world.clock.now() + SECOND;
    await world.until('the minimum', () => capacity(world, 'general') === 1, 5 * MINUTE);
    await world.until(
      'the end of the delete',
      () => world.world.arm.control.state().operations.every(({ status }) => status !== 'InProgress'),
      10 * MINUTE,
    );
    await world.advance(45 * SECOND);
    const until = endOf(world, DELETE);
    const periodic = Math.ceil((until - since) / (5 * MINUTE));
    const cost = costOf(world, 'general', { since, until });
    expect(cost).toMatchObject({ writes: 1, instanceGets: 3 });
    // One before and one after; from the second minute of the delete on, the set itself may end it, and is read about once a minute.
    expect(cost.setGets).toBeGreaterThanOrEqual(2);
    expect(cost.setGets).toBeLessThanOrEqual(2 + Math.floor((until - since) / MINUTE / 2));
    expect(cost.instanceLists).toBeLessThanOrEqual(1 + periodic);
    expect(cost.polls).toBeLessThanOrEqual(16);
    // The list tells that the machines are gone, and their nodes, which stay for a while, cause no further ones.
    const nodes = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'))?.instances;
    expect(nodes).toHaveLength(1);
  });

  it('a size changed by another writer costs one list at once and the ladder while its instances come', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(15 * SECOND);
    const since = world.clock.now();
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    await world.advance(4 * MINUTE);
    const cost = costOf(world, 'general', { since, until: world.clock.now() });
    expect(cost).toMatchObject({ writes: 0, setGets: 0, polls: 0 });
    // A node that joins between two lists has its instance read alone.
    expect(cost.instanceGets).toBeLessThanOrEqual(2);
    expect(cost.instanceLists + cost.instanceGets).toBeLessThanOrEqual(5);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'));
    expect(group?.instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });
});

describe('a refresh by hand', () => {
  it('POST /debug/refresh reads one group at once, or everything, and nothing for a group that is not there', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' }), aPool({ name: 'other' })]) });
    await world.advance(35 * SECOND);
    const nameOf = (route: string, path: string): string => `${route} ${/-(\w+)-\d+-vmss/.exec(path)?.[1] ?? ''}`.trim();
    const post = async (query: string): Promise<{ readonly status: number; readonly asked: readonly string[] }> => {
      const since = world.world.arm.control.journal().length;
      const { status } = await fetch(`${world.daemon.url ?? ''}/debug/refresh${query}`, { method: 'POST' });
      await world.advance(SECOND);
      const entries = world.world.arm.control.journal().slice(since);
      return { status, asked: entries.map(({ route, path }) => nameOf(route, path)).sort() };
    };
    const id = world.reports.at(-1)?.observation?.cloud.groups.find((group) => group.id.includes('general'))?.id ?? '';
    expect(await post(`?group=${id}`)).toEqual({ status: 202, asked: ['GET virtualMachineScaleSets', `${INSTANCE_LIST} general`] });
    expect(await post('?group=nobody')).toEqual({ status: 404, asked: [] });
    // At most one starts in ten seconds: requests that come earlier wait and start together.
    expect(await post('')).toEqual({ status: 202, asked: [] });
    expect(await post(`?group=${id}`)).toEqual({ status: 202, asked: [] });
    const since = world.world.arm.control.journal().length;
    await world.advance(8 * SECOND);
    const everything = world.world.arm.control.journal().slice(since);
    expect(everything.map(({ route, path }) => nameOf(route, path))).toEqual(
      expect.arrayContaining([
        'GET virtualMachineScaleSets',
        `${INSTANCE_LIST} general`,
        `${INSTANCE_LIST} other`,
        `${INSTANCE_LIST} system`,
      ]),
    );
  });
});
