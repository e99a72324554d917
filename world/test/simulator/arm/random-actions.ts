/** Random clients, other writers and faults around an emulator: the input of the invariants' properties. */
import * as fc from 'fast-check';
import { it } from 'vitest';
import { casesOf } from '../../../../test/support/property-runs.ts';
import { MINUTE, VERSION, aPool, aWorld, poolPath, setPath, startRig, type Answer, type Rig, type RigOptions } from './harness.ts';
import type { FaultEffect, FaultMatch } from '../../../simulator/arm/state/fault-rules.ts';
import type { WorldEvent } from '../../../simulator/arm/faults/world-event.ts';

/** No rate limits; tokens and operations outlast any run. */
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
type Condition = 'none' | 'current' | 'stale' | 'star' | 'absent-only';

export type Action =
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

/** Requests of a client. */
export const clientAction: fc.Arbitrary<Action> = fc.oneof(
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

/** Actions of other writers and of the platform. */
export const worldAction: fc.Arbitrary<Action> = fc.record({
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

/** Faults on VMs; responses stay true. */
const machineFault: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant('fault' as const),
  match: fc.record({ prob: fc.constantFrom(0.4, 1), times: fc.integer({ min: 1, max: 2 }) }),
  effect: fc.oneof(
    fc.record({ kind: fc.constant('birth' as const), how: fc.constantFrom('refused' as const, 'cse', 'slow', 'no-node', 'os-timeout') }),
    fc.record({ kind: fc.constant('removal' as const), how: fc.constantFrom('stuck' as const, 'fails') }),
  ),
});

export const waiting: fc.Arbitrary<Action> = fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 300 }) });

export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: clientAction },
  { weight: 2, arbitrary: worldAction },
  { weight: 1, arbitrary: machineFault },
  { weight: 2, arbitrary: waiting },
);

/** Performs the action. Returns the response of ARM if the action sent a request. */
export async function perform(rig: Rig, action: Action): Promise<Answer | undefined> {
  switch (action.kind) {
    case 'put': {
      const path = `${setPath(rig, action.pool)}?${VERSION}`;
      const etag = rig.arm.control.state().sets.find(({ pool }) => pool === action.pool)?.etag ?? '';
      const body = { location: 'westeurope', sku: { capacity: action.to } };
      return rig.call(action.method, path, { body, headers: conditionHeaders(action.condition, etag) });
    }
    case 'post': {
      const set = rig.arm.control.state().sets.find(({ pool }) => pool === action.pool);
      const ids = action.picks.flatMap((pick) => set?.instances[pick]?.id ?? []);
      const instanceIds = action.bad || ids.length === 0 ? [...ids, '9999'] : ids;
      return rig.call('POST', `${setPath(rig, action.pool, `/${action.action}`)}?${VERSION}`, { body: { instanceIds } });
    }
    case 'delete-vm': {
      const vm = rig.arm.machines.list().filter(({ id }) => !/virtualMachineScaleSets/.test(id))[action.pick];
      return vm === undefined ? undefined : rig.call('DELETE', `${vm.id}?${VERSION}`);
    }
    case 'pool-put': {
      const path = poolPath(rig, action.pool);
      const read = await rig.call('GET', path);
      const { eTag } = read.json['properties'] as unknown as { readonly eTag: string };
      const manual = [{ size: 'Standard_D4s_v5', count: action.to }];
      const properties = action.pool === 'v' ? { virtualMachinesProfile: { scale: { manual } } } : { count: action.to };
      return rig.call('PUT', path, { body: { properties }, headers: conditionHeaders(action.condition, eTag) });
    }
    case 'delete-machines': {
      const names = rig.arm.machines.list().filter(({ pool }) => pool === action.pool);
      const name = action.bad ? 'nobody' : names[action.pick]?.hostName;
      const body = { machineNames: [...names.slice(0, 1).map(({ hostName }) => hostName), ...(name === undefined ? [] : [name])] };
      return rig.call('POST', poolPath(rig, action.pool, '/deleteMachines'), { body });
    }
    case 'event':
      rig.arm.control.raise(action.event);
      return undefined;
    case 'fault':
      rig.arm.control.addFault({
        id: `drawn ${rig.arm.control.journal().length} ${rig.arm.control.state().faults.length}`,
        match: action.match,
        effect: action.effect,
      });
      return undefined;
    case 'wait':
      rig.clock.advance(action.seconds * 1_000);
      return undefined;
  }
}

function conditionHeaders(condition: Condition, etag: string): Readonly<Record<string, string>> {
  if (condition === 'absent-only') return { 'if-none-match': '*' };
  if (condition === 'none') return {};
  return { 'if-match': condition === 'current' ? etag : condition === 'star' ? '*' : `"stale"` };
}

/** The state of the world without its time and without the list of faults. */
export function snapshot(rig: Rig): string {
  const { sets, agentPools, operations, stock, usages } = rig.arm.control.state();
  return JSON.stringify({ sets, agentPools, operations, stock, usages });
}

/** Lets enough time pass that nothing is in progress any more. */
export function settle(rig: Rig): void {
  for (const { id } of rig.arm.control.state().faults) rig.arm.control.removeFault(id);
  rig.clock.advance(55 * MINUTE);
}

interface Moment {
  readonly action: Action;
  readonly answer: Answer | undefined;
  /** The state before the action, as `snapshot` returns it. */
  readonly before: string;
}

/** What an invariant looks at during one sequence of actions. */
interface Observer {
  readonly after?: (rig: Rig, moment: Moment) => void | Promise<void>;
  readonly atEnd?: (rig: Rig) => void | Promise<void>;
}

/** Runs the actions against a new rig, which stops with the run. */
export async function withActions(actions: readonly Action[], options: RigOptions, { after, atEnd }: Observer): Promise<void> {
  const rig = await startRig(WORLD, options);
  try {
    for (const action of actions) {
      const before = snapshot(rig);
      const answer = await perform(rig, action);
      await after?.(rig, { action, answer, before });
    }
    await atEnd?.(rig);
  } finally {
    await rig.stop();
  }
}

interface Sequences extends RigOptions {
  readonly seed: number;
  /** How many sequences are tried, and how many actions the longest has. */
  readonly few: number;
  readonly most: number;
  readonly of?: fc.Arbitrary<Action>;
}

/** A test: the invariant holds for random sequences of actions. `observe` is called once for each. */
export function holds(title: string, { seed, few, most, of = anyAction, ...options }: Sequences, observe: () => Observer): void {
  const sequences = fc.array(of, { minLength: 1, maxLength: most });
  const knobs = { ...UNTHROTTLED, ...options.knobs };
  it(title, () =>
    fc.assert(
      fc.asyncProperty(sequences, (actions) => withActions(actions, { ...options, knobs }, observe())),
      casesOf(seed, few),
    ),
  );
}
