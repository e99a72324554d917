/** The file of `--config`: YAML or JSON in the structure of the schema. An empty value counts as an absent key. */
import { isAlias, isNode, LineCounter, parseDocument, visit, type Document as Yaml } from 'yaml';
import { EMPTY_LAYER, isDocument, type Document, type Layer, type Setting } from './layers.ts';

/** The loop waits while the file is parsed, so its size is limited. */
const MAX_KIB = 256;
/** A few lines of aliases can expand to gigabytes. */
const MAX_ALIASES = 1000;

export function configFileLayer(file: string, text: string): Layer {
  const refuse = (what: string): Layer => ({ ...EMPTY_LAYER, errors: [`The file of --config, ${file}, ${what}.`] });
  if (text.length > MAX_KIB * 1024) return refuse(`is too large: ${Math.ceil(text.length / 1024)} KiB; the maximum is ${MAX_KIB} KiB`);
  const lines = new LineCounter();
  const yaml = parseDocument(text, { prettyErrors: true, lineCounter: lines, merge: true, logLevel: 'error' });
  const error = yaml.errors[0];
  if (error !== undefined) {
    const firstLine = (error.message.split('\n')[0] ?? '').replace(/[:.]$/, '');
    return refuse(`is neither valid YAML nor JSON: ${firstLine}`);
  }
  const unknown = aliasOfNothing(yaml);
  // The alias is not named: it may be a secret that starts with an asterisk.
  if (unknown !== undefined)
    return refuse(
      `has an alias without an anchor (*...) at line ${lines.linePos(unknown).line}; put quotes around text that starts with *`,
    );
  const content = valueOf(yaml);
  if (content === TOO_MUCH) return refuse(`has aliases that expand to too much; the maximum is ${MAX_ALIASES} aliases`);
  if (content === null || content === undefined) return EMPTY_LAYER;
  if (!isDocument(content)) return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, does not hold a map of settings.`] };
  const labelOf = (path: readonly (string | number)[]): string => {
    const node = yaml.getIn(path, true);
    const at = isNode(node) && node.range ? `, line ${lines.linePos(node.range[0]).line}` : '';
    return `key ${path.join('.')} of ${file}${at}`;
  };
  return { ...EMPTY_LAYER, settings: settingsBelow(content, [], labelOf) };
}

const TOO_MUCH = Symbol('too much');

function valueOf(yaml: Yaml.Parsed): unknown {
  try {
    return yaml.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (thrown) {
    // The parser throws this when the limit is exceeded. Aliases without an anchor were found before.
    if (thrown instanceof ReferenceError) return TOO_MUCH;
    throw thrown;
  }
}

/** Returns the position of the first alias without an anchor. */
function aliasOfNothing(yaml: Yaml.Parsed): number | undefined {
  let at: number | undefined;
  visit(yaml, {
    Alias(_key, alias) {
      if (isAlias(alias) && alias.resolve(yaml) === undefined) {
        at = alias.range?.[0] ?? 0;
        return visit.BREAK;
      }
      return undefined;
    },
  });
  return at;
}

type LabelOf = (path: readonly (string | number)[]) => string;

/** Returns every value that is not a map. An empty map has none. Keys that contain a dot stay whole in the path. */
function settingsBelow(content: Document, above: readonly string[], labelOf: LabelOf): readonly Setting[] {
  return Object.entries(content).flatMap(([key, value]) => {
    const path = [...above, key];
    if (value === null || value === undefined) return [];
    if (isDocument(value)) return settingsBelow(value, path, labelOf);
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
