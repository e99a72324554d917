/** Shapes of answers: which headers and fields there are, of which types and forms. Never values. Pure. */
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import { remainingTokens } from '../../../src/azure/arm/rate-limits.ts';
import { isRecord } from '../../../src/lib/json.ts';

/** What one place of an answer holds. */
interface Held {
  readonly types: ReadonlySet<string>;
  /** Of texts: how they are written. */
  readonly forms: ReadonlySet<string>;
}

/** By place: `header etag`, `limit GetVMScaleSetResource`, `content type`, `body properties.zones[]`. */
export type Facts = ReadonlyMap<string, Held>;

/** Maps whose keys are free. */
const FREE_MAPS = new Set(['tags', 'nodelabels', 'userassignedidentities', 'settings', 'publicsettings']);

type Collected = Map<string, { types: Set<string>; forms: Set<string> }>;

export function headerFacts(headers: ReadonlyMap<string, string>): Facts {
  const facts: Collected = new Map();
  const limits = remainingTokens((name) => (name === 'x-ms-ratelimit-remaining-resource' ? headers.get(name) : undefined));
  for (const { policy } of limits) collect(facts, `limit ${policy}`, 'number');
  for (const [name, value] of headers) {
    if (name === 'content-type') collect(facts, 'content type', 'text', value.toLowerCase().replaceAll(' ', ''));
    else collect(facts, `header ${name}`, 'text', name === 'content-length' ? undefined : formOf(value));
  }
  return facts;
}

/** A body that is not JSON has no fields. */
export function bodyFacts(document: unknown): Facts {
  const facts: Collected = new Map();
  if (isRecord(document)) addFields(facts, document, 'body');
  else if (document !== undefined) collect(facts, 'body', typeOf(document));
  return facts;
}

/** Places of the fields below a document, as {@link bodyFacts} names them. */
export function placesOf(text: string | null | undefined): ReadonlySet<string> {
  return new Set(bodyFacts(jsonOf(text)).keys());
}

function addFields(facts: Collected, document: Readonly<Record<string, unknown>>, at: string): void {
  const isFree = FREE_MAPS.has(
    at
      .slice(at.lastIndexOf('.') + 1)
      .replace(/^body /, '')
      .toLowerCase(),
  );
  for (const [name, value] of Object.entries(document))
    addValue(facts, value, `${at === 'body' ? 'body ' : `${at}.`}${isFree ? '*' : name}`);
}

function addValue(facts: Collected, value: unknown, at: string): void {
  collect(facts, at, typeOf(value), typeof value === 'string' ? formOf(value) : undefined);
  if (Array.isArray(value)) for (const entry of value) addValue(facts, entry, `${at}[]`);
  else if (isRecord(value)) addFields(facts, value, at);
}

function collect(facts: Collected, place: string, type: string, form?: string): void {
  const held = facts.get(place) ?? { types: new Set(), forms: new Set() };
  held.types.add(type);
  if (form !== undefined) held.forms.add(form);
  facts.set(place, held);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'string' ? 'text' : typeof value;
}

const FORMS: readonly (readonly [pattern: RegExp, form: string])[] = [
  [/^$/, 'empty'],
  [/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i, 'guid'],
  [/^"\d+"$/, 'quoted number'],
  [/^\d+$/, 'number as text'],
  [/^\d{4}-\d\d-\d\dT[\d:]+\.\d+Z$/, 'time with a fraction, Z'],
  [/^\d{4}-\d\d-\d\dT[\d:]+Z$/, 'time, Z'],
  [/^\d{4}-\d\d-\d\dT[\d:]+(?:\.\d+)?[+-]\d\d:\d\d$/, 'time with an offset'],
  [/^\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT$/, 'date of a header'],
  [/^https?:\/\//i, 'address'],
  [/^[A-Z]+$/, 'WORD'],
  [/^[A-Z][A-Za-z]*$/, 'Word'],
  [/^[a-z]+$/, 'word'],
];

/** What recorders put in place of a time. */
const PLACEHOLDER_TIME = '2001-02-03T04:05:06Z';

/** How a text is written. Ids show the spelling of their fixed segments. Any other text is `text`. */
function formOf(value: string): string {
  if (/^\/subscriptions\//i.test(value)) return idForm(value);
  if (value === PLACEHOLDER_TIME) return 'text';
  return FORMS.find(([pattern]) => pattern.test(value))?.[1] ?? 'text';
}

/** `/subscriptions/*\/resourcegroups/*`: names are left out, types are kept as they are spelled. */
function idForm(id: string): string {
  const parts = id.split('/');
  const shown: string[] = [];
  for (let at = 1; at < parts.length;) {
    const literal = parts[at] ?? '';
    const isProvider = literal.toLowerCase() === 'providers';
    shown.push(literal, isProvider ? (parts[at + 1] ?? '') : '*');
    at += 2;
  }
  return `/${shown.join('/')}`;
}

/** What many answers of one kind hold. */
export interface Shape {
  answers: number;
  readonly places: Map<string, { count: number; readonly types: Set<string>; readonly forms: Set<string> }>;
}

export function emptyShape(): Shape {
  return { answers: 0, places: new Map() };
}

/** Counts one more answer. */
export function addAnswer(shape: Shape, facts: Facts): void {
  shape.answers += 1;
  for (const [place, { types, forms }] of facts) {
    const held = shape.places.get(place) ?? { count: 0, types: new Set(), forms: new Set() };
    held.count += 1;
    for (const type of types) held.types.add(type);
    for (const form of forms) held.forms.add(form);
    shape.places.set(place, held);
  }
}
