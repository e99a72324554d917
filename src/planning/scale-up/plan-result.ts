/** From what the groups grew by to the plan that is carried out, with a reason for everything else. */
import { type NodeGroupId, podName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { HeldRoom, Increase, ScaleUpPlan, SkippedGroup } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { FitReason, GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { fitsStatically } from '../../scheduling/snapshot/node-only-fit.ts';
import { attaching } from '../../scheduling/volumes/attachments.ts';
import { holdsRoom } from '../state/reserved-room.ts';
import { newNodeFrom, simulatedNodeName, type GroupTemplate, makeTemplate, templateRefusals } from './groups/template-node.ts';
import type { Growth } from './packing/expansion.ts';
import { type ScaleUpContext, rampReason, limitReason, plannedSize } from './plan-context.ts';
import type { EquivalenceGroup } from './pods/equivalence-groups.ts';
import { byPrecedence } from './pods/unschedulable-pods.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { withFork } from '../../scheduling/snapshot/fork.ts';

// Why other pods' places keep a pod off a new node, asked of the snapshot as it stands: with the counts of the moment.

/** Asking costs a node in and out of the snapshot; a plan full of refusals is told in general words beyond these. */
const MOST_QUESTIONS = 500;
/** One name for all: the snapshot remembers every host name that it has met. */
const NAME = simulatedNodeName('asked');

/** Reasons that depend on who else is there. */
const ASKED: ReadonlySet<FitReason['kind']> = new Set(['topology-spread', 'pod-affinity', 'volume', 'device']);

export type AskPlaces = (pod: Pod, template: GroupTemplate) => readonly FitReason[];

/** Leaves the snapshot as found. An empty answer: nothing refuses one single pod on one new node, or too much was asked. */
export function refusalsOnNewNode(snapshot: ClusterSnapshot): AskPlaces {
  let asked = 0;
  return (pod, template) => {
    for (const variant of template.variants) {
      if (!fitsStatically(pod.shape, variant) || asked >= MOST_QUESTIONS) continue;
      asked += 1;
      const reasons = withFork(snapshot, () => {
        snapshot.addNode(newNodeFrom(variant, NAME), template.daemonPods);
        return snapshot.check(pod, NAME).filter(({ kind }) => ASKED.has(kind));
      });
      if (reasons.length > 0) return reasons;
    }
    return [];
  };
}

// Says of every pod that no increase helps which group refused it and why.

export interface Leftovers {
  readonly groups: readonly EquivalenceGroup[];
  readonly all: readonly NodeGroup[];
  readonly templates: readonly GroupTemplate[];
  /** Why a group could not grow (further). */
  readonly stops: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly names: ResourceNames;
  /** Why the plan ended before everybody that can be helped was: the next loop may help them. undefined: it did not. */
  readonly exhausted: string | undefined;
  readonly ask: AskPlaces;
}

/** Equal pods share one verdict. */
export function explainUnplaced(left: Leftovers, verdicts: Map<Pod, PodVerdict>): void {
  const templates = new Map(left.templates.map((template) => [template.group.id, template]));
  for (const group of left.groups) {
    if (group.pods.length === 0) continue;
    const byGroup = left.all.map((target) => groupRefusal(left, group, target, templates.get(target.id)));
    const verdict: PodVerdict =
      left.exhausted !== undefined && byGroup.some(({ skip, fit }) => skip === undefined && fit === undefined)
        ? { kind: 'waiting', detail: left.exhausted }
        : { kind: 'helpless', byGroup };
    for (const pod of group.pods) verdicts.set(pod, verdict);
  }
}

/** What the pod itself lacks is told even of groups that may not grow: waiting for those would not help it. */
function groupRefusal(left: Leftovers, pods: EquivalenceGroup, target: NodeGroup, known: GroupTemplate | undefined): GroupRefusal {
  const template =
    known ?? (target.template === undefined ? undefined : makeTemplate(target, attaching(target.template, left.names), [], new Set()));
  const skip = left.stops.get(target.id);
  const alone = template === undefined ? [] : templateRefusals(pods, template, left.names);
  const fit = alone.length > 0 || template === undefined ? alone : refusalsByOtherPods(left, pods, template);
  if (skip !== undefined) return { group: target.id, skip, ...(fit.length > 0 ? { fit } : {}) };
  if (fit.length > 0) return { group: target.id, fit };
  return left.exhausted === undefined ? { group: target.id, fit: topologyReasons(pods) } : { group: target.id };
}

/** Pods that only need room, and those that found no place only because a plan ended early, are kept out by nobody. */
function refusalsByOtherPods(
  left: Leftovers,
  { pods: [pod], interdependent: tied, shape }: EquivalenceGroup,
  template: GroupTemplate,
): readonly FitReason[] {
  if (pod === undefined || left.exhausted !== undefined || !(tied || shape.devices !== undefined)) return [];
  return left.ask(pod, template);
}

/** A pod that fits an empty node and yet found none was kept out by where other pods are. */
function topologyReasons({ shape }: EquivalenceGroup): readonly FitReason[] {
  const spread = shape.topologySpread[0];
  if (spread !== undefined) {
    return [{ kind: 'topology-spread', topologyKey: spread.topologyKey, detail: `max skew ${spread.maxSkew} on any new node` }];
  }
  const [near] = shape.podAffinity;
  const term = near ?? shape.podAntiAffinity[0];
  const rule = term === undefined ? 'repelled' : near === undefined ? 'anti-affinity' : 'affinity';
  return [{ kind: 'pod-affinity', rule, topologyKey: term?.topologyKey ?? '', detail: "other pods' places keep it off any new node" }];
}

/** A verdict for every pod that found no place. */
export function explainUnplacedPods(outcome: {
  readonly context: ScaleUpContext;
  readonly snapshot: ClusterSnapshot;
  readonly groups: readonly EquivalenceGroup[];
  readonly templates: readonly GroupTemplate[];
  readonly growth: Growth;
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly verdicts: Map<Pod, PodVerdict>;
}): void {
  const { context, snapshot, groups, templates, growth, skips, verdicts } = outcome;
  const { names, policy, observation } = context.input;
  const stops = new Map(skips);
  for (const { group, template } of templates) {
    const full = plannedSize(context, group.id, growth) >= group.maxSize;
    const size = plannedSize(context, group.id, growth);
    const limit = full
      ? ({ kind: 'max-size', max: group.maxSize } as const)
      : (rampReason(context, group, size) ?? limitReason(growth.headroom, group, template, { policy, size }));
    if (limit !== undefined) stops.set(group.id, limit);
  }
  const exhausted = endedEarlyBecause(growth, policy.scaleUp.maxNodesPerScaleUp);
  explainUnplaced(
    { groups, all: observation.cloud.groups, templates, stops, names, ask: refusalsOnNewNode(snapshot), exhausted },
    verdicts,
  );
}

interface Result {
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly growth: Growth;
  readonly templates: readonly GroupTemplate[];
}

/** The plan, in the order of names. */
export function buildScaleUpPlan(
  context: ScaleUpContext,
  { skips, growth, templates }: Result,
  verdicts: ReadonlyMap<Pod, PodVerdict>,
): ScaleUpPlan {
  const helped = podsByTriggeredGroup(verdicts);
  const increases = context.input.observation.cloud.groups.flatMap((group) =>
    increaseOf(context, group, growth, helped.get(group.id) ?? []),
  );
  // To its minimum, too.
  const growing = new Set(increases.map(({ group }) => group));
  const unchosen = templates
    .filter(({ group }) => !growth.grown.has(group.id) && !growing.has(group.id))
    .map(({ group }): SkippedGroup => {
      const expander = context.input.policy.scaleUp.expanders.join(',');
      if (growth.options.has(group.id)) return { group: group.id, reason: { kind: 'not-chosen', expander } };
      const isJudged = growth.cutShortAfter === undefined || growth.judged.has(group.id);
      return { group: group.id, reason: { kind: isJudged ? 'no-pod-fits' : 'not-judged' } };
    });
  const skipped = [...skips].map(([group, reason]): SkippedGroup => ({ group, reason })).concat(unchosen);
  skipped.sort(compareBy((item) => item.group));
  const notes = context.scoring.remarks(context.input.observation.cloud.groups);
  return {
    increases,
    skipped,
    verdicts,
    options: [...growth.options.values()],
    ...defined({ cutShortAfter: growth.cutShortAfter }),
    ...(notes.length === 0 ? {} : { notes }),
    ...reservedRoom(verdicts),
    summary: summarizeIncreases(increases, growth, verdicts),
  };
}

/** Places of virtual pods on nodes that are there; those on nodes to come hold nothing that could be removed. */
function reservedRoom(verdicts: ReadonlyMap<Pod, PodVerdict>): Pick<ScaleUpPlan, 'held'> {
  const held = [...verdicts].flatMap(([pod, verdict]): readonly HeldRoom[] =>
    holdsRoom(pod) && verdict.kind === 'fits-present-node' ? [{ pod, node: verdict.node }] : [],
  );
  return held.length === 0 ? {} : { held };
}

function increaseOf(context: ScaleUpContext, group: NodeGroup, growth: Growth, pods: readonly Pod[]): readonly Increase[] {
  const to = plannedSize(context, group.id, growth);
  if (!group.target.known || to <= group.target.value) return [];
  const { value: from, version } = group.target;
  return [{ group: group.id, from, to, version, pods: [...pods].sort(byPrecedence), cause: pods.length > 0 ? 'pods' : 'min-size' }];
}

function podsByTriggeredGroup(verdicts: ReadonlyMap<Pod, PodVerdict>): ReadonlyMap<NodeGroupId, readonly Pod[]> {
  const helped = new Map<NodeGroupId, Pod[]>();
  for (const [pod, verdict] of verdicts) {
    if (verdict.kind !== 'triggered') continue;
    const pods = helped.get(verdict.group);
    if (pods === undefined) helped.set(verdict.group, [pod]);
    else pods.push(pod);
  }
  return helped;
}

/** Where nothing asks for a node. */
export function noGrowth(context: ScaleUpContext): Growth {
  return { grown: new Map(), options: new Map(), headroom: context.headroom, unfinished: false, judged: new Set() };
}

/** Why the plan ended early, if it did. */
function endedEarlyBecause(growth: Growth, maxNodes: number): string | undefined {
  if (growth.cutShortAfter !== undefined) return 'the time for one plan was up';
  if (growth.headroom.thisPlan < 1) return `the limit of ${maxNodes} new nodes per scale-up is reached`;
  return growth.unfinished ? 'one plan does not take more rounds than this' : undefined;
}

function summarizeIncreases(increases: readonly Increase[], growth: Growth, verdicts: ReadonlyMap<Pod, PodVerdict>): string {
  const stuck = [...verdicts].filter(([, verdict]) => verdict.kind === 'helpless' || verdict.kind === 'waiting');
  const rest =
    stuck.length === 0 ? '' : `; ${stuck.length} pods stay pending, first ${podName(stuck[0]?.[0] ?? { namespace: '', name: '' })}`;
  if (increases.length === 0) return `no scale-up${rest}`;
  const parts = increases.map(({ group, from, to, pods, cause }) => {
    const bound = growth.grown.get(group)?.zoneBound ?? 0;
    const zones = bound === 0 ? '' : `, ${bound} nodes only if they land in the right zone`;
    return `${group} ${from} -> ${to} (${cause === 'pods' ? `${pods.length} pods` : 'minimum size'}${zones})`;
  });
  return `${parts.join(', ')}${rest}`;
}
