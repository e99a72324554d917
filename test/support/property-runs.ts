/** How many random cases a property that takes seconds sees: few in `npm test`, N times as many in `npm run soak -- --properties N`. */
export const PROPERTY_TIMES = 'PROPERTY_TIMES';

/** The first cases of a seed: more of them begin with the same ones. */
export function casesOf(seed: number, few: number): { readonly seed: number; readonly numRuns: number } {
  return { seed, numRuns: few * Number(process.env[PROPERTY_TIMES] ?? 1) };
}
