/** What the documents of `/api/v1` are made from, gathered from the parts of the daemon once per loop. */
import type { Clock } from '../../lib/clock.ts';
import type { LoopRecord } from '../../domain/ports/records.ts';
import type { HistoryReader } from '../../domain/history.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Config } from '../../config/types/config.ts';
import type {
  AgentReading,
  AzureReads,
  DocumentInput,
  ObservedReport,
  PoolTokens,
  ReplicaIdentity,
} from '../../api/documents/document-input.ts';
import type { RememberedAdvice } from '../../planning/explain/advice/remembered-advice.ts';
import type { AnswerInput } from '../../planning/explain/answers/pod-answer.ts';
import { RememberedWaste } from '../../planning/explain/removal-advice/remembered-waste.ts';
import { defined } from '../../lib/defined.ts';
import { VERSION } from '../../lib/version.ts';

export interface ApiInputDeps {
  readonly config: Config;
  readonly policy: () => Policy;
  /** The last loop that observed the cluster. */
  readonly report: () => ObservedReport | undefined;
  readonly decided: () => AnswerInput | undefined;
  /** The last decision about removals. */
  readonly removals: () => LoopRecord | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly advice: RememberedAdvice;
  readonly agents: () => readonly AgentReading[];
  /** undefined: nothing is shared. */
  readonly store: () => AzureReads['store'];
  readonly history: HistoryReader;
  readonly replica: () => Pick<ReplicaIdentity, 'name' | 'startedAtMs' | 'leadsSinceMs' | 'configuration'>;
}

/** The agent that lists all scale sets. */
const SCALE_SETS = 'scaleSets';

/** Makes the input once per loop: asked again, it returns the same. undefined: nothing was decided yet. */
export function apiInput(deps: ApiInputDeps): () => DocumentInput | undefined {
  let last: DocumentInput | undefined;
  const waste = new RememberedWaste(deps.clock);
  return () => {
    const report = deps.report();
    const pods = deps.decided();
    if (report === undefined || pods === undefined) return undefined;
    if (last?.report !== report) last = gather({ ...deps, waste }, report, pods);
    return last;
  };
}

interface GatherDeps extends ApiInputDeps {
  readonly waste: RememberedWaste;
}

function gather(deps: GatherDeps, report: ObservedReport, pods: AnswerInput): DocumentInput {
  const { config, advice, history, waste } = deps;
  const agents = deps.agents();
  const removals = report.scaleDown === undefined ? undefined : deps.removals();
  const wasteFixes = removals === undefined ? undefined : waste.fixes(removals, pods.input.names, report.stepMs['scale-down'] ?? 0);
  return {
    report,
    pods,
    advice: advice.knownFor(pods.scaleUp),
    policy: { ...deps.policy(), scaleUp: { ...deps.policy().scaleUp, ...report.prices } },
    replica: {
      ...deps.replica(),
      dryRun: config.dryRun,
      version: VERSION,
      cluster: config.azure.clusterName,
      location: config.azure.location,
      currency: config.azure.retailPrices?.currency,
      scanIntervalMs: config.loop.scanIntervalMs,
    },
    azureReadAtMs: agents.find(({ id }) => id === SCALE_SETS)?.lastSuccessMs,
    tokens: tokensByPool(report, pods),
    ...defined({ wasteFixes }),
    refusals: agents.flatMap(({ lastError }) => lastError ?? []),
    history,
    azureReads: { agents, store: deps.store() },
  };
}

/** Known after the first write of this process. */
function tokensByPool({ observation }: ObservedReport, { remainingWrites }: AnswerInput): ReadonlyMap<string, PoolTokens> {
  return new Map(
    observation.cloud.groups.flatMap(({ id }) => {
      const writes = remainingWrites?.(id);
      return writes === undefined ? [] : [[id, { left: writes.left, of: writes.of }]];
    }),
  );
}
