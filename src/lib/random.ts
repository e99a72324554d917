/** A source of numbers in [0, 1). Passed in wherever chance is needed, so that a seed reproduces a run. */
export type Random = (() => number) & { readonly streams?: (name: string) => Random };

/** A small seeded generator (mulberry32): the same seed gives the same sequence on every platform. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A stable 32-bit hash of a string (FNV-1a), for phases and seeds; not for security. */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

/**
 * A seeded source with a stream for each name: the draws of one consumer do not depend on when others draw. Consumers whose requests
 * end in the same instant draw in an order that only the network knows.
 */
export function seededStreams(seed: number): Random {
  const made = new Map<string, Random>();
  const streams = (name: string): Random => {
    const stream = made.get(name) ?? seededRandom(stableHash(`${seed}|${name}`));
    made.set(name, stream);
    return stream;
  };
  const own = seededRandom(seed);
  return Object.assign(() => own(), { streams });
}

/** The stream of a consumer. A source without streams is shared by all consumers. */
export function streamFor(random: Random, name: string): Random {
  return random.streams?.(name) ?? random;
}
