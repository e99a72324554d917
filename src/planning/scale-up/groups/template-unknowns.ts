/**
 * Distinguishes a node that lacks something from a node for which it is unknown: the template of a group whose nodes were never
 * seen is incomplete. No node is requested on such a chance, but the reason does not claim that it is impossible.
 */
import type { Node } from '../../../domain/node.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { FitReason, LabelGap } from '../../../domain/reasons.ts';
import { undecidedLabel } from '../../../scheduling/predicates/node-affinity.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

export function isUnknown(reason: FitReason): boolean {
  return 'unknown' in reason && reason.unknown !== undefined;
}

/** The reason, with what is unknown about the template if that decides it. */
export function markUnknown(reason: FitReason, shape: PodShape, node: Node, { unknowns, source }: NodeTemplate): FitReason {
  // Only a node shows what its kubelet can do.
  if (reason.kind === 'node-features') return source === 'cloud' ? { ...reason, unknown: true } : reason;
  if (reason.kind === 'insufficient-resource')
    return reason.free <= 0 && isAmong(unknowns.resources, reason.resource) ? { ...reason, unknown: true } : reason;
  if (reason.kind !== 'node-selector-mismatch') return reason;
  const label = undecidedLabel(ruleOf(reason.gaps, shape), node, (key) => isAmong(unknowns.labels, key));
  return label === undefined ? reason : { ...reason, unknown: label };
}

/** The part of the shape that the reason is about: one label of the selector, or the affinity. */
function ruleOf(gaps: readonly LabelGap[] = [], { nodeSelector, nodeAffinity }: PodShape): Pick<PodShape, 'nodeSelector' | 'nodeAffinity'> {
  const [gap] = gaps;
  const isSelector = gap !== undefined && gaps.length === 1 && gap.values.length === 1 && nodeSelector[gap.key] === gap.values[0];
  return isSelector ? { nodeSelector: { [gap.key]: gap.values[0] ?? '' }, nodeAffinity: undefined } : { nodeSelector: {}, nodeAffinity };
}

function isAmong(names: readonly string[], name: string): boolean {
  return names.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
}
