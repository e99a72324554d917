/** One machine as the emulated Azure keeps it. A record: what may happen to it is written in the rooms beside this file. */
import type { PowerState } from '../../base/vm-feed.ts';
import type { PoolSpec } from '../../base/world-spec.ts';
import type { OperationFailure } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';

export type ProvisioningState = 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting' | 'Migrating';

/** One virtual machine: an instance of a Uniform set, a VM of a Flexible set, or a VM of a VMs-type agent pool. */
export interface Vm {
  readonly kind: 'uniform' | 'flexible' | 'standalone';
  /** What its owner's map knows it by: the instance id, or the VM's name in lower case. */
  readonly key: string;
  readonly resourceId: string;
  readonly name: string;
  readonly hostName: string;
  readonly vmId: string;
  readonly pool: PoolSpec;
  readonly vmSize: string;
  readonly zone: string | undefined;
  readonly createdMs: number;
  /** Lists do not show it before. */
  visibleAtMs: number;
  provisioningState: ProvisioningState;
  /** The part of the view's provisioning code after the state, for example `OSProvisioningInProgress`. */
  detail: string | undefined;
  power: PowerState;
  failure: OperationFailure | undefined;
  /** Whether it took from the region's stock and gives back when it goes. */
  holdsStock: boolean;
  /** More than the set asked for: it counts nowhere. */
  surplus: boolean;
  /** Its agent pool asks for one less already: a removal that comes to nothing takes that back. */
  uncounted: boolean;
  /** Begun together with others, some of them in excess. */
  batch: { readonly members: Set<Vm> } | undefined;
  /** What a client wrote into it; laid over what it shows. */
  own: JsonObject;
  /** Its own etag counter; instances of Uniform sets show their set's. */
  etag: number;
  /** Bumped when a new fate overtakes an older one; pending steps of older fates do nothing. */
  generation: number;
}
