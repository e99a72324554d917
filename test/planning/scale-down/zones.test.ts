/** Pools that are one pool per zone: their removals keep the zones even, and wait while a zone is down. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { aNode, aTemplate, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, MINUTE, plan, pod, pool, removed, sinceMinutes, type World } from './world.ts';

const ZONE = 'topology.kubernetes.io/zone';
const UNREADY = { ready: false, sinceMs: START_MS - MINUTE, reason: 'NotReady' };

function zonal(id: string, zone: string, size: number, change: Partial<NodeGroup> = {}): NodeGroup {
  return { ...pool(id, size), zones: [zone], template: aTemplate({ cpu: '4', memory: '16Gi', zones: [zone] }), ...change };
}
function nodesOf(id: string, zone: string, size: number, change: Partial<Node> = {}): readonly Node[] {
  const labels = { [ZONE]: zone };
  return Array.from({ length: size }, (_, at) => ({ ...aNode({ name: `${id}-${at}`, cpu: '4', memory: '16Gi', labels }), ...change }));
}

/** Pools a, b, c, one in each zone, with so many idle nodes. */
function world(
  sizes: Readonly<Record<string, number>>,
  change: Partial<World> & { readonly minutes?: Readonly<Record<string, number>> } = {},
): World {
  const { minutes = {}, ...rest } = change;
  const entries = Object.entries(sizes);
  const names = entries.flatMap(([id, size]) => Array.from({ length: size }, (_, at) => `${id}-${at}`));
  return {
    groups: entries.map(([id, size]) => zonal(id, `r-${id}`, size)),
    nodes: entries.flatMap(([id, size]) => nodesOf(id, `r-${id}`, size)),
    state: { unneededSince: new Map(names.flatMap((name) => [...sinceMinutes(minutes[name] ?? 30, [name])])) },
    policy: balanced(),
    ...rest,
  };
}
function balanced(scaleDown: Partial<Policy['scaleDown']> = {}, scaleUp: Partial<Policy['scaleUp']> = {}): Policy {
  return aPolicy({ scaleUp: { balanceSimilarGroups: true, ...scaleUp }, scaleDown: { maxParallel: 3, ...scaleDown } });
}

describe('removals of pools that are one per zone', () => {
  it.each<{ readonly name: string; readonly world: World; readonly gone: readonly string[] }>([
    { name: 'take from the fullest zone until they are even', world: world({ a: 4, b: 2, c: 2 }), gone: ['a-0', 'a-1', 'a-2'] },
    { name: 'take turns then', world: world({ a: 2, b: 2, c: 2 }), gone: ['a-0', 'b-0', 'c-0'] },
    {
      name: 'do so whatever was unneeded longer',
      world: world({ a: 1, b: 3, c: 3 }, { minutes: { 'a-0': 90, 'b-0': 50 } }),
      gone: ['b-0', 'c-0', 'b-1'],
    },
    {
      name: 'count a zone without nodes as the emptiest',
      world: world({ a: 0, b: 1, c: 2 }),
      gone: ['c-0', 'b-0', 'c-1'],
    },
    {
      name: 'look at age alone if the pools are not balanced',
      world: world({ a: 1, b: 3, c: 3 }, { minutes: { 'a-0': 90, 'b-0': 50 }, policy: aPolicy({ scaleDown: { maxParallel: 3 } }) }),
      gone: ['a-0', 'b-0', 'b-1'],
    },
    {
      name: 'are not held up by a zone whose nodes may not go',
      world: world({ a: 2, b: 2 }, { groups: [zonal('a', 'r-a', 2), zonal('b', 'r-b', 2, { minSize: 2 })] }),
      gone: ['a-0', 'a-1'],
    },
  ])('$name', ({ world: given, gone }) => {
    expect(removed(plan(given))).toEqual(gone);
  });

  it('prefer evenness to the least disruption among siblings, and the least disruption among others', () => {
    const drains = { maxParallel: 1, maxParallelDrains: 9 };
    const sizes = { a: 3, b: 2 };
    // Each node of the fuller zone has a pod, those of the other have none.
    const pods = [0, 1, 2].map((at) => pod(`a-${at}`, '100m'));
    const spare = [zonal('q', 'r-q', 2, { minSize: 9, vmSize: 'Standard_F8s_v2', template: aTemplate({ cpu: '8', zones: ['r-q'] }) })];
    const given = world(sizes, { pods, policy: balanced(drains) });
    const all = { ...given, groups: [...given.groups, ...spare], nodes: [...given.nodes, ...nodesOf('q', 'r-q', 2)] };
    expect(removed(plan(all))).toEqual(['a-0']);
    expect(removed(plan({ ...all, policy: aPolicy({ scaleDown: drains }) }))).toEqual(['b-0']);
  });

  it('never take a node while a sibling in a fuller zone could go, however much is allowed', () => {
    const size = fc.integer({ min: 0, max: 6 });
    const drawn = fc.record({
      sizes: fc.record({ a: size, b: size, c: size }),
      ages: fc.array(fc.integer({ min: 11, max: 60 }), { minLength: 18, maxLength: 18 }),
      busy: fc.uniqueArray(fc.integer({ min: 0, max: 17 }), { maxLength: 6 }),
      maxParallel: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(drawn, ({ sizes, ages, busy, maxParallel }) => {
        const names = Object.entries(sizes).flatMap(([id, count]) => Array.from({ length: count }, (_, at) => `${id}-${at}`));
        const used = new Set(busy.flatMap((index) => names[index] ?? []));
        const given = world(sizes, {
          minutes: Object.fromEntries(names.map((name, index) => [name, ages[index] ?? 30])),
          pods: [...used].map((name) => pod(name, '3')),
          policy: balanced({ maxParallel }),
        });
        const left: Record<string, number> = { ...sizes };
        const free = names.filter((name) => !used.has(name));
        const gone = new Set<string>();
        for (const name of removed(plan(given))) {
          const zone = name.slice(0, 1);
          const better = free.filter((other) => !gone.has(other) && (left[other.slice(0, 1)] ?? 0) > (left[zone] ?? 0));
          expect(better).toEqual([]);
          gone.add(name);
          left[zone] = (left[zone] ?? 0) - 1;
        }
        expect(gone.size).toBe(Math.min(maxParallel, free.length));
      }),
      { numRuns: 60 },
    );
  });
});

describe('while a zone is down', () => {
  const heeding = (avoidDownZones = true): Policy => ({ ...balanced(), cluster: { ...aPolicy().cluster, avoidDownZones } });
  const sizes = { a: 3, b: 3, c: 3 };
  const outage = (unready: number, change: Partial<World> = {}): World => {
    const given = world(sizes, { policy: heeding(), ...change });
    return {
      ...given,
      nodes: given.nodes.map((node) =>
        Number(node.name.slice(2)) < unready && node.name.startsWith('a') ? { ...node, readiness: UNREADY } : node,
      ),
    };
  };

  it.each([
    { name: 'most of its nodes are unready: nodes that work stay', given: outage(2), gone: [] },
    { name: 'one broken node is no outage', given: outage(1), gone: ['b-0', 'c-0'] },
    { name: 'outages are not heeded', given: outage(2, { policy: heeding(false) }), gone: ['b-0', 'c-0'] },
    {
      name: 'no zone works: the zones are not the cause',
      given: { ...outage(3), nodes: outage(3).nodes.map((node) => ({ ...node, readiness: UNREADY })) },
      gone: [],
    },
  ])('$name', ({ given, gone }) => {
    const result = plan(given);
    expect(removed(result).filter((name) => given.nodes.find((node) => node.name === name)?.readiness.ready)).toEqual(gone);
  });

  it('says why its siblings stay, and removes what is broken in the zone itself', () => {
    const result = plan(outage(3));
    expect(keptReasons(result)['b-0']).toBe('ZoneDown');
    expect(result.kept.find(({ node }) => node === 'c-1')?.detail).toBe(
      'zone r-a is down, 3 of its 3 nodes are not ready: nodes that work stay, since its pods may need them',
    );
    expect(removed(result)).toEqual(['a-0', 'a-1', 'a-2']);
  });

  it('a stockout of the size in one zone keeps the nodes of the others, too', () => {
    const stockouts = [
      {
        scope: { vmSize: 'Standard_D4s_v5', zone: '1', priority: 'Regular' as const },
        code: 'ZonalAllocationFailed',
        sinceMs: START_MS - MINUTE,
        untilMs: START_MS + MINUTE,
      },
    ];
    const groups = [zonal('a', 'r-1', 2), zonal('b', 'r-2', 2)];
    const nodes = [...nodesOf('a', 'r-1', 2), ...nodesOf('b', 'r-2', 2)];
    const unneededSince = sinceMinutes(30, ['a-0', 'a-1', 'b-0', 'b-1']);
    const result = plan({ groups, nodes, state: { unneededSince, stockouts }, policy: heeding() });
    expect(removed(result)).toEqual([]);
    expect(result.kept.find(({ node }) => node === 'b-0')?.detail).toBe(
      'zone 1 has no Standard_D4s_v5 (ZonalAllocationFailed): nodes that work stay, since its pods may need them',
    );
  });
});
