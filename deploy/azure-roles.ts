/**
 * What the daemon's identity must be allowed to do in Azure, as custom roles: no wildcards, one role per scope. A test
 * compares the actions with the calls of a daemon's whole life.
 */
import type { Json } from './notation.ts';

export interface AzureAction {
  readonly action: string;
  readonly why: string;
}

export interface AzureRole {
  /** Part of the file's name. */
  readonly key: 'nodes' | 'subscription' | 'pools';
  readonly name: string;
  readonly description: string;
  readonly actions: readonly AzureAction[];
}

export const AZURE_ROLES: readonly AzureRole[] = [
  {
    key: 'nodes',
    name: 'aks-autoscaler-nodes',
    description: 'Assign it on the resource group of the nodes (MC_...).',
    actions: [
      { action: 'Microsoft.Compute/virtualMachineScaleSets/read', why: 'what the pools are, and how large' },
      {
        action: 'Microsoft.Compute/virtualMachineScaleSets/instanceView/read',
        why: 'how many instances a set counts, before capacity that it could not fill is given back',
      },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/write', why: 'raise the capacity' },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/delete/action', why: 'delete chosen instances' },
      { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read', why: 'which instances there are, and in what state' },
      { action: 'Microsoft.Compute/virtualMachines/read', why: 'machines of Flexible sets and of pools of type VirtualMachines' },
      { action: 'Microsoft.Insights/autoscaleSettings/read', why: 'doctor: rules of Azure that would fight over a scale set' },
      { action: 'Microsoft.Network/virtualNetworks/subnets/read', why: 'doctor: addresses left, where the network is in this group' },
      { action: 'Microsoft.Authorization/permissions/read', why: 'doctor: whether these actions are granted' },
    ],
  },
  {
    key: 'subscription',
    name: 'aks-autoscaler-subscription',
    description: 'Assign it on the subscription; it only reads.',
    actions: [
      { action: 'Microsoft.Compute/skus/read', why: 'what a node of a size has, for pools without nodes' },
      { action: 'Microsoft.Compute/locations/usages/read', why: 'how much quota is left' },
      { action: 'Microsoft.Compute/locations/operations/read', why: 'how a write or a deletion ended' },
      { action: 'Microsoft.ContainerService/locations/operations/read', why: 'the same of an operation of AKS' },
    ],
  },
  {
    key: 'pools',
    name: 'aks-autoscaler-pools',
    description: 'Assign it on the resource group of the AKS cluster, where pools are of type VirtualMachines or are written through AKS.',
    actions: [
      { action: 'Microsoft.ContainerService/managedClusters/agentPools/read', why: 'what the pools are, and how large' },
      { action: 'Microsoft.ContainerService/managedClusters/agentPools/write', why: 'raise the count of a size' },
      { action: 'Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action', why: 'delete chosen machines' },
      { action: 'Microsoft.Authorization/permissions/read', why: 'doctor: whether these actions are granted' },
    ],
  },
];

/** The file that `az role definition create` takes; the subscription is the reader's to fill in. */
export function roleDefinition({ name, description, actions }: AzureRole): Json {
  return {
    Name: name,
    IsCustom: true,
    Description: description,
    Actions: actions.map(({ action }) => action),
    NotActions: [],
    DataActions: [],
    NotDataActions: [],
    AssignableScopes: ['/subscriptions/00000000-0000-0000-0000-000000000000'],
  };
}

/** A table for the document that says how to install. */
export function rolesTable(): string {
  const rows = AZURE_ROLES.flatMap(({ key, actions }) => actions.map(({ action, why }) => `| ${key} | \`${action}\` | ${why} |\n`));
  return `| Role | Action | What for |\n| --- | --- | --- |\n${rows.join('')}`;
}
