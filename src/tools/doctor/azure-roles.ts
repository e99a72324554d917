/**
 * The Azure permissions of the daemon's identity, as custom roles: no wildcards, one role per scope and kind of pool. A test compares
 * the actions with all calls of a daemon from its start to its end. Must not know which roles a cluster needs.
 */
import { shell } from '../../lib/shown-text.ts';

/** `pools-read`: for clusters whose pools are all written as scale sets. `pools`: for those with pools that are written through AKS. */
/** `instances`: for what is off by default. */
export type RoleKey = 'nodes' | 'instances' | 'subscription' | 'pools' | 'pools-read';

interface AzureAction {
  readonly action: string;
  readonly why: string;
}

export interface AzureRole {
  /** Part of the file's name. */
  readonly key: RoleKey;
  readonly description: string;
  readonly actions: readonly AzureAction[];
}

export const AZURE_ROLES: readonly AzureRole[] = [
  {
    key: 'nodes',
    description: 'Assign it on the resource group of the nodes (MC_...).',
    actions: [
      { action: 'Microsoft.Compute/virtualMachineScaleSets/read', why: 'the pools and their sizes' },
      {
        action: 'Microsoft.Compute/virtualMachineScaleSets/instanceView/read',
        why: 'the instance count of a set, before unfilled capacity is given back',
      },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/write', why: 'increase the capacity' },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/delete/action', why: 'delete chosen instances' },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read', why: 'the instances and their states' },
      { action: 'Microsoft.Compute/virtualMachines/read', why: 'instances of Flexible sets and of pools of type VirtualMachines' },
      { action: 'Microsoft.Insights/autoscaleSettings/read', why: 'doctor: autoscale rules of Azure that would be a second writer' },
      { action: 'Microsoft.Network/virtualNetworks/subnets/read', why: 'doctor: free addresses, if the network is in this group' },
      { action: 'Microsoft.Authorization/permissions/read', why: 'doctor: whether these actions are granted' },
    ],
  },
  {
    key: 'instances',
    description: 'Assign it on the resource group of the nodes (MC_...), if nodes are deallocated or sick ones are reimaged.',
    actions: [
      { action: 'Microsoft.Compute/virtualMachineScaleSets/deallocate/action', why: 'deallocate instances instead of deleting them' },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/start/action', why: 'start deallocated instances' },
      {
        action: 'Microsoft.Compute/virtualMachines/start/action',
        why: 'start deallocated machines of pools of type VirtualMachines, where the count of AKS includes them',
      },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/reimage/action', why: 'reimage the instances of sick nodes' },
    ],
  },
  {
    key: 'subscription',
    description: 'Assign it on the subscription; it only reads.',
    actions: [
      { action: 'Microsoft.Compute/skus/read', why: 'resources of a VM size, for pools without nodes' },
      { action: 'Microsoft.Compute/locations/usages/read', why: 'remaining quota' },
      {
        action: 'Microsoft.Compute/capacityReservationGroups/read',
        why: 'unused reserved VMs, if pools name a capacity reservation group',
      },
      {
        action: 'Microsoft.Compute/capacityReservationGroups/capacityReservations/read',
        why: 'their sizes and zones',
      },
      { action: 'Microsoft.Compute/locations/operations/read', why: 'the result of a write or a deletion' },
      { action: 'Microsoft.ContainerService/locations/operations/read', why: 'the result of an AKS operation' },
    ],
  },
  {
    key: 'pools',
    description: 'Assign it on the resource group of the AKS cluster, if pools are of type VirtualMachines or are written through AKS.',
    actions: [
      { action: 'Microsoft.ContainerService/managedClusters/agentPools/read', why: 'the pools and their sizes' },
      {
        action: 'Microsoft.ContainerService/managedClusters/agentPools/write',
        why: 'increase the count of a size, or bring the count of a pool in step',
      },
      { action: 'Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action', why: 'delete chosen machines' },
      {
        action: 'Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read',
        why: 'the hours of AKS, if removals keep out of them or to them',
      },
      { action: 'Microsoft.Authorization/permissions/read', why: 'doctor: whether these actions are granted' },
    ],
  },
  {
    key: 'pools-read',
    description: 'Assign it on the resource group of the AKS cluster, if no pool is of type VirtualMachines or is written through AKS.',
    actions: [
      {
        action: 'Microsoft.ContainerService/managedClusters/agentPools/read',
        why: 'the pools and their limits, and whether AKS is changing them',
      },
      {
        action: 'Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read',
        why: 'the hours of AKS, if removals keep out of them or to them',
      },
      { action: 'Microsoft.Authorization/permissions/read', why: 'doctor: whether these actions are granted' },
    ],
  },
];

/**
 * The name of a role. Names are unique in a tenant, and a role can be assigned only below its own subscription: a name without the
 * subscription could serve the clusters of one subscription alone.
 */
export function roleName(key: RoleKey, subscriptionId: string): string {
  return `aks-autoscaler-${key}-${subscriptionId.toLowerCase()}`;
}

/** The definition of a role, as `az role definition create` takes it. Equal for all clusters of a subscription. */
export function roleDefinition({ key, description, actions }: AzureRole, subscriptionId: string) {
  return {
    Name: roleName(key, subscriptionId),
    IsCustom: true,
    Description: description,
    Actions: actions.map(({ action }) => action),
    NotActions: [],
    DataActions: [],
    NotDataActions: [],
    AssignableScopes: [`/subscriptions/${subscriptionId}`],
  };
}

/** Shell: defines the role for the clusters of its subscription. One that exists becomes what it already is, or this version's. */
export function definitionCommand(definition: ReturnType<typeof roleDefinition>): string {
  const text = JSON.stringify(definition);
  return shell`az role definition create --role-definition ${text} || az role definition update --role-definition ${text}`;
}
