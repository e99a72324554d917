/**
 * What capacity reservation groups have left for the pools that name them. Azure's list of their VMs is minutes old, so nodes that pools have
 * requested and the list does not show are counted as if they were in it. That needs no memory: it holds after a restart, too. Sends no call.
 * Idea: quota.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { ReservedCapacity } from '../../domain/quotas-and-prices.ts';
import type { ReservationReading } from '../agents/reservations-agent.ts';
import { parseInstanceId } from '../arm/resource-ids.ts';
import { compareBy } from '../../lib/comparison.ts';
import { parseReservationGroupId, reservedCapacityName, reservedCapacityNames } from '../rows/capacity-reservation.ts';

/** An older list says nothing about now. As for quotas. */
const STALE_MS = 30 * 60_000;

/** A node group whose new nodes may use a capacity reservation group. */
export interface ReservingGroup {
  /** The group's folded key. */
  readonly key: string;
  /** The folded ARM id of its capacity reservation group. */
  readonly reservationGroup: string;
  readonly vmSize: string;
  /** Zone numbers; empty: the group is not zonal. */
  readonly zones: readonly string[];
  /** The size with our unconfirmed changes. undefined: unknown. */
  readonly target: number | undefined;
}

interface ReservedCapacitiesDeps {
  readonly groups: () => readonly ReservingGroup[];
  /** The folded key of the node group that a VM belongs to, by the VM's ARM id. undefined: another's. */
  readonly groupOfVm: (armId: string) => string | undefined;
}

export class ReservedCapacities {
  readonly #deps: ReservedCapacitiesDeps;
  #readings: ReadonlyMap<string, ReservationReading> = new Map();

  constructor(deps: ReservedCapacitiesDeps) {
    this.#deps = deps;
  }

  /** The folded ARM ids of the groups that pools name, sorted. */
  groupIds(): readonly string[] {
    return [...new Set(this.#deps.groups().map(({ reservationGroup }) => reservationGroup))].sort();
  }

  /** A failure that passes leaves the last reading in use until it is old. */
  keep(readings: ReadonlyMap<string, ReservationReading>): void {
    this.#readings = new Map(
      [...readings].map(([id, reading]) => {
        const before = this.#readings.get(id);
        return [id, !reading.ok && reading.passes && before?.ok === true ? before : reading];
      }),
    );
  }

  /** The reserved capacity of all pools, sorted by name. */
  current(nowMs: number): readonly ReservedCapacity[] {
    const byName = new Map<string, ReservingGroup[]>();
    for (const group of this.#deps.groups())
      for (const name of reservedCapacityNames(group)) byName.set(name, [...(byName.get(name) ?? []), group]);
    const listed = this.#listedByGroup();
    return [...byName].sort(compareBy(([name]) => name)).map(([name, groups]) => this.#capacityOf(name, groups, listed, nowMs));
  }

  /** Whether the nodes of a group may use a capacity reservation group. */
  isReserving(groupKey: string): boolean {
    return this.#deps.groups().some(({ key }) => key === groupKey);
  }

  /** How many new nodes of a group need no quota, wherever they come. */
  unusedFor(groupKey: string, nowMs: number): number {
    const group = this.#deps.groups().find(({ key }) => key === groupKey);
    if (group === undefined) return 0;
    const names = reservedCapacityNames(group);
    const unused = this.current(nowMs).flatMap(({ name, reserved, used }) => (names.includes(name) ? [Math.max(0, reserved - used)] : []));
    return Math.min(...unused);
  }

  #capacityOf(name: string, sharing: readonly ReservingGroup[], own: ReadonlyMap<string, number>, nowMs: number): ReservedCapacity {
    const reservationGroup = sharing[0]?.reservationGroup ?? '';
    const group = parseReservationGroupId(reservationGroup)?.name ?? reservationGroup;
    const reading = this.#readings.get(reservationGroup);
    const unknown = reasonAgainst(reading, nowMs);
    if (unknown !== undefined || reading?.ok !== true) return { name, group, reserved: 0, used: 0, unknown: unknown ?? '' };
    const rows = reading.rows.filter(({ vmSize, zone }) => reservedCapacityName(reservationGroup, vmSize, zone) === name);
    const reserved = rows.reduce((sum, row) => sum + row.reserved, 0);
    const listed = rows.reduce((sum, row) => sum + row.vms.length, 0);
    // guard: requested nodes count in reserved capacity before Azure lists them there
    const used = sharing.reduce((sum, each) => sum + unlistedNodes(each, own), listed);
    const vms = rows.flatMap((row) => row.vms);
    return { name, group, reserved, used, listed: { vms: listed, instances: vms.flatMap((vm) => this.#instanceOf(vm) ?? []) } };
  }

  /** undefined: it belongs to no node group. */
  #instanceOf(vm: string): InstanceKey | undefined {
    const parsed = parseInstanceId(vm);
    return parsed.ok && this.#deps.groupOfVm(vm) !== undefined ? parsed.ref.key : undefined;
  }

  /** VMs in reservations by reservation group, size and node group. */
  #listedByGroup(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [id, reading] of this.#readings)
      for (const { vmSize, vms } of reading.ok ? reading.rows : [])
        for (const vm of vms) {
          const key = listKey(id, vmSize, this.#deps.groupOfVm(vm) ?? '');
          counts.set(key, (counts.get(key) ?? 0) + 1);
        }
    return counts;
  }
}

function listKey(reservationGroup: string, vmSize: string, groupKey: string): string {
  return `${reservationGroup}|${vmSize.toLowerCase()}|${groupKey}`;
}

/** More than any reservation has. */
const ALL = 1_000_000;

/** Nodes of a group that no reservation lists: requested, outside of the reservations, or deallocated. Any of them may need a reserved VM. */
function unlistedNodes({ key, target, vmSize, reservationGroup }: ReservingGroup, listed: ReadonlyMap<string, number>): number {
  return target === undefined ? ALL : Math.max(0, target - (listed.get(listKey(reservationGroup, vmSize, key)) ?? 0));
}

function reasonAgainst(reading: ReservationReading | undefined, nowMs: number): string | undefined {
  if (reading === undefined) return 'it has not been read yet';
  if (!reading.ok) return reading.reason;
  // guard: an old reading of reserved capacity counts as none
  return nowMs - reading.atMs > STALE_MS ? 'it was last read more than 30 minutes ago' : undefined;
}
