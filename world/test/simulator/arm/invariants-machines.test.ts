/** Invariants of VMs: their names, their number, their quota usage, and how lists show them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../../../test/support/property-runs.ts';
import { UNTHROTTLED, WORLD, clientAction, holds, perform, settle, waiting, worldAction, type Action } from './random-actions.ts';
import { MINUTE, RG, VERSION, aPool, aWorld, poolPath, scale, setPath, startRig, type Rig } from './harness.ts';
import { findVmSize } from '../../../simulator/arm/state/vm-sizes.ts';

const knobs = { ...UNTHROTTLED, pageSize: 2 };

interface Item {
  readonly id: string;
  readonly name: string;
  readonly instanceId?: string;
  readonly zones?: readonly string[];
  readonly properties: {
    readonly provisioningState: string;
    readonly osProfile: { readonly computerName: string };
    readonly hardwareProfile: { readonly vmSize: string };
  };
}

interface UsageRow {
  readonly name: { readonly value: string };
  readonly currentValue: number;
  readonly limit: number;
}

const SPOT = new Set(['d', 'e']);

/** All pages of a list. */
async function everything<Shape = Item>(rig: Rig, path: string): Promise<readonly Shape[]> {
  const items: Shape[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const { json, status } = await rig.call('GET', next);
    expect(status).toBe(200);
    items.push(...(json['value'] as unknown as readonly Shape[]));
    const link = json['nextLink'] as unknown as string | undefined;
    next = link === undefined ? undefined : link.slice(rig.arm.url.length);
  }
  return items;
}

const instancesOf = (rig: Rig, pool: string): Promise<readonly Item[]> =>
  everything(rig, `${setPath(rig, pool, '/virtualMachines')}?${VERSION}`);

function vmsPath(rig: Rig): string {
  return `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/virtualMachines?${VERSION}`;
}

describe('invariants of machines', () => {
  holds(
    'each machine has one id, name, host name, provider id and node name; no list shows half of one',
    { seed: 8, few: 12, most: 8, knobs },
    () => {
      const gone = new Set<string>();
      let before = new Set<string>();
      return {
        after: (rig) => {
          const now = new Set(rig.arm.machines.list().map(({ id }) => id));
          for (const id of before) if (!now.has(id)) gone.add(id);
          expect([...now].filter((id) => gone.has(id))).toEqual([]);
          before = now;
        },
        atEnd: async (rig) => {
          const lists = await Promise.all([...['a', 'd', 'e'].map((pool) => instancesOf(rig, pool)), everything(rig, vmsPath(rig))]);
          const items = lists.flat();
          const machines = new Map(rig.arm.machines.list().map((machine) => [machine.id.toLowerCase(), machine]));
          const ofAks = (pool: string) =>
            everything<{ name: string; properties: { resourceId: string } }>(rig, poolPath(rig, pool, '/machines'));
          const aks = (await Promise.all(WORLD.pools.map(({ name }) => ofAks(name)))).flat();
          for (const list of [
            items.map(({ id }) => id.toLowerCase()),
            items.map(({ name }) => name),
            items.map(({ properties }) => properties.osProfile.computerName),
          ])
            expect(new Set(list).size).toBe(items.length);
          for (const { id, name, instanceId, properties } of items) {
            expect([id, name, properties.provisioningState].every((text) => typeof text === 'string' && text !== '')).toBe(true);
            const machine = machines.get(id.toLowerCase());
            const host = properties.osProfile.computerName;
            expect(machine?.hostName).toBe(host);
            expect(machine?.providerId.toLowerCase()).toBe(`azure://${id}`.toLowerCase());
            expect(aks.find((row) => row.properties.resourceId.toLowerCase() === id.toLowerCase())?.name).toBe(host);
            if (instanceId === undefined) continue;
            expect(id.endsWith(`/virtualMachines/${instanceId}`)).toBe(true);
            expect(name.endsWith(`_${instanceId}`)).toBe(true);
            expect(Number.parseInt(host.slice(-6), 36)).toBe(Number(instanceId));
          }
        },
      };
    },
  );

  it('at rest the capacity is the machines there are: the deallocated count, the deleted and the evicted do not', async () => {
    const spotAction: fc.Arbitrary<Action> = fc.oneof(
      fc.record({
        kind: fc.constant('post' as const),
        pool: fc.constantFrom('d', 'e'),
        action: fc.constantFrom('delete', 'deallocate', 'start', 'poweroff', 'restart'),
        picks: fc.array(fc.nat(4), { minLength: 1, maxLength: 2 }),
        bad: fc.constant(false),
      }),
      fc.record({
        kind: fc.constant('event' as const),
        event: fc.record({ evict: fc.record({ pool: fc.constantFrom('d', 'e'), count: fc.integer({ min: 1, max: 2 }) }) }),
      }),
    );
    const sizeOf = (rig: Rig, pool: string): { readonly capacity: number; readonly running: number } => {
      const set = rig.arm.control.state().sets.find((entry) => entry.pool === pool);
      expect(set?.instances.length).toBe(set?.capacity);
      return { capacity: set?.capacity ?? 0, running: set?.instances.filter(({ power }) => power === 'running').length ?? 0 };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(spotAction, { minLength: 1, maxLength: 8 }), async (actions) => {
        const rig = await startRig(WORLD, { knobs });
        try {
          for (const pool of ['d', 'e']) await perform(rig, { kind: 'put', pool, to: 4, condition: 'none', method: 'PUT' });
          settle(rig);
          for (const action of actions) {
            const pool =
              action.kind === 'post' ? action.pool : action.kind === 'event' && 'evict' in action.event ? action.event.evict.pool : '';
            const before = sizeOf(rig, pool);
            const answer = await perform(rig, action);
            settle(rig);
            const { capacity, running } = sizeOf(rig, pool);
            if (action.kind === 'event' && 'evict' in action.event) {
              const lost = Math.min(before.running, action.event.evict.count ?? 1);
              expect(before.capacity - capacity).toBe(pool === 'e' ? lost : 0);
              expect(before.running - running).toBe(lost);
            } else if (action.kind === 'post') {
              const named = answer?.status === 202 ? Number(answer.headers['x-ms-request-charge']) : 0;
              expect(before.capacity - capacity).toBe(action.action === 'delete' ? named : 0);
            }
          }
        } finally {
          await rig.stop();
        }
      }),
      casesOf(11, 12),
    );
  });

  holds(
    'a machine is in a zone of its set, as its node says; the usages are the cores of what exists, and neither a client nor an actor breaks a limit',
    { seed: 12, few: 30, most: 14, knobs },
    () => ({
      after: async (rig, { answer }) => {
        const machines = rig.arm.machines.list();
        for (const { pool, zone, labels } of machines) {
          expect(pool === 'a' ? ['1', '2'] : [undefined]).toContain(zone);
          expect(labels['topology.kubernetes.io/zone']).toBe(zone === undefined ? '0' : `westeurope-${zone}`);
        }
        const cores = (spot: boolean, family?: string): number =>
          machines
            .filter(({ pool, vmSize }) => SPOT.has(pool) === spot && (family === undefined || findVmSize(vmSize)?.family === family))
            .reduce((sum, { vcpus }) => sum + vcpus, 0);
        const path = `/subscriptions/${rig.spec.subscriptionId}/providers/Microsoft.Compute/locations/westeurope/usages?${VERSION}`;
        const rows = (await rig.call('GET', path)).json['value'] as unknown as readonly UsageRow[];
        const usage = (name: string): number | undefined => rows.find((row) => row.name.value === name)?.currentValue;
        expect(usage('cores')).toBe(cores(false));
        expect(usage('lowPriorityCores')).toBe(cores(true));
        expect(usage('standardDSv5Family')).toBe(cores(false, 'standardDSv5Family'));
        expect(usage('virtualMachines')).toBe(machines.length);
        for (const row of rows) expect(row.currentValue).toBeLessThanOrEqual(row.limit);
        const told = /Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+), \(Minimum\) New Limit Required: (\d+)/.exec(
          answer?.text ?? '',
        );
        if (told === null) return;
        const [limit = 0, used = 0, more = 0, needed = 0] = told.slice(1).map(Number);
        expect(rows.some((row) => row.limit === limit && row.currentValue === used)).toBe(true);
        expect([needed, needed > limit]).toEqual([used + more, true]);
      },
    }),
  );

  const written = fc.oneof(clientAction, worldAction, waiting);
  holds(
    "an agent pool's count and its scale set's capacity are two stores; only AKS copies one to the other",
    { seed: 23, few: 20, most: 14, of: written, knobs },
    () => ({
      after: (rig, { action, answer, before }) => {
        const was = JSON.parse(before) as { readonly agentPools: readonly { readonly name: string; readonly size: number }[] };
        const { sets, agentPools } = rig.arm.control.state();
        const byAks = action.kind === 'pool-put' || action.kind === 'delete-machines';
        for (const { name, size } of agentPools.filter((pool) => pool.name !== 'v'))
          if (!byAks) expect(size).toBe(was.agentPools.find((pool) => pool.name === name)?.size);
        if (action.kind === 'pool-put' && action.pool !== 'v' && answer?.status === 200) {
          const capacity = sets.find(({ pool }) => pool === action.pool)?.capacity;
          expect(capacity).toBe(agentPools.find(({ name }) => name === action.pool)?.size);
        }
      },
    }),
  );

  it('notifies the cluster side of every VM: running when its system is up, gone once, each delete with its author', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 1, labels: { team: 'x' }, zones: ['1'] })]));
    const told: string[] = [];
    rig.arm.machines.subscribe((change) => told.push(`${change.kind} ${change.machine.hostName.slice(-1)}`));
    await scale(rig, 'a', 2);
    rig.clock.advance(10 * MINUTE);
    expect(told).toEqual(['running 1']);
    await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    rig.clock.advance(10 * MINUTE);
    expect(told).toEqual(['running 1', 'delete-accepted 0', 'gone 0']);
    const [machine] = rig.arm.machines.list();
    expect(machine).toMatchObject({ pool: 'a', vcpus: 4, memoryGiB: 16, zone: '1', power: 'running' });
    expect(machine?.labels).toMatchObject({
      agentpool: 'a',
      team: 'x',
      'topology.kubernetes.io/zone': 'westeurope-1',
      'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
    });
    expect(machine?.providerId).toMatch(
      /^azure:\/\/\/subscriptions\/.*\/resourceGroups\/mc_rg_aks_westeurope\/providers\/Microsoft.Compute\/virtualMachineScaleSets\/aks-a-\d{8}-vmss\/virtualMachines\/1$/,
    );
  });
});
