/** Resources of other providers beside the pools: autoscale rules of Azure Monitor, and the subnet. Read only. */
import { resourceNotFound } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { groupPath } from './resource-names.ts';
import { answerPage } from '../http/paging.ts';
import { allVms, setOfPool, type ArmWorld } from './arm-state.ts';
import { addressesPerVm, SUBNET, subnetId, subnetPrefix } from './subnet-addresses.ts';

/** Rules by which Azure Monitor would change the capacity of a scale set. */
export function listAutoscaleSettings(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = param(request, 'rg');
  const here = group.toLowerCase() === world.spec.nodeResourceGroup.toLowerCase();
  return answerPage(request, {
    items: here ? (world.spec.autoscaleRules ?? []) : [],
    keyOf: ({ name }) => name,
    pageSize: world.knobs.pageSize,
    render: ({ name, pool, enabled }) => {
      const set = setOfPool(world, pool);
      return {
        id: `${groupPath(world.spec, group)}/providers/microsoft.insights/autoscalesettings/${name}`,
        name,
        type: 'Microsoft.Insights/autoscaleSettings',
        location: world.spec.location,
        properties: { enabled, targetResourceUri: set?.resourceId ?? '', profiles: [] },
      };
    },
  });
}

export function getSubnet(world: ArmWorld, request: ArmRequest): ArmReply {
  const name = param(request, 'subnet');
  if (name.toLowerCase() !== SUBNET.name) {
    return resourceNotFound('Microsoft.Network/virtualNetworks', param(request, 'network'), param(request, 'rg'));
  }
  return { status: 200, body: renderSubnet(world) };
}

/** With the configurations of all VMs that hold addresses. */
export function renderSubnet(world: ArmWorld): JsonObject {
  const each = Array.from({ length: addressesPerVm(world.spec) }, (_, index) => `ipconfig${index + 1}`);
  const holders = allVms(world).filter((vm) => vm.holdsAddresses);
  const configurations = holders.flatMap((vm) =>
    each.map((one) => ({ id: `${vm.resourceId}/networkInterfaces/nic/ipConfigurations/${one}` })),
  );
  return {
    id: subnetId(world.spec),
    name: SUBNET.name,
    type: 'Microsoft.Network/virtualNetworks/subnets',
    properties: {
      provisioningState: 'Succeeded',
      addressPrefix: subnetPrefix(world.spec),
      ipConfigurations: configurations,
      delegations: [],
    },
  };
}
