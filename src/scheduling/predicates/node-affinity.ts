/** nodeSelector and required node affinity: both must hold; terms are OR'ed, requirements within a term are AND'ed. */
import { matchesRequirement, type NodeSelectorTerm, type Requirement } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';

type NodeAffinityShape = Pick<PodShape, 'nodeSelector' | 'nodeAffinity'>;
type NamedLabels = Pick<Node, 'name' | 'labels'>;

export function matchesNodeAffinity(shape: NodeAffinityShape, node: NamedLabels): boolean {
  return unmetSelector(shape, node) === undefined && matchesTerms(shape.nodeAffinity, node);
}

export function refusedByNodeAffinity(shape: NodeAffinityShape, node: NamedLabels): readonly FitReason[] {
  const unmet = unmetSelector(shape, node);
  if (unmet !== undefined) {
    return [{ kind: 'node-selector-mismatch', detail: `${unmet}=${shape.nodeSelector[unmet] ?? ''} is required` }];
  }
  if (matchesTerms(shape.nodeAffinity, node)) return [];
  return [
    { kind: 'node-selector-mismatch', detail: `none of the ${shape.nodeAffinity?.length ?? 0} required node affinity terms matches` },
  ];
}

function unmetSelector(shape: NodeAffinityShape, node: NamedLabels): string | undefined {
  for (const key in shape.nodeSelector) {
    if (!Object.hasOwn(node.labels, key) || node.labels[key] !== shape.nodeSelector[key]) return key;
  }
  return undefined;
}

/** Without affinity every node matches. An empty list, and an empty term, match nothing. */
export function matchesTerms(terms: readonly NodeSelectorTerm[] | undefined, node: NamedLabels): boolean {
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

function matchesTerm(term: NodeSelectorTerm, node: NamedLabels): boolean {
  if (term.expressions.length === 0 && term.fields.length === 0) return false;
  return (
    term.expressions.every((requirement) => matchesRequirement(requirement, node.labels)) &&
    term.fields.every((requirement) => matchesField(requirement, node))
  );
}

/** Kubernetes supports one field, `metadata.name`; any other matches nothing. */
function matchesField(requirement: Requirement, node: NamedLabels): boolean {
  return requirement.key === 'metadata.name' && matchesRequirement(requirement, { 'metadata.name': node.name });
}

/** The first unknown label that decides whether the pod fits the node. undefined: known labels exclude the pod, or no label does. */
export function undecidedLabel(shape: NodeAffinityShape, node: NamedLabels, isUnknown: (key: string) => boolean): string | undefined {
  const open = (key: string): boolean => !Object.hasOwn(node.labels, key) && isUnknown(key);
  const unmet = Object.keys(shape.nodeSelector).filter((key) => node.labels[key] !== shape.nodeSelector[key]);
  if (!unmet.every(open)) return undefined;
  if (matchesTerms(shape.nodeAffinity, node)) return unmet[0];
  const rests = (shape.nodeAffinity ?? []).map(({ expressions, fields }) => {
    const keys = expressions.filter((requirement) => !matchesRequirement(requirement, node.labels)).map(({ key }) => key);
    return fields.every((requirement) => matchesField(requirement, node)) ? keys : undefined;
  });
  const undecided = rests.find((keys) => keys !== undefined && keys.length > 0 && keys.every(open));
  return undecided === undefined ? undefined : (unmet[0] ?? undecided[0]);
}
