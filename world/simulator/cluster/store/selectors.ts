/** Label and field selectors: in a query, and as objects in specs. */
import { matchesRequirement, type Requirement } from '../../../../src/domain/labels.ts';
import type { KubeObject, ObjectSelector, SelectorRequirement, StringMap } from './objects.ts';
import { isRecord } from './patches.ts';
import type { ResourceType } from './resource-types.ts';
import { badRequest, success, type Result } from './status.ts';

export type Matcher = (object: KubeObject) => boolean;

/** Whether labels satisfy the requirements of a selector or of a node selector term. */
export function satisfies(requirements: readonly SelectorRequirement[] | undefined, labels: StringMap): boolean {
  return (requirements ?? []).every((requirement) => matchesRequirement({ ...requirement, values: requirement.values ?? [] }, labels));
}

/** A selector of a spec. undefined matches nothing, an empty one everything. */
export function selects(selector: ObjectSelector | undefined, labels: StringMap | undefined): boolean {
  if (selector === undefined) return false;
  const own = labels ?? {};
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => own[key] === value);
  return equal && satisfies(selector.matchExpressions, own);
}

const SET_FORM = /^\s*(\S+)\s+(in|notin)\s*\(([^)]*)\)\s*$/;
const EQUAL_FORM = /^\s*([^!=\s]+)\s*(==|=|!=)\s*([^=\s]*)\s*$/;
const EXISTS_FORM = /^\s*(!?)\s*([^!=\s,()]+)\s*$/;

function splitOutsideParentheses(text: string): readonly string[] {
  return text.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
}

function parseTerm(term: string): Requirement | undefined {
  const set = SET_FORM.exec(term);
  if (set !== null) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return { key: set[1] ?? '', operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const equal = EQUAL_FORM.exec(term);
  if (equal !== null) return { key: equal[1] ?? '', operator: equal[2] === '!=' ? 'NotIn' : 'In', values: [equal[3] ?? ''] };
  const exists = EXISTS_FORM.exec(term);
  if (exists !== null) return { key: exists[2] ?? '', operator: exists[1] === '!' ? 'DoesNotExist' : 'Exists', values: [] };
  return undefined;
}

/** The `labelSelector` of a query: `a=b,c!=d,e in (f,g),h,!i`. */
export function parseLabelSelector(text: string): Result<Matcher> {
  const requirements: Requirement[] = [];
  for (const term of splitOutsideParentheses(text)) {
    const requirement = parseTerm(term);
    if (requirement === undefined) return badRequest(`unable to parse requirement: ${term.trim()}`);
    requirements.push(requirement);
  }
  return success((object) => requirements.every((requirement) => matchesRequirement(requirement, object.metadata.labels ?? {})));
}

/** The `fieldSelector` of a query. A field that the kind does not support is refused, as in the real server. */
export function parseFieldSelector(text: string, type: ResourceType): Result<Matcher> {
  const offered = new Set(['metadata.name', 'metadata.namespace', ...type.fields]);
  const terms: { readonly path: string; readonly equal: boolean; readonly value: string }[] = [];
  for (const term of text.split(',').filter((part) => part !== '')) {
    const match = /^([^!=]+)(==|=|!=)(.*)$/.exec(term);
    if (match === null) return badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const path = match[1] ?? '';
    if (!offered.has(path)) return badRequest(`field label not supported: ${path}`);
    terms.push({ path, equal: match[2] !== '!=', value: match[3] ?? '' });
  }
  return success((object) => terms.every(({ path, equal, value }) => (fieldOf(object, path) === value) === equal));
}

/** A field as text for selectors. An absent field is empty, or `false` for `spec.unschedulable`. */
function fieldOf(object: KubeObject, path: string): string {
  if (path === 'source') return textAt(object, ['source', 'component']);
  const text = textAt(object, path.split('.'));
  return text === '' && path === 'spec.unschedulable' ? 'false' : text;
}

function textAt(object: unknown, path: readonly string[]): string {
  let value = object;
  for (const part of path) value = isRecord(value) ? value[part] : undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
