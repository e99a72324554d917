/** One VM as the emulated Azure stores it. A plain record; the rooms beside this file change it. */
import type { PowerState } from '../../base/vm-feed.ts';
import type { PoolSpec } from '../../base/world-spec.ts';
import type { OperationFailure } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';

export type ProvisioningState = 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting' | 'Migrating';

/** A managed disk as it exists beside VMs. A disk stays when its VM goes. */
export interface Disk {
  readonly name: string;
  readonly resourceId: string;
  readonly uniqueId: string;
  readonly createdMs: number;
  /** The fields that clients wrote. */
  document: JsonObject;
  provisioningState: 'Updating' | 'Succeeded';
  /** The VM that has the disk, or for which it is being attached. */
  owner: Vm | undefined;
  /** When the owner changed last, if it ever did. */
  ownerChangedMs: number | undefined;
}

/** A managed disk in its slot of a VM. Nothing else of a VM says which disks it has. */
export interface DataDisk {
  readonly disk: Disk;
  readonly lun: number;
  /** The fields of a client about this disk, as shown. */
  readonly settings: JsonObject;
  state: 'attaching' | 'attached' | 'detaching';
}

/** One virtual machine: an instance of a Uniform set, a VM of a Flexible set, or a VM of a VMs-type agent pool. */
export interface Vm {
  readonly kind: 'uniform' | 'flexible' | 'standalone';
  /** The key in its owner's map: the instance id, or the VM's name in lower case. */
  readonly key: string;
  readonly resourceId: string;
  readonly name: string;
  readonly hostName: string;
  readonly vmId: string;
  pool: PoolSpec;
  readonly vmSize: string;
  readonly zone: string | undefined;
  readonly createdMs: number;
  /** When its creation ended well. If undefined, it goes on, failed, or was before the world began. */
  createdEndMs: number | undefined;
  /** The version of its node image; an upgrade by AKS replaces it. */
  nodeImage: string;
  /** The version of its kubelet; an upgrade by AKS replaces it. */
  kubernetesVersion: string;
  /** Lists do not show it before this time. */
  visibleAtMs: number;
  provisioningState: ProvisioningState;
  /** The part of the view's provisioning code after the state, for example `OSProvisioningInProgress`. */
  detail: string | undefined;
  power: PowerState;
  failure: OperationFailure | undefined;
  /** Whether it took from the region's stock and returns that at its removal. */
  holdsStock: boolean;
  /** Whether it has its addresses of the subnet, which it gives back when it is gone. */
  holdsAddresses: boolean;
  /** Overprovisioned: it counts nowhere. */
  surplus: boolean;
  /** Its agent pool's count is decreased already. A removal that fails reverts that. */
  uncounted: boolean;
  /** Its operating system does not respond. Azure does not see it. */
  isHung: boolean;
  /** The VMs that an overprovisioned increase began together. */
  batch: { readonly members: Set<Vm> } | undefined;
  /** In the order in which they were requested. */
  dataDisks: readonly DataDisk[];
  /** Fields that a client wrote; they override what the VM shows. */
  own: JsonObject;
  /** Its own etag counter. That of an instance of a Uniform set is still 1 when its creation has ended (recorded by cloud-provider-azure, January 2026). */
  etag: number;
  /** Rises when a new action overtakes an older one. Pending steps of older generations do nothing. */
  generation: number;
}
