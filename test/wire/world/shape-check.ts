/**
 * Compares the shapes of recorded answers with those of the world's own answers to the same kind of request about the same kind of
 * resource. Must not know files or how a result is shown.
 */
import { mappableBody } from '../../../src/azure/arm/response-bodies.ts';
import type { JudgedAnswer } from '../adapter/adapter-check.ts';
import { operationOf } from '../adapter/replayed-azure.ts';
import { placeOf } from '../recordings/interaction.ts';
import { wireCallOf, type WireKind } from '../recordings/wire-call.ts';
import { compareText } from '../../../src/lib/comparison.ts';
import type { Finding, Weight } from '../finding.ts';
import { addAnswer, emptyShape, placesOf, type Shape } from './json-shape.ts';
import { partsOf, type Part } from './variants.ts';
import type { WorldAnswer } from './world-client.ts';

export interface ShapeResult {
  readonly findings: readonly Finding[];
  /** Routes that the world's examples do not have. */
  readonly notCompared: readonly string[];
}

/** Recorded answers of one kind. */
interface Recorded {
  readonly kind: WireKind;
  readonly route: string;
  readonly traits: string;
  readonly isForeign: boolean;
  readonly shape: Shape;
  /** Where a place was seen first, and where the first answer is. */
  readonly seen: Map<string, string>;
  readonly first: string;
  /** Headers that no recorder of these answers kept. */
  scrubbed: ReadonlySet<string>;
}

export function checkShapes(answers: readonly JudgedAnswer[], examples: readonly WorldAnswer[]): ShapeResult {
  const world = worldShapes(examples);
  const read = new Map<string, Set<string>>();
  const notCompared = new Set<string>();
  const found = new Differences();
  const recorded = recordedShapes(answers, read);
  noteReadPlaces(examples, read);
  for (const each of recorded) {
    const example = exampleFor(each, world);
    if (example === undefined) notCompared.add(each.route);
    else for (const difference of compare(each, example)) found.add(each, difference, weightOf(difference.place, each.kind, read));
  }
  return { findings: found.list(), notCompared: [...notCompared].toSorted(compareText) };
}

interface WorldShape {
  readonly route: string;
  readonly traits: string;
  readonly parts: readonly Part[];
}

function worldShapes(examples: readonly WorldAnswer[]): ReadonlyMap<string, WorldShape> {
  const shapes = new Map<string, { route: string; traits: string; parts: Part[] }>();
  for (const example of examples) {
    const call = wireCallOf(example);
    for (const part of call === undefined ? [] : partsOf({ ...example, call })) {
      const key = `${part.route}\n${part.traits}`;
      const shape = shapes.get(key) ?? { route: part.route, traits: part.traits, parts: [] };
      shape.parts.push(part);
      shapes.set(key, shape);
    }
  }
  return shapes;
}

/** Examples with the same traits, or all of the route if there are none. */
function exampleFor({ route, traits }: Recorded, world: ReadonlyMap<string, WorldShape>): Shape | undefined {
  const exact = world.get(`${route}\n${traits}`);
  const alike = exact === undefined ? [...world.values()].filter((each) => each.route === route) : [exact];
  if (alike.length === 0) return undefined;
  const shape = emptyShape();
  for (const { parts } of alike) for (const { facts } of parts) addAnswer(shape, facts);
  return shape;
}

function recordedShapes(answers: readonly JudgedAnswer[], read: Map<string, Set<string>>): readonly Recorded[] {
  const shapes = new Map<string, Recorded>();
  for (const { interaction, call } of answers) {
    const place = placeOf(interaction);
    for (const part of partsOf({ ...interaction, call })) {
      const { route, traits, isForeign, facts } = part;
      const key = `${route}\n${traits}\n${isForeign}`;
      const known = shapes.get(key);
      const each: Recorded = known ?? {
        kind: call.kind,
        route,
        traits,
        isForeign,
        shape: emptyShape(),
        seen: new Map(),
        first: place,
        scrubbed: interaction.scrubbed,
      };
      shapes.set(key, each);
      each.scrubbed = new Set([...each.scrubbed].filter((name) => interaction.scrubbed.has(name)));
      addAnswer(each.shape, facts);
      for (const name of facts.keys()) if (!each.seen.has(name)) each.seen.set(name, place);
    }
    notePlaces(call.kind, interaction.body, read);
  }
  return [...shapes.values()];
}

interface Difference {
  /** As in a shape: `header etag`. */
  readonly place: string;
  readonly what: string;
  /** Answers that show it. */
  readonly count: number;
}

function compare(recorded: Recorded, world: Shape): readonly Difference[] {
  const { shape, scrubbed, isForeign } = recorded;
  const lacking = new Set<string>();
  const found: Difference[] = [];
  for (const [place, held] of shape.places) {
    const here = world.places.get(place);
    if (!isCompared(place, isForeign) || lacking.has(parentOf(place))) {
      lacking.add(place);
    } else if (here === undefined) {
      lacking.add(place);
      found.push({ place, what: `the world lacks ${place}`, count: held.count });
    } else {
      found.push(...differencesAt(place, held, here));
    }
  }
  for (const [place, here] of world.places) {
    const isScrubbed = place.startsWith('header ') && scrubbed.has(place.slice('header '.length));
    const isLimit = place.startsWith('limit ') && scrubbed.has('x-ms-ratelimit-remaining-resource');
    if (shape.places.has(place) || isScrubbed || isLimit || !isCompared(place, isForeign) || here.count < world.answers) continue;
    if (!shape.places.has(parentOf(place)) && parentOf(place) !== '' && world.places.has(parentOf(place))) continue;
    found.push({ place, what: `only the world has ${place}`, count: shape.answers });
  }
  return found;
}

type HeldCount = Shape['places'] extends Map<string, infer Held> ? Held : never;

function differencesAt(place: string, held: HeldCount, here: HeldCount): readonly Difference[] {
  const types = [...held.types].filter((type) => !here.types.has(type)).toSorted(compareText);
  const isText = held.types.has('text') && here.types.has('text');
  const differs =
    isText &&
    held.forms.size > 0 &&
    here.forms.size > 0 &&
    ![...held.forms].some((form) => here.forms.has(form) || form === 'text') &&
    !here.forms.has('text');
  return [
    ...(types.length === 0
      ? []
      : [{ place, what: `${place} is ${types.join(' or ')}, in the world ${listOf(here.types)}`, count: held.count }]),
    ...(differs
      ? [{ place, what: `${place} is written as ${listOf(held.forms)}, in the world as ${listOf(here.forms)}`, count: held.count }]
      : []),
  ];
}

function listOf(words: ReadonlySet<string>): string {
  return [...words].toSorted(compareText).join(' or ');
}

/** Of a resource that AKS did not make, what Azure itself adds. The rest is the model that its client chose. */
const OF_AZURE =
  /^body properties(?:\.(?:provisioningState|uniqueId|vmId|timeCreated|latestModelApplied|modelDefinitionApplied|orchestrationMode)\b.*)?$/;
const OF_CLIENT = /^body (?:properties|resources|tags|identity|plan|zones|placement)\b/;

/** The transport: HTTP/2 has none of them, and recorders change lengths. */
const TRANSPORT = /^header (?:connection|keep-alive|transfer-encoding|content-length|content-encoding|vary)$/;

function isCompared(place: string, isForeign: boolean): boolean {
  return !TRANSPORT.test(place) && (!isForeign || !OF_CLIENT.test(place) || OF_AZURE.test(place));
}

/** The place of what a field is in; empty for a field of the body, a header or a limit. */
function parentOf(place: string): string {
  if (place.endsWith('[]')) return place.slice(0, -2);
  const dot = place.lastIndexOf('.');
  return place.startsWith('body ') && dot > 0 ? place.slice(0, dot) : '';
}

function notePlaces(kind: WireKind, body: string, read: Map<string, Set<string>>): void {
  const places = read.get(kind) ?? new Set();
  const isKept = mappableBody(operationOf(kind), body) !== body;
  for (const place of isKept ? placesOf(mappableBody(operationOf(kind), body)) : []) places.add(place.replace('body value[].', 'body '));
  read.set(kind, places);
}

function noteReadPlaces(examples: readonly WorldAnswer[], read: Map<string, Set<string>>): void {
  for (const example of examples) {
    const call = wireCallOf(example);
    if (call !== undefined && example.status < 400) notePlaces(call.kind, example.body, read);
  }
}

const READ_HEADERS = /^(?:limit|content type|header (?:etag|azure-asyncoperation|location|retry-after|date|x-ms-ratelimit-)\b)/;
const POOL_FIELDS =
  /^body (?:name|id|properties|properties\.(?:type|eTag|mode|count|vmSize|provisioningState|powerState|scaleDownMode|maxPods|osDisk|kubelet|osSKU|osType|nodeImageVersion|\w*[oO]rchestratorVersion|node\w+|scaleSetPriority|availabilityZones|enable\w+|tags|virtualMachine\w+|minCount|maxCount|vnetSubnetID|gpu\w+|capacityReservation\w+)\b.*)$/;
const OPERATION_FIELDS = /^body (?:status|error|error\..*|startTime|endTime|name)$/;
const ERROR_FIELDS = /^body (?:error(?:\.|$)|code$|message$|details|target$)/;

/** Whether the daemon reads it. */
function weightOf(place: string, kind: WireKind, read: ReadonlyMap<string, ReadonlySet<string>>): Weight {
  if (READ_HEADERS.test(place) || ERROR_FIELDS.test(place) || place === 'body nextLink' || place === 'body') return 'read';
  if (kind.startsWith('getOperation')) return OPERATION_FIELDS.test(place) ? 'read' : 'form';
  if (/AgentPool/.test(kind)) return POOL_FIELDS.test(place) ? 'read' : 'form';
  return read.get(kind)?.has(place) === true ? 'read' : 'form';
}

/** Equal differences of one route are one, whatever the traits. */
class Differences {
  readonly #found = new Map<string, { weight: Weight; route: string; what: string; count: number; of: number; example: string }>();

  add({ route, shape, seen, first }: Recorded, { place, what, count }: Difference, weight: Weight): void {
    const key = `${route}\n${what}`;
    const known = this.#found.get(key) ?? { weight, route, what, count: 0, of: 0, example: seen.get(place) ?? first };
    this.#found.set(key, { ...known, count: known.count + count, of: known.of + shape.answers });
  }

  list(): readonly Finding[] {
    return [...this.#found.values()];
  }
}
