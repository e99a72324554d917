/** Agent pools and their cluster as AKS shows them. */
import type { PoolSpec, WorldSpec } from '../../base/world-spec.ts';
import { pick, pickObject, type Json, type JsonObject } from '../http/json.ts';
import { capacityReservationGroupId, clusterId } from './resource-names.ts';
import { FIRST_KUBERNETES_VERSION, FIRST_NODE_IMAGE, minorOf } from './node-versions.ts';
import { subnetId } from './subnet-addresses.ts';
import { nodeTaints } from './vm-feed-publisher.ts';
import { findVmSize } from './vm-sizes.ts';
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

/** Whether the pool itself is stopped, and not only its cluster. */
export function isPoweredOff(properties: JsonObject): boolean {
  return pick(properties, 'powerState', 'code') === 'Stopped';
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

/** One size that AKS's own autoscaler keeps between two counts. */
export interface ScaledSize {
  readonly size: string;
  readonly minCount: number;
  readonly maxCount: number;
}

/** `virtualMachinesProfile.scale.autoscale` without its invalid entries. */
export function autoscale(properties: JsonObject): readonly ScaledSize[] {
  const entries = pick(properties, 'virtualMachinesProfile', 'scale', 'autoscale');
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry) => {
    const [size, minCount, maxCount] = [pick(entry, 'size'), pick(entry, 'minCount'), pick(entry, 'maxCount')];
    const isWhole = typeof size === 'string' && typeof minCount === 'number' && typeof maxCount === 'number';
    return isWhole ? [{ size, minCount, maxCount }] : [];
  });
}

export function vmsOfSize(pool: AgentPool, size: string): readonly Vm[] {
  return [...pool.vms.values()].filter((vm) => vm.vmSize.toLowerCase() === size.toLowerCase() && vm.provisioningState !== 'Deleting');
}

/** How many VMs of a size AKS wants: the count of a person, else as many as there are within the limits of its own autoscaler. */
export function goalOfSize(pool: AgentPool, size: string): number {
  const isSize = (entry: { readonly size: string }): boolean => entry.size.toLowerCase() === size.toLowerCase();
  const counted = manualScale(pool.properties).find(isSize);
  const limits = autoscale(pool.properties).find(isSize);
  if (counted !== undefined || limits === undefined) return counted?.count ?? 0;
  return Math.min(limits.maxCount, Math.max(limits.minCount, vmsOfSize(pool, size).length));
}

/** The size that the provider wants of a pool: its count, or the sum over the sizes of a VMs-type pool. */
export function poolSize(pool: AgentPool): number {
  if (isVmsPool(pool)) {
    const sizes = [...manualScale(pool.properties), ...autoscale(pool.properties)].map(({ size }) => size);
    return sizes.reduce((sum, size) => sum + goalOfSize(pool, size), 0);
  }
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
  if (manual.length > 0) pool.properties = withScale(pool.properties, { manual });
}

/** Other keys of the profile and of its scale stay. */
function withScale(properties: JsonObject, change: JsonObject): JsonObject {
  const profile = pickObject(properties, 'virtualMachinesProfile');
  return { ...properties, virtualMachinesProfile: { ...profile, scale: { ...pickObject(profile, 'scale'), ...change } } };
}

/**
 * The properties in the form in which AKS keeps them: keys without a value are absent. A pool of type VirtualMachines has the count null and an empty
 * size, whatever a client wrote there (recorded by Azure's CLI, July 2026).
 */
export function keptProperties(properties: JsonObject): JsonObject {
  const present = Object.fromEntries(Object.entries(properties).filter(hasValue));
  return properties['type'] === 'VirtualMachines' ? { ...present, count: null, vmSize: '' } : present;
}

/** Maps and lists that AKS leaves out while they are empty. */
const ABSENT_IF_EMPTY: ReadonlySet<string> = new Set(['nodeLabels', 'nodeTaints', 'tags']);

function hasValue([key, value]: readonly [string, Json | undefined]): boolean {
  if (value === null || value === undefined) return false;
  return !ABSENT_IF_EMPTY.has(key) || Object.keys(value).length > 0;
}

/**
 * The properties as every answer shows them, alone and in the document of the cluster. The sizes of a scale are in the case in which the client wrote
 * them, those of the status in the case of the catalogue (recorded by Azure's CLI, July 2026).
 */
export function shownProperties(world: ArmWorld, pool: AgentPool): JsonObject {
  const status = [...Map.groupBy(pool.vms.values(), ({ vmSize }) => findVmSize(vmSize)?.name ?? vmSize)].map(([size, vms]) => ({
    size,
    count: vms.length,
  }));
  return {
    ...pool.properties,
    eTag: poolEtag(world, pool),
    provisioningState: pool.provisioningState,
    // A pool of a scale set that is stopped shows no nodes, and has its old count again when it starts (recorded by Azure's CLI, July 2025).
    ...(isPoweredOff(pool.properties) && !isVmsPool(pool) ? { count: 0 } : {}),
    ...(world.clusterStopped ? { powerState: { code: 'Stopped' } } : {}),
    ...(isVmsPool(pool) ? { virtualMachineNodesStatus: status } : {}),
  };
}

export function poolEtag(world: ArmWorld, pool: AgentPool): string {
  return world.draws.guid(`${pool.name}|eTag|${pool.etagCounter}`);
}

export function renderAgentPool(world: ArmWorld, pool: AgentPool): JsonObject {
  return {
    id: `${clusterId(world.spec)}/agentPools/${pool.name}`,
    name: pool.name,
    type: 'Microsoft.ContainerService/managedClusters/agentPools',
    properties: shownProperties(world, pool),
  };
}

/** Every size of a pool's spec with its count of VMs. */
export function sizesOf(pool: PoolSpec): readonly { readonly vmSize: string; readonly count: number }[] {
  return [{ vmSize: pool.vmSize, count: pool.count }, ...(pool.sizes ?? [])];
}

/** The properties that AKS would have for a pool's spec. */
export function propertiesOfPool(spec: WorldSpec, pool: PoolSpec): JsonObject {
  const spot = pool.priority === 'Spot';
  return keptProperties({
    type: pool.kind === 'vms-pool' ? 'VirtualMachines' : 'VirtualMachineScaleSets',
    mode: pool.mode ?? 'User',
    ...(pool.kind === 'vms-pool' ? scaleOfVms(pool) : scaleOfSet(pool)),
    scaleDownMode: pool.scaleDownMode ?? 'Delete',
    ...(spot ? { scaleSetPriority: 'Spot', scaleSetEvictionPolicy: pool.evictionPolicy ?? 'Delete', spotMaxPrice: -1 } : {}),
    powerState: { code: 'Running' },
    orchestratorVersion: minorOf(FIRST_KUBERNETES_VERSION),
    currentOrchestratorVersion: FIRST_KUBERNETES_VERSION,
    nodeImageVersion: FIRST_NODE_IMAGE,
    maxPods: 110,
    osDiskSizeGB: 128,
    osDiskType: 'Managed',
    kubeletDiskType: 'OS',
    // AKS names the subnet only if it is the user's own.
    ...(spec.subnetPrefix === undefined ? {} : { vnetSubnetID: subnetId(spec) }),
    osType: 'Linux',
    osSKU: 'Ubuntu',
    ...defined({ availabilityZones: pool.zones }),
    ...(pool.capacityReservationGroup === undefined
      ? {}
      : { capacityReservationGroupID: capacityReservationGroupId(spec, pool.capacityReservationGroup) }),
    nodeLabels: { ...pool.labels },
    nodeTaints: nodeTaints({ pool }),
    tags: { ...spec.discoveryTags, ...pool.tags, min: String(pool.min), max: String(pool.max) },
    upgradeSettings: { maxSurge: '10%', maxUnavailable: '0', undrainableNodeBehavior: 'Schedule' },
    securityProfile: { sshAccess: 'LocalUser', enableVTPM: false, enableSecureBoot: false },
    enableFIPS: false,
    enableNodePublicIP: false,
  });
}

function scaleOfSet(pool: PoolSpec): JsonObject {
  const isScaled = pool.managedAutoscaler === true;
  return {
    count: pool.count,
    vmSize: pool.vmSize,
    enableAutoScaling: isScaled,
    ...(isScaled ? { minCount: pool.min, maxCount: pool.max } : {}),
  };
}

/** The switch of all pools stays off in a pool of VMs that AKS scales; its sizes have limits in place of counts. */
function scaleOfVms(pool: PoolSpec): JsonObject {
  const isScaled = pool.managedAutoscaler === true;
  const limits = sizesOf(pool).map(({ vmSize: size }) => ({ size, minCount: pool.min, maxCount: pool.max }));
  const counts = sizesOf(pool).map(({ vmSize: size, count }) => ({ size, count }));
  return { enableAutoScaling: false, virtualMachinesProfile: { scale: isScaled ? { autoscale: limits } : { manual: counts } } };
}
