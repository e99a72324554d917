/** From what the groups grew by to the plan that is carried out, with a reason for everything else. */
import { type NodeGroupId, podName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { HeldRoom, Increase, ScaleUpPlan, SkippedGroup } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { holdsRoom } from '../held-room.ts';
import { byPrecedence } from './classify-pods.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import type { Growth } from './growth.ts';
import type { GroupTemplate } from './template-node.ts';
import { askPlaces } from './live-refusals.ts';
import { explainLeftovers } from './verdicts.ts';
import { type Frame, reachedRamp, reasonByLimits, sizeWith } from './frame.ts';

/** A verdict for every pod that found no place. */
export function explain(outcome: {
  readonly frame: Frame;
  readonly snapshot: ClusterSnapshot;
  readonly groups: readonly EquivalenceGroup[];
  readonly templates: readonly GroupTemplate[];
  readonly growth: Growth;
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly verdicts: Map<Pod, PodVerdict>;
}): void {
  const { frame, snapshot, groups, templates, growth, skips, verdicts } = outcome;
  const { names, policy, observation } = frame.input;
  const stops = new Map(skips);
  for (const { group, template } of templates) {
    const full = sizeWith(frame, group.id, growth) >= group.maxSize;
    const size = sizeWith(frame, group.id, growth);
    const limit = full
      ? ({ kind: 'max-size', max: group.maxSize } as const)
      : (reachedRamp(frame, group, size) ?? reasonByLimits(growth.headroom, group, template, { policy, size }));
    if (limit !== undefined) stops.set(group.id, limit);
  }
  const exhausted = exhaustedBecause(growth, policy.scaleUp.maxNodesPerScaleUp);
  explainLeftovers({ groups, all: observation.cloud.groups, templates, stops, names, ask: askPlaces(snapshot), exhausted }, verdicts);
}

interface Result {
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly growth: Growth;
  readonly templates: readonly GroupTemplate[];
}

/** The plan, in the order of names. */
export function finish(frame: Frame, { skips, growth, templates }: Result, verdicts: ReadonlyMap<Pod, PodVerdict>): ScaleUpPlan {
  const helped = triggeredBy(verdicts);
  const increases = frame.input.observation.cloud.groups.flatMap((group) => increaseOf(frame, group, growth, helped.get(group.id) ?? []));
  // To its minimum, too.
  const growing = new Set(increases.map(({ group }) => group));
  const unchosen = templates
    .filter(({ group }) => !growth.grown.has(group.id) && !growing.has(group.id))
    .map(({ group }): SkippedGroup => {
      const expander = frame.input.policy.scaleUp.expanders.join(',');
      if (growth.options.has(group.id)) return { group: group.id, reason: { kind: 'not-chosen', expander } };
      const isJudged = growth.cutShortAfter === undefined || growth.judged.has(group.id);
      return { group: group.id, reason: { kind: isJudged ? 'no-pod-fits' : 'not-judged' } };
    });
  const skipped = [...skips].map(([group, reason]): SkippedGroup => ({ group, reason })).concat(unchosen);
  skipped.sort((left, right) => (left.group < right.group ? -1 : 1));
  const notes = frame.scoring.remarks(frame.input.observation.cloud.groups);
  return {
    increases,
    skipped,
    verdicts,
    options: [...growth.options.values()],
    ...(growth.cutShortAfter === undefined ? {} : { cutShortAfter: growth.cutShortAfter }),
    ...(notes.length === 0 ? {} : { notes }),
    ...heldIn(verdicts),
    summary: summarize(increases, growth, verdicts),
  };
}

/** Places of virtual pods on nodes that are there; those on nodes to come hold nothing that could be removed. */
function heldIn(verdicts: ReadonlyMap<Pod, PodVerdict>): Pick<ScaleUpPlan, 'held'> {
  const held = [...verdicts].flatMap(([pod, verdict]): readonly HeldRoom[] =>
    holdsRoom(pod) && verdict.kind === 'fits-present-node' ? [{ pod, node: verdict.node }] : [],
  );
  return held.length === 0 ? {} : { held };
}

function increaseOf(frame: Frame, group: NodeGroup, growth: Growth, pods: readonly Pod[]): readonly Increase[] {
  const to = sizeWith(frame, group.id, growth);
  if (!group.target.known || to <= group.target.value) return [];
  const { value: from, version } = group.target;
  return [{ group: group.id, from, to, version, pods: [...pods].sort(byPrecedence), cause: pods.length > 0 ? 'pods' : 'min-size' }];
}

function triggeredBy(verdicts: ReadonlyMap<Pod, PodVerdict>): ReadonlyMap<NodeGroupId, readonly Pod[]> {
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
export function noGrowth(frame: Frame): Growth {
  return { grown: new Map(), options: new Map(), headroom: frame.headroom, unfinished: false, judged: new Set() };
}

/** Why the plan ended early, if it did. */
function exhaustedBecause(growth: Growth, maxNodes: number): string | undefined {
  if (growth.cutShortAfter !== undefined) return 'the time for one plan was up';
  if (growth.headroom.thisPlan < 1) return `the limit of ${maxNodes} new nodes per scale-up is reached`;
  return growth.unfinished ? 'one plan does not take more rounds than this' : undefined;
}

function summarize(increases: readonly Increase[], growth: Growth, verdicts: ReadonlyMap<Pod, PodVerdict>): string {
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
