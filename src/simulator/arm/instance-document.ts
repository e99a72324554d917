/** One machine as ARM shows it, with and without its instance view. */
import { pick, pickText, type Json, type JsonObject } from './json.ts';
import { armTime } from './operations.ts';
import { etagText, type ArmWorld, type ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';

/** `set` undefined: a VM that belongs to no scale set. */
export function renderVm(
  world: ArmWorld,
  vm: Vm,
  { set, expand }: { readonly set: ScaleSet | undefined; readonly expand: boolean },
): JsonObject {
  const uniform = vm.kind === 'uniform';
  return {
    name: vm.name,
    ...(uniform ? { instanceId: vm.key } : {}),
    id: vm.resourceId,
    type: uniform ? 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines' : 'Microsoft.Compute/virtualMachines',
    location: world.spec.location,
    tags: set === undefined ? standaloneTags(world, vm) : pick(set.document, 'tags'),
    ...(uniform ? { sku: { name: vm.vmSize, tier: 'Standard' } } : {}),
    ...(vm.zone === undefined ? {} : { zones: [vm.zone] }),
    etag: etagText(uniform && set !== undefined ? set.etag : vm.etag),
    properties: {
      ...commonProperties(vm),
      ...(uniform ? uniformProperties(vm, set) : flexProperties(vm, set)),
      ...(expand ? { instanceView: instanceView(world, vm) } : {}),
    },
  };
}

function commonProperties(vm: Vm): JsonObject {
  return {
    provisioningState: vm.provisioningState,
    vmId: vm.vmId,
    hardwareProfile: { vmSize: vm.vmSize },
    storageProfile: {
      osDisk: { osType: 'Linux', name: `${vm.name}_OS__1`, createOption: 'FromImage', caching: 'ReadOnly', diskSizeGB: 128 },
      dataDisks: [],
    },
    osProfile: { computerName: vm.hostName, adminUsername: 'azureuser', requireGuestProvisionSignal: true },
    networkProfile: { networkInterfaces: [{ id: `${vm.resourceId}/networkInterfaces/nic0`, properties: { primary: true } }] },
    timeCreated: armTime(vm.createdMs),
  };
}

function uniformProperties(vm: Vm, set: ScaleSet | undefined): JsonObject {
  return {
    latestModelApplied: set === undefined || pickText(set.document, 'sku', 'name') === vm.vmSize,
    modelDefinitionApplied: 'VirtualMachineScaleSet',
    protectionPolicy: { protectFromScaleIn: false, protectFromScaleSetActions: false },
  };
}

function flexProperties(vm: Vm, set: ScaleSet | undefined): JsonObject {
  const spot = vm.pool.priority === 'Spot';
  return {
    priority: vm.pool.priority ?? 'Regular',
    ...(spot ? { evictionPolicy: vm.pool.evictionPolicy ?? 'Delete', billingProfile: { maxPrice: -1 } } : {}),
    ...(set === undefined ? {} : { virtualMachineScaleSet: { id: set.resourceId } }),
  };
}

function standaloneTags(world: ArmWorld, vm: Vm): JsonObject {
  return {
    'aks-managed-poolName': vm.pool.name,
    poolName: vm.pool.name,
    min: String(vm.pool.min),
    max: String(vm.pool.max),
    ...world.spec.discoveryTags,
    ...vm.pool.tags,
  };
}

/** The view: no power status until the machine is allocated, no guest facts until the guest speaks or after it stopped. */
export function instanceView(world: ArmWorld, vm: Vm): JsonObject {
  const time = armTime(vm.createdMs);
  const state = vm.provisioningState.toLowerCase();
  const provisioning = {
    code: ['ProvisioningState', state, ...(vm.detail === undefined ? [] : [vm.detail])].join('/'),
    level: levelOf(vm),
    displayStatus: `Provisioning ${state}`,
    time,
  };
  const failure = vm.failure === undefined ? {} : { message: vm.failure.message };
  const power = { code: `PowerState/${vm.power}`, level: 'Info', displayStatus: `VM ${vm.power}` };
  return {
    ...(vm.power === 'running' ? guestFacts(vm, time) : {}),
    placementGroupId: world.draws.guid(`${vm.resourceId}|placement`),
    platformUpdateDomain: 0,
    platformFaultDomain: 0,
    hyperVGeneration: 'V2',
    statuses: [{ ...provisioning, ...failure }, ...(vm.power === 'none' ? [] : [power])],
  };
}

function levelOf(vm: Vm): string {
  return vm.provisioningState === 'Failed' ? 'Error' : 'Info';
}

function guestFacts(vm: Vm, time: string): JsonObject {
  const ready: Json = {
    code: 'ProvisioningState/succeeded',
    level: 'Info',
    displayStatus: 'Ready',
    message: 'Guest Agent is running',
    time,
  };
  const provisioned = vm.provisioningState === 'Creating' ? 'creating' : 'succeeded';
  const failed =
    vm.failure?.code === 'VMExtensionProvisioningError'
      ? { code: 'ProvisioningState/failed/50', level: 'Error', displayStatus: 'Provisioning failed', message: vm.failure.message, time }
      : undefined;
  return {
    computerName: vm.hostName,
    osName: 'ubuntu',
    osVersion: '22.04',
    vmAgent: { vmAgentVersion: '2.9.1.1', statuses: [ready] },
    extensions: [
      {
        name: 'vmssCSE',
        type: 'Microsoft.Azure.Extensions.CustomScript',
        statuses: [
          failed ?? { code: `ProvisioningState/${provisioned}`, level: 'Info', displayStatus: `Provisioning ${provisioned}`, time },
        ],
      },
    ],
  };
}
