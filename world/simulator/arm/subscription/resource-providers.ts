/** The providers that this world serves, with their types and versions: clients that know only the id of a resource choose the version from them. */
import { gatewayError } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';

/** Types by provider, and the newest version of each provider. */
const PROVIDERS: Readonly<Record<string, { readonly version: string; readonly types: readonly string[] }>> = {
  'Microsoft.Authorization': { version: '2022-04-01', types: ['roleAssignments', 'roleDefinitions', 'permissions', 'locks'] },
  'Microsoft.Compute': {
    version: '2026-04-01',
    types: ['virtualMachineScaleSets', 'virtualMachineScaleSets/virtualMachines', 'virtualMachines', 'disks', 'capacityReservationGroups'],
  },
  'Microsoft.ContainerService': {
    version: '2026-06-01',
    types: ['managedClusters', 'managedClusters/agentPools', 'managedClusters/maintenanceConfigurations'],
  },
  'Microsoft.Insights': { version: '2022-10-01', types: ['autoscaleSettings', 'eventtypes'] },
  'Microsoft.ManagedIdentity': { version: '2024-11-30', types: ['userAssignedIdentities'] },
  'Microsoft.Network': { version: '2024-07-01', types: ['virtualNetworks', 'virtualNetworks/subnets'] },
  'Microsoft.Resources': { version: '2024-11-01', types: ['resourceGroups', 'subscriptions', 'tags'] },
};

export function listProviders(world: ArmWorld): ArmReply {
  return { status: 200, body: { value: Object.keys(PROVIDERS).map((namespace) => providerDocument(world, namespace)) } };
}

export function getProvider(world: ArmWorld, request: ArmRequest): ArmReply {
  const given = param(request, 'namespace');
  const namespace = Object.keys(PROVIDERS).find((each) => each.toLowerCase() === given.toLowerCase());
  if (namespace !== undefined) return { status: 200, body: providerDocument(world, namespace) };
  return gatewayError(404, 'InvalidResourceNamespace', `The resource namespace '${given}' is invalid.`);
}

function providerDocument({ spec }: ArmWorld, namespace: string): JsonObject {
  const { version = '', types = [] } = PROVIDERS[namespace] ?? {};
  return {
    id: `/subscriptions/${spec.subscriptionId}/providers/${namespace}`,
    namespace,
    registrationState: 'Registered',
    registrationPolicy: 'RegistrationRequired',
    resourceTypes: types.map((resourceType) => ({
      resourceType,
      locations: [spec.location],
      apiVersions: [version],
      capabilities: 'None',
    })),
  };
}
