/** Azure's OpenAPI documents (Swagger 2.0) in a folder: which operation a request is, and what their references mean. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isRecord } from '../../../src/lib/json.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A part of a document, and the file in which its references start. */
export interface Located {
  readonly node: Json;
  readonly file: string;
}

export interface SpecifiedOperation {
  readonly operation: Located;
  /** The path as the document writes it. */
  readonly path: string;
}

interface Document {
  readonly file: string;
  readonly version: string;
  readonly paths: readonly (readonly [path: string, item: Json])[];
}

/** Folders of examples and of versions that no call of ours has are not read. */
const SKIPPED = /(?:^|[\\/])(?:examples|preview|data-plane|node_modules|\.git)(?:[\\/]|$)/;

export class Specifications {
  readonly #documents: readonly Document[];
  readonly #files = new Map<string, unknown>();

  /** Reads the documents of these versions alone. @throws Error if the folder or a document cannot be read. */
  constructor(folder: string, versions: ReadonlySet<string>) {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.json') && !SKIPPED.test(name),
    );
    const ofVersion = files.filter((name) => [...versions].some((version) => name.includes(version)));
    this.#documents = ofVersion.flatMap((name) => this.#documentIn(resolve(folder, name)));
  }

  /** Documents with paths. */
  get size(): number {
    return this.#documents.length;
  }

  /** undefined: no document of this version has the method and the path. */
  find(method: string, uri: URL): SpecifiedOperation | undefined {
    const version = uri.searchParams.get('api-version') ?? '';
    const segments = uri.pathname.split('/');
    for (const document of this.#documents) {
      if (document.version !== version) continue;
      for (const [path, item] of document.paths) {
        const operation = item[method.toLowerCase()];
        if (isRecord(operation) && matches(path.split('/'), segments)) return { operation: { node: operation, file: document.file }, path };
      }
    }
    return undefined;
  }

  /** Follows references, also into other files. @throws Error if one leads nowhere. */
  resolve({ node, file }: Located): Located {
    const reference = node['$ref'];
    if (typeof reference !== 'string') return { node, file };
    const [name = '', pointer = ''] = reference.split('#');
    const target = name === '' ? file : join(dirname(file), name);
    const steps = pointer.split('/').slice(1);
    const found = steps.reduce<unknown>((at, step) => (isRecord(at) ? at[unescape(step)] : undefined), this.#read(target));
    if (!isRecord(found)) throw new Error(`${reference} leads nowhere`);
    return this.resolve({ node: found, file: target });
  }

  /** The definitions beside a schema, by name: a discriminator may name any of them. */
  definitionsIn(file: string): Json {
    const document = this.#read(file);
    const definitions = isRecord(document) ? document['definitions'] : undefined;
    return isRecord(definitions) ? definitions : {};
  }

  #read(file: string): unknown {
    if (!this.#files.has(file)) this.#files.set(file, JSON.parse(readFileSync(file, 'utf8')));
    return this.#files.get(file);
  }

  #documentIn(file: string): readonly Document[] {
    const document = this.#read(file);
    if (!isRecord(document) || document['swagger'] !== '2.0' || !isRecord(document['info'])) return [];
    const all = [document['paths'], document['x-ms-paths']].flatMap((paths) => (isRecord(paths) ? Object.entries(paths) : []));
    const paths = all.flatMap(([path, item]) => (isRecord(item) ? [[path, item] as const] : []));
    return paths.length === 0 ? [] : [{ file, version: String(document['info']['version']), paths }];
  }
}

/** JSON pointers write two characters otherwise. */
function unescape(step: string): string {
  return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  if (template.length !== segments.length) return false;
  return template.every((part, at) => {
    const given = segments[at] ?? '';
    return part.startsWith('{') ? given !== '' : part.toLowerCase() === given.toLowerCase();
  });
}
