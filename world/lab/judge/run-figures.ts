/** What one run cost and how it served: the figures by which policies are compared. Must not know how they are measured or shown. */

export interface RunFigures {
  /** Simulated hours that were judged. */
  readonly hours: number;
  /**
   * What is to pay, in the currency of the scenario: every pool, the system pools included, by the contract that a policy states, without nodes that
   * are paid already. At list prices if no policy states a contract.
   */
  readonly costPerDay: number;
  /** The parts of the money, per day: the same VMs at list prices, by the contract, and what is paid already and used by no VM. */
  readonly money: { readonly list: number; readonly discounted: number; readonly paidIdle: number };
  /** vCPU hours of running VMs, and those that pods of workloads requested. */
  readonly vcpuHours: number;
  readonly requestedVcpuHours: number;
  /** Waits of pods of workloads for a node. Pods that still wait at the end count with their wait until then. */
  readonly pending: {
    readonly pods: number;
    readonly podSeconds: number;
    readonly p50Seconds: number;
    readonly p95Seconds: number;
    readonly maxSeconds: number;
    /** Pods that still waited at the end. */
    readonly unfinished: number;
  };
  readonly nodes: {
    readonly bought: number;
    /** By the autoscaler; evicted Spot nodes are not among them. */
    readonly removed: number;
    /** Removed within 20 minutes. */
    readonly shortLived: number;
    readonly medianLifeMinutes: number;
  };
  /** Accepted evictions by the autoscaler. */
  readonly evictions: number;
  /** Pods that replaced an evicted pod and were evicted themselves within an hour, without evictions from Spot nodes that Azure takes back. */
  readonly movedTwice: number;
  /** Pods of Jobs that reached their end, and those that ran and were lost before, for whatever reason. */
  readonly jobs: { readonly finished: number; readonly interrupted: number };
  readonly armCalls: number;
  /** Writes that could have lost another writer's change or removed what runs. */
  readonly violations: number;
}

/** Means over one interval of the run, for plots. */
export interface RunSample {
  /** The interval's begin, milliseconds since the start. */
  readonly atMs: number;
  /** VMs that cost money, by pool. */
  readonly nodes: Readonly<Record<string, number>>;
  readonly vcpus: number;
  readonly requestedVcpus: number;
  readonly pending: number;
  readonly costPerHour: number;
}

export interface RunResult {
  readonly policy: string;
  readonly seed: number;
  readonly figures: RunFigures;
  readonly samples: readonly RunSample[];
  /** Seconds of waiting that 0 %, 1 %, ... 100 % of the pods stayed below. */
  readonly waitQuantiles: readonly number[];
  /** Sentences about what the run could not do. */
  readonly notes: readonly string[];
}
