/**
 * Finds the shapes whose placement depends on other pods, or that affect the placement of others. All other shapes need only room.
 * Interdependent are also pods with device claims or exclusive disks, since what a node has left of them is not a number, and all pods
 * that use attach slots of shared volumes.
 */
import type { PodShape } from '../../domain/pod.ts';
import { type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import type { DomainCounter } from '../predicates/topology-domains.ts';
import { needOf } from '../predicates/resources-fit.ts';
import type { ShapeTies, TopologyIndex } from './topology-index.ts';

/**
 * Depends only on the given shapes and the present pods, never on counters of earlier calls: the same observation must give the same
 * result in a new process.
 */
export function* findInterdependent(shapes: readonly ShapeTies[], ledger: TopologyIndex): SlicedWork<ReadonlySet<PodShape>> {
  const ruled = shapes.filter((ties) => ties.hasRules);
  yield* ledger.prepare(ruled);
  yield;
  const asked = new Set<DomainCounter>();
  const own = new Set<DomainCounter>();
  yield* visitInSlices(ruled, (ties) => {
    const rules = ledger.rulesOf(ties);
    for (const counter of [...rules.near, ...rules.apart, ...rules.spread.map((rule) => rule.counter)]) asked.add(counter);
    for (const counter of ledger.countedBy(ties)) own.add(counter);
  });
  const attached = new Set(shapes.flatMap(({ shape }) => (shape.sharedVolumes ?? []).flatMap(({ slots }) => needOf(slots).indexes)));
  const isTied = (ties: ShapeTies): boolean =>
    ties.hasRules ||
    ties.shape.sharedVolumes !== undefined ||
    ties.shape.loneDisks !== undefined ||
    (attached.size > 0 && needOf(ties.shape.requests).indexes.some((index) => attached.has(index))) ||
    (ties.shape.devices?.claims.length ?? 0) > 0 ||
    ledger.countedBy(ties).some((counter) => asked.has(counter)) ||
    ledger.repelledBy(ties).some((counter) => counter.total > 0 || own.has(counter));
  const found = new Set<PodShape>();
  yield* visitInSlices(shapes, (ties) => {
    if (isTied(ties)) found.add(ties.shape);
  });
  return found;
}
