/** Names as AKS and Compute form them. Instance id, resource name, host name and provider id map one to one. */
import { stableHash } from '../../../../src/lib/random.ts';
import type { PoolSpec, WorldSpec } from '../../base/world-spec.ts';

/** The eight digits in the names of the cluster's own resources, such as its subnet, and in tags of its scale sets. */
export function clusterNumber(spec: WorldSpec): string {
  return eightDigits(`${spec.seed}|${spec.clusterName}|suffix`);
}

/** The eight digits in the name of a pool's scale set or VMs. Each pool has its own (recorded from three clusters, November and December 2025). */
export function poolNumber(spec: WorldSpec, { name }: Pick<PoolSpec, 'name'>): string {
  return eightDigits(`${spec.seed}|${spec.clusterName}|pool|${name}`);
}

function eightDigits(of: string): string {
  return String(10_000_000 + (stableHash(of) % 90_000_000));
}

export function scaleSetName(spec: WorldSpec, pool: Pick<PoolSpec, 'name'>): string {
  return `aks-${pool.name}-${poolNumber(spec, pool)}-vmss`;
}

/** Prefix and the instance id in base 36 with six digits, in lower case as kubelet registers it. */
export function uniformHostName(prefix: string, instanceId: number): string {
  return `${prefix}${instanceId.toString(36).padStart(6, '0')}`.toLowerCase();
}

/** Compares locations by their programmatic names (`westeurope`) and their display names (`West Europe`). */
export function isLocation({ location }: WorldSpec, given: string): boolean {
  const fold = (name: string): string => name.toLowerCase().replaceAll(' ', '');
  return fold(given) === fold(location);
}

export function groupPath(spec: WorldSpec, resourceGroup: string): string {
  return `/subscriptions/${spec.subscriptionId}/resourceGroups/${resourceGroup}`;
}

export function scaleSetId(spec: WorldSpec, name: string): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.Compute/virtualMachineScaleSets/${name}`;
}

export function virtualMachineId(spec: WorldSpec, name: string): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.Compute/virtualMachines/${name}`;
}

/** A capacity reservation group in the resource group of the cluster. */
export function capacityReservationGroupId(spec: WorldSpec, name: string): string {
  return `${groupPath(spec, spec.clusterResourceGroup)}/providers/Microsoft.Compute/capacityReservationGroups/${name}`;
}

/** A managed disk in the node resource group. */
export function diskId(spec: WorldSpec, name: string): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.Compute/disks/${name}`;
}

/** A user-assigned identity in the node resource group. */
export function identityId(spec: WorldSpec, name: string): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/${name}`;
}

/** The identity of the kubelets, as AKS names it. */
export function kubeletIdentityName(spec: WorldSpec): string {
  return spec.kubeletIdentity ?? `${spec.clusterName}-agentpool`;
}

/** AKS spells `resourcegroups` in lower case in its own ids. */
export function clusterId(spec: WorldSpec): string {
  const group = `/subscriptions/${spec.subscriptionId}/resourcegroups/${spec.clusterResourceGroup}`;
  return `${group}/providers/Microsoft.ContainerService/managedClusters/${spec.clusterName}`;
}

/** The `spec.providerID` that the cloud controller writes: the resource id with the group's name in lower case. */
export function providerIdOf(resourceId: string): string {
  return `azure://${resourceId.replace(/(\/resourceGroups\/)([^/]+)/i, (_all, key: string, group: string) => key + group.toLowerCase())}`;
}

/** An address of the nodes' subnet; always the same for a VM. */
export function addressOf(resourceId: string): string {
  const hash = stableHash(`${resourceId}|address`);
  return `10.224.${(hash >>> 8) & 255}.${4 + (hash & 127)}`;
}
