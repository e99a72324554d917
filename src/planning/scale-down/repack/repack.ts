/**
 * Repacking: sets of nodes whose pods fit on fewer or cheaper nodes. A set is searched, checked again after a wait, then its new nodes are
 * requested, and once they are ready its old nodes are removed by the ordinary path; it is checked at each step, and undone if it does not hold.
 * This file has the steps. Pure: the result is the memory of the next loop and at most one increase. Must not know how either is carried out.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Increase } from '../../../domain/plan.ts';
import { optionsOf } from '../../../domain/policy.ts';
import {
  type EndedRepack,
  isForSickNodes,
  type RepackMemory,
  type RepackPolicy,
  type RepackSet,
  type RunningRepack,
} from '../../../domain/repack.ts';
import { formatDuration } from '../../../lib/duration.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { membershipFacts } from '../../facts/instance-facts.ts';
import { closedReason } from '../../state/closures.ts';
import { inFlight } from '../../state/increases/increase-records.ts';
import { destinationsOf } from '../unneeded.ts';
import { findRepackCandidates } from './repack-candidates.ts';
import { busyNodes, checkInput, findNextRepack, reasonToBeginLater, type RepackInput, type RepackStanding } from './next-repack.ts';
import { checkRepack, type CheckedRepack } from './repack-check.ts';
import { withClosed, withoutForgotten } from './repack-memory.ts';
import { repacksAny, replacesAny } from './repack-rules.ts';
import { confirmAfterMs, isWorthLess, newNodesOf, reasonToEnd, scoreTooLow, withoutReimaged } from './repack-stops.ts';
import { checkSickSet, searchSickNodes, type SickContext, withReplaced } from './sick-sets.ts';

const HOUR_MS = 3_600_000;
/** A set that holds, and for which it is not the time, is dropped after this. */
const WAITS_AT_MOST_MS = HOUR_MS / 2;
/** Drains may wait for budgets. */
const DRAINS_AT_MOST_MS = HOUR_MS;
/** A requested node may be unknown for so long. */
const UNSEEN_AT_MOST_MS = 120_000;

export interface RepackDecision {
  readonly memory: RepackMemory;
  /** To request now. The repack that it is for is in stage `adding` already; see `repack-memory.ts`. */
  readonly increase: Increase | undefined;
  readonly begun: readonly RunningRepack[];
  readonly ended: readonly EndedRepack[];
}

/** Decides the next step of each repack under way, and whether a new one begins. */
export function* planRepacks(input: RepackInput): SlicedWork<RepackDecision> {
  const { state, policy } = input.context;
  const rules = policy.repack;
  const memory = withoutForgotten(state.repacks, input.context.observation, rules);
  const groups = [...input.context.groups.values()];
  const isIdle = memory.running.length === 0 && memory.left.size === 0;
  if (isIdle && !repacksAny(groups, policy) && !replacesAny(groups)) return { memory, increase: undefined, begun: [], ended: [] };
  const steps = new RepackSteps(input, rules, memory);
  for (const running of memory.running) yield* steps.advance(running);
  yield* steps.replaceSickNodes();
  yield* steps.searchIfDue();
  return steps.decision();
}

/** What one plan has decided so far. Mutable, and dropped with the plan. */
class RepackSteps {
  readonly #input: RepackInput;
  readonly #rules: RepackPolicy;
  readonly #running: RunningRepack[] = [];
  readonly #ended: EndedRepack[] = [];
  readonly #begun: RunningRepack[] = [];
  #memory: RepackMemory;
  #increase: Increase | undefined;

  constructor(input: RepackInput, rules: RepackPolicy, memory: RepackMemory) {
    this.#input = input;
    this.#rules = rules;
    this.#memory = memory;
  }

  decision(): RepackDecision {
    const isSame =
      this.#running.length === this.#memory.running.length && this.#running.every((one, at) => one === this.#memory.running[at]);
    return {
      memory: isSame ? this.#memory : { ...this.#memory, running: this.#running },
      increase: this.#increase,
      begun: this.#begun,
      ended: this.#ended,
    };
  }

  *advance(repack: RunningRepack): SlicedWork<void> {
    const off = reasonToEnd(repack, this.#input.context);
    if (off !== undefined) return this.#end(repack, off, { closes: false });
    switch (repack.stage) {
      case 'checked':
        return yield* this.#confirm(repack);
      case 'adding':
        return yield* this.#awaitNodes(repack);
      case 'draining':
        return yield* this.#followDrains(repack);
    }
  }

  *#confirm(repack: RunningRepack): SlicedWork<void> {
    const { set } = repack;
    const waitedMs = this.#nowMs - repack.stageSinceMs - confirmAfterMs(set, this.#rules);
    if (waitedMs < 0) return this.#keep(repack);
    const later = reasonToBeginLater(this.#standing, set);
    if (later !== undefined)
      return isForSickNodes(set) || waitedMs < WAITS_AT_MOST_MS
        ? this.#keep(repack)
        : this.#end(repack, `it could not begin: ${later}`, { closes: false });
    // guard: a repack is checked again before its first step
    const checked = yield* this.#check(set, set.add?.nodes ?? 0);
    if ('why' in checked) return this.#end(repack, checked.why);
    if (isWorthLess(checked.set, this.#rules)) return this.#end(repack, scoreTooLow(checked.set, this.#rules), { closes: false });
    return this.#request({ ...repack, set: checked.set });
  }

  /** Its new nodes, if it needs some. A pool has one increase in a plan. */
  #request(repack: RunningRepack): void {
    const { add } = repack.set;
    if (add === undefined) return this.#drain(repack);
    const { target } = this.#group(add.group) ?? {};
    if (target?.known !== true || this.#increase !== undefined) return this.#keep(repack);
    const before = membershipFacts(this.#input.context.observation.cloud).nodesByGroup.get(add.group) ?? [];
    this.#keep({ ...repack, stage: 'adding', stageSinceMs: this.#nowMs, before });
    const { value: from, version } = target;
    const cause = isForSickNodes(repack.set) ? 'sick-nodes' : 'repack';
    this.#increase = { group: add.group, from, to: from + add.nodes, version, pods: [], cause };
  }

  *#awaitNodes(repack: RunningRepack): SlicedWork<void> {
    const { context } = this.#input;
    const add = repack.set.add;
    const group = add === undefined ? undefined : this.#group(add.group);
    if (add === undefined || group === undefined) return this.#end(repack, 'the pool of its new nodes is gone');
    const closed = closedReason(group, context.state, this.#nowMs);
    if (closed !== undefined)
      return this.#end(
        repack,
        `Azure gives pool ${group.id} no new node: ${closed.kind === 'backoff' ? (closed.message ?? closed.cause) : closed.code}`,
      );
    const open = destinationsOf(context);
    const came = newNodesOf(repack, this.#input.context.observation);
    const ready = came.filter((name) => open.has(name));
    const waitedMs = this.#nowMs - repack.stageSinceMs;
    // guard: no old node of a repack is drained before its new nodes are ready
    if (ready.length < add.nodes) {
      const isAwaited = came.length >= add.nodes || inFlight(context.state, group.id) !== undefined || waitedMs < UNSEEN_AT_MOST_MS;
      if (!isAwaited) return this.#end(repack, `only ${came.length} of ${add.nodes} new nodes of pool ${group.id} came`);
      const mostMs = optionsOf(group, context.policy).maxProvisionMs + UNSEEN_AT_MOST_MS;
      if (waitedMs < mostMs) return this.#keep(repack);
      return this.#end(
        repack,
        `only ${ready.length} of ${add.nodes} new nodes of pool ${group.id} were ready within ${formatDuration(mostMs)}`,
      );
    }
    const checked = yield* this.#check(repack.set, 0);
    if ('why' in checked) return this.#end(repack, checked.why);
    // Paid nodes that its new ones use are not idle any more: what it saves was found before them.
    return this.#drain({ ...repack, set: { ...checked.set, saved: repack.set.saved } });
  }

  *#followDrains(repack: RunningRepack): SlicedWork<void> {
    const { context } = this.#input;
    const { left: present, why } = withoutReimaged(repack, context);
    // What did not come back well is not ready, or sick: then it is replaced.
    if (why !== undefined) return this.#end(repack, why, { closes: false });
    if (present.length === 0) return this.#end(repack, undefined);
    const waiting = present.filter(({ node }) => !context.leaving.has(node));
    if (waiting.length === 0) return this.#keep(repack);
    if (this.#nowMs - repack.stageSinceMs > DRAINS_AT_MOST_MS)
      return this.#end(repack, `${waiting.length} of its nodes were not removed within ${formatDuration(DRAINS_AT_MOST_MS)}`);
    const { add } = repack.set;
    const came = newNodesOf(repack, this.#input.context.observation).length;
    if (add !== undefined && came < add.nodes) return this.#end(repack, `a new node of pool ${add.group} is gone`);
    const checked = yield* this.#check({ ...repack.set, remove: waiting, add: undefined }, 0);
    if ('why' in checked) return this.#end(repack, checked.why);
    return this.#keep(repack);
  }

  /** Its removals are counted in the hour when they may begin. */
  #drain(repack: RunningRepack): void {
    this.#memory = { ...this.#memory, begunMs: [...this.#memory.begunMs, ...repack.set.remove.map(() => this.#nowMs)] };
    this.#keep({ ...repack, stage: 'draining', stageSinceMs: this.#nowMs });
  }

  *#check(set: RepackSet, missing: number): SlicedWork<CheckedRepack> {
    if (isForSickNodes(set)) return yield* checkSickSet(set, missing, this.#sickContext());
    const names = set.remove.map(({ node }) => node);
    const found = yield* findRepackCandidates(this.#input.context, names);
    return yield* checkRepack(set, missing, checkInput(this.#standing, found, new Set(names)));
  }

  #sickContext(): SickContext {
    const { context, names, plan } = this.#input;
    return { context, names, leaving: [...plan.unneeded.keys(), ...busyNodes(this.#standing)] };
  }

  /** Begins what holds of the sick nodes, and notes why the others are not replaced. */
  *replaceSickNodes(): SlicedWork<void> {
    const input = { ...this.#sickContext(), memory: this.#memory, rules: this.#rules, running: this.#running };
    const { sets, left, replaced } = yield* searchSickNodes(input);
    this.#memory = { ...this.#memory, left, replaced };
    for (const set of sets) this.#begin(set);
  }

  #begin(set: RepackSet): void {
    const repack: RunningRepack = { set, stage: 'checked', sinceMs: this.#nowMs, stageSinceMs: this.#nowMs, before: [] };
    this.#running.push(repack);
    this.#begun.push(repack);
  }

  /** Begins the first set that holds by itself and saves enough for its moves. */
  *searchIfDue(): SlicedWork<void> {
    const next = yield* findNextRepack(this.#standing);
    if (next === undefined) return;
    const { begins, ...result } = next;
    if (begins !== undefined) this.#begin(begins);
    this.#memory = { ...this.#memory, search: { atMs: this.#nowMs, ...result } };
  }

  get #standing(): RepackStanding {
    return { ...this.#input, rules: this.#rules, memory: this.#memory, running: this.#running };
  }

  #group(id: NodeGroupId): NodeGroup | undefined {
    return this.#input.context.groups.get(id);
  }

  get #nowMs(): number {
    return this.#input.context.observation.nowMs;
  }

  #keep(repack: RunningRepack): void {
    this.#running.push(repack);
  }

  #end(repack: RunningRepack, why: string | undefined, { closes } = { closes: why !== undefined }): void {
    const { set, stage, sinceMs } = repack;
    const ended: EndedRepack = { set, outcome: why === undefined ? 'done' : 'undone', stage, sinceMs, atMs: this.#nowMs, why };
    this.#ended.push(ended);
    if (why === undefined && isForSickNodes(set))
      this.#memory = withReplaced(this.#memory, repack, newNodesOf(repack, this.#input.context.observation), this.#input.context);
    if (closes) this.#memory = withClosed(this.#memory, ended, this.#rules, this.#nowMs);
  }
}
