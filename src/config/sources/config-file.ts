/** The file of `--config`: YAML or JSON in the shape of the schema. An empty value is the same as an absent key. */
import { parseDocument } from 'yaml';
import { EMPTY_LAYER, isDocument, type Document, type Layer, type Setting } from '../layer.ts';

export function configFileLayer(file: string, text: string): Layer {
  const yaml = parseDocument(text, { prettyErrors: true });
  const broken = yaml.errors[0];
  if (broken !== undefined) {
    const firstLine = (broken.message.split('\n')[0] ?? '').replace(/[:.]$/, '');
    return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, is neither valid YAML nor JSON: ${firstLine}.`] };
  }
  const content: unknown = yaml.toJS();
  if (content === null || content === undefined) return EMPTY_LAYER;
  if (!isDocument(content)) return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, does not hold a map of settings.`] };
  return { ...EMPTY_LAYER, settings: leavesOf(content, [], file) };
}

/** Everything that is not a map; an empty map leaves nothing. Keys with a dot are told from paths by staying whole. */
function leavesOf(content: Document, above: readonly string[], file: string): readonly Setting[] {
  return Object.entries(content).flatMap(([key, value]) => {
    const path = [...above, key];
    if (value === null || value === undefined) return [];
    if (isDocument(value)) return leavesOf(value, path, file);
    return [{ path, value, origin: { label: `key ${path.join('.')} of ${file}` } }];
  });
}
