/** The node of a VM: labels, taints, capacity, and AKS's reservations. Pure. */
import { clusterLabel, type SimulatedVm } from '../../base/vm-feed.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import { type Condition, type NodeTaint, type ObjectDraft, type Quantities, type StringMap, timestamp } from '../store/objects.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** Millicores that AKS reserves by number of cores; linear between the rows, 10 per core above them. */
const CPU_RESERVED: readonly (readonly [number, number])[] = [
  [1, 60],
  [2, 100],
  [4, 140],
  [8, 180],
  [16, 260],
  [32, 420],
  [64, 740],
];
const MIB = 2 ** 20;
/** The share of a VM's nominal memory that the kernel shows. */
const MEMORY_SEEN = 0.977;
const EVICTION_MIB = 100;
const OS_DISK_BYTES = 128 * 2 ** 30;

export const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized';
export const NOT_READY = 'node.kubernetes.io/not-ready';

export function reservedCpuMillis(cores: number): number {
  const last = CPU_RESERVED.at(-1) ?? [64, 740];
  if (cores >= last[0]) return last[1] + (cores - last[0]) * 10;
  const above = CPU_RESERVED.findIndex(([size]) => size >= cores);
  const [highCores, high] = CPU_RESERVED[above] ?? last;
  const [lowCores, low] = CPU_RESERVED[above - 1] ?? [0, 0];
  return Math.round(low + ((high - low) * (cores - lowCores)) / (highCores - lowCores));
}

/** AKS 1.29 and later: 20 MB for each pod and 50 MB, at most a quarter of the memory. */
export function reservedMemoryMiB(memoryGiB: number, maxPods: number): number {
  return Math.min(20 * maxPods + 50, (memoryGiB * 1024) / 4);
}

function capacityOf(machine: SimulatedVm, maxPods: number): Quantities {
  return {
    cpu: String(machine.vcpus),
    memory: `${Math.floor(machine.memoryGiB * 1024 * 1024 * MEMORY_SEEN)}Ki`,
    'ephemeral-storage': `${Math.floor(OS_DISK_BYTES / 1024)}Ki`,
    pods: String(maxPods),
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    ...(machine.gpus > 0 ? { 'nvidia.com/gpu': String(machine.gpus) } : {}),
  };
}

export function allocatableOf(machine: SimulatedVm, maxPods: number): Quantities {
  const memoryBytes = Math.floor(machine.memoryGiB * 1024 * 1024 * MEMORY_SEEN) * 1024;
  const reservedMiB = reservedMemoryMiB(machine.memoryGiB, maxPods) + EVICTION_MIB;
  return {
    ...capacityOf(machine, maxPods),
    cpu: `${machine.vcpus * 1000 - reservedCpuMillis(machine.vcpus)}m`,
    memory: `${Math.floor((memoryBytes - reservedMiB * MIB) / 1024)}Ki`,
    'ephemeral-storage': String(Math.floor(OS_DISK_BYTES * 0.9)),
  };
}

/** `key=value:Effect` or `key:Effect`. */
function parseTaint(text: string): NodeTaint {
  const colon = text.lastIndexOf(':');
  const [key = '', value] = text.slice(0, colon).split('=');
  return { key, ...defined({ value }), effect: text.slice(colon + 1) as NodeTaint['effect'] };
}

/** The zone in the form of a topology label: `westeurope-1`. A regional VM shows its fault domain. */
export function zoneOf(machine: SimulatedVm): string {
  if (machine.zone === undefined || machine.zone === '' || machine.zone === '0') return '0';
  return machine.zone.includes('-') ? machine.zone : `${machine.location}-${machine.zone}`;
}

function kubeletLabels(machine: SimulatedVm, spec: WorldSpec): StringMap {
  const pool = spec.pools.find((candidate) => candidate.name === machine.pool);
  return {
    agentpool: machine.pool,
    'beta.kubernetes.io/arch': machine.architecture,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.azure.com/agentpool': machine.pool,
    'kubernetes.azure.com/cluster': clusterLabel(spec.nodeResourceGroup),
    'kubernetes.azure.com/mode': (pool?.mode ?? 'User').toLowerCase(),
    'kubernetes.azure.com/os-sku': 'Ubuntu',
    'kubernetes.azure.com/role': 'agent',
    'kubernetes.io/arch': machine.architecture,
    'kubernetes.io/hostname': machine.hostName,
    'kubernetes.io/os': 'linux',
    ...(pool?.priority === 'Spot' ? { 'kubernetes.azure.com/scalesetpriority': 'spot' } : {}),
    ...(machine.gpus > 0 ? { 'kubernetes.azure.com/accelerator': 'nvidia', accelerator: 'nvidia' } : {}),
    ...machine.labels,
  };
}

/** Labels that the cloud node controller adds shortly after the kubelet registered. */
export function cloudLabels(machine: SimulatedVm): StringMap {
  const zone = zoneOf(machine);
  return {
    'beta.kubernetes.io/instance-type': machine.vmSize,
    'failure-domain.beta.kubernetes.io/region': machine.location,
    'failure-domain.beta.kubernetes.io/zone': zone,
    'node.kubernetes.io/instance-type': machine.vmSize,
    'topology.kubernetes.io/region': machine.location,
    'topology.kubernetes.io/zone': zone,
  };
}

const PRESSURES: readonly (readonly [string, string, string])[] = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
];

/** All conditions of a node with a live kubelet. `sinceMs`: when it came into this state, milliseconds since the epoch. */
export function liveConditions(ready: boolean, nowMs: number, sinceMs = nowMs): readonly Condition[] {
  const time = { lastHeartbeatTime: timestamp(nowMs), lastTransitionTime: timestamp(sinceMs) };
  const network =
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized';
  return [
    ...PRESSURES.map(([type, reason, message]) => ({ type, status: 'False', reason, message, ...time }) as const),
    ready
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status', ...time }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: network, ...time },
  ];
}

/** The conditions that the lifecycle controller owns. It does not change those of other writers. */
const KUBELET_CONDITIONS: ReadonlySet<string> = new Set(['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']);

/** The conditions after the lifecycle controller detected a silent kubelet. */
export function silentConditions(before: readonly Condition[] | undefined, nowMs: number): readonly Condition[] {
  const silent = {
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    lastTransitionTime: timestamp(nowMs),
  } as const;
  return (before ?? []).map((condition) => (KUBELET_CONDITIONS.has(condition.type) ? { ...condition, ...silent } : condition));
}

/** A stable private address by sequence number. */
export function addressOf(sequence: number): string {
  return `10.224.${Math.floor(sequence / 250)}.${(sequence % 250) + 4}`;
}

/** A node as its kubelet registers it: not ready and not initialized by the cloud controller. */
export function nodeDraft(
  machine: SimulatedVm,
  options: { readonly spec: WorldSpec; readonly maxPods: number; readonly nowMs: number; readonly sequence: number },
): ObjectDraft {
  const pool = options.spec.pools.find((candidate) => candidate.name === machine.pool);
  const spot: readonly string[] = pool?.priority === 'Spot' ? ['kubernetes.azure.com/scalesetpriority=spot:NoSchedule'] : [];
  const own = [...new Set([...machine.taints, ...spot])].map(parseTaint);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: machine.hostName,
      labels: kubeletLabels(machine, options.spec),
      annotations: { 'node.alpha.kubernetes.io/ttl': '0', 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: {
      taints: [...own, { key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }, { key: NOT_READY, effect: 'NoSchedule' }],
    },
    status: {
      capacity: capacityOf(machine, options.maxPods),
      allocatable: allocatableOf(machine, options.maxPods),
      conditions: liveConditions(false, options.nowMs),
      addresses: [
        { type: 'InternalIP', address: addressOf(options.sequence) },
        { type: 'Hostname', address: machine.hostName },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        architecture: machine.architecture,
        bootID: '',
        containerRuntimeVersion: 'containerd://1.7.27-1',
        kernelVersion: '5.15.0-1089-azure',
        kubeProxyVersion: `v${machine.kubernetesVersion}`,
        kubeletVersion: `v${machine.kubernetesVersion}`,
        machineID: '',
        operatingSystem: 'linux',
        osImage: 'Ubuntu 22.04.5 LTS',
        systemUUID: '',
      },
    },
  };
}
