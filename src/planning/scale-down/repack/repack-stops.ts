/** What ends a repack under way, how long one must hold before its first step, and which nodes came for it. Pure; must not know the steps. */
import type { NodeName } from '../../../domain/ids.ts';
import type { Observation } from '../../../domain/observation.ts';
import { isForSickNodes, type RepackPolicy, type RepackSet, type RunningRepack } from '../../../domain/repack.ts';
import { membershipFacts } from '../../facts/instance-facts.ts';
import { isBackFromReimage } from '../../state/deletions.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { reimagedBy } from '../repacked-nodes.ts';
import { reasonAgainstRepack, reasonAgainstReplacement } from './repack-rules.ts';
import { stopOfSickSet } from './sick-sets.ts';

/** The condition of a sick node has lasted already: this is the second look of our own. */
const CONFIRM_SICK_AFTER_MS = 60_000;

export function confirmAfterMs(set: RepackSet, rules: RepackPolicy): number {
  // guard: a sick node is looked at twice before it is replaced
  const sickMs = CONFIRM_SICK_AFTER_MS;
  return isForSickNodes(set) ? sickMs : rules.confirmAfterMs;
}

/** Reasons that end a repack under way. A cooldown, and a size that is not confirmed yet, follow from its own steps. */
const STOPS: ReadonlySet<string> = new Set(['off', 'atomic', 'blocked']);

/** Why the set is dropped without a closure, as a part of a sentence. undefined: nothing has changed that far. */
export function reasonToEnd(repack: RunningRepack, context: ScaleDownContext): string | undefined {
  const { set } = repack;
  const isSick = isForSickNodes(set);
  const stop = isSick ? stopOfSickSet(repack, context) : undefined;
  if (stop !== undefined) return stop;
  const { remove, add } = set;
  for (const id of new Set([...remove.map(({ group }) => group), ...(add === undefined ? [] : [add.group])])) {
    const group = context.groups.get(id);
    if (group === undefined) return `pool ${id} is gone`;
    const refusal = (isSick ? reasonAgainstReplacement : reasonAgainstRepack)(group, context);
    if (refusal !== undefined && STOPS.has(refusal.code)) return `pool ${id}: ${refusal.detail}`;
  }
  return undefined;
}

/** Whether it saves too little. A sick node is replaced whatever that costs. */
export function isWorthLess(set: RepackSet, { minScore }: RepackPolicy): boolean {
  return !isForSickNodes(set) && set.score < minScore;
}

/** What came of the nodes that the set reimaged: `left`, those it has yet to deal with; `why`, the first that did not come back well. */
export function withoutReimaged(
  repack: RunningRepack,
  { observation, leaving }: Pick<ScaleDownContext, 'observation' | 'leaving'>,
): { readonly left: RunningRepack['set']['remove']; readonly why: string | undefined } {
  let why: string | undefined;
  const left = repack.set.remove.filter(({ node: name }) => {
    const node = observation.cluster.nodes.get(name);
    if (node === undefined) return false;
    if (!reimagedBy(repack, node) || leaving.has(name)) return true;
    if (isBackFromReimage(node, observation)) return false;
    why ??= `node ${name} is not well after the attempt to reimage it`;
    return false;
  });
  return { left, why };
}

/** The nodes of its group of new nodes that came since it requested them. */
export function newNodesOf({ set, before }: RunningRepack, { cluster, cloud }: Observation): readonly NodeName[] {
  if (set.add === undefined) return [];
  const known = new Set(before);
  const all = membershipFacts(cloud).nodesByGroup.get(set.add.group) ?? [];
  return all.filter((name) => !known.has(name) && cluster.nodes.has(name));
}

export function scoreTooLow(set: RepackSet, { minScore }: RepackPolicy): string {
  return `the best set saves ${Math.round(set.score * 10) / 10} % of a node for each pod that moves, less than ${minScore} %`;
}
