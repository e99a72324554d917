/** The machines as the cluster side sees them: a list, and a call for each change. */
import type { Machine, MachineChange, MachinePark } from '../machines.ts';
import type { WorldSpec } from '../world-spec.ts';
import { nodeLabels, nodeTaints } from './node-labels.ts';
import { providerIdOf } from './names.ts';
import { findVmSize } from './sku-table.ts';
import type { Vm } from './vm.ts';

export interface Park extends MachinePark {
  tell(change: { readonly kind: 'running' | 'stopped' | 'gone'; readonly vm: Vm }): void;
  tellPreempt(vm: Vm, notBeforeMs: number): void;
  tellDeleteAccepted(vm: Vm, principal: string, was: string): void;
}

/** `vms` lists every machine at the time of the call. */
export function createPark(spec: WorldSpec, vms: () => readonly Vm[]): Park {
  const listeners = new Set<(change: MachineChange) => void>();
  const announce = (change: MachineChange): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    list: () => vms().map((vm) => machineOf(spec, vm)),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell: ({ kind, vm }) => announce({ kind, machine: machineOf(spec, vm) }),
    tellPreempt: (vm, notBeforeMs) => announce({ kind: 'preempt-scheduled', machine: machineOf(spec, vm), notBeforeMs }),
    tellDeleteAccepted: (vm, principal, was) =>
      announce({ kind: 'delete-accepted', machine: machineOf(spec, vm), principal, createdMs: vm.createdMs, was }),
  };
}

function machineOf(spec: WorldSpec, vm: Vm): Machine {
  const size = findVmSize(vm.vmSize);
  return {
    id: vm.resourceId,
    hostName: vm.hostName,
    providerId: providerIdOf(vm.resourceId),
    pool: vm.pool.name,
    vmSize: vm.vmSize,
    vcpus: size?.vcpus ?? 0,
    memoryGiB: size?.memoryGiB ?? 0,
    gpus: size?.gpus ?? 0,
    dataDisks: size?.dataDisks ?? 0,
    architecture: size?.architecture ?? 'amd64',
    location: spec.location,
    zone: vm.zone,
    labels: nodeLabels(spec, vm),
    taints: nodeTaints(vm),
    power: vm.power,
  };
}
