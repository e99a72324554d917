/** The file of `--config`: YAML or JSON in the shape of the schema. An empty value is the same as an absent key. */
import { isAlias, isNode, LineCounter, parseDocument, visit, type Document as Yaml } from 'yaml';
import { EMPTY_LAYER, isDocument, type Document, type Layer, type Setting } from './layers.ts';

/** Nobody writes so much by hand, and the loop stands still while it is read. */
const MOST_KIB = 256;
/** A few lines of aliases can stand for gigabytes. */
const MOST_ALIASES = 1000;

export function configFileLayer(file: string, text: string): Layer {
  const refuse = (what: string): Layer => ({ ...EMPTY_LAYER, errors: [`The file of --config, ${file}, ${what}.`] });
  if (text.length > MOST_KIB * 1024)
    return refuse(`is too large: ${Math.ceil(text.length / 1024)} KiB; accepted are ${MOST_KIB} KiB at most`);
  const lines = new LineCounter();
  const yaml = parseDocument(text, { prettyErrors: true, lineCounter: lines, merge: true, logLevel: 'error' });
  const broken = yaml.errors[0];
  if (broken !== undefined) {
    const firstLine = (broken.message.split('\n')[0] ?? '').replace(/[:.]$/, '');
    return refuse(`is neither valid YAML nor JSON: ${firstLine}`);
  }
  const unknown = aliasOfNothing(yaml);
  // Not by its name: a secret may begin with an asterisk.
  if (unknown !== undefined)
    return refuse(`has an alias of nothing (*...) at line ${lines.linePos(unknown).line}; a text that begins with * is quoted`);
  const content = valueOf(yaml);
  if (content === TOO_MUCH) return refuse(`has aliases that stand for too much; accepted are ${MOST_ALIASES} of them`);
  if (content === null || content === undefined) return EMPTY_LAYER;
  if (!isDocument(content)) return { ...EMPTY_LAYER, errors: [`The file of --config, ${file}, does not hold a map of settings.`] };
  const labelOf = (path: readonly (string | number)[]): string => {
    const node = yaml.getIn(path, true);
    const at = isNode(node) && node.range ? `, line ${lines.linePos(node.range[0]).line}` : '';
    return `key ${path.join('.')} of ${file}${at}`;
  };
  return { ...EMPTY_LAYER, settings: leavesOf(content, [], labelOf) };
}

const TOO_MUCH = Symbol('too much');

function valueOf(yaml: Yaml.Parsed): unknown {
  try {
    return yaml.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (thrown) {
    // What the parser throws when the count is passed; aliases of nothing were found before.
    if (thrown instanceof ReferenceError) return TOO_MUCH;
    throw thrown;
  }
}

/** Where the first alias stands whose anchor is not there. */
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
