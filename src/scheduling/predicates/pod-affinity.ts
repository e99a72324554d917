/**
 * Required inter-pod affinity and anti-affinity, based on counts per topology value. As documented for kube-scheduler's InterPodAffinity,
 * three things count: existing pods that repel this one, anti-affinity of this pod, and affinity of this pod.
 */
import { matchesSelector, type Labels } from '../../domain/labels.ts';
import type { PodAffinityTerm, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { DomainCounter } from './topology-domains.ts';

export interface AffinityRules {
  /** One per required affinity term; each counts the pods that match *all* terms. */
  readonly near: readonly DomainCounter[];
  /** The pod matches its own affinity terms: the first of its kind may run anywhere. */
  readonly nearItself: boolean;
  /** One per required anti-affinity term. */
  readonly apart: readonly DomainCounter[];
}

type Rule = Extract<FitReason, { readonly kind: 'pod-affinity' }>['rule'];
export type NamespaceLabels = (namespace: string) => Labels;

/** A term without namespaces means the namespace of its own pod. */
export function withNamespaces(term: PodAffinityTerm, owner: string): PodAffinityTerm {
  return term.namespaces.length > 0 || term.namespaceSelector !== undefined ? term : { ...term, namespaces: [owner] };
}

/** `term` must be a result of {@link withNamespaces}. */
export function termMatches(term: PodAffinityTerm, shape: Pick<PodShape, 'namespace' | 'labels'>, labelsOf: NamespaceLabels): boolean {
  const inNamespace =
    term.namespaces.includes(shape.namespace) ||
    (term.namespaceSelector !== undefined && matchesSelector(term.namespaceSelector, labelsOf(shape.namespace)));
  return inNamespace && matchesSelector(term.selector, shape.labels);
}

/** `repelling`: anti-affinity terms of existing pods that match the incoming pod. */
export function affinityAdmits(rules: AffinityRules, repelling: readonly DomainCounter[], slot: number): boolean {
  return !isCrowded(repelling, slot) && !isCrowded(rules.apart, slot) && (rules.near.length === 0 || isNear(rules, slot));
}

function isCrowded(counters: readonly DomainCounter[], slot: number): boolean {
  for (const counter of counters) if (hasPods(counter, slot)) return true;
  return false;
}

export function refusedByAffinity(rules: AffinityRules, repelling: readonly DomainCounter[], slot: number): readonly FitReason[] {
  const refusal = (rule: Rule, counter: DomainCounter, detail: string): FitReason => {
    return { kind: 'pod-affinity', rule, topologyKey: counter.key.label, detail };
  };
  const repelled = repelling.find((counter) => hasPods(counter, slot));
  if (repelled !== undefined) return [refusal('repelled', repelled, 'existing pods have anti-affinity to this pod')];
  const crowded = rules.apart.find((counter) => hasPods(counter, slot));
  if (crowded !== undefined) return [refusal('anti-affinity', crowded, `${crowded.podsIn(crowded.key.at(slot))} matching pods are there`)];
  if (isNear(rules, slot)) return [];
  const lonely = rules.near.find((counter) => !hasPods(counter, slot)) ?? rules.near[0];
  return lonely === undefined ? [] : [refusal('affinity', lonely, 'no matching pod is there')];
}

function hasPods(counter: DomainCounter, slot: number): boolean {
  const value = counter.key.at(slot);
  return value >= 0 && counter.podsIn(value) > 0;
}

function isNear(rules: AffinityRules, slot: number): boolean {
  if (rules.near.every((counter) => hasPods(counter, slot))) return true;
  const first = rules.nearItself && rules.near.every((counter) => counter.total === 0);
  return first && rules.near.every((counter) => counter.key.at(slot) >= 0);
}
