/** Drawing from a seeded source: the words that the generator needs. */
import type { Random } from '../../src/lib/random.ts';

/** A whole number from `least` to `most`, both possible. */
export function whole(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of the list, which must not be empty. */
export function oneOf<Value>(random: Random, list: readonly Value[]): Value {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

export function happens(random: Random, probability: number): boolean {
  return random() < probability;
}
