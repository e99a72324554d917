/** One topology label: its values as small numbers, and which one each node slot has. */
import type { Labels } from '../domain/labels.ts';

const ABSENT = -1;
const HOSTNAME = 'kubernetes.io/hostname';

export class TopologyKey {
  readonly label: string;
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #bySlot: number[] = [];

  constructor(label: string) {
    this.label = label;
  }

  record(slot: number, labels: Labels): void {
    while (this.#bySlot.length < slot) this.#bySlot.push(ABSENT);
    const value = this.valueIn(labels);
    this.#bySlot[slot] = value === undefined ? ABSENT : this.#idOf(value);
  }

  /** undefined: such a node is in no domain. */
  valueIn(labels: Labels): string | undefined {
    const value = Object.hasOwn(labels, this.label) ? labels[this.label] : undefined;
    // An empty host name stands for a node of which only the zone is known: it is no host yet.
    return value === '' && this.label === HOSTNAME ? undefined : value;
  }

  /** How many values were ever seen. */
  get size(): number {
    return this.#names.length;
  }

  /** The value's number; negative when the node lacks the label. */
  at(slot: number): number {
    return this.#bySlot[slot] ?? ABSENT;
  }

  /** The number of a value; negative when it was never seen. */
  numberOf(name: string): number {
    return this.#ids.get(name) ?? ABSENT;
  }

  nameOf(value: number): string {
    return this.#names[value] ?? '';
  }

  #idOf(value: string): number {
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    const id = this.#names.push(value) - 1;
    this.#ids.set(value, id);
    return id;
  }
}
