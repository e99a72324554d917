/**
 * Nodes inside capacity reservations of Azure: a reserved VM costs the same whether a node uses it or not. So nodes of a reservation are not
 * removed below what it reserves, and idle reserved VMs count as paid and idle. Pure.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { PaidNodes } from '../../domain/policy.ts';
import type { ReservedCapacity } from '../../domain/quotas-and-prices.ts';
import { type PaidUse, paidUses, type Seen } from './paid-nodes.ts';

interface Reservation {
  readonly group: string;
  readonly reserved: number;
  /** VMs in it that stay, as far as is known. */
  staying: number;
}

/** How many nodes each reservation can lose. Mutable, and dropped with the plan. */
export class ReservedNodes {
  readonly #of = new Map<InstanceKey, Reservation>();

  /** `isLeaving`: whether the instance is being removed, or gone. */
  constructor({ reservations }: Pick<Observation['cloud'], 'reservations'>, isLeaving: (instance: InstanceKey) => boolean) {
    for (const { group, reserved, listed } of reservations) {
      if (listed === undefined) continue;
      const staying = listed.vms - listed.instances.filter(isLeaving).length;
      const reservation = { group, reserved, staying };
      for (const instance of listed.instances) this.#of.set(instance, reservation);
    }
  }

  /** Why these may not be removed together, with the numbers. undefined: they may. */
  shortage(instances: readonly InstanceKey[]): string | undefined {
    if (this.#of.size === 0) return undefined;
    const needed = new Map<Reservation, number>();
    for (const instance of instances) {
      const reservation = this.#of.get(instance);
      if (reservation === undefined) continue;
      const count = (needed.get(reservation) ?? 0) + 1;
      needed.set(reservation, count);
      const { group, reserved, staying } = reservation;
      if (staying - count < reserved)
        return `it is in capacity reservation group ${group}, where ${staying} of ${reserved} reserved VMs are in use: they are paid for anyway`;
    }
    return undefined;
  }

  countRemoval(instance: InstanceKey): void {
    const reservation = this.#of.get(instance);
    if (reservation !== undefined) reservation.staying -= 1;
  }
}

/** Instances of node groups that are there and stay. Those whose list was never read are not known to. */
export function stayingInstances({ cloud }: Pick<Observation, 'cloud'>): ReadonlySet<InstanceKey> {
  const staying = new Set<InstanceKey>();
  for (const { instances = [] } of cloud.groups)
    for (const { key, state } of instances) if (state !== 'deleting' && state !== 'failed') staying.add(key);
  return staying;
}

/**
 * What is paid by configured counts, and what capacity reservations hold, one entry for each size. A configured count may pay the reserved VMs
 * themselves: the larger number of idle ones counts.
 */
export function paidAndReserved(paid: readonly PaidNodes[], observation: Seen): readonly PaidUse[] {
  const reserved = new Map(reservedUses(observation).map((use) => [use.size, use]));
  const counted = paidUses(paid, observation).map((use): PaidUse => {
    const also = reserved.get(use.size);
    reserved.delete(use.size);
    return also === undefined ? use : { ...use, count: Math.max(use.count, also.count), idle: Math.max(use.idle, also.idle) };
  });
  return [...counted, ...reserved.values()];
}

/** Sorted as the view has them. Nodes inside a reservation are billed as such, so it covers none. */
function reservedUses({ cloud }: Seen): readonly PaidUse[] {
  const sizes = new Map<string, string>();
  for (const { template, vmSize } of cloud.groups) for (const name of template?.reservations ?? []) sizes.set(name, vmSize.toLowerCase());
  const uses = new Map<string, PaidUse>();
  for (const capacity of cloud.reservations) {
    const size = sizes.get(capacity.name);
    if (size === undefined || capacity.reserved === 0) continue;
    const before = uses.get(size) ?? { size, count: 0, running: 0, idle: 0, covered: new Map() };
    uses.set(size, {
      ...before,
      count: before.count + capacity.reserved,
      running: before.running + capacity.used,
      idle: before.idle + idleOf(capacity),
    });
  }
  return [...uses.values()];
}

function idleOf({ reserved, used }: Pick<ReservedCapacity, 'reserved' | 'used'>): number {
  return Math.max(0, reserved - used);
}
