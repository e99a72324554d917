/** Selectors, affinity and spread constraints: API JSON to domain values. */
import type { LabelSelector, Labels, NodeSelectorTerm, Requirement } from '../../domain/labels.ts';
import type { PodAffinityTerm, TopologySpreadConstraint } from '../../domain/pod.ts';
import type { TaintEffect, Toleration } from '../../domain/taints.ts';
import type {
  AffinityTermJson,
  LabelSelectorJson,
  NodeSelectorTermJson,
  ObjectJson,
  RequirementJson,
  SpreadJson,
  TolerationJson,
} from '../api/core-json.ts';
import { compareBy } from '../../lib/comparison.ts';

const OPERATORS: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);

/** Only clusters that compare tolerations accept pods with the last two. */
const TOLERATIONS = ['Equal', 'Exists', 'Lt', 'Gt'] as const;

/** An absent selector inside a term matches no pod. `In` without values means the same. */
const MATCHES_NOTHING: Requirement = { key: '', operator: 'In', values: [] };

/** Undefined or null means "matches nothing" in the API. */
export function labelSelector(json: LabelSelectorJson | null | undefined): LabelSelector | undefined {
  if (json === undefined || json === null) return undefined;
  const exact = Object.entries(json.matchLabels ?? {})
    .sort(compareBy(([key]) => key))
    .map(([key, value]): Requirement => ({ key, operator: 'In', values: [value] }));
  return { requirements: [...exact, ...(json.matchExpressions ?? []).map(requirement)] };
}

interface SelectingJson extends ObjectJson {
  readonly spec?: { readonly selector?: unknown };
}

/** Of a Service or a ReplicationController: exact labels. undefined: it selects nothing. */
export function exactSelector({ spec }: SelectingJson): LabelSelector | undefined {
  const selector = spec?.selector;
  if (typeof selector !== 'object' || selector === null) return undefined;
  return labelSelector({ matchLabels: selector as Labels });
}

/** Of a ReplicaSet or a StatefulSet. */
export function workloadSelector({ spec }: SelectingJson): LabelSelector | undefined {
  return labelSelector(spec?.selector as LabelSelectorJson | null | undefined);
}

/** An operator unknown to this version never holds: the pod waits instead of being misplaced. */
function requirement(json: RequirementJson): Requirement {
  const { key = '', operator = '', values = [] } = json;
  return OPERATORS.has(operator) ? { key, operator: operator as Requirement['operator'], values } : { ...MATCHES_NOTHING, key };
}

export function nodeSelectorTerm(json: NodeSelectorTermJson): NodeSelectorTerm {
  return { expressions: (json.matchExpressions ?? []).map(requirement), fields: (json.matchFields ?? []).map(requirement) };
}

/** Only `DoNotSchedule` counts; the soft kind is left out. */
/** @param isSoft those that the pod prefers, not those that it requires. */
export function spreadConstraints(json: readonly SpreadJson[], labels: Labels, isSoft = false): readonly TopologySpreadConstraint[] {
  return json
    .filter(({ whenUnsatisfiable }) => (whenUnsatisfiable === 'ScheduleAnyway') === isSoft)
    .map((constraint) => ({
      topologyKey: constraint.topologyKey ?? '',
      maxSkew: constraint.maxSkew ?? 1,
      minDomains: constraint.minDomains ?? 1,
      selector: termSelector({ selector: constraint.labelSelector, same: constraint.matchLabelKeys, labels }),
      nodeAffinityPolicy: constraint.nodeAffinityPolicy === 'Ignore' ? 'Ignore' : 'Honor',
      nodeTaintsPolicy: constraint.nodeTaintsPolicy === 'Honor' ? 'Honor' : 'Ignore',
    }));
}

/** Without namespaces and namespace selector, the pod's own namespace applies. */
export function affinityTerms(
  json: readonly AffinityTermJson[] | undefined,
  pod: { readonly namespace: string; readonly labels: Labels },
): readonly PodAffinityTerm[] {
  return (json ?? []).map((term) => {
    const namespaces = term.namespaces ?? [];
    const namespaceSelector = labelSelector(term.namespaceSelector);
    return {
      topologyKey: term.topologyKey ?? '',
      selector: termSelector({
        selector: term.labelSelector,
        same: term.matchLabelKeys,
        other: term.mismatchLabelKeys,
        labels: pod.labels,
      }),
      namespaces: namespaces.length === 0 && namespaceSelector === undefined ? [pod.namespace] : namespaces,
      namespaceSelector,
    };
  });
}

interface TermSelector {
  readonly selector: LabelSelectorJson | null | undefined;
  readonly same: readonly string[] | undefined;
  readonly other?: readonly string[] | undefined;
  readonly labels: Labels;
}

/** Adds the pod's own values of `matchLabelKeys`. The API server may have added them already; none is added twice. */
function termSelector(term: TermSelector): LabelSelector {
  const base = labelSelector(term.selector);
  if (base === undefined) return { requirements: [MATCHES_NOTHING] };
  const requirements = [...base.requirements];
  const fold = (operator: 'In' | 'NotIn') => (key: string) => {
    const value = Object.hasOwn(term.labels, key) ? term.labels[key] : undefined;
    if (value === undefined) return;
    const there = requirements.some(
      (known) => known.key === key && known.operator === operator && known.values.length === 1 && known.values[0] === value,
    );
    if (!there) requirements.push({ key, operator, values: [value] });
  };
  (term.same ?? []).forEach(fold('In'));
  (term.other ?? []).forEach(fold('NotIn'));
  return { requirements };
}

export function toleration(json: TolerationJson): Toleration {
  return {
    key: json.key ?? '',
    operator: TOLERATIONS.find((known) => known === json.operator) ?? 'Equal',
    value: json.value ?? '',
    effect: json.effect === undefined || json.effect === '' ? undefined : (json.effect as TaintEffect),
  };
}
