/** Reads of a PromQL expression what it names: enough to hold it against the catalogue, no more. */
export interface NamedSeries {
  readonly metric: string;
  /** Values that the expression asks a label for; a list where it gives alternatives. */
  readonly matchers: ReadonlyMap<string, readonly string[]>;
  /** Matchers that leave values out. */
  readonly excluded: ReadonlyMap<string, readonly string[]>;
}

const SERIES = /(?<![\w:])((?:\w+:)?(?:aks|cluster)_autoscaler_\w+(?::\w+)?)(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;

export function seriesIn(expression: string): readonly NamedSeries[] {
  return [...expression.matchAll(SERIES)].map(([, metric = '', inside = '']) => {
    const found = [...inside.matchAll(MATCHER)].map(([, label = '', operator = '', text = '']) => ({
      label,
      operator,
      values: text.split('|'),
    }));
    const of = (negative: boolean) =>
      new Map(found.filter(({ operator }) => operator.startsWith('!') === negative).map(({ label, values }) => [label, values] as const));
    return { metric, matchers: of(false), excluded: of(true) };
  });
}

/** Labels that an expression groups or joins by, and those that its legend or annotations show. */
export function labelsIn(text: string): readonly string[] {
  const grouped = [...text.matchAll(/\b(?:by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(','),
  );
  const shown = [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label = '']) => label);
  return [...grouped, ...shown].map((label) => label.trim()).filter((label) => label !== '');
}

/** A histogram or summary is asked for by the series it makes. */
export function familyOf(metric: string): string {
  return metric.replace(/_(?:bucket|sum|count)$/, '');
}
