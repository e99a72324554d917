/**
 * The second reading of the notation: a template for Helm. A part that depends on a value is a map with the one key `MARK`
 * until it is written: Helm's expressions are not YAML, and only the writer knows their indentation.
 */
import { LIVE_SECTIONS, RESTART_KEYS } from '../src/config/live-keys.ts';
import { stringify } from 'yaml';
import type { Condition, Json, JsonMap, Lines, Notation } from './notation.ts';

const MARK = '@helm';
const ENTRIES = '@entries ';
const DOCUMENTS = '@documents';
const REFUSAL = '@refusal';

type Node =
  | { readonly kind: 'value'; readonly expression: string }
  | { readonly kind: 'block'; readonly path: string }
  | { readonly kind: 'blockOr'; readonly path: string; readonly byDefault: JsonMap }
  | { readonly kind: 'text'; readonly path: string }
  | { readonly kind: 'more'; readonly path: string }
  | { readonly kind: 'lines'; readonly lines: readonly string[] }
  | { readonly kind: 'when'; readonly condition: string; readonly body: Json };

/** The same choice as in the plain reading, as a Helm expression. */
function checksumOfWhatRestarts(): string {
  const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(' ');
  const parts = Object.entries(RESTART_KEYS).map(
    ([section, keys]) => `(pick (get (.Values.config | default dict) "${section}" | default dict) ${quoted(keys)})`,
  );
  const whole = `(omit (.Values.config | default dict) ${quoted([...LIVE_SECTIONS, ...Object.keys(RESTART_KEYS)])})`;
  return `{{ list ${[whole, ...parts].join(' ')} | toJson | sha256sum }}`;
}

const NAME_TEMPLATE = 'aks-autoscaler.name';
const NAME = `include "${NAME_TEMPLATE}" $`;

/** The text of the template that makes the name of every object. */
export const NAMES_TEMPLATE = [
  `{{- define "${NAME_TEMPLATE}" -}}`,
  '{{- $both := printf "%s-%s" .Release.Name .Values.nameOverride -}}',
  '{{- $named := contains .Values.nameOverride .Release.Name -}}',
  '{{- .Values.fullnameOverride | default (ternary .Release.Name $both $named) -}}',
  '{{- end -}}',
  '',
].join('\n');
const TAG = '{{ .Values.image.tag | default .Chart.AppVersion }}';

export const helmNotation: Notation = {
  name: `{{ ${NAME} }}`,
  namespace: '{{ .Release.Namespace }}',
  serviceAccount: `{{ .Values.rbac.serviceAccount.name | default (${NAME}) }}`,
  image: `{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:${TAG}{{ end }}`,
  checksum: checksumOfWhatRestarts(),
  value: (path) => mark({ kind: 'value', expression: `.Values.${path} | toJson` }),
  valueOr: (path, byDefault) =>
    mark({ kind: 'value', expression: `ternary ${byDefault} .Values.${path} (kindIs "invalid" .Values.${path}) | toJson` }),
  asText: (...paths) => {
    const [last = '', ...first] = paths.map((path) => `.Values.${path}`).toReversed();
    return mark({
      kind: 'value',
      expression: first.reduce((rest, path) => `(${path} | default ${rest})`, last).concat(' | toString | toJson'),
    });
  },
  inline: (path) => `{{ .Values.${path} }}`,
  orNamespace: (path) => mark({ kind: 'value', expression: `.Values.${path} | default .Release.Namespace | toJson` }),
  block: (path) => mark({ kind: 'block', path }),
  blockOr: (path, byDefault) => mark({ kind: 'blockOr', path, byDefault }),
  documents: (path) => [{ [DOCUMENTS]: path }],
  refuse: (condition, sentence) => [{ [REFUSAL]: sentence, condition: expressionOf(condition) }],
  text: (path) => mark({ kind: 'text', path }),
  more: (path) => [mark({ kind: 'more', path })],
  lines: ({ helm }: Lines) => [mark({ kind: 'lines', lines: helm })],
  entries: (...paths) => ({ [`${ENTRIES}${merged(paths)}`]: null }),
  when: (condition, body) => mark({ kind: 'when', condition: expressionOf(condition), body }),
  literal: escaped,
};

/** One map of several: Helm does not refuse the same key twice, and the API server does. */
function merged(paths: readonly string[]): string {
  const [first = '', ...rest] = paths.map((path) => `.Values.${path}`);
  if (rest.length === 0) return first;
  return `mergeOverwrite (dict) ${[first, ...rest].map((path) => `(${path} | default dict)`).join(' ')}`;
}

function mark(node: Node): Json {
  return { [MARK]: node as Json };
}

function expressionOf(condition: Condition): string {
  if (typeof condition === 'string') return `.Values.${condition}`;
  const inner = (part: Condition): string => (typeof part === 'string' ? expressionOf(part) : `(${expressionOf(part)})`);
  if ('any' in condition) return `or ${condition.any.map(inner).join(' ')}`;
  if ('all' in condition) return `and ${condition.all.map(inner).join(' ')}`;
  if ('set' in condition) return `not (kindIs "invalid" .Values.${condition.set})`;
  return `not ${inner(condition.not)}`;
}

function escaped(json: Json): Json {
  if (typeof json === 'string') return json.replaceAll('{{', '{{`{{`}}');
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(escaped);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, escaped(value)]));
}

/** Several objects as one template. */
export function helmText(objects: readonly Json[]): string {
  return objects.map((object) => `${documentLines(object).join('\n')}\n`).join('');
}

function documentLines(object: Json): readonly string[] {
  const node = nodeOf(object);
  if (node?.kind === 'when') return [`{{- if ${node.condition} }}`, ...documentLines(node.body), '{{- end }}'];
  const { [DOCUMENTS]: path, [REFUSAL]: sentence, condition } = object as JsonMap;
  if (typeof sentence === 'string') return [`{{- if ${condition as string} }}`, `{{- fail ${JSON.stringify(sentence)} }}`, '{{- end }}'];
  if (typeof path === 'string') return [`{{- range .Values.${path} }}`, '---', '{{ toYaml . }}', '{{- end }}'];
  return ['---', ...mapLines(object as JsonMap, 0)];
}

function nodeOf(json: Json): Node | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  return (json as JsonMap)[MARK] as Node | undefined;
}

function mapLines(map: JsonMap, depth: number): readonly string[] {
  return Object.entries(map).flatMap(([key, value]) => {
    if (!key.startsWith(ENTRIES)) return entryLines(key, value, depth);
    return blockLines(key.slice(ENTRIES.length), depth, []);
  });
}

function entryLines(key: string, value: Json, depth: number): readonly string[] {
  const pad = ' '.repeat(depth);
  const name = stringify(key).trimEnd();
  const node = nodeOf(value);
  switch (node?.kind) {
    case 'value':
      return [`${pad}${name}: {{ ${node.expression} }}`];
    case 'block':
      return blockLines(`.Values.${node.path}`, depth + 2, [`${pad}${name}:`]);
    case 'blockOr': {
      const path = `.Values.${node.path}`;
      const theirs = blockLines(path, depth + 2, [`${pad}${name}:`]);
      return [
        `${pad}{{- if kindIs "invalid" ${path} }}`,
        ...entryLines(key, node.byDefault, depth),
        `${pad}{{- else }}`,
        ...theirs,
        `${pad}{{- end }}`,
      ];
    }
    case 'text': {
      const path = `.Values.${node.path}`;
      return [
        `${pad}${name}: |`,
        `${pad}  {{- ternary ${path} (toYaml (${path} | default dict)) (kindIs "string" ${path}) | nindent ${depth + 2} }}`,
      ];
    }
    case 'when':
      return [`${pad}{{- if ${node.condition} }}`, ...entryLines(key, node.body, depth), `${pad}{{- end }}`];
    case 'more':
    case 'lines':
      throw new Error(`${key} is a map, and was given items of a list`);
    case undefined:
      break;
  }
  if (typeof value !== 'object' || value === null) return [`${pad}${name}: ${scalar(value)}`];
  if (Object.keys(value).length === 0) return [`${pad}${name}: ${Array.isArray(value) ? '[]' : '{}'}`];
  return [`${pad}${name}:`, ...(Array.isArray(value) ? itemsLines(value, depth + 2) : mapLines(value as JsonMap, depth + 2))];
}

function itemsLines(items: readonly Json[], depth: number): readonly string[] {
  return items.flatMap((item) => itemLines(item, depth));
}

function itemLines(item: Json, depth: number): readonly string[] {
  const pad = ' '.repeat(depth);
  const node = nodeOf(item);
  switch (node?.kind) {
    case 'value':
      return [`${pad}- {{ ${node.expression} }}`];
    case 'more':
      return blockLines(`.Values.${node.path}`, depth, []);
    case 'lines':
      return node.lines.map((line) => `${pad}${line}`);
    case 'when':
      return [`${pad}{{- if ${node.condition} }}`, ...itemLines(node.body, depth), `${pad}{{- end }}`];
    case 'block':
    case 'blockOr':
    case 'text':
      throw new Error('a block or a text cannot be an item');
    case undefined:
      break;
  }
  if (typeof item !== 'object' || item === null) return [`${pad}- ${scalar(item)}`];
  if (Array.isArray(item)) throw new Error('a list inside a list is not supported');
  const [first = '', ...rest] = mapLines(item as JsonMap, depth + 2);
  return [`${pad}- ${first.trimStart()}`, ...rest];
}

/** The given lines below `head`; no line if they are empty. */
function blockLines(path: string, depth: number, head: readonly string[]): readonly string[] {
  const pad = /^ */.exec(head[0] ?? ' '.repeat(depth))?.[0] ?? '';
  return [`${pad}{{- with ${path} }}`, ...head, `${' '.repeat(depth)}{{- toYaml . | nindent ${depth} }}`, `${pad}{{- end }}`];
}

function scalar(value: string | number | boolean | null): string {
  // One line each: the lines of a template must not depend on the content of a text.
  return typeof value === 'string' && value.includes('\n') ? JSON.stringify(value) : stringify(value, { lineWidth: 0 }).trimEnd();
}
