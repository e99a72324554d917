/** Instances that belong elsewhere, in the list of all virtual machines and in reads of single ones: counted, logged once, skipped. */
import { describe, expect, it } from 'vitest';
import type { Json } from '../../world/simulator/arm/http/json.ts';
import { meet, type Meeting } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { SMALL, stage, vmsPool, vmsWorld, type Stage } from './vms-pools-support.ts';

interface Document {
  readonly [field: string]: Json;
  readonly name: string;
  readonly properties: { readonly [field: string]: Json };
}

const GROUP = `mixed/${SMALL}`;
const COMPUTE = '/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/MC_rg_aks_westeurope/providers/Microsoft.Compute';
const MACHINES = `${COMPUTE}/virtualMachines`;

/** The machines of the pool as the list shows them, read by somebody else. */
async function documents(s: Stage): Promise<readonly [Document, Document, Document]> {
  const { value } = (await s.call('GET', `${MACHINES}?api-version=2025-04-01`)) as {
    readonly value: readonly [Document, Document, Document];
  };
  return value;
}

/** From now on this is the answer to reads of the path. */
function answerWith({ arm }: Pick<Meeting, 'arm'>, path: string, body: Json): void {
  arm.control.addFault({ id: path, match: { method: 'GET', pathGlob: path }, effect: { kind: 'answer', status: 200, body } });
}

/** How many items were counted, and how many lines say so. */
async function skipped({ metrics, logLines }: Pick<Meeting, 'metrics' | 'logLines'>): Promise<readonly [number, number]> {
  const found = await metrics.registry.getSingleMetric('aks_autoscaler_cache_rows_rejected_total')?.get();
  const foreign = found?.values.filter(({ labels }) => labels['table'] === 'instances' && labels['reason'] === 'foreign-id') ?? [];
  return [foreign.reduce((sum, { value }) => sum + value, 0), logLines.filter((line) => line.includes('items of other sets')).length];
}

describe('the list of all virtual machines', () => {
  it('counts those of other resource groups and without a valid id, and no neighbours', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const own = await documents(s);
    const [first] = own;
    const elsewhere = MACHINES.replace('MC_rg_aks_westeurope', 'other');
    const foreign = [`${elsewhere}/a`, 'x', 7].map((id) => ({ ...first, id }));
    const neighbours = [
      { ...first, id: `${MACHINES}/jumpbox`, tags: {} },
      { ...first, id: `${MACHINES}/flex_1`, properties: { virtualMachineScaleSet: { id: `${COMPUTE}/virtualMachineScaleSets/flex` } } },
    ];
    answerWith(s, '**/Microsoft.Compute/virtualMachines', { value: [...own, ...foreign, ...neighbours] });
    await s.azure.refresh(s.group(GROUP).id, s.signal);
    expect(await skipped(s)).toEqual([3, 1]);
    expect(s.group(GROUP).instances).toHaveLength(3);
  });

  it('counts a view of another machine, and keeps what was listed', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const [first, second, third] = await documents(s);
    const failed = { ...first, properties: { ...first.properties, provisioningState: 'Failed' } };
    answerWith(s, '**/Microsoft.Compute/virtualMachines', { value: [failed, second, third] });
    const dead = { ...second, properties: { ...second.properties, provisioningState: 'Creating' } };
    answerWith(s, `**/Microsoft.Compute/virtualMachines/${first.name}`, dead);
    await s.azure.refresh(s.group(GROUP).id, s.signal);
    expect(await skipped(s)).toEqual([1, 1]);
    expect(s.group(GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
  });
});

describe('a read of one instance', () => {
  it('of a VMs pool that shows another one is counted, and nothing is deleted', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const [first, second] = await documents(s);
    answerWith(s, `**/Microsoft.Compute/virtualMachines/${first.name}`, second);
    expect(await s.remove(GROUP, [0])).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('Azure returned') } });
    expect(await skipped(s)).toEqual([1, 1]);
    expect(s.writes()).toEqual([]);
  });

  it('of a scale set that shows another one is counted, and nothing is deleted', async () => {
    const m = await meet();
    const { id, instances: [one] = [] } = m.group('general');
    if (one === undefined) throw new Error('the pool has an instance');
    const other = `${COMPUTE}/virtualMachineScaleSets/other/virtualMachines/0`;
    answerWith(m, '**/virtualMachineScaleSets/*general*/virtualMachines/0', { id: other, properties: { provisioningState: 'Succeeded' } });
    const outcome = await m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances: [one.key], allowBelowMin: true }, m.signal);
    expect(outcome).toMatchObject({ kind: 'failed', error: { message: expect.stringContaining('Azure returned') } });
    expect(await skipped(m)).toEqual([1, 1]);
    expect(m.arm.control.journal().filter(({ path }) => path.endsWith('/delete'))).toEqual([]);
  });
});
