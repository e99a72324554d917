/**
 * The process may die at every port call of a drain. For each of them: a first process stops dead there (that call and all
 * later ones are never carried out), a second one starts with nothing but the cluster and the cloud.
 * Whatever the moment, no mark is left behind, no node goes with pods on it, and the minimum holds.
 */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/domain/policy.ts';
import { CORDONED_BEFORE_TAINT, TO_BE_DELETED_TAINT, hasTaint } from '../../../src/domain/taints.ts';
import { aGroup, aNode, aPod, START_MS } from '../../support/builders.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { FakeCluster } from '../../support/fake-cluster.ts';
import { assertSafe, firstLife, hook, Life, makeWorld, POLICY } from './crash-support.ts';

async function callsOfAWholeLife(): Promise<number> {
  return firstLife(makeWorld(), POLICY, Infinity);
}

describe('crash safety', () => {
  it('dying at any port call leaves nothing that the next start does not put right', async () => {
    const total = await callsOfAWholeLife();
    expect(total).toBeGreaterThan(20);
    const never: Policy = { ...POLICY, scaleDown: { ...POLICY.scaleDown, enabled: false } };
    for (let dieAt = 1; dieAt <= total; dieAt++) {
      const world = makeWorld();
      await firstLife(world, POLICY, dieAt);
      hook(world, () => undefined);
      // A second life that removes nothing: all it may do is put right.
      const second = { ...world, clock: new FakeClock(world.clock.now()) };
      await new Life(second, never).live(3);
      assertSafe(world);
      for (const node of world.cluster.nodes.values()) {
        const left = [TO_BE_DELETED_TAINT, CORDONED_BEFORE_TAINT].filter((key) => hasTaint(node.taints, key));
        expect({ dieAt, node: node.name, left, cordoned: node.unschedulable }).toEqual({
          dieAt,
          node: node.name,
          left: [],
          cordoned: node.name === 'g-0',
        });
      }
    }
  });

  it('a second life that goes on with the work ends where an undisturbed one does', async () => {
    const total = await callsOfAWholeLife();
    const undisturbed = makeWorld();
    await new Life(undisturbed, POLICY).live(12);
    const expected = [...undisturbed.cluster.nodes.keys()];
    expect(expected).toEqual(['g-3']);
    for (let dieAt = 1; dieAt <= total; dieAt += 1) {
      const world = makeWorld();
      await firstLife(world, POLICY, dieAt);
      hook(world, () => undefined);
      await new Life({ ...world, clock: new FakeClock(world.clock.now()) }, POLICY).live(12);
      assertSafe(world);
      expect({ dieAt, nodes: [...world.cluster.nodes.keys()] }).toEqual({ dieAt, nodes: expected });
    }
  });

  it.each([
    { name: 'and the call is not sent', wait: 0 },
    { name: 'and the call is carried out all the same', wait: 2 },
  ])('a replica loses the lease at any port call, $name: the next leader begins at once, and evicts no pod twice', async ({ wait }) => {
    const total = await callsOfAWholeLife();
    const seen = { evicting: 0, deleting: 0 };
    for (let lostAt = 1; lostAt <= total; lostAt++) {
      const world = makeWorld();
      const first = new Life(world, POLICY);
      const lease = { isHeld: true };
      hook(world, (count) => {
        if (count !== lostAt || !lease.isHeld) return undefined;
        lease.isHeld = false;
        seen.evicting += world.cluster.evicted.length > 0 && world.cloud.deletes.length === 0 ? 1 : 0;
        seen.deleting += world.cloud.deletes.length > 0 ? 1 : 0;
        // The signal of a lost lease has fired: nothing is written after that. The fake carries a call out in its second turn.
        let turn = Promise.resolve();
        for (let turns = 0; turns < wait; turns++) turn = turn.then(() => undefined);
        void (wait === 0 ? first.runner.stop(AbortSignal.abort()) : turn.then(async () => first.runner.stop(AbortSignal.abort())));
        return undefined;
      });
      for (let round = 0; round < 8 && lease.isHeld; round++) {
        void first.loop().catch(() => undefined);
        await world.clock.advance(10_000);
        for (const name of world.cloud.finishDeletions()) world.cluster.removeNode(name);
      }
      await new Life(world, POLICY).live(12);
      assertSafe(world);
      expect(world.cluster.evicted.map(({ pod }) => pod).sort()).toEqual([...new Set(world.cluster.evicted.map(({ pod }) => pod))].sort());
      expect({ lostAt, nodes: [...world.cluster.nodes.keys()] }).toEqual({ lostAt, nodes: ['g-3'] });
    }
    expect(seen.evicting).toBeGreaterThan(3);
    expect(seen.deleting).toBeGreaterThan(1);
  });

  it('stopping in good order at any port call undoes everything that was not asked of Azure', async () => {
    const total = await callsOfAWholeLife();
    for (let stopAt = 1; stopAt <= total; stopAt++) {
      const world = makeWorld();
      let stopped: Promise<void> | undefined;
      const life = new Life(world, POLICY);
      hook(world, (count) => {
        if (count === stopAt) stopped = life.runner.stop(new AbortController().signal);
        return undefined;
      });
      await life.live(6).catch(() => undefined);
      await settle();
      await stopped;
      assertSafe(world);
      for (const node of world.cluster.nodes.values()) {
        expect({ stopAt, node: node.name, marked: hasTaint(node.taints, TO_BE_DELETED_TAINT) }).toEqual({
          stopAt,
          node: node.name,
          marked: false,
        });
      }
    }
  });
});

/** A group of use only as a whole, half of it in use, and a home for its pods. */
function makeWholeWorld() {
  const names = ['w-0', 'w-1', 'w-2', 'g-0'];
  const nodes = names.map((name) => aNode({ name }));
  const pods = [
    aPod({ name: 'a', nodeName: 'w-0', cpu: '200m' }),
    aPod({ name: 'b', nodeName: 'w-1', cpu: '200m' }),
    aPod({ name: 'big', nodeName: 'g-0', cpu: '2500m' }),
  ];
  const cluster = new FakeCluster({ nodes, pods });
  cluster.endsAfterPolls = 2;
  const whole = aGroup({ id: 'w', target: 3, minSize: 0, maxSize: 3, options: { zeroOrMax: true } });
  const cloud = new FakeCloud([whole, aGroup({ id: 'g', target: 1, minSize: 1 })]);
  const breaches: string[] = [];
  const remove = cloud.deleteInstances.bind(cloud);
  cloud.deleteInstances = async (request, signal) => {
    if (request.instances.length !== 3) breaches.push(`${request.instances.length} of 3 were deleted`);
    return remove(request, signal);
  };
  return { cluster, cloud, clock: new FakeClock(START_MS), breaches };
}

describe('crash safety of a group that goes as a whole', () => {
  it('dying at any port call takes all of it or nothing, and the next life ends what was begun', async () => {
    const total = await firstLife(makeWholeWorld(), POLICY, Infinity);
    expect(total).toBeGreaterThan(10);
    const seen = { begun: 0, deleted: 0 };
    // One more: after the last call, which asks Azure.
    for (let dieAt = 1; dieAt <= total + 1; dieAt++) {
      const world = makeWholeWorld();
      await firstLife(world, POLICY, dieAt);
      hook(world, () => undefined);
      const ofWhole = () => [...world.cluster.nodes.values()].filter(({ name }) => name.startsWith('w-'));
      seen.begun += ofWhole().some(({ taints }) => hasTaint(taints, TO_BE_DELETED_TAINT)) ? 1 : 0;
      seen.deleted += world.cloud.deletes.length > 0 ? 1 : 0;
      await new Life({ ...world, clock: new FakeClock(world.clock.now()) }, POLICY).live(12);
      expect({ dieAt, breaches: world.breaches, nodes: [...world.cluster.nodes.keys()] }).toEqual({ dieAt, breaches: [], nodes: ['g-0'] });
    }
    expect(seen.begun).toBeGreaterThan(5);
    expect(seen.deleted).toBeGreaterThan(0);
  });
});
