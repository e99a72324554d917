/**
 * Headroom: room that a pool or the cluster keeps free for pods to come. Plans count it as pods that exist in plans alone, beside those of
 * CapacityBuffer objects, so it needs no pods of low priority.
 */

/** The workload whose next pods the room is for. */
export interface WorkloadName {
  /** `Deployment`, as the API spells it. */
  readonly kind: string;
  /** Empty for a ReplicationController. */
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
}

/** One amount of room. Zero of anything is no room. */
export type Headroom =
  /** Nodes of the pool on which nothing runs but what runs on each of its nodes. Only for a pool. */
  | { readonly kind: 'nodes'; readonly nodes: number }
  /** From 0 to 100, of what the pods on the nodes of the pool, or of all pools, request in CPU and memory. */
  | { readonly kind: 'percent'; readonly percent: number }
  /** In equal pieces, each of which fits on one node. */
  | { readonly kind: 'amounts'; readonly cpuMillis: number; readonly memoryBytes: number; readonly pieces: number }
  /** Further pods of a workload. */
  | { readonly kind: 'copies'; readonly of: WorkloadName; readonly count: number };

/** The largest piece of room if no number of pieces is stated. */
const PIECE = { cpuMillis: 1000, memoryBytes: 4 * 2 ** 30 };

/** Into how many pieces room is divided unless it is stated: pieces of at most one CPU and 4 GiB. */
export function defaultPieces({ cpuMillis, memoryBytes }: { readonly cpuMillis: number; readonly memoryBytes: number }): number {
  return Math.max(Math.ceil(cpuMillis / PIECE.cpuMillis), Math.ceil(memoryBytes / PIECE.memoryBytes));
}
