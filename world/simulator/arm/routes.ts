/** The routes of this Azure: one row per method and path, with the rate limit that applies. */
import { deleteAgentPool, getAgentPool, getUpgradeProfile, listAgentPools, putAgentPool } from './aks/agent-pools.ts';
import { getAksOperation, getAksOperationResult } from './aks/aks-operations.ts';
import { deleteMachines, getMachine, listMachines } from './aks/agent-pool-machines.ts';
import { simulateEviction } from './compute/spot-eviction.ts';
import { CREDENTIALS, listCredentials } from './aks/cluster-credentials.ts';
import { getClusterUpgradeProfile } from './aks/cluster-upgrade.ts';
import { abortCluster, getCluster, listClusters, patchCluster, putCluster, startCluster, stopCluster } from './aks/managed-cluster.ts';
import { deleteMaintenance, getMaintenance, listMaintenance, putMaintenance } from './other/maintenance-configurations.ts';
import { upgradeNodeImage } from './aks/node-upgrades.ts';
import { abortLatestOperation } from './aks/pool-version.ts';
import { deleteInstance, deleteInstances, getInstance, getInstanceView, listInstances } from './compute/instances.ts';
import {
  actOnInstance,
  actOnInstances,
  moveInstanceDisks,
  putInstance,
  refuseUnsupported,
  type ActionName,
} from './compute/instance-actions.ts';
import type { ArmReply, ArmRequest } from './http/messages.ts';
import { getSubnet, listAutoscaleSettings } from './state/neighbouring-resources.ts';
import { listActivityLog } from './other/activity-log.ts';
import { deleteDisk, getDisk, listDisks, patchDisk, putDisk } from './other/disk-resources.ts';
import { getReservationGroup, listReservations } from './other/reservation-groups.ts';
import { getTags, writeTags } from './other/tags.ts';
import {
  deleteFederatedCredential,
  deleteIdentity,
  getFederatedCredential,
  getIdentity,
  listFederatedCredentials,
  listIdentities,
  putFederatedCredential,
  putIdentity,
} from './identity/managed-identities.ts';
import { listPermissions } from './identity/permissions.ts';
import {
  deleteRoleAssignment,
  deleteRoleDefinition,
  getRoleAssignment,
  getRoleDefinition,
  listLocks,
  listRoleAssignments,
  listRoleDefinitions,
  putRoleAssignment,
  putRoleDefinition,
} from './identity/roles.ts';
import { getOperation } from './compute/operations.ts';
import { deleteScaleSet, getScaleSet, getScaleSetView, listScaleSets, patchScaleSet, putScaleSet } from './compute/scale-sets.ts';
import { generatePlacementScores } from './other/placement-scores.ts';
import { listSkus, listUsages } from './compute/skus.ts';
import type { AksPolicyName, ComputePolicyName } from './http/throttling.ts';
import { actOnVm, deleteVm, getVm, getVmView, listVms, moveVmDisks, simulateVmEviction, writeVm } from './compute/virtual-machines.ts';
import type { ArmWorld } from './state/arm-state.ts';
import { listKubernetesVersions } from './subscription/kubernetes-versions.ts';
import { listSetSkus, listVmSizes } from './subscription/offered-sizes.ts';
import { getResourceGroup, headResourceGroup, listResourceGroups } from './subscription/resource-groups.ts';
import { getProvider, listProviders } from './subscription/resource-providers.ts';
import { listResources, listTagNames } from './subscription/resources.ts';
import { getSubscription, listLocations, listSubscriptions, listTenants } from './subscription/subscriptions.ts';
import { getNetwork, listNetworks, listSubnets } from './subscription/virtual-networks.ts';

export interface Route {
  readonly method: string;
  /** Path template from the root. Literals match in any case. */
  readonly template: string;
  readonly answer: (world: ArmWorld, request: ArmRequest) => ArmReply;
  readonly compute?: ComputePolicyName;
  readonly aks?: AksPolicyName;
}

const SUB = '/subscriptions/{sub}';
const RG = `${SUB}/resourceGroups/{rg}`;
const COMPUTE = 'providers/Microsoft.Compute';
const AKS = 'providers/Microsoft.ContainerService';
const SETS = `${RG}/${COMPUTE}/virtualMachineScaleSets`;
const SET = `${SETS}/{name}`;
const INSTANCES = `${SET}/virtualMachines`;
const VMS = `${RG}/${COMPUTE}/virtualMachines`;
const DISK = `${RG}/${COMPUTE}/disks/{disk}`;
const RESERVATIONS = `${RG}/${COMPUTE}/capacityReservationGroups/{group}`;
const CLUSTERS = `${RG}/${AKS}/managedClusters`;
const MAINTENANCE = `${CLUSTERS}/{cluster}/maintenanceConfigurations`;
const POOLS = `${CLUSTERS}/{cluster}/agentPools`;

const NETWORK = `${RG}/providers/Microsoft.Network/virtualNetworks/{network}`;
const IDENTITY = `${RG}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{identity}`;
const CREDENTIAL = `${IDENTITY}/federatedIdentityCredentials`;
const ROLES = 'providers/Microsoft.Authorization';
const PERMISSIONS = `${ROLES}/permissions`;
/** Where roles may be assigned: the subscription, a group, a resource, or a resource within a resource. */
const SCOPES = [SUB, RG, `${RG}/providers/{namespace}/{type}/{resource}`, `${RG}/providers/{namespace}/{type}/{resource}/{subtype}/{part}`];

const ACTIONS: readonly ActionName[] = ['deallocate', 'start', 'poweroff', 'restart', 'redeploy', 'reimage', 'reimageall'];
const UNSUPPORTED_OF_SETS = [
  'manualupgrade',
  'reapply',
  'setOrchestrationServiceState',
  'scaleOut',
  'approveRollingUpgrade',
  'rollingUpgrades',
];

/** Compute counts a stop in the rate limit of deletions, everything else in that of actions (recorded by Azure's CLI, August 2024). */
function setActionRoutes(name: ActionName): readonly Route[] {
  const stops = name === 'deallocate' || name === 'poweroff';
  const [ofSet, ofInstance] = stops
    ? (['StopVMScaleSet', 'DeleteVMScaleSetVM'] as const)
    : (['ActOnVMScaleSet', 'VMScaleSetVMActions'] as const);
  return [
    { method: 'POST', template: `${SET}/${name}`, answer: actOnInstances(name), compute: ofSet },
    { method: 'POST', template: `${INSTANCES}/{instance}/${name}`, answer: actOnInstance(name), compute: ofInstance },
  ];
}

function vmActionRoute(name: ActionName): Route {
  return {
    method: 'POST',
    template: `${VMS}/{name}/${name}`,
    answer: actOnVm(name),
    compute: name === 'deallocate' ? 'DeleteVM' : 'UpdateVM',
  };
}

function tagRoutes(template: string): readonly Route[] {
  return [
    { method: 'GET', template, answer: getTags },
    { method: 'PUT', template, answer: writeTags },
    { method: 'PATCH', template, answer: writeTags },
  ];
}

/** Roles at one scope: definitions, assignments, locks. */
function roleRoutes(scope: string): readonly Route[] {
  const [definition, assignment] = [`${scope}/${ROLES}/roleDefinitions`, `${scope}/${ROLES}/roleAssignments`];
  return [
    { method: 'GET', template: definition, answer: listRoleDefinitions },
    { method: 'GET', template: `${definition}/{definition}`, answer: getRoleDefinition },
    { method: 'PUT', template: `${definition}/{definition}`, answer: putRoleDefinition },
    { method: 'DELETE', template: `${definition}/{definition}`, answer: deleteRoleDefinition },
    { method: 'GET', template: assignment, answer: listRoleAssignments },
    { method: 'GET', template: `${assignment}/{assignment}`, answer: getRoleAssignment },
    { method: 'PUT', template: `${assignment}/{assignment}`, answer: putRoleAssignment },
    { method: 'DELETE', template: `${assignment}/{assignment}`, answer: deleteRoleAssignment },
    { method: 'GET', template: `${scope}/${ROLES}/locks`, answer: listLocks },
  ];
}

/** What stands around the cluster in the subscription. */
const SURROUNDING_ROUTES: readonly Route[] = [
  { method: 'GET', template: '/tenants', answer: listTenants },
  { method: 'GET', template: '/subscriptions', answer: listSubscriptions },
  { method: 'GET', template: SUB, answer: getSubscription },
  { method: 'GET', template: `${SUB}/locations`, answer: listLocations },
  { method: 'GET', template: `${SUB}/providers`, answer: listProviders },
  { method: 'GET', template: `${SUB}/providers/{namespace}`, answer: getProvider },
  { method: 'GET', template: `${SUB}/tagNames`, answer: listTagNames },
  { method: 'GET', template: `${SUB}/resources`, answer: listResources },
  { method: 'GET', template: `${SUB}/resourceGroups`, answer: listResourceGroups },
  { method: 'GET', template: RG, answer: getResourceGroup },
  { method: 'HEAD', template: RG, answer: headResourceGroup },
  { method: 'GET', template: `${RG}/resources`, answer: listResources },
  ...SCOPES.flatMap(roleRoutes),
  { method: 'GET', template: `${SUB}/${COMPUTE}/locations/{location}/vmSizes`, answer: listVmSizes },
  { method: 'GET', template: `${SET}/skus`, answer: listSetSkus, compute: 'GetVMScaleSet' },
  { method: 'GET', template: `${SUB}/${AKS}/locations/{location}/kubernetesVersions`, answer: listKubernetesVersions },
  { method: 'GET', template: `${CLUSTERS}/{cluster}/upgradeProfiles/default`, answer: getClusterUpgradeProfile },
  { method: 'POST', template: `${CLUSTERS}/{cluster}/abort`, answer: abortCluster },
  { method: 'GET', template: `${SUB}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`, answer: listIdentities },
  { method: 'GET', template: `${RG}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`, answer: listIdentities },
  { method: 'GET', template: IDENTITY, answer: getIdentity },
  { method: 'PUT', template: IDENTITY, answer: putIdentity },
  { method: 'PATCH', template: IDENTITY, answer: putIdentity },
  { method: 'DELETE', template: IDENTITY, answer: deleteIdentity },
  { method: 'GET', template: CREDENTIAL, answer: listFederatedCredentials },
  { method: 'GET', template: `${CREDENTIAL}/{credential}`, answer: getFederatedCredential },
  { method: 'PUT', template: `${CREDENTIAL}/{credential}`, answer: putFederatedCredential },
  { method: 'DELETE', template: `${CREDENTIAL}/{credential}`, answer: deleteFederatedCredential },
  { method: 'GET', template: `${SUB}/providers/Microsoft.Network/virtualNetworks`, answer: listNetworks },
  { method: 'GET', template: `${RG}/providers/Microsoft.Network/virtualNetworks`, answer: listNetworks },
  { method: 'GET', template: NETWORK, answer: getNetwork },
  { method: 'GET', template: `${NETWORK}/subnets`, answer: listSubnets },
];

/** Literal templates come before templates that would capture the same path. */
export const ARM_ROUTES: readonly Route[] = [
  { method: 'GET', template: `${SUB}/${COMPUTE}/virtualMachineScaleSets`, answer: listScaleSets, compute: 'ListVMScaleSets' },
  {
    method: 'GET',
    template: `${SUB}/${COMPUTE}/locations/{location}/virtualMachineScaleSets`,
    answer: listScaleSets,
    compute: 'ListVMScaleSets',
  },
  { method: 'GET', template: SETS, answer: listScaleSets, compute: 'ListVMScaleSets' },
  { method: 'GET', template: SET, answer: getScaleSet, compute: 'GetVMScaleSet' },
  { method: 'PUT', template: SET, answer: putScaleSet, compute: 'CreateVMScaleSet' },
  { method: 'PATCH', template: SET, answer: patchScaleSet, compute: 'VMScaleSetActions' },
  { method: 'DELETE', template: SET, answer: deleteScaleSet, compute: 'DeleteVMScaleSet' },
  { method: 'GET', template: `${SET}/instanceView`, answer: getScaleSetView, compute: 'HighCostGetVMScaleSet' },
  { method: 'POST', template: `${SET}/delete`, answer: deleteInstances, compute: 'ActOnVMScaleSet' },
  ...ACTIONS.flatMap(setActionRoutes),
  ...UNSUPPORTED_OF_SETS.map((name) => ({ method: 'POST', template: `${SET}/${name}`, answer: refuseUnsupported(name) })),
  { method: 'GET', template: INSTANCES, answer: listInstances, compute: 'ListVMScaleSetVMs' },
  { method: 'GET', template: `${INSTANCES}/{instance}`, answer: getInstance, compute: 'GetVMScaleSetVM' },
  { method: 'DELETE', template: `${INSTANCES}/{instance}`, answer: deleteInstance, compute: 'DeleteVMScaleSetVM' },
  { method: 'GET', template: `${INSTANCES}/{instance}/instanceView`, answer: getInstanceView, compute: 'GetVMScaleSetVM' },
  { method: 'POST', template: `${INSTANCES}/{instance}/simulateEviction`, answer: simulateEviction, compute: 'VMScaleSetVMActions' },
  { method: 'PUT', template: `${INSTANCES}/{instance}`, answer: putInstance, compute: 'VMScaleSetVMActions' },
  { method: 'GET', template: `${SUB}/${COMPUTE}/virtualMachines`, answer: listVms, compute: 'HighCostGet' },
  { method: 'GET', template: `${SUB}/${COMPUTE}/locations/{location}/virtualMachines`, answer: listVms, compute: 'HighCostGet' },
  { method: 'GET', template: VMS, answer: listVms, compute: 'HighCostGet' },
  { method: 'GET', template: `${VMS}/{name}`, answer: getVm, compute: 'LowCostGet' },
  { method: 'GET', template: `${VMS}/{name}/instanceView`, answer: getVmView, compute: 'LowCostGet' },
  { method: 'PUT', template: `${VMS}/{name}`, answer: writeVm, compute: 'PutVM' },
  { method: 'PATCH', template: `${VMS}/{name}`, answer: writeVm, compute: 'UpdateVM' },
  { method: 'DELETE', template: `${VMS}/{name}`, answer: deleteVm, compute: 'DeleteVM' },
  ...ACTIONS.map(vmActionRoute),
  { method: 'POST', template: `${VMS}/{name}/simulateEviction`, answer: simulateVmEviction, compute: 'DeleteVM' },
  { method: 'GET', template: `${SUB}/${COMPUTE}/skus`, answer: listSkus },
  { method: 'GET', template: `${SUB}/${COMPUTE}/locations/{location}/usages`, answer: listUsages, compute: 'GetSubscriptionInfo' },
  { method: 'POST', template: `${SUB}/${COMPUTE}/locations/{location}/placementScores/spot/generate`, answer: generatePlacementScores },
  { method: 'GET', template: RESERVATIONS, answer: getReservationGroup, compute: 'GetCapacityReservation' },
  { method: 'GET', template: `${RESERVATIONS}/capacityReservations`, answer: listReservations, compute: 'GetCapacityReservation' },
  { method: 'GET', template: `${SUB}/${COMPUTE}/disks`, answer: listDisks },
  { method: 'GET', template: `${RG}/${COMPUTE}/disks`, answer: listDisks },
  { method: 'GET', template: DISK, answer: getDisk },
  { method: 'PUT', template: DISK, answer: putDisk },
  { method: 'PATCH', template: DISK, answer: patchDisk },
  { method: 'DELETE', template: DISK, answer: deleteDisk },
  { method: 'POST', template: `${INSTANCES}/{instance}/attachDetachDataDisks`, answer: moveInstanceDisks, compute: 'VMScaleSetVMActions' },
  { method: 'POST', template: `${VMS}/{name}/attachDetachDataDisks`, answer: moveVmDisks, compute: 'UpdateVM' },
  { method: 'GET', template: `${SUB}/${COMPUTE}/locations/{location}/DiskOperations/{id}`, answer: getOperation },
  { method: 'GET', template: `${SUB}/${COMPUTE}/locations/{location}/operations/{id}`, answer: getOperation, compute: 'GetOperation' },
  { method: 'GET', template: `${SUB}/${AKS}/locations/{location}/operations/{id}`, answer: getAksOperation },
  { method: 'GET', template: `${SUB}/${AKS}/locations/{location}/operationresults/{id}`, answer: getAksOperationResult },
  { method: 'GET', template: `${SUB}/${AKS}/managedClusters`, answer: listClusters },
  { method: 'GET', template: CLUSTERS, answer: listClusters },
  { method: 'GET', template: `${CLUSTERS}/{cluster}`, answer: getCluster },
  { method: 'PUT', template: `${CLUSTERS}/{cluster}`, answer: putCluster, aks: 'PutManagedClusterHandler' },
  { method: 'PATCH', template: `${CLUSTERS}/{cluster}`, answer: patchCluster },
  { method: 'POST', template: `${CLUSTERS}/{cluster}/stop`, answer: stopCluster },
  { method: 'POST', template: `${CLUSTERS}/{cluster}/start`, answer: startCluster },
  { method: 'POST', template: `${CLUSTERS}/{cluster}/abort`, answer: abortCluster },
  ...CREDENTIALS.map((name) => ({ method: 'POST', template: `${CLUSTERS}/{cluster}/${name}`, answer: listCredentials(name) })),
  { method: 'GET', template: MAINTENANCE, answer: listMaintenance },
  { method: 'GET', template: `${MAINTENANCE}/{configuration}`, answer: getMaintenance },
  { method: 'PUT', template: `${MAINTENANCE}/{configuration}`, answer: putMaintenance },
  { method: 'DELETE', template: `${MAINTENANCE}/{configuration}`, answer: deleteMaintenance },
  { method: 'GET', template: POOLS, answer: listAgentPools, aks: 'ListAgentPoolsHandler' },
  { method: 'GET', template: `${POOLS}/{pool}`, answer: getAgentPool },
  { method: 'PUT', template: `${POOLS}/{pool}`, answer: putAgentPool, aks: 'PutAgentPoolHandler' },
  { method: 'POST', template: `${POOLS}/{pool}/deleteMachines`, answer: deleteMachines },
  { method: 'DELETE', template: `${POOLS}/{pool}`, answer: deleteAgentPool },
  { method: 'GET', template: `${POOLS}/{pool}/upgradeProfiles/default`, answer: getUpgradeProfile },
  { method: 'GET', template: `${POOLS}/{pool}/machines`, answer: listMachines },
  { method: 'GET', template: `${POOLS}/{pool}/machines/{machine}`, answer: getMachine },
  { method: 'POST', template: `${POOLS}/{pool}/upgradeNodeImageVersion`, answer: upgradeNodeImage },
  { method: 'POST', template: `${POOLS}/{pool}/abort`, answer: abortLatestOperation },
  ...[SET, `${CLUSTERS}/{cluster}`].flatMap((resource) => tagRoutes(`${resource}/providers/Microsoft.Resources/tags/default`)),
  { method: 'GET', template: `${RG}/${PERMISSIONS}`, answer: listPermissions },
  { method: 'GET', template: `${SUB}/providers/Microsoft.Insights/eventtypes/management/values`, answer: listActivityLog },
  { method: 'GET', template: `${RG}/providers/Microsoft.Insights/autoscaleSettings`, answer: listAutoscaleSettings },
  { method: 'GET', template: `${NETWORK}/subnets/{subnet}`, answer: getSubnet },
  { method: 'GET', template: `${NETWORK}/subnets/{subnet}/${PERMISSIONS}`, answer: listPermissions },
  { method: 'GET', template: `${IDENTITY}/${PERMISSIONS}`, answer: listPermissions },
  { method: 'GET', template: `${RESERVATIONS}/${PERMISSIONS}`, answer: listPermissions },
  ...SURROUNDING_ROUTES,
];
