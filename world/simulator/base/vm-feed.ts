/**
 * The interface between the two halves of the world: the ARM emulator creates and removes VMs, the cluster side boots kubelets on
 * them. Neither reads the other's state in any other way.
 */

/** `unknown`: the platform has lost contact with the VM. */
export type PowerState = 'none' | 'unknown' | 'starting' | 'running' | 'stopping' | 'stopped' | 'deallocating' | 'deallocated';

export interface SimulatedVm {
  /** ARM id, in the spelling of creation. */
  readonly id: string;
  /** Host name and node name, in lower case. */
  readonly hostName: string;
  /** `spec.providerID` that the cloud controller will set. */
  readonly providerId: string;
  readonly pool: string;
  readonly vmSize: string;
  readonly vcpus: number;
  readonly memoryGiB: number;
  readonly gpus: number;
  readonly dataDisks: number;
  readonly architecture: 'amd64' | 'arm64';
  readonly location: string;
  /** undefined: a regional VM. */
  readonly zone: string | undefined;
  /** The version of its kubelet, as `1.33.2`. */
  readonly kubernetesVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `key=value:Effect` */
  readonly taints: readonly string[];
  readonly power: PowerState;
}

export type VmChange =
  /** The operating system runs; a kubelet may register. */
  | { readonly kind: 'running'; readonly machine: SimulatedVm }
  | { readonly kind: 'stopped'; readonly machine: SimulatedVm }
  /** The VM is gone. */
  | { readonly kind: 'gone'; readonly machine: SimulatedVm }
  /** AKS gave its node the labels of its pool; these labels of the pool are gone. */
  | { readonly kind: 'relabelled'; readonly machine: SimulatedVm; readonly removed: readonly string[] }
  /** The VM's metadata service announced its eviction at this time or later. */
  | { readonly kind: 'preempt-scheduled'; readonly machine: SimulatedVm; readonly notBeforeMs: number }
  /** A client's delete of these VMs was accepted. They still run for a while. */
  | {
      readonly kind: 'delete-accepted';
      readonly machine: SimulatedVm;
      readonly principal: string;
      readonly createdMs: number;
      /** Its provisioning state before the delete. */
      readonly was: string;
    };

export interface VmFeed {
  list(): readonly SimulatedVm[];
  /** Called synchronously at each change. Returns a function that unsubscribes. */
  subscribe(listener: (change: VmChange) => void): () => void;
}

/** AKS's rule for the cluster label: parentheses become dashes, at most 63 characters, and the last one is valid. */
export function clusterLabel(nodeResourceGroup: string): string {
  const name = nodeResourceGroup.replace(/[()]/g, '-').substring(0, 63);
  const isBadEnd = ['-', '_', '.'].some((end) => name.endsWith(end));
  return isBadEnd ? (name.length > 62 ? name.substring(0, 62) : name).concat('z') : name;
}
