/** Random clients, other writers and misfortunes around an emulator: what the properties of the invariants are asked over. */
import * as fc from 'fast-check';

import { MINUTE, VERSION, aPool, aWorld, poolPath, setPath, startRig, type Answer, type Rig, type RigOptions } from './harness.ts';
import type { FaultEffect, FaultMatch } from '../../../src/simulator/arm/state/fault-rules.ts';
import type { WorldEvent } from '../../../src/simulator/arm/faults/world-event.ts';

/** No budgets; tokens and operations outlast any run. */
export const UNTHROTTLED = { throttling: false, tokenLifetimeSeconds: 100_000_000, operationKeptMs: 100_000_000_000 };

/** A Uniform set over zones, a Spot one of each policy, a Flexible one, and a pool of VMs. */
export const WORLD = aWorld(
  [
    aPool('a', { zones: ['1', '2'] }),
    aPool('d', { priority: 'Spot', evictionPolicy: 'Deallocate', vmSize: 'Standard_D2s_v5' }),
    aPool('e', { priority: 'Spot', vmSize: 'Standard_D2s_v5' }),
    aPool('f', { kind: 'vmss-flexible', count: 1 }),
    aPool('v', { kind: 'vms-pool', count: 1 }),
  ],
  { stock: { 'Standard_D4s_v5/2': 3 }, quota: { cores: 28, lowPriorityCores: 12 } },
);

const SETS = ['a', 'd', 'e', 'f'] as const;
export type Condition = 'none' | 'current' | 'stale' | 'star' | 'absent-only';

export type Deed =
  | { readonly kind: 'put'; readonly pool: string; readonly to: number; readonly condition: Condition; readonly method: 'PUT' | 'PATCH' }
  | { readonly kind: 'post'; readonly pool: string; readonly action: string; readonly picks: readonly number[]; readonly bad: boolean }
  | { readonly kind: 'delete-vm'; readonly pick: number }
  | { readonly kind: 'pool-put'; readonly pool: string; readonly to: number; readonly condition: Condition }
  | { readonly kind: 'delete-machines'; readonly pool: string; readonly pick: number; readonly bad: boolean }
  | { readonly kind: 'event'; readonly event: WorldEvent }
  | { readonly kind: 'fault'; readonly match: FaultMatch; readonly effect: FaultEffect }
  | { readonly kind: 'wait'; readonly seconds: number };

const setName = fc.constantFrom(...SETS);
const anyPool = fc.constantFrom(...SETS, 'v');
const condition = fc.constantFrom<Condition>('none', 'none', 'current', 'current', 'stale', 'star', 'absent-only');

/** What a client asks for through the wire. */
export const clientDeed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    pool: setName,
    to: fc.integer({ min: -1, max: 9 }),
    condition,
    method: fc.constantFrom('PUT' as const, 'PUT' as const, 'PATCH' as const),
  }),
  fc.record({
    kind: fc.constant('post' as const),
    pool: setName,
    action: fc.constantFrom('delete', 'delete', 'deallocate', 'start'),
    picks: fc.array(fc.nat(5), { minLength: 1, maxLength: 3 }),
    bad: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('delete-vm' as const), pick: fc.nat(4) }),
  fc.record({ kind: fc.constant('pool-put' as const), pool: anyPool, to: fc.integer({ min: 0, max: 6 }), condition }),
  fc.record({ kind: fc.constant('delete-machines' as const), pool: anyPool, pick: fc.nat(3), bad: fc.boolean() }),
);

/** What other writers and the platform do. */
export const worldDeed: fc.Arbitrary<Deed> = fc.record({
  kind: fc.constant('event' as const),
  event: fc.oneof<fc.Arbitrary<WorldEvent>[]>(
    fc.record({ foreignScale: fc.record({ pool: anyPool, to: fc.nat(7) }) }),
    fc.record({ foreignScale: fc.record({ pool: anyPool, to: fc.integer({ min: 3, max: 8 }) }) }),
    fc.record({ evict: fc.record({ pool: anyPool, count: fc.integer({ min: 1, max: 3 }) }) }),
    fc.record({ rpReconcile: fc.record({ pool: anyPool }) }),
    fc.record({ repair: fc.record({ pool: setName }) }),
    fc.record({ preempt: fc.record({ pool: setName }) }),
    fc.record({ failSet: fc.record({ pool: setName }) }),
    fc.record({ upgrade: fc.record({ pool: setName }) }),
  ),
});

/** Misfortunes of machines; requests are told the truth. */
export const machineFault: fc.Arbitrary<Deed> = fc.record({
  kind: fc.constant('fault' as const),
  match: fc.record({ prob: fc.constantFrom(0.4, 1), times: fc.integer({ min: 1, max: 2 }) }),
  effect: fc.oneof(
    fc.record({ kind: fc.constant('birth' as const), how: fc.constantFrom('refused' as const, 'cse', 'slow', 'no-node', 'os-timeout') }),
    fc.record({ kind: fc.constant('removal' as const), how: fc.constantFrom('stuck' as const, 'fails') }),
  ),
});

export const waiting: fc.Arbitrary<Deed> = fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 300 }) });

export const anyDeed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 5, arbitrary: clientDeed },
  { weight: 2, arbitrary: worldDeed },
  { weight: 1, arbitrary: machineFault },
  { weight: 2, arbitrary: waiting },
);

/** Does it; the answer of what was asked of ARM, if anything was. */
export async function perform(rig: Rig, deed: Deed): Promise<Answer | undefined> {
  switch (deed.kind) {
    case 'put': {
      const path = `${setPath(rig, deed.pool)}?${VERSION}`;
      const etag = rig.arm.control.state().sets.find(({ pool }) => pool === deed.pool)?.etag ?? '';
      const body = { location: 'westeurope', sku: { capacity: deed.to } };
      return rig.call(deed.method, path, { body, headers: conditionHeaders(deed.condition, etag) });
    }
    case 'post': {
      const set = rig.arm.control.state().sets.find(({ pool }) => pool === deed.pool);
      const ids = deed.picks.flatMap((pick) => set?.instances[pick]?.id ?? []);
      const instanceIds = deed.bad || ids.length === 0 ? [...ids, '9999'] : ids;
      return rig.call('POST', `${setPath(rig, deed.pool, `/${deed.action}`)}?${VERSION}`, { body: { instanceIds } });
    }
    case 'delete-vm': {
      const vm = rig.arm.machines.list().filter(({ id }) => !/virtualMachineScaleSets/.test(id))[deed.pick];
      return vm === undefined ? undefined : rig.call('DELETE', `${vm.id}?${VERSION}`);
    }
    case 'pool-put': {
      const path = poolPath(rig, deed.pool);
      const read = await rig.call('GET', path);
      const { eTag } = read.json['properties'] as unknown as { readonly eTag: string };
      const manual = [{ size: 'Standard_D4s_v5', count: deed.to }];
      const properties = deed.pool === 'v' ? { virtualMachinesProfile: { scale: { manual } } } : { count: deed.to };
      return rig.call('PUT', path, { body: { properties }, headers: conditionHeaders(deed.condition, eTag) });
    }
    case 'delete-machines': {
      const names = rig.arm.machines.list().filter(({ pool }) => pool === deed.pool);
      const name = deed.bad ? 'nobody' : names[deed.pick]?.hostName;
      const body = { machineNames: [...names.slice(0, 1).map(({ hostName }) => hostName), ...(name === undefined ? [] : [name])] };
      return rig.call('POST', poolPath(rig, deed.pool, '/deleteMachines'), { body });
    }
    case 'event':
      rig.arm.control.raise(deed.event);
      return undefined;
    case 'fault':
      rig.arm.control.addFault({
        id: `drawn ${rig.arm.control.journal().length} ${rig.arm.control.state().faults.length}`,
        match: deed.match,
        effect: deed.effect,
      });
      return undefined;
    case 'wait':
      rig.clock.advance(deed.seconds * 1_000);
      return undefined;
  }
}

function conditionHeaders(condition: Condition, etag: string): Readonly<Record<string, string>> {
  if (condition === 'absent-only') return { 'if-none-match': '*' };
  if (condition === 'none') return {};
  return { 'if-match': condition === 'current' ? etag : condition === 'star' ? '*' : `"stale"` };
}

/** The state of the world without what time alone changes, and without the stage crew's own list. */
export function snapshot(rig: Rig): string {
  const { sets, agentPools, operations, stock, usages } = rig.arm.control.state();
  return JSON.stringify({ sets, agentPools, operations, stock, usages });
}

/** A long quiet time: nothing is on its way any more. */
export function settle(rig: Rig): void {
  for (const { id } of rig.arm.control.state().faults) rig.arm.control.removeFault(id);
  rig.clock.advance(55 * MINUTE);
}

/** Runs deeds against a fresh rig, and `check` after each. The world ends with the run. */
export async function withDeeds(
  deeds: readonly Deed[],
  options: RigOptions,
  check: (rig: Rig, moment: { readonly deed: Deed; readonly answer: Answer | undefined; readonly before: string }) => void | Promise<void>,
  atEnd: (rig: Rig) => void | Promise<void> = () => undefined,
): Promise<void> {
  const rig = await startRig(WORLD, options);
  try {
    for (const deed of deeds) {
      const before = snapshot(rig);
      const answer = await perform(rig, deed);
      await check(rig, { deed, answer, before });
    }
    await atEnd(rig);
  } finally {
    await rig.stop();
  }
}
