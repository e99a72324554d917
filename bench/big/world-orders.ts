/** What the processes of the bench are asked for, and what they answer. Times are milliseconds of the machine. */
export interface WorldSize {
  /** `day`: no node is a candidate for removal. `evening`: many are, and all of those have pods. */
  readonly scene: 'day' | 'evening';
  readonly nodes: number;
  readonly pods: number;
  /** How many times faster than Azure the world is. */
  readonly speed: number;
  readonly dir: string;
}

export interface WorldReady {
  /** From the first line of the process until all pods run. */
  readonly startMs: number;
  readonly startCpuMs: number;
  readonly peakMb: number;
  readonly nodes: number;
  readonly pods: number;
  /** Nodes with pods that are meant to go. */
  readonly going: number;
  readonly kubeconfig: string;
  readonly cloudConfig: string;
  readonly environment: Readonly<Record<string, string>>;
}

export type WorldOrder =
  | { readonly verb: 'usage' }
  /** Changes `perSecond` pods a second. */
  | { readonly verb: 'change-pods'; readonly perSecond: number; readonly forMs: number }
  /** Adds a pod that needs a node of its own, in another pool for each `index`: Azure limits the writes of one scale set. */
  | { readonly verb: 'add-lone-pod'; readonly name: string; readonly index: number }
  /** Adds pods that need a node each, and waits until all run. */
  | { readonly verb: 'add-pods'; readonly count: number }
  /** Deletes every pod that has a node of its own, and waits until these nodes are gone. */
  | { readonly verb: 'remove-pods' }
  /**
   * Waits until so many nodes are gone, or for this time. With `releaseAfterMs`, budgets that allow nothing allow what they are meant to
   * after that time.
   */
  | { readonly verb: 'follow-drains'; readonly going: number; readonly withinMs: number; readonly releaseAfterMs?: number };

export interface WorldUsage {
  readonly cpuMs: number;
  readonly residentMb: number;
  readonly peakMb: number;
}

/** Since the order was given. */
export interface WriteTimes {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly writes: number;
  readonly doneMs: number;
  /** Nodes that came or went. */
  readonly nodes: number;
  /** Pods of ordinary workloads that ended, although nothing had to touch them. */
  readonly othersEnded: number;
}

/** From the first condition `Unschedulable` to the first accepted write of a capacity. */
export interface Reaction {
  readonly unschedulableToWriteMs: number;
}

/** What drains did since the order was given. */
export interface DrainFacts {
  readonly firstEvictionMs: number;
  readonly lastEvictionMs: number;
  /** NaN: the nodes were not gone in time. */
  readonly doneMs: number;
  readonly nodesGone: number;
  readonly nodesAdded: number;
  readonly evicted: number;
  /** Pods that were evicted although an eviction had just created them. */
  readonly evictedAgain: number;
  /** Evictions that the API server answered with 429. */
  readonly refused: number;
  /** Evictions that failed otherwise. */
  readonly failed: number;
  /** Of the pods of a workload with a budget, from 0 to 1. */
  readonly leastAvailable: number;
  /** Pods that a workload lacked at worst, compared with its budget. */
  readonly mostBelowBudget: number;
  /** Pods that were unschedulable. */
  readonly unplaced: number;
  readonly longestUnplacedMs: number;
  readonly armCalls: number;
  /** Writes of scale sets. */
  readonly armWrites: number;
  readonly apiCalls: number;
}

export interface WorldAnswers {
  readonly usage: WorldUsage;
  readonly 'change-pods': { readonly changed: number };
  readonly 'add-lone-pod': Reaction;
  readonly 'add-pods': WriteTimes;
  readonly 'remove-pods': WriteTimes;
  readonly 'follow-drains': DrainFacts;
}

/** To the meters in the daemon: turns are measured from now on; or not any more, and the longest is answered; or what a full collection leaves. */
export type MeterOrder = 'start' | 'stop' | 'live-heap' | { readonly snapshotTo: string };

/** After a full collection of garbage. */
export interface LiveHeap {
  readonly usedMb: number;
  /** Held by objects of the heap, but outside of it: buffers. */
  readonly externalMb: number;
}

/** The longest turn of the event loop, by the clock and by the time that its thread had the processor. */
export interface LongestTurn {
  readonly wallMs: number;
  readonly cpuMs: number;
}
