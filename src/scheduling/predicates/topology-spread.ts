/**
 * Hard topology spread (`whenUnsatisfiable: DoNotSchedule`): with the pod, its domain may not hold more than `maxSkew` pods above the
 * emptiest eligible one. Rules as documented for kube-scheduler's PodTopologySpread.
 */
import type { TopologySpreadConstraint } from '../../domain/pod.ts';
import { MISSING_LABEL, type FitReason } from '../../domain/reasons.ts';
import type { DomainCounter } from './topology-domains.ts';

export interface SpreadRule {
  readonly constraint: TopologySpreadConstraint;
  readonly counter: DomainCounter;
  /** 1 if the constraint counts the pod itself. */
  readonly self: 0 | 1;
}

export function spreadAdmits(rules: readonly SpreadRule[], slot: number): boolean {
  for (const rule of rules) if (rule.counter.key.at(slot) < 0 || skewAt(rule, slot) > rule.constraint.maxSkew) return false;
  return true;
}

/** The pods of the emptiest domain of each rule. A node that a rule excluded stays excluded until one of these numbers rises. */
export function floorsOf(rules: readonly SpreadRule[]): readonly number[] {
  return rules.map(({ counter, constraint }) => counter.least(constraint.minDomains));
}

export function refusedBySpread(rules: readonly SpreadRule[], slot: number): readonly FitReason[] {
  return rules.flatMap((rule): readonly FitReason[] => {
    const { topologyKey, maxSkew, minDomains } = rule.constraint;
    const value = rule.counter.key.at(slot);
    if (value < 0) return [{ kind: 'topology-spread', topologyKey, detail: MISSING_LABEL }];
    const skew = skewAt(rule, slot);
    if (skew <= maxSkew) return [];
    const here = `${rule.counter.podsIn(value)} pods in ${rule.counter.key.nameOf(value)}`;
    return [{ kind: 'topology-spread', topologyKey, detail: `skew ${skew} > ${maxSkew}: ${here}, ${describeEmptiest(rule, minDomains)}` }];
  });
}

/** With the name, since a person looks for the place where pods are missing: on AKS nodes without a zone have the zone `0`. */
function describeEmptiest({ counter }: SpreadRule, minDomains: number): string {
  const { domains, key } = counter;
  const name = key.isHost || domains < minDomains ? undefined : counter.emptiest();
  const few = domains < minDomains ? `, counted as 0 below ${minDomains}` : '';
  return `${counter.least(minDomains)} in the emptiest of ${domains} domains${name === undefined ? few : `, "${name}"`}`;
}

function skewAt(rule: SpreadRule, slot: number): number {
  return rule.counter.podsIn(rule.counter.key.at(slot)) + rule.self - rule.counter.least(rule.constraint.minDomains);
}
