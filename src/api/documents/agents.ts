/** Who reads Azure: the caching agents of this process, and the clusters that share what they read. */
import type { Hint } from '../../domain/ports/shared-hints.ts';
import type { SharingCluster } from '../../domain/ports/shared-clusters.ts';
import { defined } from '../../lib/defined.ts';
import { commonFields, knownTime, type AgentReading, type CommonFields, type DocumentInput } from './document-input.ts';
import { isoTime } from '../../lib/duration.ts';

export interface AgentRow {
  readonly id: string;
  readonly kind: string;
  readonly state: AgentReading['state'];
  readonly rows?: number;
  /** The process of another cluster that read it for all. If absent, this process did, or none has. */
  readonly readBy?: string;
  readonly startedAt?: string;
  readonly succeededAt?: string;
  readonly dueAt?: string;
  readonly heldUntil?: string;
  /** In a row. */
  readonly failures: number;
  readonly error?: string;
  readonly remaining?: { readonly policy: string; readonly left: number; readonly of: number };
}

export interface ClusterRow {
  readonly cluster: string;
  readonly process: string;
  readonly version: string;
  readonly seenAt: string;
  /** It is the process that serves this document. */
  readonly isThis?: true;
  /** Agents of this process that use what that one read last. */
  readonly reads: readonly string[];
}

/** What another cluster reported: a size out of stock, throttled reads, or how many calls are left. */
export interface HintRow {
  readonly kind: Hint['kind'];
  /** `size/priority/zone`, or a family of calls. */
  readonly about: string;
  readonly by: string;
  readonly at: string;
  readonly until: string;
  readonly left?: number;
  readonly of?: number;
}

export interface AgentsDocument extends CommonFields {
  readonly agents: readonly AgentRow[];
  /** Absent if nothing is shared. `trouble`: why the store cannot be used; absent while it can. */
  readonly store?: { readonly trouble?: string; readonly clusters: readonly ClusterRow[]; readonly hints: readonly HintRow[] };
}

export function agentsDocument(input: DocumentInput): AgentsDocument {
  const { agents = [], store } = input.azureReads ?? {};
  return {
    ...commonFields(input),
    agents: agents.map(agentRow),
    ...defined({
      store: store && {
        ...defined({ trouble: store.trouble }),
        clusters: store.clusters.map((each) => clusterRow(each, agents)),
        hints: store.hints.map(hintRow),
      },
    }),
  };
}

function agentRow(agent: AgentReading): AgentRow {
  const { id, kind, state, lastCommit, consecutiveFailures: failures, lastError: error, budget } = agent;
  return {
    id,
    kind,
    state,
    failures,
    ...defined({
      rows: lastCommit?.rows,
      readBy: lastCommit?.readBy,
      startedAt: knownTime(agent.lastStartMs),
      succeededAt: knownTime(agent.lastSuccessMs),
      dueAt: knownTime(agent.nextDueMs),
      heldUntil: knownTime(agent.heldUntilMs),
      error,
      remaining: budget && { policy: budget.policy, left: budget.remaining, of: budget.largest },
    }),
  };
}

function clusterRow({ cluster, process, version, atMs, isThis }: SharingCluster, agents: readonly AgentReading[]): ClusterRow {
  const reads = agents.filter(({ lastCommit }) => lastCommit?.readBy === `${cluster}/${process}`).map(({ kind }) => kind);
  return { cluster, process, version, seenAt: isoTime(atMs), reads, ...(isThis === true ? { isThis } : {}) };
}

function hintRow({ kind, key, by, atMs, untilMs, count }: Hint): HintRow {
  return { kind, about: key, by, at: isoTime(atMs), until: isoTime(untilMs), ...count };
}
