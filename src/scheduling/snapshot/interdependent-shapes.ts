/**
 * Finds the shapes whose placement depends on other pods, or that affect the placement of others. All other shapes need only room.
 * Interdependent are also pods with device claims or exclusive disks, since what a node has left of them is not a number, and all pods
 * that use attach slots of shared volumes.
 */
import type { PodShape } from '../../domain/pod.ts';
import { type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import type { DomainCounter } from '../predicates/topology-domains.ts';
import { needOf } from '../predicates/resources-fit.ts';
import { SHAPES_PER_STEP, type ShapeTies, type TopologyIndex } from './topology-index.ts';

/**
 * The shapes by key, with the name of what rules between pods see of them: if two have the same, no rule tells their pods apart. Names count
 * within one result only.
 */
export type RuleClasses = ReadonlyMap<PodShape['key'], string>;

/**
 * `beside` are pods that new nodes bring with them. Depends only on the given shapes and the present pods, never on counters of earlier
 * calls: the same observation must give the same result in a new process.
 */
export function* findInterdependent(
  shapes: readonly ShapeTies[],
  beside: readonly ShapeTies[],
  ledger: TopologyIndex,
): SlicedWork<RuleClasses> {
  const ruled = shapes.filter((ties) => ties.hasRules);
  yield* ledger.prepare(ruled);
  const asked = new Set<DomainCounter>();
  const own = new Set<DomainCounter>();
  yield* visitInSlices(
    ruled,
    (ties) => {
      const rules = ledger.rulesOf(ties);
      for (const counter of [...rules.near, ...rules.apart, ...rules.spread.map((rule) => rule.counter)]) asked.add(counter);
      for (const counter of ledger.countedBy(ties)) own.add(counter);
    },
    SHAPES_PER_STEP,
  );
  yield;
  const attached = new Set(shapes.flatMap(({ shape }) => shape.sharedVolumes.flatMap(({ slots }) => needOf(slots).indexes)));
  const isTied = (ties: ShapeTies): boolean =>
    ties.hasRules ||
    ties.shape.sharedVolumes.length > 0 ||
    ties.shape.loneDisks.length > 0 ||
    (attached.size > 0 && needOf(ties.shape.requests).indexes.some((index) => attached.has(index))) ||
    ties.shape.devices.claims.length > 0 ||
    ledger.countedBy(ties).some((counter) => asked.has(counter)) ||
    ledger.repelledBy(ties).some((counter) => counter.total > 0 || own.has(counter));
  const tied: ShapeTies[] = [];
  yield* visitInSlices(
    shapes,
    (ties) => {
      if (isTied(ties)) tied.push(ties);
    },
    SHAPES_PER_STEP,
  );
  const others = new Set([...own, ...beside.flatMap((ties) => ledger.countedBy(ties))]);
  return yield* classify(tied, { asked, repels: (counter) => counter.total > 0 || others.has(counter) }, ledger);
}

interface CountersThatMatter {
  /** What the rules of the shapes themselves read. */
  readonly asked: ReadonlySet<DomainCounter>;
  /** Whether a counter of owners of anti-affinity may keep a pod off a node. */
  readonly repels: (counter: DomainCounter) => boolean;
}

function* classify(shapes: readonly ShapeTies[], { asked, repels }: CountersThatMatter, ledger: TopologyIndex): SlicedWork<RuleClasses> {
  const read = new Set(asked);
  yield* visitInSlices(shapes, (ties) => {
    for (const counter of ledger.repelledBy(ties)) if (repels(counter)) read.add(counter);
  });
  const numbers = new Map([...read].map((counter, number) => [counter, number] as const));
  const numbersOf = (counters: readonly DomainCounter[]): readonly number[] =>
    counters.flatMap((counter) => numbers.get(counter) ?? []).sort((left, right) => left - right);
  const classes = new Map<PodShape['key'], string>();
  yield* visitInSlices(
    shapes,
    (ties) => {
      const { spread, near, nearItself, apart } = ledger.rulesOf(ties);
      const own = spread.map(({ counter, self, constraint }) => [numbers.get(counter), self, constraint.maxSkew, constraint.minDomains]);
      const repelledBy = ledger.repelledBy(ties).filter(repels);
      const others = [near, apart, repelledBy, ledger.countedBy(ties)].map(numbersOf);
      classes.set(ties.shape.key, JSON.stringify([own, nearItself, others]));
    },
    SHAPES_PER_STEP,
  );
  return classes;
}
