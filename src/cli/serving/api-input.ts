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
import type { RepackEstimate } from '../../domain/repack.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { Remembered } from '../../planning/explain/advice/remembered.ts';
import { estimateRepacks } from '../../planning/scale-down/repack/repack-estimate.ts';
import { RememberedWaste } from '../../planning/explain/removal-advice/remembered-waste.ts';
import type { Turns } from '../../lib/slices.ts';
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
  /** Let other work have its turn while changes are simulated. */
  readonly turns: Turns;
  readonly advice: RememberedAdvice;
  readonly agents: () => readonly AgentReading[];
  /** undefined: nothing is shared. */
  readonly store: () => AzureReads['store'];
  readonly history: HistoryReader;
  readonly replica: () => Pick<ReplicaIdentity, 'name' | 'startedAtMs' | 'leadsSinceMs' | 'configuration'>;
}

/** The agent that lists all scale sets. */
const SCALE_SETS = 'scaleSets';

type Simulated = Pick<DocumentInput, 'wasteFixes' | 'repackEstimate'>;

/** How long what repacking would save is shown. */
const ESTIMATE_MS = 300_000;

/** The input of the last loop, made once: asked again, it is the same. */
export class ApiInput {
  readonly #deps: ApiInputDeps;
  readonly #waste: RememberedWaste;
  #last: DocumentInput | undefined;
  #simulated: { readonly report: ObservedReport; readonly fixes: Promise<Simulated> } | undefined;
  readonly #estimates = new Remembered<RepackEstimate>({ keepMs: ESTIMATE_MS, remembered: 1 });

  constructor(deps: ApiInputDeps) {
    this.#deps = deps;
    this.#waste = new RememberedWaste(deps.clock);
  }

  /** Simulates, in slices, what frees the nodes that stay: what `current` returns from then on contains it. */
  async prepare(): Promise<void> {
    const report = this.#deps.report();
    if (report === undefined) return;
    if (this.#simulated?.report !== report) this.#simulated = { report, fixes: this.#simulate(report) };
    const simulated = await this.#simulated.fixes;
    const made = this.current();
    const isNew = made?.wasteFixes !== simulated.wasteFixes || made?.repackEstimate !== simulated.repackEstimate;
    if (made?.report === report && isNew) this.#last = { ...made, ...simulated };
  }

  /** undefined: nothing was decided yet. */
  current(): DocumentInput | undefined {
    const report = this.#deps.report();
    const pods = this.#deps.decided();
    if (report === undefined || pods === undefined) return undefined;
    if (this.#last?.report !== report) this.#last = gather(this.#deps, report, pods);
    return this.#last;
  }

  async #simulate(report: ObservedReport): Promise<Simulated> {
    const { turns, removals, decided } = this.#deps;
    const record = report.scaleDown === undefined ? undefined : removals();
    const names = decided()?.input.names;
    if (record === undefined || names === undefined) return {};
    turns.begin();
    const wasteFixes = await turns.finish(this.#waste.fixes(record, names, report.stepMs['scale-down'] ?? 0));
    return { wasteFixes, repackEstimate: await this.#estimate(record, names) };
  }

  /** A search takes longer than a page should wait for in every loop. */
  async #estimate({ observation, stateBefore: state }: LoopRecord, names: ResourceNames): Promise<RepackEstimate> {
    const { turns, clock, policy } = this.#deps;
    const known = this.#estimates.fresh('all', clock.monotonic());
    if (known !== undefined) return known;
    const estimate = await turns.finish(estimateRepacks({ observation, state, policy: policy(), names }));
    this.#estimates.remember('all', estimate, clock.monotonic());
    return estimate;
  }
}

function gather(deps: ApiInputDeps, report: ObservedReport, pods: AnswerInput): DocumentInput {
  const { config, advice, history } = deps;
  const agents = deps.agents();
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
    refusals: agents.flatMap(({ lastError }) => lastError ?? []),
    history,
    azureReads: { agents, store: deps.store() },
  };
}

/** Known after the first write of this process. */
function tokensByPool({ observation }: ObservedReport, { remainingWrites }: AnswerInput): ReadonlyMap<string, PoolTokens> {
  return new Map(
    observation.cloud.groups.flatMap(({ id }) => {
      const writes = remainingWrites(id);
      return writes === undefined ? [] : [[id, { left: writes.left, of: writes.of }]];
    }),
  );
}
