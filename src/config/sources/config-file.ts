/** The file of `--config`: YAML or JSON in the shape of the schema. An empty value is the same as an absent key. */
import { isNode, LineCounter, parseDocument } from 'yaml';
import { EMPTY_LAYER, isDocument, type Document, type Layer, type Setting } from '../layer.ts';

export function configFileLayer(file: string, text: string): Layer {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { prettyErrors: true, lineCounter: lines });
  const broken = yaml.errors[0];
  if (broken !== undefined) {
    const firstLine = (broken.message.split('\n')[0] ?? '').replace(/[:.]$/, '');
    return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, is neither valid YAML nor JSON: ${firstLine}.`] };
  }
  const content: unknown = yaml.toJS();
  if (content === null || content === undefined) return EMPTY_LAYER;
  if (!isDocument(content)) return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, does not hold a map of settings.`] };
  const labelOf = (path: readonly (string | number)[]): string => {
    const node = yaml.getIn(path, true);
    const at = isNode(node) && node.range ? `, line ${lines.linePos(node.range[0]).line}` : '';
    return `key ${path.join('.')} of ${file}${at}`;
  };
  return { ...EMPTY_LAYER, settings: leavesOf(content, [], labelOf) };
}

type LabelOf = (path: readonly (string | number)[]) => string;

/** Everything that is not a map; an empty map leaves nothing. Keys with a dot are told from paths by staying whole. */
function leavesOf(content: Document, above: readonly string[], labelOf: LabelOf): readonly Setting[] {
  return Object.entries(content).flatMap(([key, value]) => {
    const path = [...above, key];
    if (value === null || value === undefined) return [];
    if (isDocument(value)) return leavesOf(value, path, labelOf);
    const origin = { label: labelOf(path) };
    return [Array.isArray(value) ? { path, value, origin, entries: entriesOf(value, path, labelOf) } : { path, value, origin }];
  });
}

/** Where each part of a list stands, down to single values. */
function entriesOf(value: unknown, path: readonly (string | number)[], labelOf: LabelOf): NonNullable<Setting['entries']> {
  if (typeof value !== 'object' || value === null) return [];
  const parts: readonly (readonly [string | number, unknown])[] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, part]) => {
    const below = [...path, key];
    return [{ key: below.join('.'), origin: { label: labelOf(below) } }, ...entriesOf(part, below, labelOf)];
  });
}
