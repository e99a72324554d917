/** What a cloud lets a subscription have in a region, and what one node takes of it. */

export interface CloudQuota {
  /** Folded; what draws refer to. */
  readonly name: string;
  /** For sentences: `family standardDSv5Family`, `region`, `spot`. */
  readonly title: string;
  /** Cores. */
  readonly limit: number;
  /** Cores, with what was asked for and is not counted by the cloud yet. May be above the limit. */
  readonly used: number;
}

/** What one node of a group takes of one quota, in cores. */
export interface QuotaDraw {
  readonly quota: string;
  readonly cores: number;
}

// What Azure publishes that one hour of a VM size costs. Currency as asked for; discounts and contracts are not in it.

/** What of a size is paid for; Windows costs more than Linux, Spot less than either. */
export type PriceKind = 'linux' | 'windows' | 'linux/spot' | 'windows/spot';

/** One size's list prices per hour. A kind that is absent has no price: it is not sold, or not told without doubt. */
export interface SizePrices {
  readonly perHour: Readonly<Partial<Record<PriceKind, number>>>;
  readonly readAtMs: number;
}

/** By VM size in lower case. Plain, so that a recorded decision holds it. */
export type PriceTable = Readonly<Record<string, SizePrices>>;
