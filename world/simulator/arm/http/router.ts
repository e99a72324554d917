/**
 * Finds the row of a route table that matches a path. Literal segments match in any case; captured ones keep their case. The room
 * is HTTP as ARM uses it. Must not know any resource.
 */

export interface RouteMatch<Row> {
  readonly row: Row;
  readonly params: Readonly<Record<string, string>>;
}

export type FindRoute<Row> = (method: string, path: string) => RouteMatch<Row> | undefined;

/** Compiles a table once. The first row that matches wins. */
export function compileRoutes<Row extends { readonly method: string; readonly template: string }>(rows: readonly Row[]): FindRoute<Row> {
  const compiled = rows.map((row) => ({ row, segments: segmentsOf(row.template) }));
  return (method, path) => {
    const given = segmentsOf(path);
    for (const { row, segments } of compiled) {
      if (row.method !== method || segments.length !== given.length) continue;
      const params = matchSegments(segments, given);
      if (params !== undefined) return { row, params };
    }
    return undefined;
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function matchSegments(template: readonly string[], given: readonly string[]): Readonly<Record<string, string>> | undefined {
  const params: Record<string, string> = {};
  for (const [index, segment] of template.entries()) {
    const value = given[index] ?? '';
    if (segment.startsWith('{')) params[segment.slice(1, -1)] = decode(value);
    else if (segment.toLowerCase() !== value.toLowerCase()) return undefined;
  }
  return params;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) return segment;
    throw error;
  }
}

/** The part of a template that names the resource: everything behind the provider, or the whole template. */
export function routeLabel(method: string, template: string): string {
  return `${method} ${template.split(/\/providers\/[^/]+\//)[1] ?? template.replace(/^\//, '')}`;
}
