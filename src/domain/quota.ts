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
