/** Says of every pod that no increase helps which group refused it and why. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Pod } from '../../domain/pod.ts';
import type { FitReason, GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { attaching } from '../../scheduling/attach-limits.ts';
import type { AskPlaces } from './live-refusals.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import { makeTemplate, templateRefusals, type GroupTemplate } from './template-node.ts';

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
export function explainLeftovers(left: Leftovers, verdicts: Map<Pod, PodVerdict>): void {
  const templates = new Map(left.templates.map((template) => [template.group.id, template]));
  for (const group of left.groups) {
    if (group.pods.length === 0) continue;
    const byGroup = left.all.map((target) => refusalOf(left, group, target, templates.get(target.id)));
    const verdict: PodVerdict =
      left.exhausted !== undefined && byGroup.some(({ skip, fit }) => skip === undefined && fit === undefined)
        ? { kind: 'waiting', detail: left.exhausted }
        : { kind: 'helpless', byGroup };
    for (const pod of group.pods) verdicts.set(pod, verdict);
  }
}

/** What the pod itself lacks is told even of groups that may not grow: waiting for those would not help it. */
function refusalOf(left: Leftovers, pods: EquivalenceGroup, target: NodeGroup, known: GroupTemplate | undefined): GroupRefusal {
  const template =
    known ?? (target.template === undefined ? undefined : makeTemplate(target, attaching(target.template, left.names), [], new Set()));
  const skip = left.stops.get(target.id);
  const alone = template === undefined ? [] : templateRefusals(pods, template, left.names);
  const fit = alone.length > 0 || template === undefined ? alone : besideOthers(left, pods, template);
  if (skip !== undefined) return { group: target.id, skip, ...(fit.length > 0 ? { fit } : {}) };
  if (fit.length > 0) return { group: target.id, fit };
  return left.exhausted === undefined ? { group: target.id, fit: topologyReasons(pods) } : { group: target.id };
}

/** Pods that only need room, and those that found no place only because a plan ended early, are kept out by nobody. */
function besideOthers(left: Leftovers, { pods: [pod], tied, shape }: EquivalenceGroup, template: GroupTemplate): readonly FitReason[] {
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
