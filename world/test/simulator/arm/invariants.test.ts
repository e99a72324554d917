/** Invariants of the emulated Azure under random clients. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE, VERSION, aPool, aWorld, operationOf, scale, setPath, startRig, stateOf, type Answer, type Rig } from './harness.ts';

type Action =
  | { readonly kind: 'scale'; readonly to: number }
  | { readonly kind: 'delete'; readonly id: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'foreign'; readonly to: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('scale' as const), to: fc.nat(9) }),
  fc.record({ kind: fc.constant('delete' as const), id: fc.nat(12) }),
  fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(120) }),
  fc.record({ kind: fc.constant('foreign' as const), to: fc.nat(9) }),
);

async function perform(rig: Rig, action: Action): Promise<Answer | undefined> {
  switch (action.kind) {
    case 'scale':
      return scale(rig, 'a', action.to);
    case 'delete':
      return rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: [String(action.id)] } });
    case 'wait':
      rig.clock.advance(action.seconds * 1000);
      return undefined;
    case 'foreign':
      rig.arm.control.raise({ foreignScale: { pool: 'a', to: action.to } });
      return undefined;
  }
}

const world = aWorld([aPool('a', { zones: ['1', '2'] })], { stock: { 'Standard_D4s_v5/2': 3 }, quota: { cores: 40 } });
const knobs = { throttling: false };

describe('invariants', () => {
  it('1, 2, 5, 7, 9, 12: capacity, etags, operations, ids, zones and quota hold for any client', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 12 }), async (actions) => {
        const rig = await startRig(world, { knobs });
        try {
          const operations: Answer[] = [];
          const seen = new Map<string, number>([[stateOf(rig, 'a').etag, stateOf(rig, 'a').capacity]]);
          let lastEtag = 0;
          for (const next of actions) {
            const answer = await perform(rig, next);
            if (answer?.headers['azure-asyncoperation'] !== undefined) operations.push(answer);
            const { etag, capacity } = stateOf(rig, 'a');
            const number = Number(etag.replaceAll('"', ''));
            expect(number).toBeGreaterThanOrEqual(lastEtag);
            expect(seen.get(etag) ?? capacity).toBe(capacity);
            seen.set(etag, capacity);
            lastEtag = number;
            const cores = rig.arm.control.state().usages.find((row) => row.name === 'cores');
            if (next.kind !== 'foreign' && !actions.some((other) => other.kind === 'foreign'))
              expect(cores?.current ?? 0).toBeLessThanOrEqual(40);
          }
          rig.clock.advance(60 * MINUTE - 1);
          const state = stateOf(rig, 'a');
          expect(state.instances).toHaveLength(state.capacity);
          expect(new Set(state.instances.map((vm) => vm.id)).size).toBe(state.instances.length);
          expect(state.instances.every((vm) => vm.zone === '1' || vm.zone === '2')).toBe(true);
          expect(['Succeeded', 'Failed']).toContain(state.provisioningState);
          expect(
            rig.arm.control
              .state()
              .operations.every((operation) => operation.status !== 'InProgress' && (operation.endMs ?? 0) >= operation.startMs),
          ).toBe(true);
          expect(rig.arm.control.state().stock['standard_d4s_v5/2']).toBeGreaterThanOrEqual(0);
        } finally {
          await rig.stop();
        }
      }),
      { numRuns: 40, seed: 11 },
    );
  });

  it('the same seed and the same calls give the same journal and the same world', async () => {
    const run = async (): Promise<string> => {
      const rig = await startRig(aWorld([aPool('a', { zones: ['1', '2'] })], { stock: { 'Standard_D4s_v5/2': 2 } }));
      const start = rig.clock.now();
      const put = await scale(rig, 'a', 6);
      rig.clock.advance(40_000);
      await perform(rig, { kind: 'delete', id: 1 });
      rig.clock.advance(10 * MINUTE);
      await operationOf(rig, put);
      const state = rig.arm.control.state();
      const operations = state.operations.map((operation) => ({
        ...operation,
        startMs: operation.startMs - start,
        endMs: (operation.endMs ?? 0) - start,
      }));
      const journal = rig.arm.control.journal().map((entry) => ({ ...entry, at: entry.at - start }));
      await rig.stop();
      return JSON.stringify({ journal, operations, sets: state.sets });
    };
    expect(await run()).toBe(await run());
  });

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
