/** nodeSelector and required node affinity: both must hold; terms are OR'ed, requirements within a term are AND'ed. */
import { matchesRequirement, type NodeSelectorTerm, type Requirement } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';

type Wishes = Pick<PodShape, 'nodeSelector' | 'nodeAffinity'>;
type Named = Pick<Node, 'name' | 'labels'>;

export function matchesNodeAffinity(shape: Wishes, node: Named): boolean {
  return unmetSelector(shape, node) === undefined && matchesTerms(shape.nodeAffinity, node);
}

export function refusedByNodeAffinity(shape: Wishes, node: Named): readonly FitReason[] {
  const unmet = unmetSelector(shape, node);
  if (unmet !== undefined) {
    return [{ kind: 'node-selector-mismatch', detail: `${unmet}=${shape.nodeSelector[unmet] ?? ''} is wanted` }];
  }
  if (matchesTerms(shape.nodeAffinity, node)) return [];
  return [{ kind: 'node-selector-mismatch', detail: `none of ${shape.nodeAffinity?.length ?? 0} required affinity terms holds` }];
}

function unmetSelector(shape: Wishes, node: Named): string | undefined {
  for (const key in shape.nodeSelector) {
    if (!Object.hasOwn(node.labels, key) || node.labels[key] !== shape.nodeSelector[key]) return key;
  }
  return undefined;
}

/** No affinity matches everything; an empty list, and an empty term, match nothing. */
export function matchesTerms(terms: readonly NodeSelectorTerm[] | undefined, node: Named): boolean {
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

function matchesTerm(term: NodeSelectorTerm, node: Named): boolean {
  if (term.expressions.length === 0 && term.fields.length === 0) return false;
  return (
    term.expressions.every((requirement) => matchesRequirement(requirement, node.labels)) &&
    term.fields.every((requirement) => matchesField(requirement, node))
  );
}

/** Kubernetes knows one field, `metadata.name`; any other matches nothing. */
function matchesField(requirement: Requirement, node: Named): boolean {
  return requirement.key === 'metadata.name' && matchesRequirement(requirement, { 'metadata.name': node.name });
}
