/**
 * Follows the loops of a dry run and writes down, line by line, what it would have done and what others did. Pure: the memory is
 * an input. Must not know files, nor how the lines are compared.
 */
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../lib/defined.ts';
import { compareText } from '../../lib/comparison.ts';
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { RepackEstimate } from '../../domain/repack.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Removal, ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import { priceOf } from '../expanders/node-price.ts';
import { describePurpose } from '../explain/pod-owners.ts';
import { describeSkip } from '../explain/describe-reasons.ts';
import { describeEstimate, describeRepackBlocker } from '../explain/repack-words.ts';
import { explainNodes } from '../explain/unremovable-nodes.ts';
import { addSample, emptySample, sampleLines, type RunningSample } from './sample.ts';
import type { ForeignStatement, RecordedPool, ShadowLine } from './record.ts';

interface OpenWish {
  readonly nodes: number;
  readonly pods: number;
}

interface OpenRemoval {
  readonly pool: string;
  readonly sinceMs: number;
}

/** What the last loop showed. */
interface LastLoop {
  readonly observation: Observation;
  readonly scaleDown: ScaleDownPlan | undefined;
}

export interface ShadowMemory {
  /** The pools of the last line. If undefined, there is none. */
  readonly pools: readonly RecordedPool[] | undefined;
  readonly sizes: ReadonlyMap<NodeGroupId, number>;
  readonly wishes: ReadonlyMap<NodeGroupId, OpenWish>;
  readonly removals: ReadonlyMap<NodeName, OpenRemoval>;
  readonly sample: RunningSample;
  readonly last: LastLoop | undefined;
  /** Nodes that another autoscaler is removing, and what this one thought of them before. */
  readonly leaving: ReadonlyMap<NodeName, NodeOpinion>;
}

interface NodeOpinion {
  readonly ours: string;
  /** When this autoscaler would have removed it. If absent, it would have kept it. */
  readonly dueMs?: number;
}

/** What is not written yet: the sample that is not full. */
export function openLines({ sample }: ShadowMemory): readonly ShadowLine[] {
  return sampleLines(sample);
}

/** Blockers in a line, at most. */
const MOST_LEFT_OUT = 10;

export function savingsLine(estimate: RepackEstimate, currency: string | undefined): Extract<ShadowLine, { kind: 'repacking' }> {
  const { atMs, nodes, needed, saved, blockers } = estimate;
  return {
    kind: 'repacking',
    atMs,
    text: describeEstimate(estimate, currency),
    nodes,
    needed,
    ...defined({ perHour: saved.perHour }),
    leftOut: blockers.slice(0, MOST_LEFT_OUT).map((blocker) => describeRepackBlocker(blocker, currency)),
  };
}

export interface FollowedLoop {
  readonly memory: ShadowMemory;
  readonly lines: readonly ShadowLine[];
}

/** `statements`: what the other autoscaler said since the last loop. A loop without an observation changes nothing. */
export function followLoop(before: ShadowMemory | undefined, report: LoopReport, statements: readonly ForeignStatement[]): FollowedLoop {
  const { observation } = report;
  if (observation === undefined || report.outcome !== 'completed') return { memory: before ?? EMPTY, lines: [] };
  const memory = before ?? { ...EMPTY, sample: emptySample(observation.nowMs) };
  const atMs = observation.nowMs;
  const pools = recordedPools(observation, report);
  const sizes = knownSizes(observation, memory.sizes);
  const sampled = addSample(memory.sample, { observation, sizes, pools });
  const wishes = followWishes(memory.wishes, report, atMs);
  const leaving = followLeaving(memory, report);
  const removals = followRemovals({ ...memory, leaving }, report, observation);
  const lines: readonly ShadowLine[] = [
    ...(isDeepStrictEqual(pools, memory.pools)
      ? []
      : [{ kind: 'pools' as const, atMs, pools, ...(before === undefined ? { started: true as const } : {}) }]),
    ...statements.map((statement) => ({ kind: 'said' as const, ...statement })),
    ...sizeLines(memory.sizes, sizes, report),
    ...wishes.lines,
    ...removals.lines,
    ...sampled.lines,
  ];
  const last = { observation, scaleDown: report.scaleDown ?? memory.last?.scaleDown };
  return { memory: { pools, sizes, wishes: wishes.open, removals: removals.open, sample: sampled.sample, last, leaving }, lines };
}

const EMPTY: ShadowMemory = {
  pools: undefined,
  sizes: new Map(),
  wishes: new Map(),
  removals: new Map(),
  sample: emptySample(0),
  last: undefined,
  leaving: new Map(),
};

function recordedPools({ cloud }: Observation, { prices }: LoopReport): readonly RecordedPool[] {
  return cloud.groups.map((group) => {
    const { id, minSize: min, maxSize: max, vmSize } = group;
    const perHour = priceOf(prices, group);
    return { pool: id, min, max, vmSize, ...(perHour === undefined ? {} : { perHour }) };
  });
}

/** The last known sizes. A pool that is gone has none. */
function knownSizes({ cloud }: Observation, before: ShadowMemory['sizes']): ShadowMemory['sizes'] {
  return new Map(
    cloud.groups.flatMap(({ id, target }) => {
      const size = target.known ? target.value : before.get(id);
      return size === undefined ? [] : [[id, size] as const];
    }),
  );
}

function sizeLines(
  before: ShadowMemory['sizes'],
  sizes: ShadowMemory['sizes'],
  { observation, rounds }: LoopReport,
): readonly ShadowLine[] {
  const plan = rounds.at(-1)?.plan;
  return (observation?.cloud.groups ?? []).flatMap((group): readonly ShadowLine[] => {
    const [from, to] = [before.get(group.id), sizes.get(group.id)];
    if (from === undefined || to === undefined || from === to) return [];
    const atMs = changedAtMs(group, to > from, observation?.nowMs ?? 0);
    const ours = to > from ? reasonAgainst(plan, group.id) : undefined;
    const isAgreed = to > from && countsOnNewNodes(plan, group.id);
    return [
      {
        kind: 'size',
        atMs,
        pool: group.id,
        from,
        to,
        ...(ours === undefined ? {} : { ours }),
        ...(isAgreed ? { agreed: true as const } : {}),
      },
    ];
  });
}

/** A list may be a minute old: new instances carry the time of their creation. */
function changedAtMs({ instances = [] }: NodeGroup, isGrowth: boolean, nowMs: number): number {
  if (!isGrowth) return nowMs;
  const recent = instances.flatMap(({ createdAtMs, state }) =>
    state !== 'deleting' && createdAtMs !== undefined && nowMs - createdAtMs < 120_000 ? [createdAtMs] : [],
  );
  return recent.length === 0 ? nowMs : Math.min(nowMs, ...recent);
}

/** undefined: the plan increases the group. */
function reasonAgainst(plan: ScaleUpPlan | undefined, group: NodeGroupId): string | undefined {
  if (plan === undefined || plan.increases.some((increase) => increase.group === group)) return undefined;
  const skipped = plan.skipped.find((entry) => entry.group === group);
  return skipped === undefined ? 'no pending pod needs it' : describeSkip(skipped.reason);
}

/** Whether pods of the plan have places on nodes of the group that are on their way. */
function countsOnNewNodes(plan: ScaleUpPlan | undefined, group: NodeGroupId): boolean {
  return [...(plan?.verdicts.values() ?? [])].some((verdict) => verdict.kind === 'fits-upcoming-node' && verdict.group === group);
}

function followWishes(before: ShadowMemory['wishes'], { rounds }: LoopReport, atMs: number) {
  const wanted = wantedIncreases(rounds);
  const lines: ShadowLine[] = [];
  const open = new Map<NodeGroupId, OpenWish>();
  for (const [pool, { nodes, pods, why }] of wanted) {
    const known = before.get(pool);
    if (known === undefined || nodes > known.nodes) lines.push({ kind: 'wish', atMs, pool, nodes, pods, why });
    open.set(pool, { nodes: Math.max(nodes, known?.nodes ?? 0), pods: Math.max(pods, known?.pods ?? 0) });
  }
  for (const [pool, wish] of before) if (!wanted.has(pool)) lines.push({ kind: 'wish-end', atMs, pool, ...wish });
  return { open, lines };
}

function wantedIncreases(rounds: LoopReport['rounds']): ReadonlyMap<NodeGroupId, OpenWish & { readonly why: string }> {
  const wanted = new Map<NodeGroupId, OpenWish & { readonly why: string }>();
  for (const { increases } of rounds) {
    for (const { increase, outcome } of increases) {
      const { group, from, to, pods, cause } = increase;
      if (outcome.kind !== 'withheld') continue;
      const why = cause === 'pods' ? `pending pods: ${pods.length}, new nodes: ${to - from}` : describePurpose(increase);
      wanted.set(group, { nodes: to - from, pods: pods.length, why });
    }
  }
  return wanted;
}

function followRemovals(memory: ShadowMemory, report: LoopReport, observation: Observation) {
  const begun = (report.scaleDown?.removals ?? []).filter(({ node }) => !memory.removals.has(node));
  const ended = [...memory.removals].flatMap(([node, removal]) => endOfRemoval(node, removal, report, observation));
  const open = new Map(memory.removals);
  for (const { node, group: pool } of begun) open.set(node, { pool, sinceMs: observation.nowMs });
  for (const { node } of ended) open.delete(node);
  const known = new Set(observation.cloud.groups.map(({ id }) => id));
  const free = begun.map((removal) => freeLine(removal, observation.nowMs));
  return { open, lines: [...free, ...ended, ...goneLines(memory, observation, known)] };
}

function freeLine({ node, group: pool, cause, pods }: Removal, atMs: number): ShadowLine {
  const moving = pods.length === 1 ? 'its pod fits elsewhere' : `its ${pods.length} pods fit elsewhere`;
  return { kind: 'free', atMs, pool, node, why: cause === 'empty' ? 'empty' : `${cause}, ${moving}` };
}

/** Empty while the node would still be removed. */
function endOfRemoval(node: NodeName, { pool, sinceMs }: OpenRemoval, report: LoopReport, { nowMs: atMs, cluster }: Observation) {
  const how = cluster.nodes.has(node) ? (isNeededAgain(node, report) ? 'needed' : undefined) : 'removed';
  if (how === undefined) return [];
  const came = (cluster.podsByNode.get(node) ?? []).filter(({ daemonSet, createdAtMs }) => !daemonSet && createdAtMs >= sinceMs);
  return [{ kind: 'free-end' as const, atMs, pool, node, how, pods: came.length } as const];
}

/** Its removal is neither in progress nor waiting for a timer, although this loop looked. */
function isNeededAgain(node: NodeName, { scaleDown, state }: LoopReport): boolean {
  if (scaleDown === undefined || state.deleting.has(node) || scaleDown.unneeded.has(node)) return false;
  return scaleDown.kept.some((entry) => entry.node === node && NEEDS_IT.has(entry.reason));
}

const NEEDS_IT: ReadonlySet<string> = new Set(['NotUnderutilized', 'NoPlaceToMovePods', 'BlockedByPod', 'BlockedByOnCompletionPod']);

/** Another autoscaler marks a node before it removes it. From then on plans say only that it is being deleted. */
function followLeaving({ leaving, last, removals }: ShadowMemory, { scaleDown, observation, state }: LoopReport): ShadowMemory['leaving'] {
  const marked = (scaleDown?.kept ?? []).filter(
    ({ node, reason }) => reason === 'CurrentlyBeingDeleted' && !state.deleting.has(node) && !removals.has(node),
  );
  const known = [...leaving].filter(
    ([node]) => observation?.cluster.nodes.has(node) === true || last?.observation.cluster.nodes.has(node) === true,
  );
  const fresh = marked.filter(({ node }) => !leaving.has(node)).map(({ node }) => [node, opinionOn(node, last)] as const);
  return new Map([...known, ...fresh]);
}

function opinionOn(node: NodeName, last: LastLoop | undefined): NodeOpinion {
  const { scaleDown, observation } = last ?? {};
  if (scaleDown === undefined || observation === undefined) return { ours: 'no plan looked at the node' };
  const ours =
    explainNodes(scaleDown, observation).find((each) => each.node === node)?.sentence ?? 'the last plan did not look at the node';
  if (!scaleDown.unneeded.has(node)) return { ours };
  const timer = scaleDown.kept.find((entry) => entry.node === node)?.recheckAtMs;
  return { ours, dueMs: Math.max(observation.nowMs, timer ?? 0) };
}

function goneLines(
  { last, removals, leaving }: ShadowMemory,
  { nowMs, cluster }: Observation,
  pools: ReadonlySet<NodeGroupId>,
): readonly ShadowLine[] {
  const gone = [...(last?.observation.cloud.groupOfNode ?? [])].filter(
    ([node, pool]) => !cluster.nodes.has(node) && !removals.has(node) && pools.has(pool),
  );
  return gone
    .sort(([left], [right]) => compareText(left, right))
    .map(([node, pool]) => ({ kind: 'gone', atMs: nowMs, pool, node, ...(leaving.get(node) ?? opinionOn(node, last)) }));
}
