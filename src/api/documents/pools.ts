/** Every pool in one row: limits, counts, why it does not grow, what it costs. Problems come first, then changes, then pools at rest. */
import { describeBlock, type pausesOf } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { paidUses } from '../../planning/facts/paid-nodes.ts';
import { priceOf } from '../../planning/expanders/node-price.ts';
import { explainSkip } from '../../planning/explain/refusals.ts';
import { countNodes, type NodeCounts } from '../../planning/state/node-counts.ts';
import { type DocumentInput, roundMoney } from './document-input.ts';
import { isoTime } from '../../lib/duration.ts';

/** In the order in which they are shown. */
export const POOL_STATES = [
  'backing-off',
  'out-of-capacity',
  'frozen',
  'paused',
  'unhealthy',
  'size-unknown',
  'quota',
  'at-maximum',
  'drift',
  'increasing',
  'removing',
  'at-rest',
] as const;
export type PoolState = (typeof POOL_STATES)[number];

export interface PoolRowDocument {
  readonly name: string;
  readonly vmSize: string;
  readonly spot?: true;
  readonly min: number;
  readonly max: number;
  /** What Azure was asked for. Absent if unknown. */
  readonly target?: number;
  readonly ready: number;
  readonly unready?: number;
  /** Requested or starting. */
  readonly upcoming?: number;
  readonly removing?: number;
  readonly state: PoolState;
  /** Complete, with a full stop. Absent at rest. */
  readonly sentence?: string;
  /** When a back-off, stockout or pause ends. */
  readonly until?: string;
  /** Classes of pods that fit and wait for the pool. */
  readonly podsWaiting?: number;
  /** Of one node, in the currency of the price list. Absent if unknown. */
  readonly perHour?: number;
  /** Its nodes, with requested ones, that are paid already and cost nothing. Absent if there are none. */
  readonly paid?: number;
  /** Capacity writes that Azure's rate limit of the pool allows now. Known after a first write. */
  readonly tokens?: { readonly left: number; readonly of: number };
  readonly zones: readonly string[];
  /** AKS counts another number than the scale set has. */
  readonly drift?: { readonly azure: number; readonly aks: number; readonly nodes: number };
  /** That people gave the agent pool. Absent if there are none. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** What pending pods say about pools. */
interface PoolDemand {
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly waiting: ReadonlyMap<NodeGroupId, number>;
  /** What Azure accepted in this loop, after the observation. */
  readonly accepted: ReadonlyMap<NodeGroupId, number>;
  /** Nodes that are paid already. */
  readonly paid: ReadonlyMap<NodeGroupId, number>;
}

export function poolDocuments(input: DocumentInput): readonly PoolRowDocument[] {
  const { report, policy } = input;
  const { observation, state } = report;
  const counts = countNodes({ observation, state, policy }).byGroup;
  const demand = demandOf(input);
  return observation.cloud.groups
    .map((group) => poolDocument(group, counts.get(group.id), demand, input))
    .sort((left, right) => POOL_STATES.indexOf(left.state) - POOL_STATES.indexOf(right.state) || compareText(left.name, right.name));
}

function demandOf({ pods: { scaleUp }, report, policy }: DocumentInput): PoolDemand {
  const skips = new Map(scaleUp.skipped.map(({ group, reason }) => [group, reason]));
  const waiting = new Map<NodeGroupId, number>();
  for (const verdict of scaleUp.verdicts.values()) {
    if (verdict.kind !== 'helpless') continue;
    for (const { group, skip, fit = [] } of verdict.byGroup) {
      if (skip === undefined || fit.length > 0) continue;
      skips.set(group, skip);
      waiting.set(group, (waiting.get(group) ?? 0) + 1);
    }
  }
  const increases = report.rounds.flatMap((round) => round.increases);
  const accepted = new Map(
    increases.flatMap(({ increase, outcome }) =>
      outcome.kind === 'accepted' || outcome.kind === 'sent' ? [[increase.group, outcome.target]] : [],
    ),
  );
  const paid = new Map(paidUses(policy.scaleUp.paidNodes, report.observation).flatMap(({ covered }) => [...covered]));
  return { skips, waiting, accepted, paid };
}

function poolDocument(group: NodeGroup, counts: NodeCounts | undefined, demand: PoolDemand, input: DocumentInput): PoolRowDocument {
  const { ready, unready, notStarted, unregistered, beingDeleted, registered } = counts ?? NO_NODES;
  const observed = group.target.known ? group.target.value : undefined;
  const target = observed === undefined ? undefined : Math.max(observed, demand.accepted.get(group.id) ?? 0);
  const upcoming = notStarted + unregistered + (target ?? 0) - (observed ?? 0);
  const waiting = demand.waiting.get(group.id) ?? 0;
  const drift =
    group.aksCount === undefined || target === undefined ? undefined : { azure: target, aks: group.aksCount, nodes: registered };
  const row = { size: target ?? 0, upcoming, removing: beingDeleted, waiting, hasDrift: drift !== undefined };
  const found = stateOf(group, demand.skips.get(group.id), row, input);
  return {
    name: group.id,
    vmSize: group.vmSize,
    ...(group.priority === 'Spot' ? { spot: true } : {}),
    min: group.minSize,
    max: group.maxSize,
    ready,
    state: found.state,
    zones: group.zones,
    ...defined({
      target,
      unready: positive(unready),
      upcoming: positive(upcoming),
      removing: positive(beingDeleted),
      sentence: found.sentence,
      until: found.untilMs === undefined ? undefined : isoTime(found.untilMs),
      podsWaiting: positive(waiting),
      perHour: roundMoney(priceOf(input.policy.scaleUp, group)),
      paid: positive(demand.paid.get(group.id) ?? 0),
      tokens: input.tokens.get(group.id),
      drift,
      labels: labelsOf(group),
    }),
  };
}

function labelsOf({ agentPool }: NodeGroup): PoolRowDocument['labels'] {
  const labels = agentPool?.labels ?? {};
  return Object.keys(labels).length === 0 ? undefined : labels;
}

const NO_NODES = { ready: 0, unready: 0, notStarted: 0, unregistered: 0, beingDeleted: 0, registered: 0 };

function positive(count: number): number | undefined {
  return count > 0 ? count : undefined;
}

interface FoundState {
  readonly state: PoolState;
  readonly sentence?: string;
  readonly untilMs?: number;
}

interface RowInput {
  readonly size: number;
  readonly upcoming: number;
  readonly removing: number;
  readonly waiting: number;
  readonly hasDrift: boolean;
}

/** The state of each reason that concerns the pool itself. Reasons that are not listed say nothing about it. */
const STATE_OF: Partial<Record<SkipReason['kind'], PoolState>> = {
  backoff: 'backing-off',
  stockout: 'out-of-capacity',
  probing: 'out-of-capacity',
  frozen: 'frozen',
  unhealthy: 'unhealthy',
  'target-unknown': 'size-unknown',
  quota: 'quota',
  'capacity-quota': 'quota',
  'cluster-limit': 'quota',
  'atomic-limit': 'quota',
};

function stateOf(group: NodeGroup, skip: SkipReason | undefined, row: RowInput, input: DocumentInput): FoundState {
  const problem = problemOf(group, skip, input);
  if (problem !== undefined) return problem;
  const { size } = row;
  if (row.upcoming > 0 && row.waiting === 0) return { state: 'increasing', sentence: `${nodesText(row.upcoming)} on the way.` };
  if (size > 0 && size >= group.maxSize && (row.waiting > 0 || group.maxSize > group.minSize))
    return { state: 'at-maximum', sentence: `At its maximum, ${podsText(row.waiting)}.` };
  if (row.hasDrift)
    return {
      state: 'drift',
      sentence: `AKS counts ${group.aksCount ?? 0}, the scale set has ${size}: the next AKS operation on this pool sets it to ${group.aksCount ?? 0}.`,
    };
  if (row.upcoming > 0) return { state: 'increasing', sentence: `${nodesText(row.upcoming)} on the way.` };
  if (row.removing > 0) return { state: 'removing', sentence: `${nodesText(row.removing)} being removed.` };
  return restingState(group.blocks.removal);
}

function restingState(removal: NodeGroup['blocks']['removal']): FoundState {
  const isPaused = removal !== undefined && removal.code !== 'recorded' && removal.code !== 'stopped-full';
  return isPaused ? pausedState(removal) : { state: 'at-rest' };
}

function pausedState(block: NonNullable<ReturnType<typeof pausesOf>['down']>): FoundState {
  const untilMs = block.code === 'paused' ? block.untilMs : undefined;
  return { state: 'paused', sentence: sentenceOf(describeBlock(block)), ...defined({ untilMs }) };
}

function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function problemOf(
  group: NodeGroup,
  skip: SkipReason | undefined,
  { report: { state, observation } }: DocumentInput,
): FoundState | undefined {
  const backoff = state.backoffs.get(group.id);
  const isBackingOff = backoff !== undefined && backoff.untilMs > observation.nowMs;
  if (isBackingOff) return { state: 'backing-off', sentence: `Backs off: ${backoff.cause}.`, untilMs: backoff.untilMs };
  const { change, increase } = group.blocks;
  if (change?.code === 'paused') return pausedState(change);
  if (change !== undefined) return { state: 'frozen', sentence: `Frozen: ${describeBlock(change)}.` };
  if (!group.target.known) return { state: 'size-unknown', sentence: `Its size is unknown: ${group.target.reason}.` };
  if (increase?.code === 'paused') return pausedState(increase);
  const known = skip === undefined ? undefined : STATE_OF[skip.kind];
  if (skip === undefined || known === undefined) return undefined;
  const { detail } = explainSkip(skip, group);
  const untilMs = skip.kind === 'backoff' || skip.kind === 'stockout' ? skip.untilMs : undefined;
  return { state: known, sentence: sentenceOf(detail), ...defined({ untilMs }) };
}

function podsText(count: number): string {
  return count === 0 ? 'no pods wait for it' : count === 1 ? '1 pod waits for it' : `${count} pods wait for it`;
}

function nodesText(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** `q`: parts of names and sizes, and `state:backing-off`, `zone:2`, `team=web`; all must match. */
export function matchesPool({ name, vmSize, state, zones, labels = {} }: PoolRowDocument, q: string): boolean {
  return q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .every((word) => {
      if (word.startsWith('state:')) return state.startsWith(word.slice('state:'.length));
      if (word.startsWith('zone:')) return zones.some((zone) => zone === word.slice(5) || zone.endsWith(`-${word.slice(5)}`));
      if (word.includes('=')) return Object.entries(labels).some(([key, value]) => `${key}=${value}`.toLowerCase() === word);
      return name.toLowerCase().includes(word) || vmSize.toLowerCase().includes(word);
    });
}
