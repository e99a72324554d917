import { compareText } from './comparison.ts';

/** Returns the known name that an unknown one most likely means, or undefined if none is close. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const wanted = fold(unknown);
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  return known
    .map((name) => ({ name, distance: editDistance(wanted, fold(name)) }))
    .filter(({ distance }) => distance <= limit)
    .sort((left, right) => left.distance - right.distance || compareText(left.name, right.name))[0]?.name;
}

/** Ignores letter case and word separators, the commonest mistakes. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

/** The number of insertions, deletions and replacements (Levenshtein), computed row by row. */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
