/**
 * The last decisions of this process, kept in memory so that people can ask about them: the plan of the last loop for pending pods, and
 * the one for removals. Passes every record on to the journal. Must not know who asks.
 */
import type { DecisionJournal, LoopRecord } from '../domain/ports/records.ts';
import type { NodeName } from '../domain/ids.ts';
import type { NodeWriters } from '../domain/node.ts';
import type { HistoryReader } from '../domain/history.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { defined } from '../lib/defined.ts';
import { adviseNodeInSlices } from '../planning/explain/answers/node-answer.ts';
import type { Turns } from '../lib/slices.ts';
import { adviseClassInSlices } from '../planning/explain/advice/advice.ts';
import type { Advice } from '../planning/explain/advice/fix.ts';
import { answerOn, type LiveAnswer, type Subject } from '../planning/explain/answers/answer.ts';
import { FIRST_PLAN } from '../planning/scale-up/plan-input.ts';
import { type AnswerInput, helplessClassOf, ONLY_DECIDED } from '../planning/explain/answers/pod-answer.ts';

/** Each takes as long as a plan. */
const MOST_TRIED = 10;

interface LastDecisionDeps {
  readonly journal: DecisionJournal;
  readonly names: ResourceNames;
  /** Earlier decisions. */
  readonly history: HistoryReader;
  readonly remainingWrites: AnswerInput['remainingWrites'];
  /** May reject, and is bounded in time. */
  readonly nodeWriters: (name: NodeName) => Promise<NodeWriters | undefined>;
  /** Of the prices. undefined: it is not known. */
  readonly currency: string | undefined;
  /** Lets other work have its turn while changes are simulated. */
  readonly turns: Turns;
}

export class LastDecision implements DecisionJournal {
  readonly #deps: LastDecisionDeps;
  #scaleUp: LoopRecord | undefined;
  #scaleDown: LoopRecord | undefined;

  constructor(deps: LastDecisionDeps) {
    this.#deps = deps;
  }

  record(entry: LoopRecord): void {
    this.#deps.journal.record(entry);
    // A plan for one ProvisioningRequest says nothing about other pods.
    if (entry.scaleUp.length > 0 && entry.request === undefined) this.#scaleUp = entry;
    if (entry.scaleDown !== undefined) this.#scaleDown = entry;
  }

  /** undefined: nothing was decided yet. `missing`: there is no such subject. */
  async answer(subject: Subject): Promise<LiveAnswer | 'missing' | undefined> {
    const stored = subject.kind === 'decision' ? this.#deps.history.decision(subject.name) : undefined;
    const money = defined({ currency: this.#deps.currency });
    if (stored !== undefined) return { ...(stored.document as LiveAnswer), ...money };
    const decided = this.#decisionFor(subject);
    if (decided === undefined) return undefined;
    const advice = subject.kind === 'pod' ? await this.#advise(decided, subject.name) : undefined;
    const answer = answerOn(subject, subject.kind === 'pod' ? { ...decided, advise: () => advice } : await this.#ofNode(decided, subject));
    if (answer === undefined) return 'missing';
    const { loopId, nowMs } = decided.input.observation;
    return { ...answer, ...money, loop: loopId, decidedAt: new Date(nowMs).toISOString() };
  }

  /** With a model of the cluster of its own, so that a loop may run meanwhile. undefined: the pod needs no advice. */
  async #advise(decided: AnswerInput, pod: string): Promise<Advice | undefined> {
    const helpless = helplessClassOf(decided, pod);
    if (helpless === undefined) return undefined;
    const { input, scaleUp: plan } = decided;
    this.#deps.turns.begin();
    return this.#deps.turns.finish(adviseClassInSlices({ input, plan, mostTried: MOST_TRIED }, helpless));
  }

  async #ofNode(decided: AnswerInput, { kind, name }: Subject): Promise<AnswerInput> {
    if (kind !== 'node') return decided;
    const nodeWriters = await this.#writersOf(decided, name);
    this.#deps.turns.begin();
    const advice = await this.#deps.turns.finish(adviseNodeInSlices(decided, name));
    return { ...decided, nodeWriters, adviseNode: () => advice };
  }

  /** Only a node with taints is read, and no answer waits for an API server that does not return one. */
  async #writersOf({ input }: AnswerInput, name: NodeName): Promise<NodeWriters | undefined> {
    const node = input.observation.cluster.nodes.get(name);
    if (node === undefined || (node.taints.length === 0 && !node.unschedulable)) return undefined;
    return this.#deps.nodeWriters(name).catch(() => undefined);
  }

  /** The last decision about pending pods. undefined: nothing was decided yet. */
  aboutPods(): AnswerInput | undefined {
    return this.#decisionFor({ kind: 'pod' });
  }

  /** The last decision about removals. undefined: none was made yet. */
  aboutRemovals(): LoopRecord | undefined {
    return this.#scaleDown;
  }

  #decisionFor({ kind }: Pick<Subject, 'kind'>): AnswerInput | undefined {
    const up = this.#scaleUp;
    const [scaleUp] = up?.scaleUp ?? [];
    if (up === undefined || scaleUp === undefined) return undefined;
    const down = this.#scaleDown;
    // Removals are planned from a later state of the same loop.
    const observation = kind === 'node' && down !== undefined ? down.observation : up.observation;
    const { stateBefore: state, policy } = up;
    const input = { ...FIRST_PLAN, observation, state, policy, names: this.#deps.names, exclude: new Set(up.excluded) };
    const { history, remainingWrites } = this.#deps;
    return { ...ONLY_DECIDED, input, scaleUp, scaleDown: down?.scaleDown, mostTried: MOST_TRIED, history, remainingWrites };
  }
}
