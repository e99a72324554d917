/** Patterns over whole names: `*` stands for any characters, `?` for one. */

export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/** A pattern without a star or question mark matches exactly itself. */
export function matchesGlob(pattern: string, name: string): boolean {
  return isGlob(pattern) ? globToRegExp(pattern).test(name) : pattern === name;
}

function globToRegExp(glob: string): RegExp {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`);
}
