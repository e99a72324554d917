/** The known name that is likeliest meant by an unknown one, or undefined when none is close. */
import { compareText } from './comparison.ts';
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const wanted = fold(unknown);
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  return known
    .map((name) => ({ name, distance: editDistance(wanted, fold(name)) }))
    .filter(({ distance }) => distance <= limit)
    .sort((left, right) => left.distance - right.distance || compareText(left.name, right.name))[0]?.name;
}

/** Case and word separators are the commonest slips. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

/** Insertions, deletions and replacements (Levenshtein), one row at a time. */
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
