/**
 * Sick nodes as repacks: which are replaced next and why the others are not, whether a set still holds, and which groups wait since their new
 * nodes turned sick, too. The steps are those of every repack. Must not know how a condition comes about.
 */
import type { NodeName } from '../../../domain/ids.ts';
import { conditionText, type RepackMemory, type RepackPolicy, type RepackSet, type ReplacedSickNodes } from '../../../domain/repack.ts';
import type { RunningRepack } from '../../../domain/repack.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { nextDurationMs } from '../../../lib/closure.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { NODE_IMAGE_LABEL } from '../../facts/node-images.ts';
import { nodeListFacts } from '../../facts/node-list-facts.ts';
import { type SickNode, type SickPool, sickNodeOf, sickPools } from '../../facts/sick-nodes.ts';
import { hasReimageTaint } from '../../state/deletions.ts';
import { inFlight } from '../../state/increases/increase-records.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { reimagedBy } from '../repacked-nodes.ts';
import { growablePools } from './growable-pools.ts';
import { findRepackCandidates } from './repack-candidates.ts';
import { checkRepack, type CheckedRepack } from './repack-check.ts';
import { reasonAgainstReplacement } from './repack-rules.ts';
import { scoredSet } from './repack-worth.ts';

/** How many sets one plan checks for a group. */
const TRIES = 5;

export interface SickContext {
  readonly context: ScaleDownContext;
  readonly names: ResourceNames;
  /** Nodes that take no pods beside the sick ones: they leave soon. */
  readonly leaving: readonly NodeName[];
}

/** Why the set is not replaced after all: enough is well again, or too much is sick. undefined: it still is. */
export function stopOfSickSet(repack: RunningRepack, { observation, leaving }: ScaleDownContext): string | undefined {
  for (const { node: name, condition } of repack.set.remove) {
    const node = observation.cluster.nodes.get(name);
    if (node === undefined || leaving.has(name) || reimagedBy(repack, node)) continue;
    // guard: a node that is well again is not replaced
    if (!node.conditions.some((each) => conditionText(each) === condition))
      return `node ${name} is well again: it shows ${condition ?? 'its condition'} no longer`;
    const stopped = sickNodeOf(name, observation)?.pool.stopped;
    if (stopped !== undefined) return stopped;
  }
  return undefined;
}

/** Why no step of the set begins now. Pods that wait are no reason: a sick node may be what they wait for. */
export function sickSetWaits({ remove }: RepackSet, inhibited: string | undefined, { state }: ScaleDownContext): string | undefined {
  const [first] = remove;
  if (inhibited !== undefined || first === undefined) return inhibited;
  return inFlight(state, first.group) === undefined ? undefined : `nodes of pool ${first.group} are on their way`;
}

/** Checks the set as every repack, whatever it costs and however young its pods are. New nodes that have yet to come count for the minimum. */
export function* checkSickSet(set: RepackSet, missing: number, { context, names, leaving }: SickContext): SlicedWork<CheckedRepack> {
  const own = new Set(set.remove.map(({ node }) => node));
  const grown = withNewNodes(set, missing, context);
  const found = yield* findRepackCandidates(grown, [...own]);
  const sick = sickPools(context.observation).flatMap(({ showing }) => showing.map(({ node }) => node.name));
  return yield* checkRepack(set, missing, {
    context: grown,
    candidates: new Map(found.candidates.map((candidate) => [candidate.node.name, candidate])),
    kept: found.kept,
    pools: set.add === undefined ? [] : growablePools(context, names, set.add.group),
    closed: new Set([...sick, ...leaving].filter((name) => !own.has(name))),
  });
}

function withNewNodes({ add }: RepackSet, missing: number, context: ScaleDownContext): ScaleDownContext {
  const group = add === undefined ? undefined : context.groups.get(add.group);
  if (group === undefined || missing === 0) return context;
  const groups = new Map(context.groups).set(group.id, { ...group, minSize: Math.max(0, group.minSize - missing) });
  return { ...context, groups };
}

export interface SickSearchInput extends SickContext {
  readonly memory: RepackMemory;
  readonly rules: RepackPolicy;
  /** Repacks under way, those of this plan included. */
  readonly running: readonly RunningRepack[];
}

export interface SickSearch extends Pick<RepackMemory, 'left' | 'replaced'> {
  /** Sets that hold, at most one of a group. */
  readonly sets: readonly RepackSet[];
}

/** Looks at each group with sick nodes. */
export function* searchSickNodes(input: SickSearchInput): SlicedWork<SickSearch> {
  const { context, memory, rules } = input;
  const { nowMs } = context.observation;
  const left = new Map<NodeName, string>();
  const replaced = new Map(memory.replaced);
  const sets: RepackSet[] = [];
  for (const pool of sickPools(context.observation)) {
    const { id } = pool.group;
    const before = turnedSickAgain(pool, replaced.get(id), { rules, nowMs });
    if (before !== undefined) replaced.set(id, before);
    const due = pool.showing.filter(({ dueAtMs }) => dueAtMs <= nowMs);
    const refusal = reasonAgainstPool(pool, before, input);
    const open = due.filter(({ node }) => {
      const why = refusal ?? reasonAgainstNode(node.name, input);
      if (why !== undefined) left.set(node.name, why);
      return why === undefined;
    });
    const set = yield* firstSet(pool, open, left, input);
    if (set !== undefined) sets.push(set);
  }
  for (const { set } of input.running) for (const { node } of set.remove) left.delete(node);
  return { sets, left, replaced };
}

function reasonAgainstPool(
  { group, stopped }: SickPool,
  before: ReplacedSickNodes | undefined,
  { context, running }: SickSearchInput,
): string | undefined {
  if (stopped !== undefined) return stopped;
  const refusal = reasonAgainstReplacement(group, context);
  if (refusal !== undefined) return `pool ${group.id}: ${refusal.detail}`;
  const { nowMs } = context.observation;
  const untilMs = before?.closure?.untilMs ?? 0;
  const isSameImage = group.agentPool?.nodeImage === undefined || group.agentPool.nodeImage === before?.image;
  // guard: a group whose new nodes turned sick as well waits for a time that grows
  if (before?.again !== undefined && untilMs > nowMs && isSameImage)
    return `node ${before.again}, which came in place of a sick one, turned sick as well; pool ${group.id} waits until ${timeText(untilMs)}`;
  // guard: a node that is being reimaged counts for its group, also if the memory of its set was lost
  const reimaged = nodeListFacts(context.observation.cluster.nodes).deletionTainted.find(
    (node) => hasReimageTaint(node) && context.state.deleting.get(node.name)?.group === group.id,
  );
  if (reimaged !== undefined) return `node ${reimaged.name} of pool ${group.id} is being reimaged`;
  const isBusy = running.some(({ set }) => set.add?.group === group.id || set.remove.some((each) => each.group === group.id));
  return isBusy ? `another replacement or repack of pool ${group.id} is under way` : undefined;
}

function reasonAgainstNode(name: NodeName, { context, memory }: SickSearchInput): string | undefined {
  const { cluster, nowMs } = context.observation;
  if (context.leaving.has(name)) return 'its removal is in progress';
  if (cluster.nodes.get(name)?.readiness.ready === false) return 'it is not ready, and such nodes are removed after scaleDown.unreadyTime';
  const untilMs = memory.closures.get(name)?.untilMs ?? 0;
  return untilMs > nowMs ? `its last replacement was undone or withheld; it is tried again at ${timeText(untilMs)}` : undefined;
}

/** As many nodes as may be replaced at once; if these do not hold together, the first that holds alone. */
function* firstSet(
  { group, rules }: SickPool,
  open: readonly SickNode[],
  left: Map<NodeName, string>,
  input: SickContext,
): SlicedWork<RepackSet | undefined> {
  // guard: no more sick nodes of a group are replaced at once than its rules say
  const picked = open.slice(0, rules.maximum);
  const tries = [...(picked.length > 1 ? [picked] : []), ...open.map((one) => [one])].slice(0, TRIES);
  for (const nodes of tries) {
    const result = yield* holdingSet(nodes, group, input);
    if (!('why' in result)) {
      for (const { node } of open)
        left.set(node.name, `other sick nodes of pool ${group.id} are replaced first (maximum: ${rules.maximum})`);
      for (const { node } of nodes) left.delete(node.name);
      return result.set;
    }
    for (const { node } of nodes) left.set(node.name, result.why);
  }
  for (const { node } of open)
    if (!left.has(node.name)) left.set(node.name, 'it was not looked at yet: other sick nodes of its pool come first');
  return undefined;
}

/** Without new nodes if the pods have a place on others, else with one for each. */
function* holdingSet(nodes: readonly SickNode[], group: SickPool['group'], input: SickContext): SlicedWork<CheckedRepack> {
  const remove = nodes.map(({ node, condition }) => ({ node: node.name, group: group.id, condition: conditionText(condition) }));
  const empty = scoredSet([], undefined, { gain: 0, nodes: 0 }, input.context);
  const without = yield* checkSickSet({ ...empty, remove }, 0, input);
  if ('set' in without) return without;
  const add = { group: group.id, nodes: nodes.length };
  return yield* checkSickSet({ ...empty, remove, add }, add.nodes, input);
}

/** What is remembered of a replacement that ended well, for the day on which its new nodes may turn sick. */
export function withReplaced(
  memory: RepackMemory,
  { set, sinceMs }: RunningRepack,
  came: readonly NodeName[],
  context: ScaleDownContext,
): RepackMemory {
  const [newest] = came;
  if (set.add === undefined || newest === undefined) return memory;
  const before = memory.replaced.get(set.add.group);
  const image = context.observation.cluster.nodes.get(newest)?.labels[NODE_IMAGE_LABEL];
  const kept = before !== undefined && before.image === image ? before : { again: undefined, closure: undefined };
  return { ...memory, replaced: new Map(memory.replaced).set(set.add.group, { ...kept, sinceMs, image }) };
}

/** A node that is younger than the last replacement, and has the image of its new nodes, is sick, too: the group waits. */
function turnedSickAgain(
  { showing }: SickPool,
  before: ReplacedSickNodes | undefined,
  { rules, nowMs }: { readonly rules: RepackPolicy; readonly nowMs: number },
): ReplacedSickNodes | undefined {
  if (before === undefined) return undefined;
  const again = showing.find(
    ({ node, dueAtMs }) => dueAtMs <= nowMs && node.createdAtMs >= before.sinceMs && node.labels[NODE_IMAGE_LABEL] === before.image,
  );
  if (again === undefined || again.node.name === before.again) return before;
  const durationMs = nextDurationMs({ firstMs: rules.retryAfterMs, longestMs: rules.retryAfterAtMostMs }, before.closure);
  return { ...before, again: again.node.name, closure: { untilMs: nowMs + durationMs, durationMs } };
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 16)} UTC`;
}
