/**
 * The simulated world as a person describes it: what exists at the start and what Azure has in stock. The room is what both sides of
 * the world share. Must not know either side.
 */
export interface PoolSpec {
  readonly name: string;
  /** Default: Uniform scale set. */
  readonly kind?: 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';
  readonly vmSize: string;
  readonly count: number;
  /** Further sizes of a VMs pool; minimum and maximum hold for each size by itself. */
  readonly sizes?: readonly { readonly vmSize: string; readonly count: number }[];
  /** Written as `min` and `max` tags, beside `discoveryTags` of the world. */
  readonly min: number;
  readonly max: number;
  readonly zones?: readonly string[];
  readonly priority?: 'Regular' | 'Spot';
  /** What becomes of a Spot machine that Azure takes back. Default: AKS's, `Delete`. */
  readonly evictionPolicy?: 'Delete' | 'Deallocate';
  /** Whether its scale set begins more machines than asked for. Default: no, as AKS makes it. */
  readonly overprovision?: boolean;
  readonly mode?: 'System' | 'User';
  /** AKS's own autoscaler is turned on for it. (What it would do is not simulated.) */
  readonly managedAutoscaler?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** `key=value:Effect` */
  readonly taints?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
}

export interface WorldSpec {
  readonly subscriptionId: string;
  readonly tenantId: string;
  readonly location: string;
  readonly clusterName: string;
  readonly clusterResourceGroup: string;
  readonly nodeResourceGroup: string;
  readonly pools: readonly PoolSpec[];
  /** Tags that every scale set carries, for discovery. */
  readonly discoveryTags: Readonly<Record<string, string>>;
  /** `size/zone` (zone `0` is regional) -> how many more VMs Azure can give. Absent: plenty. */
  readonly stock: Readonly<Record<string, number>>;
  /** Family or `cores` -> vCPU limit. Absent: plenty. */
  readonly quota: Readonly<Record<string, number>>;
  readonly seed: number;
  /** What the role of the daemon's identity allows, `*` included. Absent: what Contributor allows. */
  readonly roleActions?: readonly string[];
  /** Autoscale rules of the monitor in the node resource group. Absent: none. */
  readonly autoscaleRules?: readonly { readonly name: string; readonly pool: string; readonly enabled: boolean }[];
  /** Addresses of the nodes' subnet. Absent: 10.224.0.0/16, as AKS makes it. */
  readonly subnetPrefix?: string;
  /** Addresses that a machine takes of the subnet: 1 with overlay networking (default), one for each pod more with flat networking. */
  readonly addressesPerNode?: number;
  /** A user-assigned identity that all sets have, by name, as AKS gives its kubelets. Absent: none. */
  readonly kubeletIdentity?: string;
  /** What the cluster refuses the daemon, as `verb resource`, such as `update nodes`. Absent: nothing. */
  readonly forbidden?: readonly string[];
}
