/**
 * Whether a JSON document has the form of a Swagger 2.0 schema. It knows what Azure's documents use: references, `allOf`, discriminators,
 * properties, required ones, types, closed lists of words, maps and `x-nullable`. Names what is wrong by its place, never by a value.
 */
import type { Json, Located, Specifications } from './specifications.ts';
import { isRecord } from '../../../src/lib/json.ts';

/** In a request, what only Azure sets is neither required nor looked for. */
export type Direction = 'request' | 'response';

/** The parts of a schema with all that it inherits. */
interface Merged {
  readonly properties: ReadonlyMap<string, Located>;
  readonly required: ReadonlySet<string>;
  readonly type: string | undefined;
  readonly words: readonly unknown[] | undefined;
  readonly isOpenList: boolean;
  /** If absent, other properties are not documented; a schema without properties allows all. */
  readonly others: Located | true | undefined;
  readonly items: Located | undefined;
  readonly isNullable: boolean;
}

/** Documents of Azure nest less deeply. Schemas may refer to themselves. */
const MAX_DEPTH = 30;

export class SchemaCheck {
  readonly #specifications: Specifications;
  readonly #direction: Direction;
  readonly #found = new Set<string>();

  constructor(specifications: Specifications, direction: Direction) {
    this.#specifications = specifications;
    this.#direction = direction;
  }

  /** Places and what is wrong there. Each is named once, however many entries of a list have it. */
  check(value: unknown, schema: Located): readonly string[] {
    this.#found.clear();
    this.#check(value, schema, 'body');
    return [...this.#found];
  }

  #check(value: unknown, schema: Located, at: string): void {
    if (at.split(/[.[]/).length > MAX_DEPTH) return;
    const merged = this.#merged(this.#derived(this.#specifications.resolve(schema), value));
    // Azure writes null for what is not set; whether that counts as missing is checked where a property is required.
    if (value === null) {
      if (!merged.isNullable && at === 'body') this.#found.add('body is null');
      return;
    }
    const type = merged.type ?? (merged.properties.size > 0 ? 'object' : undefined);
    if (type !== undefined && !hasType(value, type)) {
      this.#found.add(`${at} is ${nameOf(value)} and is documented as ${type}`);
      return;
    }
    this.#checkWord(value, merged, at);
    if (Array.isArray(value) && merged.items !== undefined) for (const entry of value) this.#check(entry, merged.items, `${at}[]`);
    if (isRecord(value)) this.#checkObject(value, merged, at);
  }

  #checkWord(value: unknown, { words, isOpenList }: Merged, at: string): void {
    if (words !== undefined && !isOpenList && !words.includes(value)) this.#found.add(`${at} has a word outside its documented list`);
  }

  #checkObject(value: Json, { properties, required, others }: Merged, at: string): void {
    for (const [name, entry] of Object.entries(value)) {
      const known = properties.get(name);
      const place = at === 'body' ? `body ${name}` : `${at}.${name}`;
      if (known !== undefined) this.#check(entry, known, place);
      else if (others === undefined) this.#found.add(`${place} is not documented`);
      else if (others !== true) this.#check(entry, others, at === 'body' ? 'body *' : `${at}.*`);
    }
    for (const name of required) {
      const isOfAzure = this.#direction === 'request' && properties.get(name)?.node['readOnly'] === true;
      const isMissing = value[name] === undefined || (value[name] === null && !this.#isNullable(properties.get(name)));
      if (isMissing && !isOfAzure) this.#found.add(`${at === 'body' ? `body ${name}` : `${at}.${name}`} is required and missing`);
    }
  }

  #isNullable(schema: Located | undefined): boolean {
    return schema !== undefined && this.#merged(this.#specifications.resolve(schema)).isNullable;
  }

  /** The schema that the discriminator of the value names, or the schema itself. */
  #derived(schema: Located, value: unknown): Located {
    const field = schema.node['discriminator'];
    const name = typeof field === 'string' && isRecord(value) ? value[field] : undefined;
    if (typeof name !== 'string') return schema;
    for (const [key, definition] of Object.entries(this.#specifications.definitionsIn(schema.file))) {
      if (isRecord(definition) && (definition['x-ms-discriminator-value'] ?? key) === name) return { node: definition, file: schema.file };
    }
    return schema;
  }

  #merged(schema: Located, depth = 0): Merged {
    const { node, file } = schema;
    const inherited = Array.isArray(node['allOf']) && depth < MAX_DEPTH ? node['allOf'].filter(isRecord) : [];
    const parents = inherited.map((each) => this.#merged(this.#specifications.resolve({ node: each, file }), depth + 1));
    const own = isRecord(node['properties']) ? Object.entries(node['properties']) : [];
    const located = (part: unknown): Located | undefined => (isRecord(part) ? { node: part, file } : undefined);
    const entries = own.flatMap(([name, part]) => (isRecord(part) ? [[name, { node: part, file }] as const] : []));
    const properties = new Map([...parents.flatMap((parent) => [...parent.properties]), ...entries]);
    const required = Array.isArray(node['required']) ? node['required'].map(String) : [];
    const list = node['x-ms-enum'];
    const rest = node['additionalProperties'];
    return {
      properties,
      required: new Set([...parents.flatMap((parent) => [...parent.required]), ...required]),
      type: typeof node['type'] === 'string' ? node['type'] : parents.find(({ type }) => type !== undefined)?.type,
      words: Array.isArray(node['enum']) ? node['enum'] : parents.find(({ words }) => words !== undefined)?.words,
      isOpenList: (isRecord(list) && list['modelAsString'] === true) || parents.some(({ isOpenList }) => isOpenList),
      others: rest === true || (rest === undefined && properties.size === 0) ? true : (located(rest) ?? othersOf(parents, properties)),
      items: located(node['items']) ?? parents.find(({ items }) => items !== undefined)?.items,
      isNullable: node['x-nullable'] === true || parents.some(({ isNullable }) => isNullable),
    };
  }
}

/** A parent without properties allows all, which its children need not. */
function othersOf(parents: readonly Merged[], properties: ReadonlyMap<string, Located>): Located | true | undefined {
  return parents.find(({ others, properties: own }) => others !== undefined && (own.size > 0 || properties.size === 0))?.others;
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'file':
      return true;
    default:
      return typeof value === type;
  }
}

function nameOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
