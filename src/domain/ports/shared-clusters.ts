/** Which other processes use the same place of sharing, as each of them reports every half minute. For people, and for shares of limits. */
export interface SharingCluster {
  /** The cluster's node resource group. */
  readonly cluster: string;
  /** The process, unique within its cluster. */
  readonly process: string;
  readonly version: string;
  /** When it reported last, ms since the epoch. */
  readonly atMs: number;
  /** It is the process that shows the list. */
  readonly isThis?: boolean | undefined;
}

export interface SharedClusters {
  /** This process and those that reported within the last minute and a half, from memory; sorted by name. Never empty. */
  present(): readonly SharingCluster[];
}
