import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { obey, plan, promised, schedule, unbound, type Pool, type World } from './obeyed-plan.ts';
import { nodeObject, podObject, type NodeDraft } from './random-cluster.ts';
import { casesOf } from '../support/property-runs.ts';

/**
 * Nodes are full when they have so many pods, and every pod runs in one pool only: how tightly somebody packs, and where a
 * pod goes that could go anywhere, says nothing about who is served, so that the two sides must agree to the pod.
 */
interface Story {
  readonly seats: number;
  readonly pools: readonly { readonly present: number; readonly more: number }[];
  /** Of the whole cluster beyond the nodes that are there; undefined: no limit. */
  readonly moreNodes: number | undefined;
  readonly residents: readonly number[];
  readonly pending: readonly { readonly pool: number; readonly priority: number | undefined; readonly cpu: string }[];
}

const stories: fc.Arbitrary<Story> = fc.record({
  seats: fc.integer({ min: 1, max: 3 }),
  pools: fc.array(fc.record({ present: fc.nat(1), more: fc.nat(3) }), { minLength: 1, maxLength: 3 }),
  moreNodes: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  residents: fc.array(fc.nat(2), { maxLength: 3 }),
  pending: fc.array(
    fc.record({
      pool: fc.nat(2),
      priority: fc.constantFrom(undefined, -5, 0, 10, 1000),
      cpu: fc.constantFrom('50m', '100m', '700m', '1'),
    }),
    { minLength: 2, maxLength: 14 },
  ),
});

function poolDraft(at: number, seats: number): NodeDraft {
  const allocatable = { cpu: '8', memory: '16Gi', pods: String(seats) };
  return { labels: { pool: `pool-${at}` }, taints: [], unschedulable: false, allocatable };
}

function aPod(name: string, { pool, priority, cpu }: Story['pending'][number], on?: string) {
  const spec = {
    containers: [{ name: 'c', resources: { requests: { cpu } } }],
    nodeSelector: { pool: `pool-${pool}` },
    ...(priority === undefined ? {} : { priority }),
  };
  return podObject(name, { namespace: 'default', labels: {}, terminating: false, spec }, on);
}

function worldOf({ seats, pools, residents, pending }: Story): World {
  const drafts: readonly Pool[] = pools.map(({ present, more }, at) => ({ draft: poolDraft(at, seats), max: present + more }));
  const nodes = pools.flatMap(({ present }, at) => (present === 0 ? [] : [nodeObject(`pool-${at}-0`, poolDraft(at, seats))]));
  const homes = residents.map((pool) => pool % pools.length).filter((pool) => pools[pool]?.present === 1);
  // Of the lowest priority: nobody makes room for anybody.
  const bound = homes
    .filter((pool, at) => homes.slice(0, at).filter((other) => other === pool).length < seats)
    .map((pool, at) => aPod(`r-${at}`, { pool, priority: -5, cpu: '50m' }, `pool-${pool}-0`));
  const waiting = pending.map((pod, at) => aPod(`p-${String(at).padStart(2, '0')}`, { ...pod, pool: pod.pool % pools.length }));
  return { pools: drafts, nodes, pods: [...bound, ...waiting] };
}

const nameOf = ({ metadata }: World['pods'][number]): string => metadata.name;
const poolOf = ({ spec }: World['pods'][number]): string => spec.nodeSelector?.['pool'] ?? '';
const priorityOf = ({ spec }: World['pods'][number]): number => spec.priority ?? 0;

/** New nodes that pods of lower priority than one that waits for a node of another pool would have to themselves. */
function stolenFrom(world: World, before: World['nodes'], seats: number): readonly string[] {
  const isFull = (pool: string): boolean =>
    world.nodes.filter(({ metadata }) => metadata.labels?.['pool'] === pool).length >=
    (world.pools[Number(pool.slice('pool-'.length))]?.max ?? 0);
  const waiting = world.pods.filter((pod) => pod.spec.nodeName === undefined && !isFull(poolOf(pod)));
  const fresh = world.nodes.filter((node) => !before.includes(node));
  return waiting.flatMap((pod) =>
    world.pools.flatMap((_, at) => {
      const nodes = fresh.filter(({ metadata }) => metadata.name.startsWith(`pool-${at}-`)).map(({ metadata }) => metadata.name);
      const worthy = world.pods.filter((other) => nodes.includes(other.spec.nodeName ?? '') && priorityOf(other) >= priorityOf(pod));
      return nodes.length > Math.ceil(worthy.length / seats) ? [`pool-${at} from ${nameOf(pod)}`] : [];
    }),
  );
}

describe('the plan and the toy scheduler about who is served when capacity is short', () => {
  it('exactly the pods that the plan finds a place for are bound, and a new node serves the higher priority', () => {
    const seen = { bound: 0, left: 0, limited: 0 };
    fc.assert(
      fc.property(stories, (story) => {
        const world = worldOf(story);
        const before = world.nodes;
        const residents = world.pods.filter(({ spec }) => spec.nodeName !== undefined).map(nameOf);
        const policy = story.moreNodes === undefined ? {} : { maxNodesTotal: before.length + story.moreNodes };
        const first = plan(world, policy);
        obey(world, first);
        schedule(world);
        const bound = world.pods
          .filter(({ spec }) => spec.nodeName !== undefined)
          .map(nameOf)
          .filter((name) => !residents.includes(name));
        // Pods of one priority and pool are alike here: the plan takes the larger first, the scheduler goes by name.
        const ranks = (names: readonly string[]): readonly string[] =>
          world.pods.filter((pod) => names.includes(nameOf(pod))).map((pod) => `${poolOf(pod)} ${priorityOf(pod)}`);
        // Where pools compete for the last nodes, one that is chosen for its price may be full of other pods than was said.
        if (story.moreNodes === undefined) expect(ranks(promised(first)).toSorted()).toEqual(ranks(bound).toSorted());
        else expect(promised(first)).toHaveLength(bound.length);
        expect(stolenFrom(world, before, story.seats)).toEqual([]);
        expect(plan(world, policy).increases).toEqual([]);
        seen.bound += bound.length;
        seen.left += unbound(world).length;
        if (story.moreNodes !== undefined && unbound(world).length > 0) seen.limited += 1;
      }),
      casesOf(4, 150),
    );
    expect(Math.min(seen.bound, seen.left)).toBeGreaterThan(300);
    expect(seen.limited).toBeGreaterThan(35);
  });
});
