/**
 * Capacity reservation groups as Compute shows them. The group's instance view comes with `$expand=instanceView` only and has neither sizes
 * nor zones; the list of reservations has those and no use (REST reference of Microsoft.Compute: "Capacity Reservation Groups - Get",
 * "Capacity Reservations - List By Capacity Reservation Group"; models of @azure/arm-compute 25.1.1).
 */
import type { CapacityReservationGroupSpec, CapacityReservationSpec } from '../../base/world-spec.ts';
import { resourceNotFound } from '../http/errors.ts';
import type { JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { answerPage } from '../http/paging.ts';
import { armTime } from '../compute/operations.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { vmsInReservation } from '../state/stock-and-quota.ts';
import { capacityReservationGroupId } from '../state/resource-names.ts';

const TYPE = 'Microsoft.Compute/capacityReservationGroups';
/** When every reservation was made. */
const RESERVED_MS = Date.UTC(2026, 0, 5, 9);

function findGroup(world: ArmWorld, request: ArmRequest): CapacityReservationGroupSpec | undefined {
  if (param(request, 'rg').toLowerCase() !== world.spec.clusterResourceGroup.toLowerCase()) return undefined;
  const name = param(request, 'group').toLowerCase();
  return world.spec.capacityReservationGroups?.find((group) => group.name.toLowerCase() === name);
}

export function getReservationGroup(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = findGroup(world, request);
  if (group === undefined) return resourceNotFound(TYPE, param(request, 'group'), param(request, 'rg'));
  const id = capacityReservationGroupId(world.spec, group.name);
  const isExpanded = request.query['$expand']?.toLowerCase() === 'instanceview';
  const vms = group.reservations.flatMap((reservation) => idsOf(world, group, reservation));
  return {
    status: 200,
    body: {
      id,
      name: group.name,
      type: TYPE,
      location: world.spec.location,
      zones: zonesOf(group),
      properties: {
        capacityReservations: group.reservations.map(({ name }) => ({ id: `${id}/capacityReservations/${name}` })),
        virtualMachinesAssociated: vms,
        ...(isExpanded ? { instanceView: { capacityReservations: group.reservations.map((each) => viewOf(world, group, each)) } } : {}),
      },
    },
  };
}

export function listReservations(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = findGroup(world, request);
  if (group === undefined) return resourceNotFound(TYPE, param(request, 'group'), param(request, 'rg'));
  const id = capacityReservationGroupId(world.spec, group.name);
  const created = armTime(RESERVED_MS);
  return answerPage(request, {
    items: group.reservations,
    keyOf: ({ name }) => name,
    pageSize: world.knobs.pageSize,
    render: (reservation) => ({
      id: `${id}/capacityReservations/${reservation.name}`,
      name: reservation.name,
      type: `${TYPE}/capacityReservations`,
      location: world.spec.location,
      sku: { name: reservation.vmSize, capacity: reservation.capacity },
      ...(reservation.zone === undefined ? {} : { zones: [reservation.zone] }),
      properties: {
        reservationId: world.draws.guid(`${id}|${reservation.name}`),
        platformFaultDomainCount: 3,
        provisioningTime: created,
        provisioningState: 'Succeeded',
        timeCreated: created,
        ...associated(idsOf(world, group, reservation)),
      },
    }),
  });
}

/** Azure leaves out an empty list (recorded by Azure's CLI, August 2024). */
function associated(vms: readonly JsonObject[]): JsonObject {
  return vms.length === 0 ? {} : { virtualMachinesAssociated: vms };
}

function viewOf(world: ArmWorld, group: CapacityReservationGroupSpec, reservation: CapacityReservationSpec): JsonObject {
  return {
    name: reservation.name,
    utilizationInfo: { currentCapacity: reservation.capacity, virtualMachinesAllocated: idsOf(world, group, reservation) },
    statuses: [{ code: 'ProvisioningState/succeeded', level: 'Info', displayStatus: 'Provisioning succeeded' }],
  };
}

function idsOf(world: ArmWorld, { name }: CapacityReservationGroupSpec, reservation: CapacityReservationSpec): readonly JsonObject[] {
  return vmsInReservation(world, name, reservation).map((vm) => ({ id: vm.resourceId }));
}

function zonesOf({ reservations }: CapacityReservationGroupSpec): readonly string[] {
  return [...new Set(reservations.flatMap(({ zone }) => zone ?? []))].sort();
}
