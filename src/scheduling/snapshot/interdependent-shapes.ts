/**
 * Tells the shapes that other pods' places matter to, or whose place matters to others, from those that only need room. Pods
 * that claim devices, or disks for themselves alone, are among the first: what a node has left of those is no arithmetic. Nor are attach slots where volumes are
 * shared, and that goes for all pods that take such slots.
 */
import type { PodShape } from '../../domain/pod.ts';
import type { DomainCounter } from '../predicates/topology-domains.ts';
import { needOf } from '../predicates/resources-fit.ts';
import type { ShapeTies, TopologyLedger } from './topology-index.ts';

/**
 * Judged by the given shapes and the pods that are there now, never by what earlier questions left behind in the
 * ledger: the same observation must give the same answer in a fresh process.
 */
export function findTied(shapes: readonly ShapeTies[], ledger: TopologyLedger): ReadonlySet<PodShape> {
  const ruled = shapes.filter((ties) => ties.hasRules);
  const asked = new Set<DomainCounter>();
  for (const ties of ruled) {
    const rules = ledger.rulesOf(ties);
    for (const counter of [...rules.near, ...rules.apart, ...rules.spread.map((rule) => rule.counter)]) asked.add(counter);
  }
  const own = new Set(ruled.flatMap((ties) => ledger.countedBy(ties)));
  const attached = new Set(shapes.flatMap(({ shape }) => (shape.sharedVolumes ?? []).flatMap(({ slots }) => needOf(slots).indexes)));
  const isTied = (ties: ShapeTies): boolean =>
    ties.hasRules ||
    ties.shape.sharedVolumes !== undefined ||
    ties.shape.loneDisks !== undefined ||
    (attached.size > 0 && needOf(ties.shape.requests).indexes.some((index) => attached.has(index))) ||
    (ties.shape.devices?.claims.length ?? 0) > 0 ||
    ledger.countedBy(ties).some((counter) => asked.has(counter)) ||
    ledger.repelledBy(ties).some((counter) => counter.total > 0 || own.has(counter));
  return new Set(shapes.filter(isTied).map((ties) => ties.shape));
}
