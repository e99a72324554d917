/** The invariant of nodes over a whole world: VMs are created and removed by any writer, and nodes follow them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import type { WorldEvent } from '../../../simulator/arm/faults/world-event.ts';
import { aPool, aWorld } from '../arm/harness.ts';
import { START_MS } from '../../../../test/support/builders.ts';
import { casesOf } from '../../../../test/support/property-runs.ts';

type Action = { readonly event: WorldEvent } | { readonly deleteNode: number } | { readonly waitSeconds: number };

const pool = fc.constantFrom('a', 'd', 'v');
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    event: fc.oneof<fc.Arbitrary<WorldEvent>[]>(
      fc.record({ foreignScale: fc.record({ pool, to: fc.nat(4) }) }),
      fc.record({ evict: fc.record({ pool, count: fc.integer({ min: 1, max: 2 }) }) }),
      fc.record({ repair: fc.record({ pool: fc.constantFrom('a', 'd') }) }),
      fc.record({ rpReconcile: fc.record({ pool }) }),
      fc.record({ removePool: fc.record({ pool }) }),
    ),
  }),
  fc.record({ deleteNode: fc.nat(5) }),
  fc.record({ waitSeconds: fc.integer({ min: 1, max: 120 }) }),
);

const SPEC = aWorld([
  aPool('a', { zones: ['1', '2'] }),
  aPool('d', { priority: 'Spot', evictionPolicy: 'Deallocate' }),
  aPool('v', { kind: 'vms-pool', count: 1 }),
]);

describe('invariants of nodes', () => {
  it('a node comes for a machine that runs, at most one for each; it goes after its machine, or by a client', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (actions) => {
        const clock = new VirtualSimClock(START_MS);
        const world = await startWorld({ spec: SPEC, clock, client: { clientId: 'c', clientSecret: 's' }, token: 't' });
        try {
          await follow(world, clock, actions);
        } finally {
          await world.stop();
        }
      }),
      casesOf(20, 10),
    );
  });
});

async function follow(world: World, clock: VirtualSimClock, actions: readonly Action[]): Promise<void> {
  const everRan = new Set(world.arm.machines.list().map(({ hostName }) => hostName));
  const gone = new Set<string>();
  const deletedByClient = new Set<string>();
  world.arm.machines.subscribe(({ kind, machine }) => {
    if (kind === 'running') everRan.add(machine.hostName);
    if (kind === 'gone') gone.add(machine.hostName);
  });
  const names = (): readonly string[] => world.cluster.store.nodes().map(({ metadata }) => metadata.name);
  const look = (before: readonly string[]): readonly string[] => {
    const now = names();
    const ids = world.cluster.store.nodes().flatMap(({ spec }) => spec.providerID ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    for (const name of now) {
      expect(everRan).toContain(name);
      if (!before.includes(name)) expect(world.arm.machines.list().find(({ hostName }) => hostName === name)?.power).not.toBe('none');
    }
    for (const name of before) if (!now.includes(name)) expect(gone.has(name) || deletedByClient.has(name)).toBe(true);
    return now;
  };
  let before = names();
  for (const next of actions) {
    if ('event' in next) {
      world.arm.control.raise(next.event);
      // The cluster has not noticed yet which VMs are gone at this instant.
      expect(names()).toEqual(before);
    } else if ('deleteNode' in next) {
      const name = before[next.deleteNode];
      if (name === undefined) continue;
      deletedByClient.add(name);
      world.cluster.remove({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
      before = before.filter((other) => other !== name);
    }
    for (let step = 0; step < ('waitSeconds' in next ? next.waitSeconds : 1); step += 5) {
      clock.advance(5_000);
      before = look(before);
    }
  }
  clock.advance(60 * 60_000);
  const running = world.arm.machines.list().filter(({ power }) => power === 'running');
  for (const { hostName } of running) if (!deletedByClient.has(hostName)) expect(names()).toContain(hostName);
  for (const name of names()) expect(world.arm.machines.list().some(({ hostName }) => hostName === name)).toBe(true);
}
