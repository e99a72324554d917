/**
 * Machines that stand alone: in no scale set and in no agent pool that AKS scales, as in availability sets. They are known
 * by their pool tag and counted; nothing resizes them.
 */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aCluster, aNode } from '../support/builders.ts';
import { NODE_GROUP, SUBSCRIPTION } from '../azure/scripted-arm.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

const SIZE = 'Standard_D4s_v5';
const POOL = `agent-pool-1/${SIZE}`;
const LINUX = 'k8s-agent-pool-1-38988164-0';
const WINDOWS = ['38988k8s90312', '4506k8s010', '2314k8s03000001'];

function machine(name: string, tags: Readonly<Record<string, string>>, id = idOf(name)): object {
  const properties = { provisioningState: 'Succeeded', hardwareProfile: { vmSize: SIZE }, vmId: `vm-${name}` };
  return { name, id, location: 'westeurope', tags, properties };
}

function idOf(name: string): string {
  return `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP}/providers/Microsoft.Compute/virtualMachines/${name}`;
}

async function started(machines: readonly object[]): Promise<{ r: Rig; listed: object[] }> {
  const r = await rig({
    nodeGroups: [
      { name: USER_POOL, min: 0, max: 5 },
      { name: POOL, min: 1, max: 9 },
      { name: `other/${SIZE}`, min: 0, max: 9 },
    ],
  });
  const listed = [...machines];
  r.arm.addSet(USER_POOL, 1);
  r.arm.intercept = ({ path }) => (path.endsWith('microsoft.compute/virtualmachines') ? { body: { value: listed } } : undefined);
  await r.azure.start(r.signal);
  return { r, listed };
}

const MACHINES = [
  ...[LINUX, ...WINDOWS].map((name) => machine(name, { poolName: 'agent-pool-1' })),
  machine('of-the-other', { 'aks-managed-poolName': 'other', poolName: 'agent-pool-1' }),
  machine('bastion', { owner: 'me' }),
];

function names(r: Rig, id = POOL): readonly (string | undefined)[] {
  return (r.group(id).instances ?? []).map(({ instanceId }) => instanceId).sort();
}

describe('machines that stand alone', () => {
  it('their tag says the pool, in every naming scheme; names are not taken apart', async () => {
    const { r } = await started([...MACHINES, machine('no-scheme-at-all', { poolName: 'agent-pool-1' })]);
    expect(names(r)).toEqual([...WINDOWS, LINUX, 'no-scheme-at-all'].sort());
    expect(names(r, `other/${SIZE}`)).toEqual(['of-the-other']);
  });

  it('skips one with an invalid id, and keeps the others', async () => {
    const { r } = await started([machine('bad', { poolName: 'agent-pool-1' }, '/subscriptions/s/bad'), ...MACHINES]);
    expect(names(r)).toEqual([...WINDOWS, LINUX].sort());
  });

  it('their number is the last list; a machine more is seen with the next one', async () => {
    const { r, listed } = await started(MACHINES);
    const lists = (): number => r.arm.sent('GET', 'microsoft.compute/virtualmachines').length;
    const before = lists();
    listed.push(machine('new', { poolName: 'agent-pool-1' }));
    expect(names(r)).toHaveLength(4);
    expect(lists()).toBe(before);
    await r.pass(150_000);
    expect(names(r)).toHaveLength(5);
  });

  it('whatever the letter case of an id, of its pool tag and of its size, a machine is the same one', async () => {
    const tagged = [
      machine('VM-a', { PoolName: 'Agent-Pool-1' }),
      machine('vm-b', { 'AKS-managed-poolname': 'AGENT-pool-1', poolName: 'other' }),
    ];
    const { r } = await started(tagged);
    expect(names(r)).toEqual(['VM-a', 'vm-b']);
    for (const spell of [(id: string) => id.toUpperCase(), (id: string) => id.toLowerCase()]) {
      const nodes = ['VM-a', 'vm-b'].map((name) => aNode({ name, providerId: `azure://${spell(idOf(name))}` }));
      const view = r.view(aCluster({ nodes }));
      expect(Object.fromEntries(view.groupOfNode)).toEqual({ 'VM-a': POOL, 'vm-b': POOL });
      expect(view.instanceOfNode.size).toBe(2);
      expect(view.groups.find(({ id }) => id === POOL)?.instances).toHaveLength(2);
    }
  });

  it('their nodes are found, foreign ones are not, and no size is ever written', async () => {
    const { r } = await started(MACHINES);
    const nodes = [LINUX, 'of-the-other', 'bastion'].map((name) => aNode({ name, providerId: `azure://${idOf(name)}` }));
    const view = r.view(aCluster({ nodes }));
    expect(Object.fromEntries(view.groupOfNode)).toEqual({ [LINUX]: POOL, 'of-the-other': `other/${SIZE}` });
    const [own, others] = [LINUX, 'of-the-other'].map((name) => view.instanceOfNode.get(name));
    expect(own).toBeDefined();
    const group = view.groups.find(({ id }) => id === POOL);
    expect(group).toMatchObject({ target: { known: false }, frozen: expect.stringContaining('agent pools are not read') });
    const written = await Promise.all([
      r.azure.increase({ group: nodeGroupId(POOL), from: 4, version: '', to: 6 }, r.signal),
      ...[own, others].map((key) =>
        r.azure.deleteInstances(
          { ...PLAIN_DELETE, group: nodeGroupId(POOL), instances: key === undefined ? [] : [key], allowBelowMin: false },
          r.signal,
        ),
      ),
    ]);
    expect(written.map(({ kind }) => kind).filter((kind) => kind === 'accepted')).toEqual([]);
    expect(r.arm.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it('nothing of an availability set is deleted or made, neither machines nor deployments of theirs', async () => {
    const { r } = await started(MACHINES);
    const own = r.group(POOL).instances?.find(({ instanceId }) => instanceId === LINUX)?.key;
    expect(own).toBeDefined();
    expect(r.group(POOL).template).toBeUndefined();
    const removal = { ...PLAIN_DELETE, group: nodeGroupId(POOL), instances: own === undefined ? [] : [own], allowBelowMin: true };
    const outcome = await r.azure.deleteInstances(removal, r.signal);
    expect(outcome).toMatchObject({ kind: 'failed', error: { message: expect.stringMatching(/needed to write agent pools/) } });
    expect(names(r)).toContain(LINUX);
    await r.pass(150_000);
    expect(names(r)).toContain(LINUX);
    expect(r.arm.requests.filter(({ method, path }) => method !== 'GET' || /deployments|networksecuritygroups/i.test(path))).toEqual([]);
  });
});
