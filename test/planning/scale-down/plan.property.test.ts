/** What no scale-down plan may ever do, whatever the cluster looks like. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { aBudget, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { MINUTE, plan, pool, type World } from './world.ts';

const groupArb = fc.record({
  size: fc.integer({ min: 0, max: 6 }),
  min: fc.integer({ min: 0, max: 6 }),
  target: fc.integer({ min: -1, max: 2 }),
});
const podArb = fc.record({
  node: fc.nat(40),
  cpu: fc.constantFrom('100m', '500m', '1'),
  app: fc.constantFrom('a', 'b', 'c'),
  kind: fc.nat(9),
});
const worldArb = fc.record({
  groups: fc.array(groupArb, { minLength: 1, maxLength: 4 }),
  pods: fc.array(podArb, { maxLength: 25 }),
  allowed: fc.record({ a: fc.integer({ min: 0, max: 3 }), b: fc.integer({ min: 0, max: 3 }) }),
  deleting: fc.uniqueArray(fc.nat(20), { maxLength: 3 }),
  ages: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 24 }),
  spent: fc.nat(4),
  limits: fc.record({ maxParallel: fc.nat(6), maxParallelDrains: fc.nat(4), maxRemovalsPerWindow: fc.nat(8) }),
});
type Drawn = typeof worldArb extends fc.Arbitrary<infer Value> ? Value : never;

function worldOf(drawn: Drawn): World {
  const groups = drawn.groups.map(({ size, min, target }, index) => {
    const value = Math.max(0, size + target);
    return {
      ...pool(`g${index}`, size),
      minSize: min,
      target: { known: true, value, version: '"1"', confirmed: true, observedAtMs: START_MS } as const,
    };
  });
  const names = groups.flatMap((group) => (group.instances ?? []).map((instance) => instance.instanceId));
  const nameAt = (index: number): string => names[index % Math.max(1, names.length)] ?? 'nowhere';
  const pods =
    names.length === 0
      ? []
      : drawn.pods.map(({ node, cpu, app, kind }, index) =>
          aPod({
            name: `pod-${index}`,
            nodeName: nameAt(node),
            cpu,
            shape: { labels: { app } },
            daemonSet: kind === 0,
            ...(kind === 1 ? { controller: undefined } : {}),
          }),
        );
  const budgets = (['a', 'b'] as const).map((app) =>
    aBudget({
      name: app,
      disruptionsAllowed: drawn.allowed[app],
      selector: { requirements: [{ key: 'app', operator: 'In', values: [app] }] },
    }),
  );
  const deleting = new Map(
    [...new Set(drawn.deleting.filter((index) => index < names.length).map(nameAt))].map((name) => [
      name,
      { group: nodeGroupId(name.split('-')[0] ?? ''), instance: keyOf(name), sinceMs: START_MS, sentAtMs: undefined },
    ]),
  );
  const unneededSince = new Map(names.map((name, index) => [name, START_MS - (drawn.ages[index % drawn.ages.length] ?? 0) * MINUTE]));
  const removals = Array.from({ length: drawn.spent }, () => START_MS - MINUTE);
  return {
    groups,
    nodes: names.map((name) => aNode({ name, cpu: '4' })),
    pods,
    budgets,
    state: { deleting, unneededSince, removals },
    policy: aPolicy({ scaleDown: drawn.limits }),
  };
}

/** Nothing but the disruption budgets stands in the way: room elsewhere, time passed, other budgets wide. */
function onlyBudgetsHold(drawn: Drawn): World {
  const limits = { maxParallel: 20, maxParallelDrains: 20, maxRemovalsPerWindow: 100 };
  const groups = drawn.groups.map((group) => ({ ...group, min: 0, target: 0 }));
  const world = worldOf({ ...drawn, groups, limits, deleting: [], ages: [30], spent: 0 });
  const room = pool('z', 2, { minSize: 2 });
  return {
    ...world,
    groups: [...world.groups, room],
    nodes: [...world.nodes, ...['z-0', 'z-1'].map((name) => aNode({ name, cpu: '64' }))],
  };
}

const RUNS = { seed: 20_261_121, numRuns: 300 };

describe('every scale-down plan', () => {
  it('leaves each group its minimum, counted with what is in flight', () => {
    fc.assert(
      fc.property(worldArb, (drawn) => {
        const world = worldOf(drawn);
        const result = plan(world);
        for (const group of world.groups) {
          const inFlight = [...(world.state?.deleting ?? new Map()).values()].filter((entry) => entry.group === group.id).length;
          const batch = result.removals.filter((removal) => removal.group === group.id).length;
          const target = group.target.known ? group.target.value : 0;
          if (batch > 0) expect(target - inFlight - batch).toBeGreaterThanOrEqual(group.minSize);
        }
      }),
      RUNS,
    );
  });

  it('stays within every budget', () => {
    fc.assert(
      fc.property(worldArb, (drawn) => {
        const world = worldOf(drawn);
        const { removals, instanceRemovals } = plan(world);
        const inFlight = world.state?.deleting?.size ?? 0;
        expect(removals.length).toBeLessThanOrEqual(Math.max(0, drawn.limits.maxParallel - inFlight));
        expect(removals.filter((removal) => removal.pods.length > 0).length).toBeLessThanOrEqual(drawn.limits.maxParallelDrains);
        expect(removals.length + instanceRemovals.length).toBeLessThanOrEqual(Math.max(0, drawn.limits.maxRemovalsPerWindow - drawn.spent));
      }),
      RUNS,
    );
  });

  it('never overspends a disruption budget: within it, or a single node that touches it', () => {
    fc.assert(
      fc.property(worldArb, (drawn) => {
        const { removals } = plan(onlyBudgetsHold(drawn));
        for (const app of ['a', 'b'] as const) {
          const counts = removals
            .map((removal) => removal.pods.filter((pod) => pod.shape.labels['app'] === app).length)
            .filter((count) => count > 0);
          const total = counts.reduce((sum, count) => sum + count, 0);
          expect(total <= drawn.allowed[app] || (counts.length === 1 && drawn.allowed[app] >= 1)).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it('accounts for every node once: unneeded and going, or kept with one reason', () => {
    fc.assert(
      fc.property(worldArb, (drawn) => {
        const world = worldOf(drawn);
        const result = plan(world);
        if (result.inhibited !== undefined) return;
        const named = [...result.removals.map((removal) => removal.node), ...result.kept.map((kept) => kept.node)].sort();
        expect(named).toEqual(world.nodes.map((node) => node.name).sort());
      }),
      RUNS,
    );
  });

  it('does not depend on the order in which things are listed', () => {
    fc.assert(
      fc.property(worldArb, fc.boolean(), (drawn, alsoGroups) => {
        const world = worldOf(drawn);
        const turned = {
          ...world,
          groups: alsoGroups ? [...world.groups].reverse() : world.groups,
          nodes: [...world.nodes].reverse(),
          pods: [...(world.pods ?? [])].reverse(),
          budgets: [...(world.budgets ?? [])].reverse(),
        };
        const [one, other] = [plan(world), plan(turned)];
        expect(other.removals).toEqual(one.removals);
        expect([...other.unneeded.keys()]).toEqual([...one.unneeded.keys()]);
        expect(other.kept.map(({ node, reason }) => [node, reason])).toEqual(one.kept.map(({ node, reason }) => [node, reason]));
      }),
      RUNS,
    );
  });
});
