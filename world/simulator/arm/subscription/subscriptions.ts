/**
 * The tenant, its one subscription and the region, as the Resources provider lists them (API version 2022-12-01). Clients read them when a person
 * signs in. The room is what stands around a cluster in a subscription. Must not know VMs.
 */
import type { Json, JsonObject } from '../http/json.ts';
import type { ArmReply } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { REGION_ZONES } from '../../base/world-spec.ts';

/** The name of the offer, which is the name that a new subscription has. */
const OFFER = 'Pay-As-You-Go';
const DIRECTORY = 'Default Directory';

export function listTenants({ spec: { tenantId } }: ArmWorld): ArmReply {
  const defaultDomain = `${tenantId.slice(0, 8)}.onmicrosoft.com`;
  const tenant = {
    id: `/tenants/${tenantId}`,
    tenantId,
    countryCode: 'NL',
    displayName: DIRECTORY,
    domains: [defaultDomain],
    tenantCategory: 'Home',
    defaultDomain,
    tenantType: 'AAD',
  };
  return { status: 200, body: { value: [tenant] } };
}

export function listSubscriptions(world: ArmWorld): ArmReply {
  return { status: 200, body: { value: [subscriptionDocument(world)], count: { type: 'Total', value: 1 } } };
}

export function getSubscription(world: ArmWorld): ArmReply {
  return { status: 200, body: subscriptionDocument(world) };
}

function subscriptionDocument({ spec: { subscriptionId, tenantId } }: ArmWorld): JsonObject {
  return {
    id: `/subscriptions/${subscriptionId}`,
    authorizationSource: 'RoleBased',
    managedByTenants: [],
    subscriptionId,
    tenantId,
    displayName: OFFER,
    state: 'Enabled',
    subscriptionPolicies: { locationPlacementId: 'Public_2014-09-01', quotaId: 'PayAsYouGo_2014-09-01', spendingLimit: 'Off' },
  };
}

/** Only the region of the cluster. Each subscription has its own order of the physical zones; this one has that of their numbers. */
export function listLocations({ spec: { subscriptionId, location } }: ArmWorld): ArmReply {
  const zones: readonly Json[] = REGION_ZONES.map((zone) => ({ logicalZone: zone, physicalZone: `${location}-az${zone}` }));
  const region = {
    id: `/subscriptions/${subscriptionId}/locations/${location}`,
    name: location,
    type: 'Region',
    displayName: location,
    regionalDisplayName: location,
    metadata: { regionType: 'Physical', regionCategory: 'Recommended' },
    availabilityZoneMappings: zones,
  };
  return { status: 200, body: { value: [region] } };
}
