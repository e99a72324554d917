/** One VM as ARM shows it, with and without its instance view. */
import { movesDisks, renderDataDisks } from '../disks/data-disks.ts';
import { osDiskName } from '../disks/disk-document.ts';
import { mergePatch, pick, pickText, type Json, type JsonObject } from '../http/json.ts';
import { armTime } from './operations.ts';
import { diskId, virtualMachineId } from '../state/resource-names.ts';
import { extensionsOf, LINUX } from './scale-set-document.ts';
import { etagText, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

/** If `set` is undefined, the VM belongs to no scale set. */
export function renderVm(
  world: ArmWorld,
  vm: Vm,
  { set, expand }: { readonly set: ScaleSet | undefined; readonly expand: boolean },
): JsonObject {
  const uniform = vm.kind === 'uniform';
  const shown: JsonObject = {
    name: vm.name,
    ...(uniform ? { instanceId: vm.key } : {}),
    id: vm.resourceId,
    type: uniform ? 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines' : 'Microsoft.Compute/virtualMachines',
    location: world.spec.location,
    tags: set === undefined ? standaloneTags(world, vm) : pick(set.document, 'tags'),
    ...(uniform ? { sku: { name: vm.vmSize, tier: 'Standard' } } : {}),
    ...(vm.zone === undefined ? {} : { zones: [vm.zone] }),
    etag: etagText(vm.etag),
    properties: {
      ...commonProperties(world, vm, set),
      ...(uniform ? uniformProperties(vm, set) : flexProperties(vm, set)),
      ...(expand ? { instanceView: instanceView(world, vm) } : {}),
    },
    ...(vm.power === 'none' ? {} : { resources: installedOn(world, vm, set) }),
  };
  return mergePatch(shown, vm.own);
}

/**
 * A VM of a Flexible set as its set shows it, alone or in the list of its instances: hardly more than its name (recorded by
 * azure-powershell, November 2025). Everything else is in the list of VMs.
 */
export function renderMember({ spec }: ArmWorld, { resourceId }: ScaleSet, { name }: Vm): JsonObject {
  const type = 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines';
  return {
    name,
    id: `${resourceId}/virtualMachines/${name}`,
    type,
    location: displayedLocation(spec.location),
    instanceId: name,
    zones: [null],
  };
}

/** A location in another letter case, as this view of Azure spells it. */
function displayedLocation(location: string): string {
  return location.charAt(0).toUpperCase() + location.slice(1);
}

/** Azure gives extensions the id of a VM by its name, also where a scale set has the VM (recorded by Azure's CLI, August 2024). */
function installedOn(world: ArmWorld, vm: Vm, set: ScaleSet | undefined): readonly JsonObject[] {
  const provisioningState = extensionState(world, vm);
  return extensionsOf(set?.name ?? vm.name).map(({ name, properties }) => ({
    name,
    id: `${virtualMachineId(world.spec, vm.name)}/extensions/${name}`,
    type: 'Microsoft.Compute/virtualMachines/extensions',
    location: world.spec.location,
    properties: { ...properties, provisioningState },
  }));
}

/** The state of the node's bootstrap extension. */
export function extensionState(world: ArmWorld, vm: Vm): 'Creating' | 'Succeeded' | 'Failed' {
  if (vm.failure?.code === 'VMExtensionProvisioningError') return 'Failed';
  return vm.provisioningState === 'Creating' || installsExtensions(world, vm) ? 'Creating' : 'Succeeded';
}

/**
 * How long an instance of a Uniform set is `Updating` after its creation has ended, while its extensions install. The state is recorded by
 * the SDK for Go (February 2023); the time is an estimate, since no recording waits for the end.
 */
export const EXTENSIONS_MS = 10_000;

function installsExtensions({ clock }: ArmWorld, { kind, createdEndMs }: Vm): boolean {
  return kind === 'uniform' && createdEndMs !== undefined && (clock.now() - createdEndMs) * clock.speed < EXTENSIONS_MS;
}

/** Whether the instance matches its set's model. Only the size can differ here. */
export function isOfLatestModel(set: ScaleSet, vm: Vm): boolean {
  return pickText(set.document, 'sku', 'name')?.toLowerCase() === vm.vmSize.toLowerCase();
}

/** A VM is being updated while a disk comes or goes, and while its extensions install. */
function shownState(world: ArmWorld, vm: Vm): Vm['provisioningState'] {
  const isUpdating = vm.provisioningState === 'Succeeded' && (movesDisks(vm) || installsExtensions(world, vm));
  return isUpdating ? 'Updating' : vm.provisioningState;
}

/** The status codes of the instance view. */
export function statusCodes(world: ArmWorld, vm: Vm): readonly string[] {
  const provisioning = ['ProvisioningState', shownState(world, vm).toLowerCase(), ...(vm.detail === undefined ? [] : [vm.detail])].join(
    '/',
  );
  return [provisioning, ...(vm.power === 'none' ? [] : [`PowerState/${vm.power}`])];
}

function commonProperties(world: ArmWorld, vm: Vm, set: ScaleSet | undefined): JsonObject {
  const osDisk = osDiskName(set?.name ?? vm.name, vm);
  // An instance with one interface does not say that it is the primary one (recorded by cloud-provider-azure, January 2026).
  const role = vm.kind === 'uniform' ? {} : { properties: { primary: true } };
  return {
    provisioningState: shownState(world, vm),
    vmId: vm.vmId,
    hardwareProfile: { vmSize: vm.vmSize },
    storageProfile: {
      imageReference: { id: imageOf(set), exactVersion: NODE_IMAGE_VERSION },
      osDisk: {
        osType: 'Linux',
        name: osDisk,
        createOption: 'FromImage',
        caching: 'ReadOnly',
        managedDisk: { storageAccountType: 'Premium_LRS', id: diskId(world.spec, osDisk) },
        diskSizeGB: 128,
      },
      dataDisks: renderDataDisks(vm),
      diskControllerType: 'SCSI',
    },
    osProfile: {
      computerName: vm.hostName,
      adminUsername: 'azureuser',
      linuxConfiguration: LINUX,
      secrets: [],
      allowExtensionOperations: true,
      requireGuestProvisionSignal: true,
    },
    networkProfile: { networkInterfaces: [{ id: `${vm.resourceId}/networkInterfaces/nic0`, ...role }] },
    timeCreated: armTime(vm.createdMs),
  };
}

const NODE_IMAGE_VERSION = '202601.01.0';

function imageOf(set: ScaleSet | undefined): string | undefined {
  return pickText(set?.document, 'properties', 'virtualMachineProfile', 'storageProfile', 'imageReference', 'id');
}

function uniformProperties(vm: Vm, set: ScaleSet | undefined): JsonObject {
  const isProtected = pick(vm.own, 'properties', 'protectionPolicy') !== undefined;
  return {
    ...spotProperties(vm),
    ...(isProtected ? { protectionPolicy: { protectFromScaleIn: false, protectFromScaleSetActions: false } } : {}),
    latestModelApplied: set === undefined || isOfLatestModel(set, vm),
    modelDefinitionApplied: 'VirtualMachineScaleSet',
    resilientVMDeletionStatus: 'Disabled',
    // Azure repeats the set's interfaces here. They are left out, since no client is known to read them, and lists would double.
    networkProfileConfiguration: { networkInterfaceConfigurations: [] },
  };
}

function flexProperties(vm: Vm, set: ScaleSet | undefined): JsonObject {
  return {
    ...spotProperties(vm),
    ...(set === undefined ? {} : { virtualMachineScaleSet: { id: set.resourceId } }),
  };
}

/** Regular VMs do not show that they are (recorded by Azure's CLI in 2024). */
function spotProperties({ pool }: Vm): JsonObject {
  return pool.priority === 'Spot'
    ? { priority: 'Spot', evictionPolicy: pool.evictionPolicy ?? 'Delete', billingProfile: { maxPrice: -1 } }
    : {};
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

/**
 * The instance view. The power status is absent until the VM is allocated. Guest facts are absent before the guest reports and
 * after it stops.
 */
export function instanceView(world: ArmWorld, vm: Vm): JsonObject {
  const time = armTime(vm.createdMs);
  const [code = '', power] = statusCodes(world, vm);
  const displayStatus = `Provisioning ${shownState(world, vm).toLowerCase()}`;
  const failure = vm.failure === undefined ? {} : { message: vm.failure.message };
  const provisioned: Json = { code: 'ProvisioningState/succeeded', level: 'Info', displayStatus: 'Provisioning succeeded', time };
  return {
    ...(vm.power === 'running' ? guestFacts(world, vm, time) : {}),
    placementGroupId: world.draws.guid(`${vm.resourceId}|placement`),
    platformUpdateDomain: 0,
    platformFaultDomain: 0,
    ...(vm.power === 'none' ? {} : { disks: [{ name: `${vm.name}_OS__1`, statuses: [provisioned] }] }),
    hyperVGeneration: 'V2',
    statuses: [
      { code, level: levelOf(vm), displayStatus, time, ...failure },
      ...(power === undefined ? [] : [{ code: power, level: 'Info', displayStatus: `VM ${vm.power}` }]),
    ],
  };
}

function levelOf(vm: Vm): string {
  return vm.provisioningState === 'Failed' ? 'Error' : 'Info';
}

function guestFacts(world: ArmWorld, vm: Vm, time: string): JsonObject {
  const ready: Json = {
    code: 'ProvisioningState/succeeded',
    level: 'Info',
    displayStatus: 'Ready',
    message: 'Guest Agent is running',
    time,
  };
  const provisioned = extensionState(world, vm) === 'Creating' ? 'creating' : 'succeeded';
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
        typeHandlerVersion: '2.1.13',
        statuses: [
          failed ?? { code: `ProvisioningState/${provisioned}`, level: 'Info', displayStatus: `Provisioning ${provisioned}`, time },
        ],
      },
    ],
  };
}
