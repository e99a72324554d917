/** nodeSelector and required node affinity: both must hold; terms are OR'ed, requirements within a term are AND'ed. */
import { type Labels, matchesRequirement, type NodeSelectorTerm, type Requirement } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason, LabelGap } from '../../domain/reasons.ts';
import { defined } from '../../lib/defined.ts';

type NodeAffinityShape = Pick<PodShape, 'nodeSelector' | 'nodeAffinity'>;
type NamedLabels = Pick<Node, 'name' | 'labels'>;

export function matchesNodeAffinity(shape: NodeAffinityShape, node: NamedLabels): boolean {
  return unmetSelector(shape, node) === undefined && matchesTerms(shape.nodeAffinity, node);
}

/** One reason for each unmet label of the selector, and one for the affinity. */
export function refusedByNodeAffinity(shape: NodeAffinityShape, node: NamedLabels): readonly FitReason[] {
  const unmet = Object.entries(shape.nodeSelector).filter(([key, value]) => !hasLabel(node, key, value));
  const selector = unmet.map(([key, value]): FitReason => ({
    kind: 'node-selector-mismatch',
    detail: `${key}=${value} is required`,
    gaps: [gapOf({ key, operator: 'In', values: [value] }, node.labels)],
  }));
  return matchesTerms(shape.nodeAffinity, node) ? selector : [...selector, unmetAffinity(shape.nodeAffinity ?? [], node)];
}

function unmetAffinity(terms: readonly NodeSelectorTerm[], node: NamedLabels): FitReason {
  const detail = `none of the ${terms.length} required node affinity terms matches`;
  const [nearest = []] = terms.map((term) => gapsOf(term, node)).sort((left, right) => left.length - right.length);
  return { kind: 'node-selector-mismatch', detail, ...(nearest.length === 0 ? {} : { gaps: nearest }) };
}

/** What the term requires and the node does not have. Empty for an empty term, which matches nothing. */
function gapsOf({ expressions, fields }: NodeSelectorTerm, node: NamedLabels): readonly LabelGap[] {
  const labels = expressions.filter((requirement) => !matchesRequirement(requirement, node.labels));
  const names = fields.filter((requirement) => !matchesField(requirement, node));
  return [
    ...labels.map((requirement) => gapOf(requirement, node.labels)),
    ...names.map((requirement) => gapOf(requirement, { 'metadata.name': node.name })),
  ];
}

function gapOf(requirement: Requirement, labels: Labels): LabelGap {
  return { ...requirement, ...(Object.hasOwn(labels, requirement.key) ? defined({ found: labels[requirement.key] }) : {}) };
}

function hasLabel({ labels }: NamedLabels, key: string, value: string): boolean {
  return Object.hasOwn(labels, key) && labels[key] === value;
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
