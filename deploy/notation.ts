/** The two ways in which the same objects are written: with the chart's default values, and with Helm's expressions. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Where an object depends on a value of the chart. Paths are dotted, below `.Values`. */
export interface Notation {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly checksum: string;
  /** A string or a number. */
  value(path: string): Json;
  /** A map or a list; `otherwise` where the plain form leaves it out. */
  block(path: string, otherwise?: Json): Json;
  /** A map as the text of a file. */
  text(path: string): Json;
  /** Further items of a list. */
  more(path: string): readonly Json[];
}

export function plainNotation(
  values: Json,
  release: { readonly name: string; readonly namespace: string; readonly version: string },
): Notation {
  const at = (path: string): Json => path.split('.').reduce<Json>((value, key) => member(value, key), values);
  const text = (path: string): string => {
    const value = at(path);
    if (typeof value !== 'string') throw new Error(`${path} is no text`);
    return value;
  };
  return {
    name: release.name,
    namespace: release.namespace,
    image: `${text('image.repository')}:${text('image.tag') || release.version}`,
    checksum: createHash('sha256')
      .update(JSON.stringify(at('config')))
      .digest('hex'),
    value: at,
    block: (path) => at(path),
    text: (path) => stringify(at(path), { lineWidth: 0 }),
    more: (path) => at(path) as readonly Json[],
  };
}

function member(value: Json, key: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`the values have no ${key}`);
  const found = (value as { readonly [key: string]: Json })[key];
  if (found === undefined) throw new Error(`the values have no ${key}`);
  return found;
}

/** Marks are replaced after the objects have become text, because Helm's expressions are no YAML. */
export const helmNotation: Notation = {
  name: '{{ .Release.Name }}',
  namespace: '{{ .Release.Namespace }}',
  image: '{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}',
  checksum: '{{ .Values.config | toJson | sha256sum }}',
  value: (path) => `@value ${path}@`,
  block: (path) => `@block ${path}@`,
  text: (path) => `@text ${path}@`,
  more: (path) => [`@more ${path}@`],
};

/** Several objects as one YAML text. */
export function plainText(objects: readonly Json[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0 })).join('---\n');
}

/** The same with Helm's expressions in place of the marks. */
export function helmText(objects: readonly Json[]): string {
  return plainText(objects)
    .replace(/^( *)([\w.-]+): "?@block ([\w.]+)@"?$/gm, (_all, indent: string, key: string, path: string) => {
      const depth = indent.length + 2;
      return `${indent}{{- with .Values.${path} }}\n${indent}${key}:\n${indent}  {{- toYaml . | nindent ${depth} }}\n${indent}{{- end }}`;
    })
    .replace(/^( *)([\w.-]+): "?@text ([\w.]+)@"?$/gm, (_all, indent: string, key: string, path: string) => {
      return `${indent}${key}: |\n${indent}  {{- toYaml .Values.${path} | nindent ${indent.length + 2} }}`;
    })
    .replace(/^( *)- "?@more ([\w.]+)@"?$/gm, (_all, indent: string, path: string) => {
      return `${indent}{{- with .Values.${path} }}\n${indent}{{- toYaml . | nindent ${indent.length} }}\n${indent}{{- end }}`;
    })
    .replace(/"?@value ([\w.]+)@"?/g, (_all, path: string) => `{{ .Values.${path} | toJson }}`);
}
