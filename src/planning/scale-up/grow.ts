/**
 * Chooses groups to grow until no pod is left that any of them can help: estimate every group, let the expanders pick
 * one, count its nodes as there, and plan the rest again. So one plan may spill over from a full group to the next.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { ScoredOption } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { chooseOption, type Expander } from '../expanders/expander.ts';
import { estimateTied } from './estimate-tied.ts';
import { estimate, type Estimate } from './estimate.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import { nodesAllowed, spend, type Headroom } from './limits.ts';
import { scoreOption, type Scoring } from './score.ts';
import type { GroupTemplate } from './template-node.ts';

/** A plan is not worth more rounds than this; what remains is planned in the next loop. */
const MAX_ROUNDS = 200;

export interface GrowInput {
  readonly snapshot: ClusterSnapshot;
  readonly templates: readonly GroupTemplate[];
  readonly groups: readonly EquivalenceGroup[];
  readonly scoring: Scoring;
  readonly expanders: readonly Expander[];
  readonly headroom: Headroom;
  /** Size of a group with what was planned before: the minimum size. */
  readonly sizeOf: (group: NodeGroupId) => number;
  /** The nodes of this plan that stand in the snapshot; filled as it grows. */
  readonly planned: Map<NodeName, NodeGroupId>;
  /** Places pods that find a place on nodes there are, those of earlier rounds included; answers those that did not. */
  readonly retry: (pods: readonly Pod[]) => readonly Pod[];
}

export interface Growth {
  /** New nodes and their pods per group. */
  readonly grown: ReadonlyMap<NodeGroupId, { readonly nodes: number; readonly pods: readonly Pod[]; readonly zoneBound: number }>;
  /** The first option of every group that had one. */
  readonly options: ReadonlyMap<NodeGroupId, ScoredOption>;
  readonly headroom: Headroom;
  /** The rounds ran out before the pods that can be helped did. */
  readonly unfinished: boolean;
}

interface Option {
  readonly template: GroupTemplate;
  readonly estimate: Estimate;
  readonly scored: ScoredOption;
  /** What the estimate was allowed; it stands while that is the same. */
  readonly limit: number;
}

export function grow(input: GrowInput): Growth {
  const grown = new Map<NodeGroupId, { nodes: number; pods: Pod[]; zoneBound: number }>();
  const first = new Map<NodeGroupId, ScoredOption>();
  const standing = new Map<NodeGroupId, Option>();
  let headroom = input.headroom;
  let unfinished = true;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const tied = input.groups.some((group) => group.tied && group.pods.length > 0);
    const options = findOptions(input, { grown, headroom, standing, tied, round });
    for (const { scored } of options) if (!first.has(scored.group)) first.set(scored.group, scored);
    const chosen = chooseOption(
      input.expanders,
      options.map(({ scored }) => scored),
    );
    const option = options.find(({ scored }) => scored === chosen);
    unfinished = option !== undefined;
    if (option === undefined) break;
    const { template } = option;
    if (tied) keepTied(input, option, round);
    const pods = takePods(option.estimate);
    const sum = grown.get(template.group.id) ?? { nodes: 0, pods: [], zoneBound: 0 };
    const { nodes, zoneBound } = option.estimate;
    grown.set(template.group.id, { nodes: sum.nodes + nodes, pods: sum.pods.concat(pods), zoneBound: sum.zoneBound + zoneBound });
    headroom = spend(headroom, template.template, nodes);
    if (tied) retryTied(input);
    forgetChanged(standing, option, tied);
  }
  return { grown, options: first, headroom, unfinished };
}

interface Round {
  readonly grown: ReadonlyMap<NodeGroupId, { readonly nodes: number }>;
  readonly headroom: Headroom;
  readonly standing: Map<NodeGroupId, Option>;
  readonly tied: boolean;
  readonly round: number;
}

function findOptions(input: GrowInput, round: Round): readonly Option[] {
  return input.templates.flatMap((template) => {
    const { id, maxSize } = template.group;
    const size = input.sizeOf(id) + (round.grown.get(id)?.nodes ?? 0);
    const limit = Math.min(maxSize - size, nodesAllowed(round.headroom, template.template));
    if (limit < 1) return [];
    const known = round.standing.get(id);
    const option =
      known?.limit === limit || (known !== undefined && known.estimate.nodes < Math.min(limit, known.limit))
        ? { ...known, limit }
        : makeOption(input, template, { limit, tied: round.tied, round: round.round });
    round.standing.set(id, option);
    return option.scored.pods > 0 ? [option] : [];
  });
}

function makeOption(
  input: GrowInput,
  template: GroupTemplate,
  how: { readonly limit: number; readonly tied: boolean; readonly round: number },
): Option {
  const found = how.tied ? tryTied(input, template, how) : estimate(input.groups, template, how.limit);
  return { template, estimate: found, limit: how.limit, scored: scoreOption(template, found, input.scoring) };
}

function tryTied(input: GrowInput, template: GroupTemplate, how: { readonly limit: number; readonly round: number }): Estimate {
  input.snapshot.fork();
  const found = estimateTied(input.groups, template, { ...tiedLimits(how.limit, how.round), keep: false }, input.snapshot);
  input.snapshot.revert();
  return found;
}

/** The same packing once more, to stay. */
function keepTied(input: GrowInput, { template, limit }: Option, round: number): void {
  const limits = tiedLimits(limit, round);
  const { nodes } = estimateTied(input.groups, template, { ...limits, keep: true }, input.snapshot);
  for (let index = 0; index < nodes; index++) input.planned.set(`${limits.prefix}-${index}`, template.group.id);
}

/** Names are one per round, not per group: the snapshot remembers every host name that it has met. */
function tiedLimits(nodes: number, round: number) {
  return { nodes, prefix: `new-${round}` };
}

function takePods({ placed }: Estimate): readonly Pod[] {
  return [...placed].flatMap(([group, count]) => group.pods.splice(0, count));
}

/** New nodes may have made room elsewhere: a spread constraint that refused a present node may admit it now. */
function retryTied(input: GrowInput): void {
  const waiting = input.groups.filter((group) => group.tied && group.pods.length > 0);
  if (waiting.length === 0) return;
  const left = new Set(input.retry(waiting.flatMap((group) => group.pods)));
  for (const group of waiting) {
    const still = group.pods.filter((pod) => left.has(pod));
    group.pods.splice(0, group.pods.length, ...still);
  }
}

/** An estimate stands until a pod that it counted on is gone; with pods that look at each other, never. */
function forgetChanged(standing: Map<NodeGroupId, Option>, chosen: Option, tied: boolean): void {
  for (const [id, option] of standing) {
    const touched = [...option.estimate.placed.keys()].some((group) => chosen.estimate.placed.has(group));
    if (tied || touched || option === chosen) standing.delete(id);
  }
}
