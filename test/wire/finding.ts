/** What a recording shows that the daemon or the world does not expect. Findings of one kind are counted together. */
import { compareBy } from '../../src/lib/comparison.ts';
import { matchesGlob } from '../../src/lib/glob.ts';
import { placeOf, type Interaction } from './recordings/interaction.ts';

/**
 * `daemon`: the daemon misreads or does not know it. `read`: the world differs in what the daemon reads. `form`: the world differs
 * elsewhere.
 */
export const WEIGHTS = ['daemon', 'read', 'form'] as const;
export type Weight = (typeof WEIGHTS)[number];

export interface Finding {
  readonly weight: Weight;
  /** The call, its status and what kind of resource it is about. */
  readonly route: string;
  /** What differs, by names alone: never a value that was recorded. */
  readonly what: string;
  /** How many answers show it. */
  readonly count: number;
  /** How many answers of the route there are. */
  readonly of: number;
  /** Where one of them is. */
  readonly example: string;
}

/** A difference that is meant. `*` stands for any characters. */
export interface ArguedDifference {
  readonly route: string;
  readonly what: string;
  readonly reason: string;
  /** When it was argued, `YYYY-MM-DD`. */
  readonly date: string;
}

export function isArgued({ route, what }: Finding, argued: readonly ArguedDifference[]): boolean {
  return argued.some((each) => matchesGlob(each.route, route) && matchesGlob(each.what, what));
}

/** Counts equal findings. */
export class Findings {
  readonly #found = new Map<string, { weight: Weight; route: string; what: string; count: number; example: string; last: string }>();
  readonly #answers = new Map<string, number>();

  /** Every answer that is judged. */
  noteAnswer(route: string): void {
    this.#answers.set(route, (this.#answers.get(route) ?? 0) + 1);
  }

  /** Counts an answer once, however many of its resources show the same. */
  add(weight: Weight, route: string, what: string, where: Pick<Interaction, 'file' | 'index'>): void {
    const key = `${route}\n${what}`;
    const place = placeOf(where);
    const known = this.#found.get(key);
    if (known === undefined) this.#found.set(key, { weight, route, what, count: 1, example: place, last: place });
    else if (known.last !== place) {
      known.count += 1;
      known.last = place;
    }
  }

  list(): readonly Finding[] {
    return [...this.#found.values()].map(({ last: _last, ...each }) => ({ ...each, of: this.#answers.get(each.route) ?? each.count }));
  }
}

/** By weight, then route, then how often it was seen. */
export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  const rank = ({ weight, route, count, what }: Finding): string =>
    [WEIGHTS.indexOf(weight), route, String(1e9 - count).padStart(10, '0'), what].join('\n');
  return findings.toSorted(compareBy(rank));
}
