/**
 * Published limits of AKS, Azure and Kubernetes. A number of another system is compared with them before anything is made from it: a
 * larger one is a mistake of its author or of the server, and only the object that has it is skipped.
 */

/** Nodes of a cluster, over all pools. AKS: "Quotas, virtual machine size restrictions, and region availability". */
export const MAX_CLUSTER_NODES = 5_000;

/** Nodes of an agent pool, and of a scale set without a single placement group. AKS: the same page. */
export const MAX_POOL_NODES = 1_000;

/** Pods of a cluster. Kubernetes: "Considerations for large clusters". */
export const MAX_CLUSTER_PODS = 150_000;

/** Pods of a node, with every network plug-in. AKS: the same page as for nodes. */
export const MAX_NODE_PODS = 250;

/** The largest replica count that the API of Kubernetes accepts (`int32`). No cluster can run so many pods. */
export const MAX_REPLICAS = 2 ** 31 - 1;

/** Pod sets of a ProvisioningRequest, and pods of one set. Cluster Autoscaler: the CustomResourceDefinition of ProvisioningRequest. */
export const MAX_POD_SETS = 32;
export const MAX_POD_SET_PODS = 16_384;

/** Zones of a scale set or pool. Azure regions have three; newer ones may have more. */
export const MAX_ZONES = 16;

/**
 * The largest VM size, with room for later ones. Azure: the M series has up to 1,792 vCPUs and 32 TiB of memory; sizes with GPUs have up
 * to 16. Managed disks have up to 64 TiB.
 */
export const MAX_VM_VCPUS = 16_384;
export const MAX_VM_MEMORY_BYTES = 2 ** 49;
export const MAX_VM_GPUS = 1_024;
export const MAX_DISK_GIB = 65_536;

/** The value if it is a whole number from 0 to `most`, and 0 for -0; else undefined. */
export function wholeNumberUpTo(value: unknown, most: number): number | undefined {
  // guard: a fraction below zero is no size
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most ? value + 0 : undefined;
}

/** What follows from a configured maximum that no pool can reach. */
export function describeExcessiveMaximum(max: number): string {
  return `the maximum of ${max} nodes is above the ${MAX_POOL_NODES} that AKS allows in one pool; ${MAX_POOL_NODES} applies`;
}

/** The size of a node group as Azure may report it. undefined: it cannot be one. */
export function groupSizeOf(value: unknown): number | undefined {
  // guard: no node group is larger than a cluster
  return wholeNumberUpTo(value, MAX_CLUSTER_NODES);
}
