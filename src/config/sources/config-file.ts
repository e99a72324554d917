/** The file of `--config`: YAML or JSON in the structure of the schema. An empty value counts as an absent key. */
import { isNode } from 'yaml';
import { EMPTY_LAYER, type Document, type Layer, type Setting } from './layers.ts';
import { readYaml } from './yaml-text.ts';
import { isRecord } from '../../lib/json.ts';

/** The loop waits while the file is parsed, so its size is limited. */
const MAX_KIB = 256;

export function configFileLayer(file: string, text: string): Layer {
  const refuse = (what: string): Layer => ({ ...EMPTY_LAYER, errors: [`The file of --config, ${file}, ${what}.`] });
  if (text.length > MAX_KIB * 1024) return refuse(`is too large: ${Math.ceil(text.length / 1024)} KiB; the maximum is ${MAX_KIB} KiB`);
  const outcome = readYaml(text);
  if ('problem' in outcome) return refuse(outcome.problem);
  const { lines } = outcome;
  const [document, second] = outcome.documents;
  if (second !== undefined) {
    return refuse(`contains multiple documents; the second begins at line ${lines.linePos(second.tree.range[0]).line}`);
  }
  const content = document?.content;
  if (content === null || content === undefined) return EMPTY_LAYER;
  if (!isRecord(content)) return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, does not hold a map of settings.`] };
  const labelOf = (path: readonly (string | number)[]): string => {
    const node = document?.tree.getIn(path, true);
    const at = isNode(node) && node.range ? `, line ${lines.linePos(node.range[0]).line}` : '';
    return `key ${path.join('.')} of ${file}${at}`;
  };
  return { ...EMPTY_LAYER, settings: settingsBelow(content, [], labelOf) };
}

type LabelOf = (path: readonly (string | number)[]) => string;

/** Returns every value that is not a map. An empty map has none. Keys that contain a dot stay whole in the path. */
function settingsBelow(content: Document, above: readonly string[], labelOf: LabelOf): readonly Setting[] {
  return Object.entries(content).flatMap(([key, value]) => {
    const path = [...above, key];
    if (value === null || value === undefined) return [];
    if (isRecord(value)) return settingsBelow(value, path, labelOf);
    const origin = { label: labelOf(path) };
    return [Array.isArray(value) ? { path, value, origin, entries: entriesOf(value, path, labelOf) } : { path, value, origin }];
  });
}

/** Returns the position of each part of a list, down to single values. */
function entriesOf(value: unknown, path: readonly (string | number)[], labelOf: LabelOf): NonNullable<Setting['entries']> {
  if (typeof value !== 'object' || value === null) return [];
  const parts: readonly (readonly [string | number, unknown])[] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, part]) => {
    const below = [...path, key];
    return [{ key: below.join('.'), origin: { label: labelOf(below) } }, ...entriesOf(part, below, labelOf)];
  });
}
