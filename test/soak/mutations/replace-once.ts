/** The text with one part replaced; undefined unless the part occurs exactly once. */
export function replaceOnce(whole: string, part: string, instead: string): string | undefined {
  const pieces = whole.split(part);
  return pieces.length === 2 ? pieces.join(instead) : undefined;
}
