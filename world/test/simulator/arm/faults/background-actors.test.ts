/** Background actors, and lists that are slightly outdated. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BackgroundActorOptions } from '../../../../simulator/arm/faults/background-actors.ts';
import { casesOf } from '../../../../../test/support/property-runs.ts';
import { UNTHROTTLED } from '../random-actions.ts';
import { MINUTE, RG, VERSION, aPool, aWorld, poolPath, scale, setPath, startRig, stateOf, type Rig } from '../harness.ts';

const POOLS = [
  aPool('a', { max: 6 }),
  aPool('d', { priority: 'Spot', evictionPolicy: 'Deallocate', count: 4 }),
  aPool('e', { priority: 'Spot', count: 4, min: 0 }),
  aPool('v', { kind: 'vms-pool', count: 2 }),
];
const knobs = UNTHROTTLED;

function aRig(ambient?: BackgroundActorOptions, seed = 7): Promise<Rig> {
  return startRig(aWorld(POOLS, { seed }), { knobs, startMs: Date.UTC(2031, 0, 1), ...(ambient === undefined ? {} : { ambient }) });
}

/** All events of the world with their minutes. */
function events(rig: Rig): readonly string[] {
  const startMs = Date.UTC(2031, 0, 1);
  const journal = rig.arm.control.journal().filter(({ method }) => method === 'EVENT');
  return journal.map(({ at, route, pool = '', capacityBefore, capacityAfter }) => {
    return `${Math.floor((at - startMs) / MINUTE)} ${route.slice(6)} ${pool} ${capacityBefore}>${capacityAfter}`;
  });
}

describe('actors that act by themselves', () => {
  it('none does unless it is asked for', async () => {
    const rig = await aRig();
    rig.clock.advance(24 * 60 * MINUTE);
    expect(events(rig)).toEqual([]);
    expect(rig.arm.control.state().ambient).toEqual({});
  });

  it('AKS operates from time to time: the pool is Updating and then Succeeded, its tag moves, and the capacity is its count again', async () => {
    const rig = await aRig({ reconcile: { everyMs: 10 * MINUTE, pools: ['A'] } });
    const states: string[] = [];
    const etags = new Set<unknown>();
    rig.arm.control.raise({ foreignScale: { pool: 'a', to: 5 } });
    for (let second = 0; second < 3_600 && states.length < 2; second++) {
      rig.clock.advance(1_000);
      const state = rig.arm.control.state().agentPools.find(({ name }) => name === 'a')?.provisioningState ?? '';
      if (state !== (states.at(-1) ?? 'Succeeded')) states.push(state);
      if (states.length > 0 && states.length < 3) etags.add((await rig.call('GET', poolPath(rig, 'a'))).json['properties']?.['eTag']);
    }
    expect(states).toEqual(['Updating', 'Succeeded']);
    expect(stateOf(rig, 'a').capacity).toBe(2);
    expect(events(rig).at(-1)).toMatch(/ rpReconcile a 5>2$/);
    rig.clock.advance(5 * 60 * MINUTE);
    expect(rig.arm.control.state().operations.filter(({ principal }) => principal === 'aks-resource-provider').length).toBeGreaterThan(10);
    expect(rig.violations.list()).toEqual([]);
  });

  it('AKS does not touch a busy pool: it answers 409 to others while its own operation runs', async () => {
    const rig = await aRig({ reconcile: { everyMs: 5 * MINUTE, pools: ['v'] } });
    const isBusy = (): boolean => rig.arm.control.state().agentPools.find(({ name }) => name === 'v')?.provisioningState === 'Updating';
    for (let second = 0; second < 7_200 && !isBusy(); second++) rig.clock.advance(1_000);
    const manual = [{ size: 'Standard_D4s_v5', count: 3 }];
    const put = await rig.call('PUT', poolPath(rig, 'v'), { body: { properties: { virtualMachinesProfile: { scale: { manual } } } } });
    expect(put).toMatchObject({ status: 409, json: { code: 'OperationNotAllowed' } });
    expect(put.text).toContain('(v - Updating)');
  });

  it('waves of evictions notify their VMs first; by policy they are deleted and the capacity falls, or they are deallocated', async () => {
    const rig = await aRig({ evictions: { everyMs: 20 * MINUTE, fraction: 0.5, overMs: 30_000 } });
    const told = new Set<string>();
    const unannounced: string[] = [];
    rig.arm.machines.subscribe(({ kind, machine }) => {
      if (kind === 'preempt-scheduled') told.add(machine.id);
      else if ((kind === 'stopped' || kind === 'delete-accepted') && !told.has(machine.id)) unannounced.push(machine.id);
    });
    rig.clock.advance(6 * 60 * MINUTE);
    expect(unannounced).toEqual([]);
    expect(told.size).toBeGreaterThan(4);
    expect(stateOf(rig, 'd').capacity).toBe(4);
    expect(stateOf(rig, 'd').instances.some(({ power }) => power === 'deallocated')).toBe(true);
    expect(stateOf(rig, 'e').capacity).toBeLessThan(4);
    expect(stateOf(rig, 'e').instances).toHaveLength(stateOf(rig, 'e').capacity);
    expect(stateOf(rig, 'a').instances.every(({ power }) => power === 'running')).toBe(true);
    expect(rig.violations.list()).toEqual([]);
  });

  it('another writer raises and lowers, between minimum and maximum, VMs pools too; no violation is reported', async () => {
    const rig = await aRig({ foreignScaling: { everyMs: 3 * MINUTE, upTo: 3 } });
    const seen = new Map<string, Set<number>>(POOLS.map(({ name }) => [name, new Set()]));
    for (let minute = 0; minute < 600; minute++) {
      rig.clock.advance(MINUTE);
      const { sets, agentPools } = rig.arm.control.state();
      for (const { pool, capacity } of sets) seen.get(pool)?.add(capacity);
      seen.get('v')?.add(agentPools.find(({ name }) => name === 'v')?.size ?? -1);
    }
    for (const { name, min, max } of POOLS) {
      const sizes = [...(seen.get(name) ?? [])];
      expect(sizes.length).toBeGreaterThan(2);
      expect(sizes.every((size) => size >= min && size <= max)).toBe(true);
    }
    expect(rig.violations.list()).toEqual([]);
  });

  const actor = fc.record({ everyMs: fc.integer({ min: MINUTE, max: 30 * MINUTE }) });
  const settings = fc.record({ reconcile: actor, evictions: actor, foreignScaling: actor }, { requiredKeys: [] });

  it('the same seed and the same settings give the same actions; another seed gives others', async () => {
    const run = async (ambient: BackgroundActorOptions, seed: number): Promise<readonly string[]> => {
      const rig = await aRig(ambient, seed);
      rig.clock.advance(4 * 60 * MINUTE);
      return events(rig);
    };
    await fc.assert(
      fc.asyncProperty(settings, fc.integer({ min: 1, max: 1_000 }), async (ambient, seed) => {
        expect(await run(ambient, seed)).toEqual(await run(ambient, seed));
      }),
      casesOf(1, 5),
    );
    const all = { reconcile: { everyMs: 5 * MINUTE }, evictions: { everyMs: 5 * MINUTE }, foreignScaling: { everyMs: 5 * MINUTE } };
    expect(await run(all, 1)).not.toEqual(await run(all, 2));
  });

  it('are set, shown and ended over HTTP; what makes no sense is refused in words', async () => {
    const rig = await aRig();
    const put = (body: unknown) => rig.call('PUT', '/_emu/ambient', { token: false, body });
    expect((await put({ foreignScaling: { everyMs: MINUTE } })).status).toBe(200);
    expect(rig.arm.control.state().ambient).toEqual({ foreignScaling: { everyMs: MINUTE } });
    rig.clock.advance(30 * MINUTE);
    const actions = events(rig).length;
    expect(actions).toBeGreaterThan(3);
    expect((await put({})).status).toBe(200);
    rig.clock.advance(60 * MINUTE);
    expect(events(rig)).toHaveLength(actions);
    for (const [body, words] of [
      [{ earthquake: { everyMs: 1 } }, 'the actor "earthquake" is unknown'],
      [{ reconcile: {} }, 'reconcile.everyMs must be a number'],
      [{ reconcile: { everyMs: 0 } }, 'reconcile.everyMs must be a number'],
      [{ reconcile: { everyMs: 5, upTo: 2 } }, 'reconcile has no setting "upTo"'],
      [{ evictions: { everyMs: 5, fraction: 2 } }, 'evictions.fraction'],
      [{ evictions: { everyMs: 5, policy: 'Explode' } }, 'evictions.policy'],
      [{ foreignScaling: { everyMs: 5, pools: 'a' } }, 'foreignScaling.pools'],
      [{ foreignScaling: 7 }, 'foreignScaling must be an object'],
    ] as const) {
      const refused = await put(body);
      expect([refused.status, String(refused.json['error'])]).toEqual([400, expect.stringContaining(words)]);
    }
  });
});

describe('stale lists', () => {
  const sets = async (rig: Rig): Promise<readonly (readonly [string | undefined, number | undefined])[]> => {
    const all = [];
    for await (const set of rig.compute.virtualMachineScaleSets.list(RG)) all.push([set.tags?.['poolName'], set.sku?.capacity] as const);
    return all;
  };

  it('show what was up to so long ago, and single reads show what is; after that time they agree', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { ...knobs, listStalenessMs: 10_000 } });
    rig.clock.advance(MINUTE);
    await scale(rig, 'a', 5);
    expect((await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'))).sku?.capacity).toBe(5);
    const seen: (number | undefined)[] = [];
    for (let second = 0; second < 10; second++) {
      seen.push((await sets(rig))[0]?.[1]);
      rig.clock.advance(1_000);
    }
    expect(new Set(seen)).toEqual(new Set([2, 5]));
    for (let ask = 0; ask < 20; ask++) expect(await sets(rig)).toEqual([['a', 5]]);
  });

  it('show a set that is gone and not yet one that came; so do lists of VMs', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('v', { kind: 'vms-pool' })]), { knobs: { ...knobs, listStalenessMs: 10_000 } });
    rig.clock.advance(MINUTE);
    rig.arm.control.raise({ removePool: { pool: 'a' } });
    rig.arm.control.raise({ removePool: { pool: 'v' } });
    rig.arm.control.raise({ addPool: aPool('b') });
    const pools = async (): Promise<string> => (await sets(rig)).map(([pool]) => pool).join();
    const vms = async (): Promise<number> => {
      let count = 0;
      for await (const _vm of rig.compute.virtualMachines.list(RG)) count++;
      return count;
    };
    const told = new Set<string>();
    for (let ask = 0; ask < 10; ask++) told.add(`${await pools()} ${await vms()}`);
    expect([...told].some((text) => text.startsWith('a') && text.endsWith('2'))).toBe(true);
    rig.clock.advance(10_000);
    expect([await pools(), await vms()]).toEqual(['b', 0]);
  });

  it('staleness is bounded, whatever changes when', async () => {
    const actions = fc.array(fc.record({ to: fc.integer({ min: 0, max: 9 }), waitMs: fc.integer({ min: 0, max: 9_000 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(actions, async (sequence) => {
        const rig = await startRig(aWorld([aPool('a')]), { knobs: { ...knobs, listStalenessMs: 6_000 } });
        try {
          const held: { readonly sinceMs: number; readonly capacity: number }[] = [{ sinceMs: 0, capacity: 2 }];
          for (const { to, waitMs } of sequence) {
            await scale(rig, 'a', to);
            held.push({ sinceMs: rig.clock.now(), capacity: to });
            rig.clock.advance(waitMs);
            const shown = (await sets(rig))[0]?.[1];
            const oldest = rig.clock.now() - 6_000;
            const possible = held
              .filter((_entry, index) => (held[index + 1]?.sinceMs ?? Infinity) >= oldest)
              .map(({ capacity }) => capacity);
            expect(possible).toContain(shown);
          }
        } finally {
          await rig.stop();
        }
      }),
      casesOf(10, 8),
    );
  });

  it('who wrote after a stale list had not read what another did in between', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { ...knobs, listStalenessMs: 60_000 } });
    rig.clock.advance(5 * MINUTE);
    rig.arm.control.raise({ foreignScale: { pool: 'a', to: 4 } });
    expect(await sets(rig)).toEqual([['a', 2]]);
    await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body: { location: 'westeurope', sku: { capacity: 5 } } });
    expect(rig.violations.list().map(({ rule }) => rule)).toEqual(['lost-update']);
  });
});
