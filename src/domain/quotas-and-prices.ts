/** How many cores a subscription may use in a region, how many a node uses, and list prices of VM sizes. */

import type { InstanceKey } from './ids.ts';

export interface CloudQuota {
  /** Folded; quota draws refer to it. */
  readonly name: string;
  /** For messages: `family standardDSv5Family`, `region`, `spot`. */
  readonly title: string;
  /** Cores. */
  readonly limit: number;
  /** Cores, with requested ones that the cloud does not count yet. May be above the limit. */
  readonly used: number;
}

/** The cores of one quota that a node of a group uses. */
export interface QuotaDraw {
  readonly quota: string;
  readonly cores: number;
}

/**
 * VMs of one size in one zone that a capacity reservation group holds. A VM inside a reservation needs no unused quota: the reservation has
 * counted against the quota since it was made.
 */
export interface ReservedCapacity {
  /** Folded; templates refer to it. */
  readonly name: string;
  /** The name of the capacity reservation group, for messages. */
  readonly group: string;
  /** VMs. 0 if unknown. */
  readonly reserved: number;
  /** VMs in the reservation, with requested ones that the cloud does not count yet. May be above `reserved`. */
  readonly used: number;
  /** VMs that Azure lists in it, and which of them are instances of node groups. Absent if unknown. */
  readonly listed?: { readonly vms: number; readonly instances: readonly InstanceKey[] };
  /** Why the numbers are unknown: each new node then needs quota. If absent, they are known. */
  readonly unknown?: string;
}

// List prices of VM sizes and managed disks per hour, in the requested currency, without discounts and contracts.

/** What is paid for: Windows costs more than Linux, Spot less than either. A managed disk has one price. */
export type PriceKind = 'linux' | 'windows' | 'linux/spot' | 'windows/spot' | 'disk';

/** List prices per hour of one size. An absent kind has no price: it is not sold, or its price is ambiguous. */
export interface SizePrices {
  readonly perHour: Readonly<Partial<Record<PriceKind, number>>>;
  readonly readAtMs: number;
}

/** By VM size, or SKU of a managed disk (`p10 lrs`), in lower case. Plain data, so that it can be part of a recorded decision. */
export type PriceTable = Readonly<Record<string, SizePrices>>;

/** The known list prices, as at the start of a loop. */
export interface PriceTableView {
  readonly table: PriceTable;
  /** Remarks for people, one sentence each: that prices are old, or could not be read. */
  readonly remarks: readonly string[];
  /** Present if prices are read by default: they are shown, and no decision uses them. */
  readonly onlyShown?: true;
  /** Since when the list cannot be read, milliseconds since the epoch. Absent if the last read succeeded, or there was none. */
  readonly unreachableSinceMs?: number;
}

/** Capacity writes that Azure's rate limit of one pool had left, as reported with the last write. Tokens return as time passes. */
export interface RemainingWrites {
  readonly left: number;
  /** The most ever reported. */
  readonly of: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}
