/** What the processes of the bench are asked for, and what they answer. Times are milliseconds of the machine. */
export interface WorldSize {
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
  | { readonly verb: 'remove-pods' };

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

export interface WorldAnswers {
  readonly usage: WorldUsage;
  readonly 'change-pods': { readonly changed: number };
  readonly 'add-lone-pod': Reaction;
  readonly 'add-pods': WriteTimes;
  readonly 'remove-pods': WriteTimes;
}

/** To the meter in the daemon: it begins, or it ends and answers. */
export type MeterOrder = 'start' | 'stop';

/** The longest turn of the event loop, by the clock and by the time that its thread had the processor. */
export interface LongestTurn {
  readonly wallMs: number;
  readonly cpuMs: number;
}
