/**
 * The JSON documents of `/api/v1`, made from the last loop. Names in documents carry units; times are ISO 8601 in UTC; an unknown value
 * is absent, never 0. Pure. Must not know HTTP, or who reads a document.
 */
import type { Hint } from '../../domain/ports/shared-hints.ts';
import type { SharingCluster } from '../../domain/ports/shared-clusters.ts';
import type { HistoryReader } from '../../domain/history.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import type { RepackEstimate } from '../../domain/repack.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import type { AnswerInput } from '../../planning/explain/answers/pod-answer.ts';
import type { Advice, RemovalFix } from '../../planning/explain/advice/fix.ts';
import { isoTime } from '../../lib/duration.ts';

/** The report of a loop that observed the cluster. */
export type ObservedReport = LoopReport & { readonly observation: Observation };

/** Capacity writes that Azure's rate limit of one scale set allows now, and the most that it ever reported. */
export interface PoolTokens {
  readonly left: number;
  readonly of: number;
}

/** A reader of Azure. Times are milliseconds since the epoch. */
export interface AgentReading {
  readonly id: string;
  readonly kind: string;
  readonly state: 'idle' | 'running' | 'held' | 'disabled';
  readonly lastStartMs: number | undefined;
  readonly lastSuccessMs: number | undefined;
  readonly nextDueMs: number;
  readonly heldUntilMs: number | undefined;
  readonly consecutiveFailures: number;
  /** The message of the failure of its last run. */
  readonly lastError: string | undefined;
  /** `readBy`: another process read it for all. */
  readonly lastCommit: { readonly rows: number; readonly readBy?: string | undefined } | undefined;
  /** Calls that Azure still accepts, of the most it ever reported. */
  readonly budget?: { readonly policy: string; readonly remaining: number; readonly largest: number };
}

/** The store that clusters share. `trouble`: why it cannot be used. */
interface StoreReading {
  readonly trouble: string | undefined;
  readonly clusters: readonly SharingCluster[];
  /** What other clusters reported, and still holds. */
  readonly hints: readonly Hint[];
}

/** How Azure is read, and with whom that is shared. */
export interface AzureReads {
  readonly agents: readonly AgentReading[];
  /** undefined: nothing is shared. */
  readonly store?: StoreReading | undefined;
}

/** The process that answers. Times are milliseconds since the epoch. */
export interface ReplicaIdentity {
  readonly name: string;
  readonly startedAtMs: number;
  /** Since when it leads. */
  readonly leadsSinceMs: number;
  readonly dryRun: boolean;
  readonly version: string;
  readonly cluster?: string | undefined;
  readonly location?: string | undefined;
  readonly currency?: string | undefined;
  readonly scanIntervalMs: number;
  /** 1 at the start; each applied change of the files adds 1. */
  readonly configuration: { readonly generation: number; readonly sinceMs: number };
}

export interface DocumentInput {
  readonly report: ObservedReport;
  /** The last decision about pending pods. */
  readonly pods: AnswerInput;
  /** What helps pending pods, as far as it was simulated. */
  readonly advice: ReadonlyMap<PodVerdict, Advice>;
  /** What frees nodes, by kind of blocker as of `rowKey`, as far as it was simulated. If absent, nothing was. */
  readonly wasteFixes?: ReadonlyMap<string, RemovalFix>;
  /** What repacking would save. If absent, it was not searched. */
  readonly repackEstimate?: RepackEstimate;
  /** Messages of readers of Azure whose last run failed. If absent, none is known. */
  readonly refusals?: readonly string[];
  readonly policy: Policy;
  readonly replica: ReplicaIdentity;
  /** When scale sets were last listed, milliseconds since the epoch. undefined: unknown. */
  readonly azureReadAtMs: number | undefined;
  /** By pool. */
  readonly tokens: ReadonlyMap<string, PoolTokens>;
  readonly history: HistoryReader;
  /** If absent, nothing is known of them. */
  readonly azureReads?: AzureReads;
}

/** What every document begins with. */
export interface CommonFields {
  readonly observedAt: string;
  readonly loopId: number;
  readonly replica: string;
  readonly leading: true;
  /** Since when this process remembers. */
  readonly memorySince: string;
}

export function commonFields({ report, replica, history }: DocumentInput): CommonFields {
  return {
    observedAt: isoTime(report.observation.nowMs),
    loopId: report.loopId,
    replica: replica.name,
    leading: true,
    memorySince: isoTime(history.sinceMs),
  };
}

/** Times before 1971 stand for an unknown past. */
export function knownTime(ms: number | undefined): string | undefined {
  const YEAR = 365 * 86_400_000;
  return ms === undefined || !Number.isFinite(ms) || ms < YEAR ? undefined : isoTime(ms);
}

/** Money with two decimals more than people read, so that sums of rounded values agree. */
export function roundMoney(amount: number | undefined): number | undefined {
  return amount === undefined ? undefined : Math.round(amount * 10_000) / 10_000;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
