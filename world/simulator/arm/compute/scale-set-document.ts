/** The scale set as ARM shows it: built from a pool at the start, merged by writes, and returned with all fields that ARM adds. */
import { isPlacedAutomatically, type PoolSpec, type WorldSpec } from '../../base/world-spec.ts';
import { mergePatch, pick, pickObject, pickText, type JsonObject } from '../http/json.ts';
import { capacityReservationGroupId, clusterNumber, identityId, scaleSetId, scaleSetName } from '../state/resource-names.ts';
import { subnetId } from '../state/subnet-addresses.ts';
import { armTime } from './operations.ts';
import { etagText, type ScaleSet } from '../state/arm-state.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** Fields that only Azure writes, or that never change. A body with them is not refused; they are ignored. */
const READ_ONLY = ['id', 'name', 'type', 'etag', 'location'];
const INDISPENSABLE = ['sku', 'properties'];
const READ_ONLY_PROPERTIES = ['provisioningState', 'uniqueId', 'timeCreated'];

/** Merges a client's body into a document: objects merge, tags are replaced as a set, null removes. */
export function applyBody(document: JsonObject, body: JsonObject): JsonObject {
  // null is ignored for fields that a set always has.
  const own = without(body, [...READ_ONLY, ...INDISPENSABLE.filter((key) => body[key] === null)]);
  const properties = pick(own, 'properties');
  const writable = properties === undefined ? own : { ...own, properties: without(pickObject(own, 'properties'), READ_ONLY_PROPERTIES) };
  const merged = inOwnCase(document, mergePatch(document, writable));
  return body['tags'] === undefined ? merged : { ...merged, tags: body['tags'] ?? {} };
}

/** A size in another letter case is the same size. */
function inOwnCase(before: JsonObject, after: JsonObject): JsonObject {
  const [name, given] = [pickText(before, 'sku', 'name'), pickText(after, 'sku', 'name')];
  return name === undefined || name.toLowerCase() !== given?.toLowerCase() ? after : mergePatch(after, { sku: { name } });
}

function without(source: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(source).filter(([key]) => !keys.includes(key)));
}

export function withCapacity(document: JsonObject, capacity: number): JsonObject {
  return mergePatch(document, { sku: { capacity } });
}

/** The set as a read shows it now. */
export function renderSet(set: ScaleSet): JsonObject {
  return mergePatch(set.document, {
    etag: etagText(set.etag),
    properties: { provisioningState: set.provisioningState },
  });
}

/**
 * The model of a set as AKS creates it for a pool, with what Compute adds (recorded by Azure's CLI, August 2024, and by azure-powershell and
 * cloud-provider-azure, 2025-2026). Policies that no client has set are not shown, and neither is the priority of regular VMs.
 */
export function modelOfPool(spec: WorldSpec, pool: PoolSpec, nowMs: number): JsonObject {
  const name = scaleSetName(spec, pool);
  const flexible = pool.kind === 'vmss-flexible';
  return {
    name,
    id: scaleSetId(spec, name),
    type: 'Microsoft.Compute/virtualMachineScaleSets',
    location: spec.location,
    tags: tagsOfPool(spec, pool, name),
    sku: { name: pool.vmSize, tier: 'Standard', capacity: pool.count },
    ...zonesOrPlacement(pool),
    identity: { type: 'UserAssigned', userAssignedIdentities: identitiesOf(spec) },
    properties: {
      singlePlacementGroup: false,
      orchestrationMode: flexible ? 'Flexible' : 'Uniform',
      upgradePolicy: { mode: 'Manual' },
      ...(flexible
        ? { constrainedMaximumCapacity: false, highSpeedInterconnectPlacement: 'None' }
        : { overprovision: pool.overprovision ?? false, doNotRunExtensionsOnOverprovisionedVMs: false }),
      platformFaultDomainCount: 1,
      timeCreated: armTime(nowMs),
      virtualMachineProfile: { ...profileOfPool(spec, pool, name), timeCreated: armTime(nowMs) },
    },
  };
}

/** A set that Azure places has no zones: recorded in December 2025 by azure-powershell (TestVirtualMachineScaleSetAutomaticZonePlacement). */
function zonesOrPlacement(pool: PoolSpec): JsonObject {
  return isPlacedAutomatically(pool) ? { placement: { zonePlacementPolicy: 'Auto' } } : defined({ zones: pool.zones });
}

function identitiesOf(spec: WorldSpec): JsonObject {
  const { kubeletIdentity: name } = spec;
  return name === undefined ? {} : { [identityId(spec, name)]: {} };
}

/** AKS has its images in a resource group of its own subscription, which here is that of the world. */
function imageId({ subscriptionId }: WorldSpec): string {
  const gallery = `/subscriptions/${subscriptionId}/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu`;
  return `${gallery}/images/2204gen2containerd/versions/202601.01.0`;
}

function profileOfPool(spec: WorldSpec, pool: PoolSpec, name: string): JsonObject {
  const spot = pool.priority === 'Spot';
  return {
    ...(spot ? { priority: 'Spot', evictionPolicy: pool.evictionPolicy ?? 'Delete', billingProfile: { maxPrice: -1 } } : {}),
    ...(pool.capacityReservationGroup === undefined
      ? {}
      : { capacityReservation: { capacityReservationGroup: { id: capacityReservationGroupId(spec, pool.capacityReservationGroup) } } }),
    osProfile: {
      computerNamePrefix: name,
      adminUsername: 'azureuser',
      linuxConfiguration: LINUX,
      secrets: [],
      allowExtensionOperations: true,
      requireGuestProvisionSignal: true,
    },
    storageProfile: {
      osDisk: {
        osType: 'Linux',
        createOption: 'FromImage',
        caching: 'ReadOnly',
        managedDisk: { storageAccountType: 'Premium_LRS' },
        diskSizeGB: 128,
      },
      imageReference: { id: imageId(spec) },
      diskControllerType: 'SCSI',
    },
    networkProfile: {
      ...(pool.kind === 'vmss-flexible' ? { networkApiVersion: '2020-11-01' } : {}),
      networkInterfaceConfigurations: [
        {
          name,
          properties: {
            primary: true,
            enableAcceleratedNetworking: true,
            disableTcpStateTracking: false,
            dnsSettings: { dnsServers: [] },
            enableIPForwarding: true,
            ipConfigurations: Array.from({ length: spec.addressesPerNode ?? 1 }, (_, index) => ({
              name: `ipconfig${index + 1}`,
              properties: { primary: index === 0, subnet: { id: subnetId(spec) }, privateIPAddressVersion: 'IPv4' },
            })),
          },
        },
      ],
    },
    extensionProfile: {
      extensionsTimeBudget: 'PT16M',
      extensions: extensionsOf(name),
    },
  };
}

/** How AKS lets itself into its nodes. */
export const LINUX = { disablePasswordAuthentication: true, provisionVMAgent: true } as const;

/** What AKS installs on each VM of a set (recorded by Azure's CLI, August 2024). */
export function extensionsOf(set: string): readonly { readonly name: string; readonly properties: JsonObject }[] {
  return [
    {
      name: 'vmssCSE',
      properties: { publisher: 'Microsoft.Azure.Extensions', type: 'CustomScript', typeHandlerVersion: '2.0', ...INSTALLED },
    },
    {
      name: `${set}-AKSLinuxBilling`,
      properties: { publisher: 'Microsoft.AKS', type: 'Compute.AKS.Linux.Billing', typeHandlerVersion: '1.0', ...INSTALLED },
    },
  ];
}

const INSTALLED = { autoUpgradeMinorVersion: true, settings: {} } as const;

/** The tags of AKS, some without a value (recorded from AKS's own log, December 2025), then the limits and the discovery tags, then the pool's own tags. */
function tagsOfPool(spec: WorldSpec, pool: PoolSpec, name: string): JsonObject {
  const suffix = clusterNumber(spec);
  return {
    'aks-managed-poolName': pool.name,
    'aks-managed-orchestrator': 'Kubernetes:1.33.2',
    'aks-managed-resourceNameSuffix': suffix,
    'aks-managed-creationSource': `vmssclient-${name}`,
    'aks-managed-coordination': 'true',
    'aks-managed-azure-cni-overlay': 'true',
    'aks-managed-ssh-access': 'LocalUser',
    'aks-managed-enable-imds-restriction': 'false',
    'aks-managed-bootstrap-profile-acr-name': '',
    'compute.aks.billing': 'true',
    poolName: pool.name,
    orchestrator: 'Kubernetes:1.33.2',
    creationSource: `vmssclient-${name}`,
    resourceNameSuffix: suffix,
    min: String(pool.min),
    max: String(pool.max),
    ...spec.discoveryTags,
    ...pool.tags,
  };
}
