/**
 * The counters of pods per topology domain: which exist, which pods each counts, and which a shape needs. A counter is made when the first
 * shape needs it, and then follows every change of pods and nodes. The inverse change undoes a change. Must not know forks.
 */
import { AnchoredRules, anchorsOf, ownTerms, selectorAnchors, termAnchor } from '../predicates/anchored-rules.ts';
import { matchesSelector } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod, PodAffinityTerm, PodShape, TopologySpreadConstraint } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { finishAtOnce, type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import { DomainCounter, type CounterRule, DomainScope, TopologyKey } from '../predicates/topology-domains.ts';
import { matchesNodeAffinity } from '../predicates/node-affinity.ts';
import {
  affinityAdmits,
  refusedByAffinity,
  termMatches,
  withNamespaces,
  type AffinityRules,
  type NamespaceLabels,
} from '../predicates/pod-affinity.ts';
import { refusedByTaints } from '../predicates/node-gates.ts';
import { floorsOf, refusedBySpread, spreadAdmits, type SpreadRule } from '../predicates/topology-spread.ts';

/** What the index reads when a new counter counts the present pods. */
interface Occupancy {
  eachNode(visit: (slot: number, node: Node, pods: readonly Pod[]) => void): void;
}

interface OwnerCounter {
  readonly counter: DomainCounter;
  readonly term: PodAffinityTerm;
}

/** How one shape depends on other pods. The lists grow as counters are made; `seen` is how far they are updated. */
export interface PlacementRules extends AffinityRules {
  readonly spread: readonly SpreadRule[];
  /** Counters of pods whose anti-affinity matches the shape. */
  readonly repelling: readonly DomainCounter[];
}

/** The rules of a shape in two parts, which both must admit a node. */
export interface SplitRules {
  /** By these, nodes that differ in their host names alone are all alike. */
  readonly byPlace: PlacementRules;
  readonly byHost: PlacementRules;
}

export interface ShapeTies {
  readonly shape: PodShape;
  readonly hasRules: boolean;
  readonly anchors: readonly string[];
  readonly countedBy: DomainCounter[];
  countedSeen: number;
  readonly repelledBy: DomainCounter[];
  repelledSeen: number;
  rules: (AffinityRules & { readonly spread: readonly SpreadRule[] }) | undefined;
  /** Valid while `repelledBy` has as many counters as when it was made. */
  split: { readonly rules: SplitRules; readonly repelling: number } | undefined;
}

/** Shapes visited between two places where the work may be interrupted: each may be compared with all rules. */
export const SHAPES_PER_STEP = 8;
const NO_RULES = { spread: [], near: [], nearItself: false, apart: [] };

export class TopologyIndex {
  readonly #occupancy: Occupancy;
  readonly #labelsOf: NamespaceLabels;
  readonly #keys = new Map<string, TopologyKey>();
  readonly #scopes = new Map<string, DomainScope>();
  readonly #counters = new Map<string, DomainCounter>();
  readonly #all = new AnchoredRules<DomainCounter>();
  readonly #owners = new AnchoredRules<OwnerCounter>();
  /** Counters that have not counted the present pods yet. */
  readonly #unlearned: NewCounter[] = [];

  constructor(occupancy: Occupancy, labelsOf: NamespaceLabels) {
    this.#occupancy = occupancy;
    this.#labelsOf = labelsOf;
  }

  get size(): number {
    return this.#all.size;
  }

  /** The number of known values of topology labels, those of former nodes included. */
  get domains(): number {
    let most = 0;
    for (const key of this.#keys.values()) most = Math.max(most, key.size);
    return most;
  }

  tiesOf(shape: PodShape): ShapeTies {
    for (const term of shape.podAntiAffinity) this.#ownerCounter(withNamespaces(term, shape.namespace));
    const hasRules = shape.topologySpread.length + shape.podAffinity.length + shape.podAntiAffinity.length > 0;
    const anchors = anchorsOf(shape);
    const rules = hasRules ? undefined : NO_RULES;
    return { shape, hasRules, anchors, countedBy: [], countedSeen: 0, repelledBy: [], repelledSeen: 0, rules, split: undefined };
  }

  moveNode(slot: number, node: Node, by: 1 | -1): void {
    if (by === 1) for (const key of this.#keys.values()) key.record(slot, node.labels);
    for (const scope of this.#scopes.values()) scope.moveNode(slot, node, by);
  }

  movePod(ties: ShapeTies, slot: number, by: number, terminating: boolean): void {
    for (const counter of this.countedBy(ties)) {
      if (!terminating || counter.rule.countsTerminating) counter.movePods(slot, by);
    }
  }

  /** Whether the placement of this shape depends on other pods. */
  isTied(ties: ShapeTies): boolean {
    return ties.hasRules || this.repelledBy(ties).length > 0;
  }

  admits(ties: ShapeTies, slot: number): boolean {
    const rules = this.rulesOf(ties);
    return spreadAdmits(rules.spread, slot) && affinityAdmits(rules, this.repelledBy(ties), slot);
  }

  /** The rules of the shape, and those of other pods against it, as far as these are known by now. */
  splitRules(ties: ShapeTies): SplitRules {
    const repelling = this.repelledBy(ties).length;
    if (ties.split?.repelling !== repelling) ties.split = { rules: this.#split(ties), repelling };
    return ties.split.rules;
  }

  #split(ties: ShapeTies): SplitRules {
    const { spread, near, nearItself, apart } = this.rulesOf(ties);
    const repelling = this.repelledBy(ties);
    // Affinity to the first pod of a kind depends on all terms at once.
    const isNearByHost = near.some(({ key }) => key.isHost);
    const part = (isHost: boolean): PlacementRules => ({
      spread: spread.filter(({ counter }) => counter.key.isHost === isHost),
      near: isNearByHost === isHost ? near : [],
      nearItself,
      apart: apart.filter(({ key }) => key.isHost === isHost),
      repelling: repelling.filter(({ key }) => key.isHost === isHost),
    });
    return { byPlace: part(false), byHost: part(true) };
  }

  admitsBy(rules: PlacementRules, slot: number): boolean {
    return spreadAdmits(rules.spread, slot) && affinityAdmits(rules, rules.repelling, slot);
  }

  spreadFloors(ties: ShapeTies): readonly number[] {
    return floorsOf(this.rulesOf(ties).spread);
  }

  /** Whether a node with these labels would open a domain that is new to a spread constraint of the shape. */
  opensDomain(ties: ShapeTies, labels: Node['labels']): boolean {
    return this.rulesOf(ties).spread.some(({ counter }) => counter.rule.scope?.isNewDomain(labels) === true);
  }

  refusals(ties: ShapeTies, slot: number): readonly FitReason[] {
    const rules = this.rulesOf(ties);
    return [...refusedBySpread(rules.spread, slot), ...refusedByAffinity(rules, this.repelledBy(ties), slot)];
  }

  countedBy(ties: ShapeTies): readonly DomainCounter[] {
    if (ties.countedSeen < this.#all.size) {
      for (const counter of this.#all.since(ties.countedSeen, ties.anchors)) {
        if (counter.rule.counts(ties.shape)) ties.countedBy.push(counter);
      }
      ties.countedSeen = this.#all.size;
    }
    return ties.countedBy;
  }

  /** Counters of pods whose anti-affinity matches this shape. */
  repelledBy(ties: ShapeTies): readonly DomainCounter[] {
    if (ties.repelledSeen < this.#owners.size) {
      for (const { term, counter } of this.#owners.since(ties.repelledSeen, ties.anchors)) {
        if (termMatches(term, ties.shape, this.#labelsOf)) ties.repelledBy.push(counter);
      }
      ties.repelledSeen = this.#owners.size;
    }
    return ties.repelledBy;
  }

  /** The counters that the rules of the shape read. */
  askedBy(ties: ShapeTies): readonly DomainCounter[] {
    const { near, apart, spread } = this.rulesOf(ties);
    return [...near, ...apart, ...spread.map(({ counter }) => counter), ...this.repelledBy(ties)];
  }

  /** Makes the rules of all these shapes. Their counters count the present pods in one walk over the cluster. */
  *prepare(all: readonly ShapeTies[]): SlicedWork<void> {
    const countersOf = this.#newCounters();
    try {
      yield* visitInSlices(all, (ties) => void (ties.rules ??= this.#makeRules(ties.shape)));
      if (this.#unlearned.length > 0) yield* visitInSlices(this.#presentShapes(), (shape) => void countersOf(shape), SHAPES_PER_STEP);
    } finally {
      // A counter that exists follows every change, so it must know what was there before, whether or not the work is finished.
      this.#learn(countersOf);
    }
  }

  rulesOf(ties: ShapeTies): NonNullable<ShapeTies['rules']> {
    if (ties.rules === undefined) finishAtOnce(this.prepare([ties]));
    return ties.rules ?? NO_RULES;
  }

  #makeRules(shape: PodShape): NonNullable<ShapeTies['rules']> {
    const near = shape.podAffinity.map((term) => withNamespaces(term, shape.namespace));
    const nearAll = (other: PodShape): boolean => near.every((term) => termMatches(term, other, this.#labelsOf));
    const nearAnchors = near.map(({ selector }) => selectorAnchors(selector)).find((anchors) => anchors !== undefined);
    return {
      spread: shape.topologySpread.map((constraint) => this.#spreadRule(shape, constraint)),
      near: near.map((term) => this.#counter(['near', near, term.topologyKey], term.topologyKey, affinityRule(nearAll, nearAnchors))),
      nearItself: near.length > 0 && nearAll(shape),
      apart: shape.podAntiAffinity.map((raw) => {
        const term = withNamespaces(raw, shape.namespace);
        const matches = (other: PodShape): boolean => termMatches(term, other, this.#labelsOf);
        return this.#counter(['apart', term], term.topologyKey, affinityRule(matches, selectorAnchors(term.selector)));
      }),
    };
  }

  #spreadRule(shape: PodShape, constraint: TopologySpreadConstraint): SpreadRule {
    const matches = (other: PodShape): boolean => other.namespace === shape.namespace && matchesSelector(constraint.selector, other.labels);
    // Documented to match all pods, but kube-scheduler counts none for an empty selector (upstream `podtopologyspread/common.go`).
    const counts = constraint.selector.requirements.length === 0 ? (): boolean => false : matches;
    const { name, scope } = this.#scopeOf(shape, constraint);
    const question = ['spread', [shape.namespace, constraint.selector], name];
    const anchors = selectorAnchors(constraint.selector);
    const counter = this.#counter(question, constraint.topologyKey, { counts, countsTerminating: false, scope, newborn: false, anchors });
    return { constraint, counter, self: matches(shape) ? 1 : 0 };
  }

  /** Made before any pod that owns the term is counted, so there is nothing to count yet. */
  #ownerCounter(term: PodAffinityTerm): void {
    const name = termAnchor(term);
    if (this.#counters.has(name)) return;
    const owns = (shape: PodShape): boolean => ownTerms(shape).some((other) => termAnchor(other) === name);
    const counter = this.#counter(['owners', term], term.topologyKey, { ...affinityRule(owns, [name]), newborn: true });
    this.#owners.add({ counter, term }, selectorAnchors(term.selector));
  }

  #counter(question: readonly unknown[], topologyKey: string, rule: CounterRule & AnchoredRule): DomainCounter {
    const name = JSON.stringify(question);
    const known = this.#counters.get(name);
    if (known !== undefined) return known;
    const counter = new DomainCounter(this.#key(topologyKey), rule);
    if (!rule.newborn) this.#unlearned.push({ counter, anchors: rule.anchors });
    this.#counters.set(name, counter);
    this.#all.add(counter, rule.anchors);
    return counter;
  }

  /** Finds the new counters that count a shape, of those that are made until it is first asked. */
  #newCounters(): (shape: PodShape) => readonly DomainCounter[] {
    let fresh: AnchoredRules<DomainCounter> | undefined;
    const known = new Map<PodShape, readonly DomainCounter[]>();
    return (shape) => {
      fresh ??= anchoredCounters(this.#unlearned);
      const counters = known.get(shape) ?? fresh.since(0, anchorsOf(shape)).filter(({ rule }) => rule.counts(shape));
      known.set(shape, counters);
      return counters;
    };
  }

  #presentShapes(): ReadonlySet<PodShape> {
    const shapes = new Set<PodShape>();
    this.#occupancy.eachNode((_slot, _node, pods) => {
      for (const { shape } of pods) shapes.add(shape);
    });
    return shapes;
  }

  /** Counts the present pods with all new counters. */
  #learn(countersOf: (shape: PodShape) => readonly DomainCounter[]): void {
    if (this.#unlearned.length === 0) return;
    this.#occupancy.eachNode((slot, _node, pods) => {
      for (const pod of pods) {
        for (const counter of countersOf(pod.shape)) {
          if (counter.rule.countsTerminating || pod.deletionAtMs === undefined) counter.movePods(slot, 1);
        }
      }
    });
    this.#unlearned.length = 0;
  }

  /** The nodes that the constraint includes. */
  #scopeOf(shape: PodShape, { topologyKey, nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint) {
    const keys = shape.topologySpread.map((each) => each.topologyKey).sort();
    const honorsAffinity = nodeAffinityPolicy === 'Honor';
    const honorsTaints = nodeTaintsPolicy === 'Honor';
    const asked = honorsAffinity ? [shape.nodeSelector, shape.nodeAffinity ?? null] : null;
    const name = JSON.stringify([topologyKey, keys, asked, honorsTaints ? shape.tolerations : null]);
    const known = this.#scopes.get(name);
    if (known !== undefined) return { name, scope: known };
    const scope = new DomainScope(
      this.#key(topologyKey),
      (node) =>
        keys.every((key) => Object.hasOwn(node.labels, key)) &&
        (!honorsAffinity || matchesNodeAffinity(shape, node)) &&
        (!honorsTaints || refusedByTaints(shape, node).length === 0),
    );
    this.#occupancy.eachNode((slot, node) => scope.moveNode(slot, node, 1));
    this.#scopes.set(name, scope);
    return { name, scope };
  }

  #key(label: string): TopologyKey {
    const known = this.#keys.get(label);
    if (known !== undefined) return known;
    const made = new TopologyKey(label);
    this.#occupancy.eachNode((slot, node) => made.record(slot, node.labels));
    this.#keys.set(label, made);
    return made;
  }
}

interface AnchoredRule {
  readonly anchors: readonly string[] | undefined;
}

interface NewCounter extends AnchoredRule {
  readonly counter: DomainCounter;
}

function anchoredCounters(counters: readonly NewCounter[]): AnchoredRules<DomainCounter> {
  const rules = new AnchoredRules<DomainCounter>();
  for (const { counter, anchors } of counters) rules.add(counter, anchors);
  return rules;
}

function affinityRule(counts: (shape: PodShape) => boolean, anchors: readonly string[] | undefined): CounterRule & AnchoredRule {
  return { counts, countsTerminating: true, scope: undefined, newborn: false, anchors };
}
