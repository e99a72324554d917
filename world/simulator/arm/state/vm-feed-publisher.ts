/** The VMs as the cluster side sees them: a list, and a call for each change. */
import { clusterLabel, type SimulatedVm, type VmChange, type VmFeed } from '../../base/vm-feed.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import { providerIdOf } from './resource-names.ts';
import { findVmSize } from './vm-sizes.ts';
import type { Vm } from './vm.ts';

// Labels and taints that AKS gives a node at registration, besides those of its pool.

const SPOT_TAINT = 'kubernetes.azure.com/scalesetpriority=spot:NoSchedule';

export function nodeTaints({ pool }: Pick<Vm, 'pool'>): readonly string[] {
  const own = pool.taints ?? [];
  return pool.priority === 'Spot' && !own.includes(SPOT_TAINT) ? [...own, SPOT_TAINT] : own;
}

function nodeLabels(
  spec: WorldSpec,
  vm: Pick<Vm, 'pool' | 'vmSize' | 'zone' | 'hostName' | 'kind' | 'nodeImage'>,
): Readonly<Record<string, string>> {
  const { pool } = vm;
  const size = findVmSize(vm.vmSize);
  const architecture = size?.architecture ?? 'amd64';
  const zone = vm.zone === undefined ? '0' : `${spec.location}-${vm.zone}`;
  return {
    agentpool: pool.name,
    'kubernetes.azure.com/agentpool': pool.name,
    'kubernetes.azure.com/cluster': clusterLabel(spec.nodeResourceGroup),
    'kubernetes.azure.com/mode': (pool.mode ?? 'User').toLowerCase(),
    'kubernetes.azure.com/role': 'agent',
    'kubernetes.azure.com/node-image-version': vm.nodeImage,
    'kubernetes.azure.com/nodepool-type': vm.kind === 'standalone' ? 'VirtualMachines' : 'VirtualMachineScaleSets',
    'kubernetes.azure.com/os-sku': 'Ubuntu',
    'kubernetes.azure.com/os-sku-requested': 'Ubuntu',
    'kubernetes.azure.com/os-sku-effective': 'Ubuntu2204',
    'kubernetes.azure.com/azure-cni-overlay': 'true',
    'kubernetes.azure.com/podnetwork-type': 'overlay',
    'kubernetes.azure.com/sku-cpu': String(size?.vcpus ?? 0),
    'kubernetes.azure.com/sku-memory': String((size?.memoryGiB ?? 0) * 1024),
    'kubernetes.azure.com/storageprofile': 'managed',
    'kubernetes.azure.com/storagetier': 'Premium_LRS',
    storageprofile: 'managed',
    storagetier: 'Premium_LRS',
    'kubernetes.io/arch': architecture,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/role': 'agent',
    'kubernetes.io/hostname': vm.hostName,
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/instance-type': vm.vmSize,
    'node.kubernetes.io/instance-type': vm.vmSize,
    'topology.kubernetes.io/region': spec.location,
    'topology.kubernetes.io/zone': zone,
    'failure-domain.beta.kubernetes.io/region': spec.location,
    'failure-domain.beta.kubernetes.io/zone': zone,
    ...(pool.priority === 'Spot' ? { 'kubernetes.azure.com/scalesetpriority': 'spot' } : {}),
    ...((size?.gpus ?? 0) > 0 ? { accelerator: 'nvidia', 'kubernetes.azure.com/accelerator': 'nvidia' } : {}),
    ...pool.labels,
  };
}

export interface VmFeedPublisher extends VmFeed {
  publishPower(change: { readonly kind: 'running' | 'stopped' | 'gone'; readonly vm: Vm }): void;
  publishLabels(vm: Vm, removed: readonly string[]): void;
  publishPreemption(vm: Vm, notBeforeMs: number): void;
  publishDeleteAccepted(vm: Vm, principal: string, was: string): void;
}

/** `vms` lists every VM at the time of the call. */
export function createVmFeedPublisher(spec: WorldSpec, vms: () => readonly Vm[]): VmFeedPublisher {
  const listeners = new Set<(change: VmChange) => void>();
  const announce = (change: VmChange): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    list: () => vms().map((vm) => machineOf(spec, vm)),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publishPower: ({ kind, vm }) => announce({ kind, machine: machineOf(spec, vm) }),
    publishLabels: (vm, removed) => announce({ kind: 'relabelled', machine: machineOf(spec, vm), removed }),
    publishPreemption: (vm, notBeforeMs) => announce({ kind: 'preempt-scheduled', machine: machineOf(spec, vm), notBeforeMs }),
    publishDeleteAccepted: (vm, principal, was) =>
      announce({ kind: 'delete-accepted', machine: machineOf(spec, vm), principal, createdMs: vm.createdMs, was }),
  };
}

function machineOf(spec: WorldSpec, vm: Vm): SimulatedVm {
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
    kubernetesVersion: vm.kubernetesVersion,
    labels: nodeLabels(spec, vm),
    taints: nodeTaints(vm),
    power: vm.power,
  };
}
