/** Resources of other providers beside the pools: autoscale rules of Azure Monitor, and the subnet. Read only. */
import { resourceNotFound } from '../http/errors.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { groupPath } from './resource-names.ts';
import { answerPage } from '../http/paging.ts';
import { allVms, setOfPool, type ArmWorld } from './arm-state.ts';
import type { WorldSpec } from '../../base/world-spec.ts';

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

const SUBNET = { network: 'aks-vnet', name: 'aks-subnet', prefix: '10.224.0.0/16' };

export function subnetId(spec: WorldSpec): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.Network/virtualNetworks/${SUBNET.network}/subnets/${SUBNET.name}`;
}

/** With overlay networking a node takes one address of the subnet. With flat networking each of its pods takes one more. */
export function getSubnet(world: ArmWorld, request: ArmRequest): ArmReply {
  const name = param(request, 'subnet');
  if (name.toLowerCase() !== SUBNET.name) {
    return resourceNotFound('Microsoft.Network/virtualNetworks', param(request, 'network'), param(request, 'rg'));
  }
  const id = subnetId(world.spec);
  const each = Array.from({ length: world.spec.addressesPerNode ?? 1 }, (_, index) => `ipconfig${index + 1}`);
  const configurations = allVms(world).flatMap((vm) =>
    each.map((one) => ({ id: `${vm.resourceId}/networkInterfaces/nic/ipConfigurations/${one}` })),
  );
  return {
    status: 200,
    body: {
      id,
      name: SUBNET.name,
      type: 'Microsoft.Network/virtualNetworks/subnets',
      properties: {
        provisioningState: 'Succeeded',
        addressPrefix: world.spec.subnetPrefix ?? SUBNET.prefix,
        ipConfigurations: configurations,
        delegations: [],
      },
    },
  };
}
