/** Fields of a document that the SDK's typed model drops: those of later versions, and undocumented ones. */
import { isRecord } from '../../../src/lib/json.ts';

type Json = Readonly<Record<string, unknown>>;

/** Names that the typed models change. */
const RENAMED: ReadonlyMap<string, string> = new Map([['type', 'typepropertiestype']]);
/** Maps with free names, and free documents. */
const FREE = new Set(['tags', 'nodelabels', 'userassignedidentities', 'settings', 'protectedsettings']);

/** Paths, list entries as `[]`. `properties` counts as flattened, as the models have it. */
export function unknownFields(document: Json, model: unknown): readonly string[] {
  return [...new Set(lost(document, model, ''))];
}

function lost(document: Json, model: unknown, path: string): readonly string[] {
  if (!isRecord(model)) return [];
  const known = new Map(Object.entries(model).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.entries(document).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    const at = path === '' ? name : `${path}.${name}`;
    if (value === null || value === undefined || FREE.has(key)) return [];
    if (key === 'properties' && isRecord(value)) return lost(value, known.get(key) ?? model, at);
    const found = known.get(key) ?? known.get(RENAMED.get(key) ?? key);
    if (found === undefined || found === null) return isEmpty(value) ? [] : [at];
    return lostBelow(value, found, at);
  });
}

function lostBelow(value: unknown, found: unknown, at: string): readonly string[] {
  if (Array.isArray(value)) return Array.isArray(found) ? value.flatMap((entry, index) => lostBelow(entry, found[index], `${at}[]`)) : [];
  return isRecord(value) ? lost(value, found, at) : [];
}

/** The models leave out what is empty. */
function isEmpty(value: unknown): boolean {
  return isRecord(value) ? Object.keys(value).length === 0 : Array.isArray(value) && value.length === 0;
}
