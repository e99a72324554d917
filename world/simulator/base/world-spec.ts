/**
 * The description of a simulated world: what exists at the start and what Azure has in stock. The room is what both sides of the
 * world share. Must not know either side.
 */
export type MachineStops = 'left-out' | 'counted' | 'deleted';

export interface PoolSpec {
  readonly name: string;
  /** Default: Uniform scale set. */
  readonly kind?: 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';
  readonly vmSize: string;
  readonly count: number;
  /** Further sizes of a VMs pool. Minimum and maximum apply to each size separately. */
  readonly sizes?: readonly { readonly vmSize: string; readonly count: number }[];
  /** Written as `min` and `max` tags, beside `discoveryTags` of the world. */
  readonly min: number;
  readonly max: number;
  /** Zone numbers, or `auto` alone: Azure then chooses the zone of each VM ({@link possibleZones}). */
  readonly zones?: readonly string[];
  readonly priority?: 'Regular' | 'Spot';
  /** The eviction policy of a Spot pool. Default: AKS's, `Delete`. */
  readonly evictionPolicy?: 'Delete' | 'Deallocate';
  /** Whether AKS deletes or deallocates nodes that it removes. Default: AKS's, `Delete`. */
  readonly scaleDownMode?: 'Delete' | 'Deallocate';
  /**
   * What AKS makes of machines of a VMs pool of mode Deallocate. It documents neither whether the count of a size includes stopped machines, nor
   * whether machines that are deleted by name are stopped, so each is imitated. `left-out`, the default: they are stopped, and the count leaves
   * them out, as AKS's page on the mode shows for its counts. `counted`: they are stopped, and the count includes them. `deleted`: they are deleted.
   */
  readonly machineStops?: MachineStops;
  /** Whether its scale set begins more VMs than requested. Default: false, as AKS sets it. */
  readonly overprovision?: boolean;
  readonly mode?: 'System' | 'User';
  /** AKS's own autoscaler is on for the pool. The world imitates it only if asked to. */
  readonly managedAutoscaler?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** `key=value:Effect` */
  readonly taints?: readonly string[];
  /** The name of the capacity reservation group that its VMs may use. Default: none. */
  readonly capacityReservationGroup?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** VMs of one size that are reserved in one zone. */
export interface CapacityReservationSpec {
  readonly name: string;
  readonly vmSize: string;
  /** If absent, the reservation is regional. */
  readonly zone?: string;
  /** VMs. */
  readonly capacity: number;
}

/** A capacity reservation group in the resource group of the cluster. */
export interface CapacityReservationGroupSpec {
  readonly name: string;
  readonly reservations: readonly CapacityReservationSpec[];
}

/** A maintenance configuration of the cluster, as ARM has its properties. */
export type MaintenanceSpec = {
  readonly name: 'default' | 'aksManagedAutoUpgradeSchedule' | 'aksManagedNodeOSUpgradeSchedule';
  readonly timeInWeek?: readonly { readonly day: string; readonly hourSlots: readonly number[] }[];
  readonly notAllowedTime?: readonly { readonly start: string; readonly end: string }[];
  readonly maintenanceWindow?: {
    readonly schedule: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
    readonly durationHours: number;
    readonly utcOffset?: string;
    readonly startDate?: string;
    readonly startTime: string;
    readonly notAllowedDates?: readonly { readonly start: string; readonly end: string }[];
  };
};

export interface WorldSpec {
  readonly subscriptionId: string;
  readonly tenantId: string;
  readonly location: string;
  readonly clusterName: string;
  readonly clusterResourceGroup: string;
  readonly nodeResourceGroup: string;
  readonly pools: readonly PoolSpec[];
  /** Tags of every scale set, for discovery. */
  readonly discoveryTags: Readonly<Record<string, string>>;
  /** `size/zone` (zone `0` is regional) -> VMs in stock. If absent, the stock is unlimited. */
  readonly stock: Readonly<Record<string, number>>;
  /** Family or `cores` -> vCPU limit. If absent, the quota is 100000 vCPUs. */
  readonly quota: Readonly<Record<string, number>>;
  readonly seed: number;
  /** Default: none. */
  readonly capacityReservationGroups?: readonly CapacityReservationGroupSpec[];
  /** When AKS may work on the cluster. Default: no configuration. */
  readonly maintenance?: readonly MaintenanceSpec[];
  /** Prices per hour in the price list, in any currency, by VM size; of Spot VMs by `SIZE/spot`. If absent, they are invented. */
  readonly listPrices?: Readonly<Record<string, number>>;
  /** Actions that the role of the daemon's identity allows, `*` included. If absent, those of Contributor. */
  readonly roleActions?: readonly string[];
  /** Autoscale rules of Azure Monitor in the node resource group. Default: none. */
  readonly autoscaleRules?: readonly { readonly name: string; readonly pool: string; readonly enabled: boolean }[];
  /** Addresses of the nodes' subnet. Default: 10.224.0.0/16, as AKS creates it. */
  readonly subnetPrefix?: string;
  /** Subnet addresses per VM. Default: 1, for overlay networking. Flat networking needs one more for each pod. */
  readonly addressesPerNode?: number;
  /** The version of the control plane. Default: 1.33.2, as that of pools. */
  readonly kubernetesVersion?: string;
  /** The name of a user-assigned identity of all sets, as AKS gives its kubelets. Default: none. */
  readonly kubeletIdentity?: string;
  /** Containers that a mutating webhook adds to new pods of a namespace, as side-car injectors do. Default: none. */
  readonly injectedContainers?: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly requests: Readonly<Record<string, string>>;
  }[];
  /** Requests that the cluster forbids to the daemon, as `verb resource`, such as `update nodes`. Default: none. */
  readonly forbidden?: readonly string[];
}

/** The zones of the region, for every VM size. */
export const REGION_ZONES = ['1', '2', '3'] as const;

/**
 * Whether Azure chooses the zone of each VM of the pool: automatic zone placement, a preview of July 2026
 * (learn.microsoft.com/azure/aks/configure-automatic-zone-placement).
 */
export function isPlacedAutomatically({ zones }: Pick<PoolSpec, 'zones'>): boolean {
  return zones?.length === 1 && zones[0] === 'auto';
}

/** The zones in which VMs of the pool may be. Empty for a regional pool. */
export function possibleZones(pool: Pick<PoolSpec, 'zones'>): readonly string[] {
  return isPlacedAutomatically(pool) ? REGION_ZONES : (pool.zones ?? []);
}
