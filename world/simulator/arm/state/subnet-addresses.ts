/**
 * The addresses of the nodes' subnet. A VM takes its addresses with its network interface, before any hardware, and keeps them until it is
 * gone, also while it is deallocated or being deleted. Azure reserves five addresses of each subnet (Azure Virtual Network FAQ).
 */
import type { WorldSpec } from '../../base/world-spec.ts';
import type { OperationFailure } from '../http/errors.ts';
import { allVms, type ArmWorld } from './arm-state.ts';
import { groupPath } from './resource-names.ts';
import type { Vm } from './vm.ts';

export const SUBNET = { network: 'aks-vnet', name: 'aks-subnet' };
const DEFAULT_PREFIX = '10.224.0.0/16';
const RESERVED = 5;

export function subnetId(spec: WorldSpec): string {
  return `${groupPath(spec, spec.nodeResourceGroup)}/providers/Microsoft.Network/virtualNetworks/${SUBNET.network}/subnets/${SUBNET.name}`;
}

export function subnetPrefix({ subnetPrefix: prefix = DEFAULT_PREFIX }: WorldSpec): string {
  return prefix;
}

/** With overlay networking a node takes one address of the subnet. With flat networking each of its pods takes one more. */
export function addressesPerVm({ addressesPerNode = 1 }: WorldSpec): number {
  return addressesPerNode;
}

/** Takes the addresses of a new VM. @returns why the subnet has none for it (azure-wire 15, fault 63), or undefined. */
export function takeAddresses(world: ArmWorld, vm: Vm, target: string): OperationFailure | undefined {
  if (addressesLeft(world) >= addressesPerVm(world.spec)) {
    vm.holdsAddresses = true;
    return undefined;
  }
  const message =
    `Subnet ${subnetId(world.spec)} with address prefix ${subnetPrefix(world.spec)} ` +
    `does not have enough capacity for ${addressesPerVm(world.spec)} IP addresses.`;
  return { code: 'SubnetIsFull', message, target };
}

function addressesLeft(world: ArmWorld): number {
  const { spec, sets, agentPools } = world;
  const usable = 2 ** (32 - Number(subnetPrefix(spec).split('/')[1] ?? 32)) - RESERVED;
  const most = [...sets.values(), ...agentPools.values()].reduce((sum, owner) => sum + owner.vms.size, 0);
  const left = usable - most * addressesPerVm(spec);
  // All VMs are only looked at where the subnet is nearly full.
  if (left >= addressesPerVm(spec)) return left;
  return usable - allVms(world).filter((vm) => vm.holdsAddresses).length * addressesPerVm(spec);
}
