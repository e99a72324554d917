/** Changes and refused tries of capacities, with who made them and why. */
import type { CapacityChange, ChangeActor, HistorySink } from '../../domain/history.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { AnsweredRecord, LoopReport } from '../../domain/loop-report.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { CloudEvent, Observation } from '../../domain/observation.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import { defined } from '../../lib/defined.ts';
import { describePurpose } from '../../planning/explain/pod-owners.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import { formatSpan } from '../../planning/explain/spans.ts';
import { Recent, type RecentLimits } from './recent.ts';

/** An operation of AKS is often seen only after the change that it made. */
const SAME_OPERATION_MS = 3 * 60_000;
/** Between the notice of an eviction, or the last sight of the node, and the smaller size. */
const SAME_EVICTION_MS = 10 * 60_000;

export interface DecidedIncrease extends AnsweredRecord {
  readonly decision: string;
}

/** The decision that removed an instance. */
export type RemovalDecisions = ReadonlyMap<InstanceKey, string>;

export class CapacityChanges {
  readonly #recent: Recent<CapacityChange>;
  readonly #sink: HistorySink;
  /** When nodes of each group were last announced to be evicted. */
  readonly #evictions = new Map<NodeGroupId, number>();
  /** The last operation of AKS on each group. */
  readonly #operations = new Map<NodeGroupId, { readonly atMs: number; readonly state: string }>();
  /** The last increase of each group, for failures that come later. Without its pods, which would live as long as the process. */
  readonly #increases = new Map<NodeGroupId, { readonly to: number; readonly decision: string }>();

  constructor(limits: RecentLimits, sink: HistorySink) {
    this.#recent = new Recent(limits);
    this.#sink = sink;
  }

  /** Takes in a change that an earlier process saw. A later entry about the same change replaces the earlier one. */
  restore(change: CapacityChange): void {
    const isSame = (known: CapacityChange): boolean =>
      known.atMs === change.atMs && known.group === change.group && known.from === change.from && known.to === change.to;
    if (this.#recent.all.some(isSame)) this.#recent.update((known) => (isSame(known) ? change : known));
    else this.#recent.push(change);
  }

  #record(change: CapacityChange): void {
    this.#recent.push(change);
    this.#sink({ kind: 'change', change });
  }

  get all(): readonly CapacityChange[] {
    return this.#recent.all;
  }

  observe(report: LoopReport, increases: readonly DecidedIncrease[], decisionOf: RemovalDecisions): void {
    const { observation, state, removed } = report;
    if (observation === undefined) return;
    this.#recent.dropOld(observation.nowMs);
    this.#followOperations(observation);
    this.#followEvictions(observation);
    for (const event of observation.cloud.events) this.#recordEvent(event, state);
    for (const change of removalChanges(removed, observation, decisionOf)) this.#record(change);
    for (const increase of increases) this.#recordIncrease(increase, state);
  }

  #recordIncrease(decided: DecidedIncrease, state: LoopState): void {
    const { increase, outcome, atMs, decision } = decided;
    if (outcome.kind === 'conflict' || outcome.kind === 'withheld') return;
    const { group, from, to } = increase;
    if (outcome.kind === 'accepted') this.#increases.set(group, { to, decision });
    const made = { atMs, group, from, to, actor: 'autoscaler' as const, decision };
    const purpose = describePurpose(increase);
    if (outcome.kind === 'accepted') this.#record({ ...made, why: purpose, outcome: 'accepted' });
    else if (outcome.kind === 'refused') this.#record({ ...made, why: `${purpose}; ${outcome.reason}`, outcome: 'refused' });
    else this.#record({ ...made, why: failureText(outcome.error.code ?? outcome.error.kind, group, state), outcome: 'refused' });
  }

  #recordEvent(event: CloudEvent, state: LoopState): void {
    const { atMs, group } = event;
    if (event.kind === 'external-change') {
      const { from, to } = event;
      this.#record({ atMs, group, from, to, ...this.#whoChanged(event), outcome: 'observed' });
    }
    if (event.kind === 'change-attributed') this.#nameWriter(event);
    if (event.kind !== 'increase-failed') return;
    const made = this.#increases.get(group);
    const to = made?.to ?? event.requested;
    const why = failureText(event.error.code, group, state);
    const decision = made === undefined ? {} : { decision: made.decision };
    this.#record({
      atMs,
      group,
      from: Math.max(0, to - event.requested),
      to,
      actor: 'autoscaler',
      why,
      outcome: 'failed',
      ...decision,
    });
  }

  #whoChanged({ group, from, to, atMs }: Extract<CloudEvent, { readonly kind: 'external-change' }>): {
    readonly actor: ChangeActor;
    readonly why: string;
  } {
    const operation = this.#operations.get(group);
    if (operation !== undefined && atMs - operation.atMs <= SAME_OPERATION_MS) return byAks(operation.state);
    const evictedMs = this.#evictions.get(group);
    if (to < from && evictedMs !== undefined && atMs - evictedMs <= SAME_EVICTION_MS)
      return { actor: 'eviction', why: 'Azure took back Spot instances' };
    return { actor: 'another-writer', why: 'not made by this autoscaler' };
  }

  /** The log is read minutes after the change. */
  #nameWriter({ group, from, to, changedAtMs, by }: Extract<CloudEvent, { readonly kind: 'change-attributed' }>): void {
    this.#recent.update((change) => {
      const isIt = change.group === group && change.atMs === changedAtMs && change.from === from && change.to === to;
      if (!isIt || change.outcome !== 'observed') return change;
      const named = { ...change, actorName: by };
      this.#sink({ kind: 'change', change: named });
      return named;
    });
  }

  #followOperations({ cloud, nowMs }: Observation): void {
    for (const { id, agentPool } of cloud.groups) {
      const state = agentPool?.operation;
      if (state === undefined) continue;
      const begins = nowMs - (this.#operations.get(id)?.atMs ?? 0) > SAME_OPERATION_MS;
      this.#operations.set(id, { atMs: nowMs, state });
      if (begins) this.#attributeToAks(id, state, nowMs);
    }
  }

  #attributeToAks(group: NodeGroupId, state: string, nowMs: number): void {
    this.#recent.update((change) => {
      const isIts = change.group === group && change.actor === 'another-writer' && nowMs - change.atMs <= SAME_OPERATION_MS;
      if (!isIts) return change;
      const attributed = { ...change, ...byAks(state) };
      this.#sink({ kind: 'change', change: attributed });
      return attributed;
    });
  }

  #followEvictions({ cloud, cluster, nowMs }: Observation): void {
    for (const { name } of nodeListFacts(cluster.nodes).preempted) {
      const group = cloud.groupOfNode.get(name);
      if (group !== undefined) this.#evictions.set(group, nowMs);
    }
  }
}

function byAks(state: string): { readonly actor: ChangeActor; readonly why: string } {
  return { actor: 'aks', why: `the agent pool was in state ${state}` };
}

function failureText(code: string, group: NodeGroupId, { backoffs }: LoopState): string {
  const backoff = backoffs.get(group);
  return backoff === undefined ? `failed: ${code}` : `failed: ${code}; backs off ${formatSpan(backoff.durationMs)}`;
}

interface Removed {
  readonly nodes: readonly InstanceKey[];
  /** Instances that failed or never registered. */
  readonly others: readonly InstanceKey[];
}

const NOTHING: Removed = { nodes: [], others: [] };

/** One change per group and loop, however many nodes were removed. */
function removalChanges(removed: readonly RemovalOutcome[], { cloud, nowMs }: Observation, decisionOf: RemovalDecisions): CapacityChange[] {
  const byGroup = new Map<NodeGroupId, Removed>();
  for (const outcome of removed) {
    const { nodes, others } = byGroup.get(outcome.group) ?? NOTHING;
    if (outcome.kind === 'deleted' && !outcome.reimaged) byGroup.set(outcome.group, { nodes: [...nodes, outcome.instance], others });
    if (outcome.kind === 'instances' && outcome.accepted) byGroup.set(outcome.group, { nodes, others: [...others, ...outcome.instances] });
  }
  return [...byGroup].flatMap(([group, { nodes, others }]) => {
    const target = cloud.groups.find(({ id }) => id === group)?.target;
    if (target?.known !== true) return [];
    const gone = [...nodes, ...others];
    const sizes = { from: target.value + gone.length, to: target.value };
    const [decision] = gone.flatMap((instance) => decisionOf.get(instance) ?? []);
    const parts = [counted(nodes.length, 'node', 'removed'), counted(others.length, 'instance', 'that never joined deleted')];
    const why = parts.filter((part) => part !== '').join(', ');
    return [{ atMs: nowMs, group, ...sizes, actor: 'autoscaler' as const, why, outcome: 'accepted' as const, ...defined({ decision }) }];
  });
}

function counted(count: number, noun: string, what: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'} ${what}`;
}
