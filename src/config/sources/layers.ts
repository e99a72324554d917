/**
 * The settings of one source, and the merge of sources: later ones win key by key, and lists are replaced as a whole. Must
 * not know what a value means.
 */
import { isRecord } from '../../lib/json.ts';

/** Where a value came from, as the user knows it. */
export interface Origin {
  /** For example `environment variable AZURE_VMSS_CACHE_TTL`. */
  readonly label: string;
  /** As the user wrote it, when parsing changed it. */
  readonly written?: string;
  /** If the source could not parse the text: what it accepts (`60` instead of `60s`). */
  readonly unread?: string;
  readonly secret?: boolean;
}

export interface Setting {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly origin: Origin;
  /** For a list: where each entry came from. */
  readonly entries?: readonly { readonly key: string; readonly origin: Origin }[];
}

export interface Layer {
  readonly settings: readonly Setting[];
  /** Whole sentences. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export const EMPTY_LAYER: Layer = { settings: [], errors: [], warnings: [] };

export type Document = Readonly<Record<string, unknown>>;

export interface Merged {
  readonly document: Document;
  /** By dotted path, list indexes included. */
  readonly origins: ReadonlyMap<string, Origin>;
}

export function mergeLayers(layers: readonly Layer[]): Merged {
  const origins = new Map<string, Origin>();
  let document: Document = {};
  for (const { path, value, origin, entries } of layers.flatMap((layer) => layer.settings)) {
    document = withValue(document, path, value);
    const key = path.join('.');
    for (const known of origins.keys()) if (known.startsWith(`${key}.`)) origins.delete(known);
    origins.set(key, origin);
    for (const entry of entries ?? []) origins.set(entry.key, entry.origin);
  }
  return { document, origins };
}

/** Returns a copy with one value set. Values on the way that are no objects are replaced. Reads own properties only. */
function withValue(document: Document, path: readonly string[], value: unknown): Document {
  const [head, ...rest] = path;
  if (head === undefined) return document;
  const below = rest.length === 0 ? value : withValue(asDocument(Object.hasOwn(document, head) ? document[head] : undefined), rest, value);
  return Object.fromEntries([...Object.entries(document), [head, below]]);
}

function asDocument(value: unknown): Document {
  return isRecord(value) ? value : {};
}
