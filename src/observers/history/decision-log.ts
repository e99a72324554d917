/**
 * Decisions that changed something, or that newly found pods that no group helps, as the documents that `explain decision` prints. Must not
 * know who reads them.
 */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { HistorySink, StoredDecision } from '../../domain/history.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import { type AnsweredRecord, answeredRecord, type IncreaseRecord, type LoopReport, type ScaleUpRound } from '../../domain/loop-report.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import { type InstanceRemoval, NOTHING_PLANNED, type ScaleDownPlan, type ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { defined } from '../../lib/defined.ts';
import type { LiveAnswer } from '../../planning/explain/answers/answer.ts';
import { answerDecision, type DecisionAnswer } from '../../planning/explain/answers/decision-answer.ts';
import { countByOwner, describePurpose } from '../../planning/explain/pod-owners.ts';
import { increaseId } from '../../planning/state/increases/follow-increases.ts';
import type { DecidedIncrease } from './capacity-changes.ts';
import { Recent, type RecentLimits } from './recent.ts';

interface DecisionLogDeps {
  readonly policy: () => Policy;
  /** The file with all inputs of a plan. undefined: none was written. */
  readonly dumpOf: (plan: ScaleUpPlan | ScaleDownPlan) => string | undefined;
  readonly sink: HistorySink;
}

interface NewDecision extends Pick<StoredDecision, 'kind' | 'sentence' | 'groups'> {
  readonly scaleUp?: ScaleUpPlan;
  readonly scaleDown?: ScaleDownPlan;
  readonly outcomes?: ReadonlyMap<NodeGroupId, string>;
  readonly pending?: readonly Pod[];
  /** The plan that a dump may contain, if it is neither of those above. */
  readonly dumped?: ScaleUpPlan;
}

interface LoggedDecision extends StoredDecision {
  readonly document: DecisionAnswer & Pick<LiveAnswer, 'loop' | 'decidedAt'>;
}

/** More than are under removal at any time. */
const MOST_INSTANCES = 5_000;

export class DecisionLog {
  readonly #deps: DecisionLogDeps;
  readonly #recent: Recent<StoredDecision>;
  /** The decision that removes each instance. */
  readonly #removals = new Map<InstanceKey, string>();
  /** Decisions with increases that are not answered, by the name of each increase. */
  readonly #unanswered = new Map<string, LoggedDecision>();
  #helpless: ReadonlySet<string> = new Set();

  constructor(deps: DecisionLogDeps, limits: RecentLimits) {
    this.#deps = deps;
    this.#recent = new Recent(limits);
  }

  /** A later entry about the same decision replaces the earlier one. */
  restore(decision: StoredDecision): void {
    if (this.#recent.all.some(({ id }) => id === decision.id))
      this.#recent.update((known) => (known.id === decision.id ? decision : known));
    else this.#recent.push(decision);
  }

  get all(): readonly StoredDecision[] {
    return this.#recent.all;
  }

  get removals(): ReadonlyMap<InstanceKey, string> {
    return this.#removals;
  }

  /** Returns the capacity writes that were answered, each with its decision. */
  observe(report: LoopReport): readonly DecidedIncrease[] {
    const { observation, rounds, answered } = report;
    if (observation === undefined) return [];
    this.#recent.dropOld(observation.nowMs);
    const late = answered.map((record) => this.#logAnswer(record));
    const increases = rounds.flatMap((round) => this.#logIncreases(round, report));
    this.#logHelpless(report);
    this.#logRemovals(report);
    return [...late, ...increases];
  }

  /** Completes the decision that the increase is part of. */
  #logAnswer(record: AnsweredRecord): DecidedIncrease {
    const { increase, outcome, sentAtMs: atMs, loopId } = record;
    const name = increaseId({ increase, atMs }, loopId);
    const decision = this.#unanswered.get(name);
    this.#unanswered.delete(name);
    if (decision === undefined) return { ...record, decision: '' };
    const { document } = decision;
    const sent = describeIncrease({ ...record, outcome: { kind: 'sent', group: increase.group, target: increase.to } });
    const sentence = decision.sentence.replace(sent, describeIncrease(record));
    const increases = document.increases.map((row) => (row.group === increase.group ? { ...row, outcome: describeOutcome(outcome) } : row));
    const answered = { ...decision, sentence, document: { ...document, sentence: `${sentence}.`, increases } };
    for (const [open, { id }] of this.#unanswered) if (id === decision.id) this.#unanswered.set(open, answered);
    this.#recent.update((known) => (known.id === decision.id ? answered : known));
    this.#deps.sink({ kind: 'decision', decision: answered });
    return { ...record, decision: decision.id };
  }

  #logIncreases({ plan, increases }: ScaleUpRound, report: LoopReport): readonly DecidedIncrease[] {
    if (increases.length === 0) return [];
    const isWithheld = increases.every(({ outcome }) => outcome.kind === 'withheld');
    const logged = this.#log(report, {
      kind: isWithheld ? 'withheld' : 'increase',
      sentence: increases.map(describeIncrease).join('; '),
      groups: increases.map(({ increase }) => increase.group),
      scaleUp: plan,
      outcomes: new Map(increases.map(({ increase, outcome }) => [increase.group, describeOutcome(outcome)])),
    });
    for (const record of increases)
      if (record.outcome.kind === 'sent' && logged !== undefined) this.#unanswered.set(increaseId(record, report.loopId), logged);
    const decision = logged?.id ?? '';
    return increases.flatMap((record) => answeredRecord(record, report)).map((record) => ({ ...record, decision }));
  }

  #logHelpless(report: LoopReport): void {
    const plan = report.rounds.at(-1)?.plan;
    if (plan === undefined) return;
    const pods = [...plan.verdicts].flatMap(([pod, { kind }]) => (kind === 'helpless' && isReal(pod) ? [pod] : []));
    const fresh = pods.filter(({ uid }) => !this.#helpless.has(uid));
    this.#helpless = new Set(pods.map(({ uid }) => uid));
    if (fresh.length === 0) return;
    const sentence = `No pool can take ${countByOwner(fresh)}`;
    this.#log(report, { kind: 'pending', sentence, groups: [], scaleUp: withoutIncreases(plan), pending: fresh, dumped: plan });
  }

  #logRemovals(report: LoopReport): void {
    const { scaleDown } = report;
    if (scaleDown === undefined || scaleDown.removals.length + scaleDown.instanceRemovals.length === 0) return;
    const gone = [...scaleDown.removals, ...scaleDown.instanceRemovals];
    const groups = [...new Set(gone.map(({ group }) => group))];
    const id = this.#log(report, { kind: 'removal', sentence: describeRemovals(scaleDown, groups), groups, scaleDown })?.id ?? '';
    for (const { instance } of gone) this.#removals.set(instance, id);
    for (const instance of [...this.#removals.keys()].slice(0, -MOST_INSTANCES)) this.#removals.delete(instance);
  }

  #log({ observation }: LoopReport, made: NewDecision): LoggedDecision | undefined {
    if (observation === undefined) return undefined;
    const { kind, sentence, groups, scaleUp = NOTHING_PLANNED, scaleDown, outcomes, pending, dumped } = made;
    const id = this.#idAt(observation.nowMs);
    const input = { observation, policy: this.#deps.policy() };
    const dumpFile = this.#deps.dumpOf(dumped ?? scaleDown ?? scaleUp);
    const more = defined({ outcomes, pending, dumpFile });
    const answer = answerDecision({ input, scaleUp, scaleDown, id, sentence: `${sentence}.`, ...more });
    const document: LoggedDecision['document'] = { ...answer, loop: observation.loopId, decidedAt: answer.at };
    const decision = { id, atMs: observation.nowMs, kind, sentence, groups, document, ...defined({ dumpFile }) };
    this.#recent.push(decision);
    this.#deps.sink({ kind: 'decision', decision });
    return decision;
  }

  /** `20261122-031420-1`: sorts by time, and no two processes make the same, since only one leads at a time. */
  #idAt(nowMs: number): string {
    const [day = '', time = ''] = new Date(nowMs).toISOString().slice(0, 19).split('T');
    const stem = `${day.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
    const known = this.#recent.all.filter(({ id }) => id.startsWith(`${stem}-`)).length;
    return `${stem}-${known + 1}`;
  }
}

/** What the pods wait for; the increases of the same plan are a decision of their own. */
function withoutIncreases(plan: ScaleUpPlan): ScaleUpPlan {
  return { ...plan, increases: [], options: [] };
}

function describeIncrease(record: IncreaseRecord): string {
  const { group, from, to } = record.increase;
  const { outcome } = record;
  const sizes = `${group} ${from} -> ${to}`;
  if (outcome.kind === 'accepted') return `${sizes} for ${describePurpose(record.increase)}`;
  return `${sizes} for ${describePurpose(record.increase)} ${describeOutcome(outcome)}`;
}

function describeOutcome(outcome: IncreaseOutcome): string {
  switch (outcome.kind) {
    case 'accepted':
      return 'accepted';
    case 'sent':
      return 'not answered yet';
    case 'conflict':
      return 'not written: another writer had changed the pool';
    case 'refused':
      return `not written: ${outcome.reason}`;
    case 'withheld':
      return 'withheld by the dry run';
    case 'failed':
      return `failed: ${outcome.error.code ?? outcome.error.kind}`;
  }
}

const INSTANCES: Readonly<Record<InstanceRemoval['cause'], string>> = {
  'never-registered': 'that never became a node',
  failed: 'that failed',
  'not-needed': 'that nothing needs any more',
};

/** `Removal of 2 nodes of blue (empty) and 1 instance of red that failed; reimage of 1 node of gpu (sick)`. */
function describeRemovals({ removals, instanceRemovals }: ScaleDownPlan, groups: readonly NodeGroupId[]): string {
  const nodes = (group: NodeGroupId, reimaged: boolean): readonly string[] => {
    const causes = removals.filter((each) => each.group === group && (each.reimages === true) === reimaged).map(({ cause }) => cause);
    return causes.length === 0 ? [] : [`${counted(causes.length, 'node')} of ${group} (${[...new Set(causes)].join(', ')})`];
  };
  const instances = (group: NodeGroupId): readonly string[] =>
    [
      ...Map.groupBy(
        instanceRemovals.filter((each) => each.group === group),
        ({ cause }) => cause,
      ),
    ].map(([cause, some]) => `${counted(some.length, 'instance')} of ${group} ${INSTANCES[cause]}`);
  const removed = groups.flatMap((group) => [...nodes(group, false), ...instances(group)]);
  const reimaged = groups.flatMap((group) => nodes(group, true));
  const parts = [
    ...(removed.length === 0 ? [] : [`removal of ${removed.join(' and ')}`]),
    ...(reimaged.length === 0 ? [] : [`reimage of ${reimaged.join(' and ')}`]),
  ];
  const sentence = parts.join('; ');
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
