/** Ids are spelled by many hands: every spelling of a machine is the same machine, of every kind of pool, from node to delete. */
import { describe, expect, it } from 'vitest';
import type { InstanceKey } from '../../src/domain/ids.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { aCluster, aNode } from '../support/builders.ts';

const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;

/** Behind the scheme, which Kubernetes itself writes. */
function respelled(providerId: string, spell: (armId: string) => string): string {
  return providerId.replace(/^(azure:\/\/)(.*)$/s, (_all, scheme: string, armId: string) => scheme + spell(armId));
}

const SPELLINGS: Readonly<Record<string, (providerId: string) => string>> = {
  'as the cloud node controller writes it': (id) => id,
  'all in lower case': (id) => respelled(id, (armId) => armId.toLowerCase()),
  'all in upper case': (id) => respelled(id, (armId) => armId.toUpperCase()),
  'the resource group in upper case': (id) =>
    id.replace(/(resourceGroups\/)([^/]+)/i, (_all, key: string, group: string) => key + group.toUpperCase()),
  'the key of the resource group in lower case': (id) => id.replace('resourceGroups', 'resourcegroups'),
  'the provider in lower case': (id) => id.replace('Microsoft.Compute', 'microsoft.compute'),
  'the machine in upper case': (id) => id.replace(/[^/]+$/, (name) => name.toUpperCase()),
  'every other letter': (id) =>
    respelled(id, (armId) => Array.from(armId, (letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase())).join('')),
  'the scheme in upper case': (id) => id.replace('azure:', 'AZURE:'),
};

function world(kind: PoolSpec['kind'] & string): WorldSpec {
  return {
    ...SPEC,
    stock: {},
    // A subscription and a group in the middle of whose names others begin.
    subscriptionId: 'aBcdef11-2222-3333-4444-5555555555Cc',
    nodeResourceGroup: 'MC_aBcd_Aks_westeurope',
    pools: [{ name: 'user', kind, vmSize: 'Standard_D4s_v5', count: 3, min: 0, max: 5 }],
  };
}

describe.each(KINDS)('ids of a %s', (kind) => {
  it.each(Object.keys(SPELLINGS))(
    '%s: the same machine in its group, shown as its node spells it, and the one that is deleted',
    async (what) => {
      const spell = SPELLINGS[what] ?? String;
      const m = await meet({}, world(kind));
      await m.pass(3_000);
      const machines = m.arm.machines.list();
      const nodes = machines.map(({ hostName, providerId }) => aNode({ name: hostName, providerId: spell(providerId) }));
      const view = m.azure.observe(aCluster({ nodes }), m.clock.now());
      const [group] = view.groups;
      expect(nodes.map(({ name }) => view.groupOfNode.get(name))).toEqual(nodes.map(() => group?.id));
      expect(new Set(nodes.map(({ name }) => view.instanceOfNode.get(name)))).toEqual(new Set(group?.instances?.map(({ key }) => key)));
      expect(group?.instances?.map(({ providerId }) => providerId).sort()).toEqual(nodes.map(({ providerId }) => providerId).sort());
      const [victim] = nodes;
      const key = view.instanceOfNode.get(victim?.name ?? '') as InstanceKey;
      const deleted = await m.drive(
        m.azure.deleteInstances({ ...PLAIN_DELETE, group: group?.id as never, instances: [key], allowBelowMin: false }, m.signal),
      );
      expect(deleted).toMatchObject({ kind: 'accepted', instances: [key] });
      await m.pass(120_000);
      const left = m.arm.machines.list().map(({ hostName }) => hostName);
      expect(left.sort()).toEqual(
        machines
          .slice(1)
          .map(({ hostName }) => hostName)
          .sort(),
      );
      expect(m.violations.list()).toEqual([]);
    },
  );

  it('lists that change their spelling bring and lose no machine', async () => {
    const m = await meet({}, world(kind));
    await m.pass(3_000);
    const keys = () => m.group('user').instances?.map(({ key, firstSeenMs }) => `${key} ${firstSeenMs}`);
    const before = keys();
    m.arm.control.addCatalogued({ number: 57, id: 'case' });
    m.azure.invalidate();
    await m.pass(400_000);
    expect(keys()).toEqual(before);
    expect(m.group('user')).toMatchObject({ frozen: undefined, target: { known: true, value: 3 } });
    expect(m.events.filter(({ kind: what }) => what !== 'increase-succeeded')).toEqual([]);
  });
});
