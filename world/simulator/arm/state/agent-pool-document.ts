/** Agent pools and their cluster as AKS shows them. */
import type { PoolSpec, WorldSpec } from '../../base/world-spec.ts';
import { pick, pickObject, type JsonObject } from '../http/json.ts';
import { capacityReservationGroupId, clusterId } from './resource-names.ts';
import { FIRST_KUBERNETES_VERSION, FIRST_NODE_IMAGE, minorOf } from './node-versions.ts';
import { subnetId } from './subnet-addresses.ts';
import { nodeTaints } from './vm-feed-publisher.ts';
import type { AgentPool, ArmWorld } from './arm-state.ts';
import type { Vm } from './vm.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** Settings that a PUT without them clears. */
export const REPLACED_BY_PUT: readonly string[] = ['nodeLabels', 'nodeTaints', 'tags', 'minCount', 'maxCount'];

export function findAgentPool(world: ArmWorld, name: string): AgentPool | undefined {
  return world.agentPools.get(name.toLowerCase());
}

export function isVmsPool(pool: AgentPool): boolean {
  return pool.setKey === undefined;
}

/** An alias, not an interface, so that it is assignable to JSON. */
export type ManualScale = { readonly size: string; readonly count: number };

/** `virtualMachinesProfile.scale.manual` without its invalid entries. */
export function manualScale(properties: JsonObject): readonly ManualScale[] {
  const manual = pick(properties, 'virtualMachinesProfile', 'scale', 'manual');
  if (!Array.isArray(manual)) return [];
  return manual.flatMap((entry) => {
    const [size, count] = [pick(entry, 'size'), pick(entry, 'count')];
    return typeof size === 'string' && typeof count === 'number' ? [{ size, count }] : [];
  });
}

/** The size that the provider wants of a pool: its count, or the sum over the sizes of a VMs-type pool. */
export function poolSize(pool: AgentPool): number {
  if (isVmsPool(pool)) return manualScale(pool.properties).reduce((sum, entry) => sum + entry.count, 0);
  const { count } = pool.properties;
  return typeof count === 'number' ? count : 0;
}

/** Changes the count of a VM's size by one, when a VM of a VMs-type pool is removed or comes back. */
export function changeCount(pool: AgentPool, vm: Vm, by: 1 | -1): void {
  const { vmSize } = vm;
  vm.uncounted = by < 0;
  const manual = manualScale(pool.properties).map((entry) =>
    entry.size.toLowerCase() === vmSize.toLowerCase() ? { ...entry, count: Math.max(0, entry.count + by) } : entry,
  );
  pool.properties = {
    ...pool.properties,
    virtualMachinesProfile: { ...pickObject(pool.properties, 'virtualMachinesProfile'), scale: { manual } },
  };
}

export function poolEtag(world: ArmWorld, pool: AgentPool): string {
  return world.draws.guid(`${pool.name}|eTag|${pool.etagCounter}`);
}

export function renderAgentPool(world: ArmWorld, pool: AgentPool): JsonObject {
  const status = [...Map.groupBy(pool.vms.values(), (vm) => vm.vmSize)].map(([size, vms]) => ({ size, count: vms.length }));
  return {
    id: `${clusterId(world.spec)}/agentPools/${pool.name}`,
    name: pool.name,
    type: 'Microsoft.ContainerService/managedClusters/agentPools',
    properties: {
      ...pool.properties,
      eTag: poolEtag(world, pool),
      provisioningState: pool.provisioningState,
      ...(world.clusterStopped ? { powerState: { code: 'Stopped' } } : {}),
      ...(isVmsPool(pool) ? { virtualMachineNodesStatus: status } : {}),
    },
  };
}

/** Every size of a pool's spec with its count of VMs. */
export function sizesOf(pool: PoolSpec): readonly { readonly vmSize: string; readonly count: number }[] {
  return [{ vmSize: pool.vmSize, count: pool.count }, ...(pool.sizes ?? [])];
}

/** The properties that AKS would have for a pool's spec. */
export function propertiesOfPool(spec: WorldSpec, pool: PoolSpec): JsonObject {
  const vms = pool.kind === 'vms-pool';
  const spot = pool.priority === 'Spot';
  return {
    type: vms ? 'VirtualMachines' : 'VirtualMachineScaleSets',
    mode: pool.mode ?? 'User',
    ...(vms
      ? { virtualMachinesProfile: { scale: { manual: sizesOf(pool).map(({ vmSize, count }) => ({ size: vmSize, count })) } } }
      : { count: pool.count, vmSize: pool.vmSize }),
    enableAutoScaling: pool.managedAutoscaler === true,
    ...(pool.managedAutoscaler === true ? { minCount: pool.min, maxCount: pool.max } : {}),
    scaleDownMode: 'Delete',
    ...(spot ? { scaleSetPriority: 'Spot', scaleSetEvictionPolicy: pool.evictionPolicy ?? 'Delete', spotMaxPrice: -1 } : {}),
    powerState: { code: 'Running' },
    orchestratorVersion: minorOf(FIRST_KUBERNETES_VERSION),
    currentOrchestratorVersion: FIRST_KUBERNETES_VERSION,
    nodeImageVersion: FIRST_NODE_IMAGE,
    maxPods: 110,
    osDiskSizeGB: 128,
    osDiskType: 'Managed',
    kubeletDiskType: 'OS',
    vnetSubnetID: subnetId(spec),
    podSubnetID: null,
    osType: 'Linux',
    osSKU: 'Ubuntu',
    ...defined({ availabilityZones: pool.zones }),
    ...(pool.capacityReservationGroup === undefined
      ? {}
      : { capacityReservationGroupID: capacityReservationGroupId(spec, pool.capacityReservationGroup) }),
    nodeLabels: { ...pool.labels },
    nodeTaints: nodeTaints({ pool }),
    tags: { ...spec.discoveryTags, ...pool.tags, min: String(pool.min), max: String(pool.max) },
    upgradeSettings: { maxSurge: '10%' },
    enableFIPS: false,
    enableNodePublicIP: false,
  };
}
