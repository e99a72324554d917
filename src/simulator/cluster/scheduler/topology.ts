/** The filters that also depend on other nodes: hard topology spread, required inter-pod affinity and anti-affinity. */
import type { AffinityTerm, ObjectSelector, PodObject, SelectorRequirement, SpreadConstraint, StringMap } from '../store/objects.ts';
import { selects } from '../store/selectors.ts';
import { matchesNodeSelection, type NodeUsage, firstUntolerated } from './node-filters.ts';
import type { StoredObjects } from './volumes.ts';

export interface TopologyView {
  readonly nodes: readonly NodeUsage[];
  readonly namespaceLabels: (namespace: string) => StringMap;
  /** Claims, volumes, classes and CSINodes. */
  readonly stored: StoredObjects;
}

/** A selector narrowed by the pod's own values of some label keys. */
function narrowedSelector(
  selector: ObjectSelector | undefined,
  pod: PodObject,
  keys: { readonly same?: readonly string[]; readonly different?: readonly string[] },
): ObjectSelector | undefined {
  const own = pod.metadata.labels ?? {};
  const requirements = (names: readonly string[] | undefined, operator: 'In' | 'NotIn'): readonly SelectorRequirement[] =>
    (names ?? []).flatMap((key) => (own[key] === undefined ? [] : [{ key, operator, values: [own[key]] }]));
  if (selector === undefined) return undefined;
  return {
    ...selector,
    matchExpressions: [...(selector.matchExpressions ?? []), ...requirements(keys.same, 'In'), ...requirements(keys.different, 'NotIn')],
  };
}

function isCounted(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp === undefined;
}

function takesPart(pod: PodObject, usage: NodeUsage, constraint: SpreadConstraint): boolean {
  if ((constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor' && !matchesNodeSelection(pod.spec, usage.node)) return false;
  return (
    constraint.nodeTaintsPolicy !== 'Honor' || firstUntolerated(usage.node.spec.taints ?? [], pod.spec.tolerations ?? []) === undefined
  );
}

/** The skew after placing the pod must not exceed the limit. With too few domains the minimum counts as zero. */
function spreadReason(pod: PodObject, usage: NodeUsage, view: TopologyView): string | undefined {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule');
  for (const constraint of constraints) {
    const domain = usage.labels[constraint.topologyKey];
    if (domain === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
    const selector = narrowedSelector(constraint.labelSelector, pod, { same: constraint.matchLabelKeys ?? [] });
    const counts = domainCounts(pod, { constraint, selector, keys: constraints.map(({ topologyKey }) => topologyKey) }, view);
    const least = counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values());
    const self = selects(selector, pod.metadata.labels) ? 1 : 0;
    if ((counts.get(domain) ?? 0) + self - least > constraint.maxSkew) return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

function domainCounts(
  pod: PodObject,
  spread: { readonly constraint: SpreadConstraint; readonly selector: ObjectSelector | undefined; readonly keys: readonly string[] },
  view: TopologyView,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  // As in the real scheduler, a selector without requirements counts no pod, though it matches all.
  const countsNone = spread.selector !== undefined && isEmpty(spread.selector);
  for (const usage of view.nodes) {
    const domain = usage.labels[spread.constraint.topologyKey];
    if (domain === undefined || !spread.keys.every((key) => usage.labels[key] !== undefined) || !takesPart(pod, usage, spread.constraint))
      continue;
    const matching = usage.pods.filter(
      (other) =>
        !countsNone &&
        isCounted(other) &&
        other.metadata.namespace === pod.metadata.namespace &&
        selects(spread.selector, other.metadata.labels),
    );
    counts.set(domain, (counts.get(domain) ?? 0) + matching.length);
  }
  return counts;
}

function isEmpty({ matchLabels = {}, matchExpressions = [] }: ObjectSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

function requiredTerms(pod: PodObject, kind: 'podAffinity' | 'podAntiAffinity'): readonly AffinityTerm[] {
  return pod.spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

/** Whether a term of `holder` selects `other`. */
function termSelects(term: AffinityTerm, holder: PodObject, other: PodObject, view: TopologyView): boolean {
  const { namespaces = [], namespaceSelector } = term;
  const own = namespaces.length === 0 && namespaceSelector === undefined;
  const namespace = other.metadata.namespace ?? '';
  const inNamespace = own
    ? namespace === holder.metadata.namespace
    : namespaces.includes(namespace) || (namespaceSelector !== undefined && selects(namespaceSelector, view.namespaceLabels(namespace)));
  return (
    inNamespace &&
    selects(
      narrowedSelector(term.labelSelector, holder, { same: term.matchLabelKeys ?? [], different: term.mismatchLabelKeys ?? [] }),
      other.metadata.labels,
    )
  );
}

function nodesInDomain(view: TopologyView, key: string, value: string | undefined): readonly NodeUsage[] {
  return value === undefined ? [] : view.nodes.filter((usage) => usage.labels[key] === value);
}

function affinityReason(pod: PodObject, usage: NodeUsage, view: TopologyView): string | undefined {
  const terms = requiredTerms(pod, 'podAffinity');
  if (terms.length === 0) return undefined;
  const reason = "node(s) didn't match pod affinity rules";
  if (terms.some((term) => usage.labels[term.topologyKey] === undefined)) return reason;
  // All terms apply together: only pods that match every term count.
  const isTarget = (other: PodObject): boolean => terms.every((term) => termSelects(term, pod, other, view));
  const near = terms.every((term) =>
    nodesInDomain(view, term.topologyKey, usage.labels[term.topologyKey]).some((other) => other.pods.some(isTarget)),
  );
  if (near) return undefined;
  // The first pod of a group with affinity to itself would wait forever, so it may start the group.
  // A pod on a node without the labels is in no domain and does not count.
  const anywhere = view.nodes.some(
    (other) => terms.some((term) => other.labels[term.topologyKey] !== undefined) && other.pods.some(isTarget),
  );
  return !anywhere && isTarget(pod) ? undefined : reason;
}

function antiAffinityReason(pod: PodObject, usage: NodeUsage, view: TopologyView): string | undefined {
  const refused = requiredTerms(pod, 'podAntiAffinity').some((term) =>
    nodesInDomain(view, term.topologyKey, usage.labels[term.topologyKey]).some(({ pods }) =>
      pods.some((other) => termSelects(term, pod, other, view)),
    ),
  );
  return refused ? "node(s) didn't match pod anti-affinity rules" : undefined;
}

/** Running pods may refuse a new pod in their domain. */
function runningPodReason(pod: PodObject, usage: NodeUsage, view: TopologyView): string | undefined {
  const refused = view.nodes.some(({ guards, labels }) =>
    guards.some((resident) =>
      requiredTerms(resident, 'podAntiAffinity').some(
        (term) =>
          labels[term.topologyKey] !== undefined &&
          labels[term.topologyKey] === usage.labels[term.topologyKey] &&
          termSelects(term, resident, pod, view),
      ),
    ),
  );
  return refused ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined;
}

/** The first topology rule that refuses the node; undefined if none does. */
export function topologyReason(pod: PodObject, usage: NodeUsage, view: TopologyView): string | undefined {
  return (
    spreadReason(pod, usage, view) ??
    affinityReason(pod, usage, view) ??
    antiAffinityReason(pod, usage, view) ??
    runningPodReason(pod, usage, view)
  );
}
