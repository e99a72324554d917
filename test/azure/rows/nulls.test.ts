import { describe, expect, it } from 'vitest';
import { projectAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectInstance, projectVm, projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { buildCatalog } from '../../../src/azure/sizes/sku-catalog.ts';
import { START_MS } from '../../support/builders.ts';

const NO_VIEW: object = { instanceView: null };
const NO_NAME: object = { name: null };

/** Every copy of the answer in which one field, at any depth, is null. */
function* withOneNull(answer: object): Generator<{ readonly at: string; readonly copy: object }> {
  for (const [key, part] of Object.entries(answer)) {
    yield { at: key, copy: Object.assign(Array.isArray(answer) ? [...answer] : { ...answer }, { [key]: null }) };
    if (typeof part !== 'object' || part instanceof Date) continue;
    for (const { at, copy } of withOneNull(part as object))
      yield { at: `${key}.${at}`, copy: Object.assign(Array.isArray(answer) ? [...answer] : { ...answer }, { [key]: copy }) };
  }
}

describe('a null in an answer of Azure counts as absent', () => {
  const scope = '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute';
  const machine = {
    location: 'l',
    zones: ['1'],
    provisioningState: 'Failed',
    vmId: 'v',
    timeCreated: new Date(START_MS),
    osProfile: { computerName: 'c' },
    instanceView: {
      statuses: [{ code: 'ProvisioningState/failed/X', level: 'Error' as const, message: 'm' }, { code: 'PowerState/stopped' }],
      extensions: [{ name: 'vmssCSE', statuses: [{ level: 'Error' as const, message: 'x', displayStatus: 'd' }] }],
    },
  };
  const osDisk = { osType: 'Linux', diffDiskSettings: { option: 'Local' }, managedDisk: { storageAccountType: 'P' }, diskSizeGB: 128 };
  const restriction = { type: 'Zone', values: ['l'], restrictionInfo: { locations: ['l'], zones: ['1'] }, reasonCode: 'QuotaId' };
  const scale = { manual: [{ size: 'S', count: 1 }], autoscale: [{ size: 'S' }] };

  it.each<[string, object, (raw: object) => unknown]>([
    [
      'a scale set',
      {
        name: 'p',
        location: 'l',
        zones: ['1', '2'],
        tags: { a: 'b' },
        sku: { name: 'S', tier: 'Standard', capacity: 1 },
        orchestrationMode: 'Uniform',
        extendedLocation: { name: 'la', type: 'EdgeZone' },
        hostGroup: { id: 'h' },
        virtualMachineProfile: { priority: 'Spot', osProfile: { windowsConfiguration: {} }, storageProfile: { osDisk } },
      },
      (raw) => projectScaleSet({ location: '', ...raw }),
    ],
    [
      'a machine of a set',
      { ...machine, id: `${scope}/virtualMachineScaleSets/set/virtualMachines/3` },
      (raw) => projectInstance({ location: '', ...raw }, 'set'),
    ],
    [
      'a machine with an id of its own',
      { ...machine, id: `${scope}/virtualMachines/v3`, tags: { poolName: 'p' }, hardwareProfile: { vmSize: 'S' } },
      (raw) => projectVm({ location: '', ...raw }),
    ],
    [
      'an agent pool',
      {
        name: 'p',
        typePropertiesType: 'VirtualMachines',
        mode: 'User',
        count: 1,
        powerState: { code: 'Running' },
        nodeLabels: { a: 'b' },
        nodeTaints: ['a=b:NoSchedule'],
        tags: { a: 'b' },
        scaleSetPriority: 'Spot',
        availabilityZones: ['1'],
        virtualMachinesProfile: { scale },
        virtualMachineNodesStatus: [{ size: 'S', count: 1 }],
      },
      projectAgentPool,
    ],
    [
      'a VM size',
      {
        resourceType: 'virtualMachines',
        name: 'S',
        family: 'f',
        locations: ['l'],
        capabilities: [
          { name: 'vCPUs', value: '2' },
          { name: 'MemoryGB', value: '4' },
        ],
        locationInfo: [{ location: 'l', zones: ['1'], zoneDetails: [{ name: ['1'], capabilities: [{ name: 'a', value: 'b' }] }] }],
        restrictions: [restriction],
      },
      (raw) => buildCatalog([raw], 'l', 1),
    ],
  ])('in %s', (_what, whole, project) => {
    for (const { at, copy } of withOneNull(whole)) expect(() => project(copy), at).not.toThrow();
  });

  it('the field that is null is treated as if Azure had not sent it', () => {
    expect(projectInstance({ ...machine, id: `${scope}/virtualMachineScaleSets/set/virtualMachines/3`, ...NO_VIEW }, 'set')?.state).toBe(
      'running',
    );
    expect(projectScaleSet({ location: 'l', ...NO_NAME })).toBeUndefined();
  });
});
