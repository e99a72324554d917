/** A node of the API as a recorder sees it: its pool, size and zone, and whether it is being removed. Pure. */
import { defined } from '../../../src/lib/defined.ts';
import type { Node } from '../../../src/domain/node.ts';
import { zonePart } from '../../../src/domain/node-template.ts';
import { CPU, MEMORY } from '../../../src/domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import type { ObservedNode } from '../../lab/recordings/observed.ts';

const POOL_LABELS = ['kubernetes.azure.com/agentpool', 'agentpool', 'karpenter.sh/nodepool'] as const;
const SPOT_LABEL = 'kubernetes.azure.com/scalesetpriority';
/** Labels that AKS, Kubernetes and drivers set. The others are those of the pool. */
const SYSTEM_LABEL =
  /(?:^|[./])(?:kubernetes\.io|k8s\.io|kubernetes\.azure\.com|csi\.azure\.com|cilium\.io|karpenter\.sh|karpenter\.azure\.com)\/|^(?:agentpool|accelerator|storageprofile|storagetier)$/;
/** Taints of a moment, not of the pool. */
const PASSING_TAINT =
  /^(?:node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|(?:startup|ignore)-taint\.cluster-autoscaler\.kubernetes\.io|node\.cilium\.io|aks-autoscaler|karpenter\.sh)\/|ByClusterAutoscaler$|OfClusterAutoscaler$|^remediator\.kubernetes\.azure\.com\//;

export function observedNode(node: Node): ObservedNode {
  const { labels, taints, providerId } = node;
  const vmSize = labels['node.kubernetes.io/instance-type'] ?? labels['beta.kubernetes.io/instance-type'] ?? 'unknown';
  const zone = labels['topology.kubernetes.io/zone'];
  return {
    name: node.name,
    createdAtMs: node.createdAtMs,
    pool: POOL_LABELS.map((label) => labels[label]).find((name) => name !== undefined) ?? vmSize,
    vmSize,
    isSpot: labels[SPOT_LABEL] === 'spot',
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !SYSTEM_LABEL.test(key))),
    taints: taints
      .filter(({ key }) => !PASSING_TAINT.test(key))
      .map(({ key, value, effect }) => `${key}${value === '' ? '' : `=${value}`}:${effect}`),
    isLeaving: node.unschedulable || node.deletionAtMs !== undefined || taints.some(({ key }) => key === TO_BE_DELETED_TAINT),
    isPreempted: node.preemption !== undefined,
    ...defined({
      // A regional VM has the number of its fault domain.
      zone: zone?.includes('-') === true ? zonePart(zone) : undefined,
      size: sizeOf(node),
      mode: modeOf(labels),
      kind: kindOf(providerId.toLowerCase()),
      notReadySinceMs: node.readiness.ready ? undefined : node.readiness.sinceMs,
    }),
  };
}

/** A scale set in flexible mode looks like the VMs of a VMs pool. */
function kindOf(providerId: string): ObservedNode['kind'] {
  if (providerId.includes('/virtualmachinescalesets/')) return 'vmss-uniform';
  return providerId.includes('/virtualmachines/') ? 'vms-pool' : undefined;
}

const GIB = 2 ** 30;
/** The share of a VM's nominal memory that its kernel shows. */
const MEMORY_SEEN = 0.977;

/** GPUs and families are known by the size's name. */
function sizeOf({ capacity, labels }: Node): ObservedNode['size'] {
  const vcpus = Math.round((capacity[CPU] ?? 0) / 1_000);
  if (vcpus === 0) return undefined;
  const memoryGiB = Math.max(0.5, Math.round((2 * (capacity[MEMORY] ?? 0)) / GIB / MEMORY_SEEN) / 2);
  return { vcpus, memoryGiB, architecture: labels['kubernetes.io/arch'] === 'arm64' ? 'arm64' : 'amd64' };
}

export function modeOf(labels: Readonly<Record<string, string>>): ObservedNode['mode'] {
  const mode = labels['kubernetes.azure.com/mode']?.toLowerCase();
  if (mode === 'system') return 'System';
  return mode === 'user' ? 'User' : undefined;
}
