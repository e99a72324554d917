/** The network of the nodes with its one subnet. Read only. */
import { resourceNotFound } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { renderSubnet } from '../state/neighbouring-resources.ts';
import { groupPath } from '../state/resource-names.ts';
import { SUBNET } from '../state/subnet-addresses.ts';

const TYPE = 'Microsoft.Network/virtualNetworks';
/** The address space that AKS gives a network of its own. */
const ADDRESS_SPACE = '10.224.0.0/12';

export function listNetworks(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = request.params['rg']?.toLowerCase();
  const isHere = group === undefined || group === world.spec.nodeResourceGroup.toLowerCase();
  return { status: 200, body: { value: isHere ? [renderNetwork(world)] : [] } };
}

export function getNetwork(world: ArmWorld, request: ArmRequest): ArmReply {
  return withNetwork(world, request, () => renderNetwork(world));
}

export function listSubnets(world: ArmWorld, request: ArmRequest): ArmReply {
  return withNetwork(world, request, () => ({ value: [renderSubnet(world)] }));
}

function withNetwork(world: ArmWorld, request: ArmRequest, body: () => JsonObject): ArmReply {
  const [name, group] = [param(request, 'network'), param(request, 'rg')];
  const isHere = group.toLowerCase() === world.spec.nodeResourceGroup.toLowerCase() && name.toLowerCase() === SUBNET.network;
  return isHere ? { status: 200, body: body() } : resourceNotFound(TYPE, name, group);
}

export function renderNetwork(world: ArmWorld): JsonObject {
  const { spec, draws } = world;
  return {
    id: `${groupPath(spec, spec.nodeResourceGroup)}/providers/${TYPE}/${SUBNET.network}`,
    name: SUBNET.network,
    etag: `W/"${draws.guid('network|etag')}"`,
    type: TYPE,
    location: spec.location,
    properties: {
      provisioningState: 'Succeeded',
      resourceGuid: draws.guid('network|resourceGuid'),
      addressSpace: { addressPrefixes: [spec.subnetPrefix ?? ADDRESS_SPACE] },
      subnets: [renderSubnet(world)],
      virtualNetworkPeerings: [],
      enableDdosProtection: false,
    },
  };
}
