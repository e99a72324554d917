/** Capacity reservation groups as decisions need them: the VMs that they reserve by size and zone, and the VMs that use them. Pure. */
import type { CapacityReservation, CapacityReservationGroup } from '@azure/arm-compute';
import { groupSizeOf } from '../../domain/platform-limits.ts';

/** What one reservation of a group holds. */
export interface ReservationRow {
  /** Folded. */
  readonly vmSize: string;
  /** Its number; empty: the reservation is regional. */
  readonly zone: string;
  /** VMs. */
  readonly reserved: number;
  /** ARM ids of the VMs that use it, beyond what is reserved included. */
  readonly vms: readonly string[];
}

/** Where a capacity reservation group is. */
export interface ReservationGroupRef {
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly name: string;
}

const GROUP_ID = /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute\/capacityReservationGroups\/([^/]+)$/i;

/** undefined: it is not the ARM id of a capacity reservation group. */
export function parseReservationGroupId(id: string): ReservationGroupRef | undefined {
  const [, subscriptionId, resourceGroup, name] = GROUP_ID.exec(id) ?? [];
  return subscriptionId === undefined || resourceGroup === undefined || name === undefined
    ? undefined
    : { subscriptionId, resourceGroup, name };
}

/** The folded ARM id of the group in a model that Azure returned; undefined: none. */
export function reservationGroupIdOf(id: unknown): string | undefined {
  return typeof id === 'string' && id !== '' ? id.toLowerCase() : undefined;
}

/** The name by which templates refer to reserved capacity. An empty zone: regional. */
export function reservedCapacityName(groupId: string, vmSize: string, zone: string): string {
  return `${groupId}|${vmSize}|${zone}`.toLowerCase();
}

interface ReservingModel {
  /** The folded ARM id of the capacity reservation group. */
  readonly reservationGroup: string;
  readonly vmSize: string;
  /** Zone numbers; empty: not zonal. */
  readonly zones: readonly string[];
}

/** The names of the reserved capacity that a new node may use, one for each zone that it may be in. */
export function reservedCapacityNames({ reservationGroup, vmSize, zones }: ReservingModel): readonly string[] {
  return (zones.length === 0 ? [''] : zones).map((zone) => reservedCapacityName(reservationGroup, vmSize, zone));
}

/**
 * Joins a group with its instance view, which has no sizes, and the list of its reservations, which has no use. A reservation whose use Azure
 * does not show reserves nothing.
 */
export function projectReservations(
  { instanceView }: Pick<CapacityReservationGroup, 'instanceView'>,
  reservations: readonly CapacityReservation[],
): readonly ReservationRow[] {
  const views = new Map((instanceView?.capacityReservations ?? []).map((view) => [(view.name ?? '').toLowerCase(), view]));
  return reservations.flatMap((reservation): readonly ReservationRow[] => {
    const { name = '', sku, zones } = reservation;
    const use = views.get(name.toLowerCase())?.utilizationInfo;
    // Azure reserves less than was asked for while the capacity is missing.
    const reserved = groupSizeOf(use?.currentCapacity ?? sku?.capacity);
    const vmSize = sku?.name?.toLowerCase();
    if (use === undefined || reserved === undefined || vmSize === undefined) return [];
    const vms = (use.virtualMachinesAllocated ?? []).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
    return [{ vmSize, zone: zones?.[0] ?? '', reserved, vms }];
  });
}
