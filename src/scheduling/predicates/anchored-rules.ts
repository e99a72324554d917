/**
 * Finds the rules that may be about pods of a shape without trying all: most rules require a label, with certain values or any, so they can only be
 * about shapes with one of these. Such a requirement is the anchor of the rule. Must not know what a rule does.
 */
import type { LabelSelector } from '../../domain/labels.ts';
import type { PodAffinityTerm, PodShape } from '../../domain/pod.ts';
import { withNamespaces } from './pod-affinity.ts';

interface Entry<Rule> {
  readonly rule: Rule;
  /** In the order of all rules. */
  readonly serial: number;
}

export class AnchoredRules<Rule> {
  #count = 0;
  readonly #unanchored: Entry<Rule>[] = [];
  readonly #byAnchor = new Map<string, Entry<Rule>[]>();

  get size(): number {
    return this.#count;
  }

  /** `anchors`: the rule is about no shape without one of these. undefined: it may be about any shape. */
  add(rule: Rule, anchors: readonly string[] | undefined): void {
    const entry = { rule, serial: this.#count };
    this.#count += 1;
    if (anchors === undefined) this.#unanchored.push(entry);
    for (const anchor of new Set(anchors)) {
      const known = this.#byAnchor.get(anchor);
      if (known === undefined) this.#byAnchor.set(anchor, [entry]);
      else known.push(entry);
    }
  }

  /** The rules that may be about a shape with these anchors, each once, without the first `seen` of all rules. */
  since(seen: number, anchors: readonly string[]): readonly Rule[] {
    if (seen >= this.#count) return [];
    const found: Rule[] = [];
    visitNewer(this.#unanchored, seen, (rule) => found.push(rule));
    // A rule may have several anchors.
    const anchored = new Set<Rule>();
    for (const anchor of anchors) visitNewer(this.#byAnchor.get(anchor) ?? [], seen, (rule) => anchored.add(rule));
    for (const rule of anchored) found.push(rule);
    return found;
  }
}

function visitNewer<Rule>(entries: readonly Entry<Rule>[], seen: number, visit: (rule: Rule) => void): void {
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry === undefined || entry.serial < seen) return;
    visit(entry.rule);
  }
}

/** The anchors that a shape has by its labels, and as an owner of anti-affinity terms. */
export function anchorsOf(shape: PodShape): readonly string[] {
  const labels = Object.entries(shape.labels).flatMap(([key, value]) => [keyAnchor(key), labelAnchor(key, value)]);
  return [...labels, ...ownTerms(shape).map(termAnchor)];
}

/** The anti-affinity terms of the shape, with the namespaces that they mean. */
export function ownTerms({ podAntiAffinity, namespace }: PodShape): readonly PodAffinityTerm[] {
  return podAntiAffinity.map((term) => withNamespaces(term, namespace));
}

/** undefined if shapes with any labels may match. */
export function selectorAnchors({ requirements }: LabelSelector): readonly string[] | undefined {
  const required = requirements.find(({ operator }) => operator === 'In');
  if (required !== undefined) return required.values.map((value) => labelAnchor(required.key, value));
  const present = requirements.find(({ operator }) => operator === 'Exists');
  return present === undefined ? undefined : [keyAnchor(present.key)];
}

/** The anchor of an anti-affinity term, for the rule that counts its owners. */
export function termAnchor(term: PodAffinityTerm): string {
  return JSON.stringify(['owners', term]);
}

/** Of any label with this key. No other anchor looks like a key. */
function keyAnchor(key: string): string {
  return key;
}

function labelAnchor(key: string, value: string): string {
  return `${key}=${value}`;
}
