/** `$filter` of a list in the form that most providers know: equalities joined by `and`. Must not know any resource. */

const CLAUSE = /^(\w+) eq '([^']*)'$/i;

/** The wanted values by key in lower case. Empty without a filter. undefined: another form. */
export function equalitiesOf(filter: string | undefined): ReadonlyMap<string, string> | undefined {
  const clauses = filter === undefined || filter === '' ? [] : filter.split(/ and /i).map((clause) => CLAUSE.exec(clause.trim()));
  const pairs = clauses.flatMap((clause) => (clause === null ? [] : [[(clause[1] ?? '').toLowerCase(), clause[2] ?? ''] as const]));
  return pairs.length === clauses.length ? new Map(pairs) : undefined;
}
