/** Flexible scale sets against the emulated Azure: machines with ids of their own, read through the list of machines. */
import { describe, expect, it } from 'vitest';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { aCluster, aNode } from '../support/builders.ts';

const FLEXIBLE: WorldSpec = {
  ...SPEC,
  pools: [
    { name: 'system', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 2, mode: 'System' },
    { name: 'flex', kind: 'vmss-flexible', vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 6, zones: ['1', '2'] },
  ],
};

/** The nodes that the machines of a pool became. */
function nodesOf(m: Meeting, pool: string) {
  const machines = m.arm.machines.list().filter((machine) => machine.pool === pool);
  return machines.map(({ hostName, providerId }) => aNode({ name: hostName, providerId, createdAtMs: m.clock.now() }));
}

describe('a Flexible scale set', () => {
  it('is a group of its own kind, with its machines, zones and size', async () => {
    const m = await meet({}, FLEXIBLE);
    const group = m.group('flex');
    expect(group).toMatchObject({ kind: 'vmss-flexible', minSize: 1, maxSize: 6, frozen: undefined });
    expect(group.target).toMatchObject({ known: true, value: 2, confirmed: true });
    expect(group.instances?.map(({ state }) => state)).toEqual(['running', 'running']);
    expect(group.instances?.every(({ key }) => key.includes('|vm|'))).toBe(true);
    expect(group.zones).toEqual(['westeurope-1', 'westeurope-2']);
    expect(group.template).toMatchObject({ source: 'cloud' });
  });

  it('owns the nodes of its machines, whatever the letter case of their ids', async () => {
    const m = await meet({}, FLEXIBLE);
    const nodes = nodesOf(m, 'flex').map((node, index) => (index === 0 ? { ...node, providerId: node.providerId.toUpperCase() } : node));
    const shouted = nodes.map((node) => ({ ...node, providerId: node.providerId.replace(/^AZURE:/, 'azure:') }));
    const view = m.azure.observe(aCluster({ nodes: shouted }), m.clock.now());
    const { id, instances } = m.group('flex');
    expect(shouted.map(({ name }) => view.groupOfNode.get(name))).toEqual([id, id]);
    expect(new Set(shouted.map(({ name }) => view.instanceOfNode.get(name)))).toEqual(new Set(instances?.map(({ key }) => key)));
  });

  it('grows conditionally, and its machines are found when they come', async () => {
    const m = await meet({}, FLEXIBLE);
    expect(await m.increase(m.group('flex'), 2)).toMatchObject({ kind: 'accepted', target: 4 });
    await m.pass(240_000);
    const group = m.group('flex');
    expect(group.instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
    expect(group.target).toMatchObject({ value: 4, confirmed: true });
    const view = m.azure.observe(aCluster({ nodes: nodesOf(m, 'flex') }), m.clock.now());
    expect(view.groupOfNode.size).toBe(4);
    expect(m.violations.list()).toEqual([]);
  });

  it('a foreign writer between plan and write is a conflict here too', async () => {
    const m = await meet({}, FLEXIBLE);
    const planned = m.group('flex');
    m.arm.control.raise({ foreignScale: { pool: 'flex', delta: 1, when: 'before-next-write' } });
    expect(await m.increase(planned, 2)).toEqual({ kind: 'conflict', group: planned.id, observed: 3 });
  });

  it('loses the machines that were named, after a fresh read of each, and not those below its minimum', async () => {
    const m = await meet({}, FLEXIBLE);
    const { id, instances = [] } = m.group('flex');
    const [victim, survivor] = instances.map(({ key }) => key);
    if (victim === undefined || survivor === undefined) throw new Error('two machines were meant to be there');
    const before = m.arm.control.journal().length;
    expect(
      await m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances: [victim], allowBelowMin: false }, m.signal),
    ).toMatchObject({
      kind: 'accepted',
    });
    expect(
      m.arm.control
        .journal()
        .slice(before)
        .map(({ route }) => route),
    ).toEqual(['GET virtualMachines/{name}', 'GET virtualMachineScaleSets/{name}', 'POST virtualMachineScaleSets/{name}/delete']);
    await m.pass(300_000);
    expect(m.group('flex').instances?.map(({ key }) => key)).toEqual([survivor]);
    expect(m.group('flex').target).toMatchObject({ value: 1, confirmed: true });
    expect(m.events.at(-1)).toMatchObject({ kind: 'delete-succeeded', instances: [victim] });
    expect(
      await m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances: [survivor], allowBelowMin: false }, m.signal),
    ).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('minimum'),
    });
    expect(m.violations.list()).toEqual([]);
  });

  it('an error instead of its list of machines removes none of them, and other groups are served', async () => {
    const m = await meet({ vmssVmsCacheTtlMs: 60_000, vmssVmsCacheJitterMs: 0 }, FLEXIBLE);
    m.arm.control.addFault({
      id: 'f',
      match: { method: 'GET', pathGlob: '**/Microsoft.Compute/virtualMachines', times: 2 },
      effect: { kind: 'answer', status: 500 },
    });
    await m.pass(100_000);
    expect(m.group('flex').instances).toHaveLength(2);
    expect(m.group('system')).toMatchObject({ frozen: undefined, target: { known: true, value: 1 } });
    expect(await m.increase(m.group('system'), 1)).toMatchObject({ kind: 'accepted' });
  });
});
