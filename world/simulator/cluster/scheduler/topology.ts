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

/** Says why a node is refused; undefined if it is not. What it found about the other nodes holds while no pod is placed. */
type NodeRule = (usage: NodeUsage) => string | undefined;

/** The skew after placing the pod must not exceed the limit. With too few domains the minimum counts as zero. */
function spreadRule(pod: PodObject, view: TopologyView): NodeRule {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule');
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  const rules = constraints.map((constraint) => {
    const selector = narrowedSelector(constraint.labelSelector, pod, { same: constraint.matchLabelKeys ?? [] });
    const domains = once(() => {
      const counts = domainCounts(pod, { constraint, selector, keys }, view);
      return { counts, least: counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values()) };
    });
    return { constraint, domains, self: selects(selector, pod.metadata.labels) ? 1 : 0 };
  });
  return ({ labels }) => {
    for (const { constraint, domains, self } of rules) {
      const domain = labels[constraint.topologyKey];
      if (domain === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
      const { counts, least } = domains();
      if ((counts.get(domain) ?? 0) + self - least > constraint.maxSkew) return "node(s) didn't match pod topology spread constraints";
    }
    return undefined;
  };
}

/** Computes when first asked. */
function once<Value>(compute: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => (known ??= { value: compute() }).value;
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

/** The domains of this key that have such a pod. */
function domainsWith(view: TopologyView, key: string, isMeant: (pod: PodObject) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { labels, pods } of view.nodes) {
    const domain = labels[key];
    if (domain !== undefined && !found.has(domain) && pods.some(isMeant)) found.add(domain);
  }
  return found;
}

function affinityRule(pod: PodObject, view: TopologyView): NodeRule {
  const terms = requiredTerms(pod, 'podAffinity');
  if (terms.length === 0) return () => undefined;
  const reason = "node(s) didn't match pod affinity rules";
  // All terms apply together: only pods that match every term count.
  const isTarget = (other: PodObject): boolean => terms.every((term) => termSelects(term, pod, other, view));
  const near = once(() => terms.map(({ topologyKey }) => ({ topologyKey, domains: domainsWith(view, topologyKey, isTarget) })));
  // The first pod of a group with affinity to itself would wait forever, so it may start the group.
  // A pod on a node without the labels is in no domain and does not count.
  const mayStart = once(() => near().every(({ domains }) => domains.size === 0) && isTarget(pod));
  return ({ labels }) => {
    if (terms.some(({ topologyKey }) => labels[topologyKey] === undefined)) return reason;
    if (near().every(({ topologyKey, domains }) => domains.has(labels[topologyKey] ?? ''))) return undefined;
    return mayStart() ? undefined : reason;
  };
}

function antiAffinityRule(pod: PodObject, view: TopologyView): NodeRule {
  const terms = requiredTerms(pod, 'podAntiAffinity').map((term) => ({
    key: term.topologyKey,
    domains: once(() => domainsWith(view, term.topologyKey, (other) => termSelects(term, pod, other, view))),
  }));
  return ({ labels }) =>
    terms.some(({ key, domains }) => labels[key] !== undefined && domains().has(labels[key]))
      ? "node(s) didn't match pod anti-affinity rules"
      : undefined;
}

/** Running pods may refuse a new pod in their domain. */
function runningPodRule(pod: PodObject, view: TopologyView): NodeRule {
  const closed = once(() => closedDomains(pod, view));
  return ({ labels }) =>
    [...closed()].some(([key, domains]) => labels[key] !== undefined && domains.has(labels[key]))
      ? "node(s) didn't satisfy existing pods anti-affinity rules"
      : undefined;
}

/** By topology key, the domains in which a running pod refuses this one. */
function closedDomains(pod: PodObject, view: TopologyView): ReadonlyMap<string, ReadonlySet<string>> {
  const closed = new Map<string, Set<string>>();
  for (const { guards, labels } of view.nodes) {
    for (const resident of guards) {
      for (const term of requiredTerms(resident, 'podAntiAffinity')) {
        const domain = labels[term.topologyKey];
        const domains = closed.get(term.topologyKey) ?? new Set();
        if (domain === undefined || domains.has(domain) || !termSelects(term, resident, pod, view)) continue;
        closed.set(term.topologyKey, domains.add(domain));
      }
    }
  }
  return closed;
}

/** The first topology rule that refuses a node. Each rule looks at all nodes once, and not again for every node that is asked about. */
export function topologyRule(pod: PodObject, view: TopologyView): NodeRule {
  const rules = [spreadRule, affinityRule, antiAffinityRule, runningPodRule].map((ruleOf) => ruleOf(pod, view));
  return (usage) => {
    for (const rule of rules) {
      const reason = rule(usage);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}
