/** Establishes CustomResourceDefinitions: their names are accepted if no other kind has them, and their objects end with them. */
import { placeOf, type Api } from '../store/api.ts';
import { timestamp, type Condition, type KubeObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { RESOURCE_TYPES, storedType } from '../store/resource-types.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { onChange, type ControllerContext } from '../base/controller-context.ts';
import { DEFINITIONS, type DefinitionSpec } from '../schemas/kind-table.ts';

/** Starts the controller. Returns a function that stops it. */
export function startCustomDefinitions({ api }: ControllerContext): () => void {
  const queue = createQueue(api.timers, (key) => establish(api, key));
  return onChange(api, [DEFINITIONS], ({ type, object }) => {
    if (type === 'DELETED') removeObjects(api, object.spec as DefinitionSpec);
    else queue.add(keyOf(object));
  });
}

function removeObjects(api: Api, { names, group }: DefinitionSpec): void {
  const storage = `${names.plural}.${group}`;
  for (const object of api.store.list(storage)) api.store.remove(storage, keyOf(object));
}

function establish(api: Api, key: string): void {
  const definition = api.store.get(DEFINITIONS, key);
  if (definition === undefined || !isRecord(definition.status)) return;
  const spec = definition.spec as DefinitionSpec;
  const taken = takenName(api, definition.metadata.name, spec);
  const status = statusOf(spec, { taken, before: definition.status, nowMs: api.timers.now() });
  api.modify(storedType(DEFINITIONS), placeOf(definition), 'status', (current) => ({ ...current, status }));
}

/** A name of the definition that another kind of its group has, and the reason in its condition. */
function takenName(api: Api, name: string, { group, names }: DefinitionSpec): readonly [reason: string, text: string] | undefined {
  const others = api.store
    .list(DEFINITIONS)
    .filter((other) => other.metadata.name !== name && (other.spec as DefinitionSpec).group === group && hasAccepted(other))
    .map((other) => (other.spec as DefinitionSpec).names);
  const builtIn = RESOURCE_TYPES.filter((type) => type.group === group);
  const kinds = [...others.map(({ kind }) => kind), ...builtIn.map(({ kind }) => kind)];
  const lists = [...others.map(({ listKind }) => listKind), ...builtIn.map(({ kind }) => `${kind}List`)];
  if (lists.includes(names.listKind)) return ['ListKindConflict', names.listKind];
  return kinds.includes(names.kind) ? ['KindConflict', names.kind] : undefined;
}

function hasAccepted({ status }: KubeObject): boolean {
  const names = isRecord(status) ? status['acceptedNames'] : undefined;
  return isRecord(names) && (names['kind'] ?? '') !== '';
}

interface StatusInput {
  readonly taken: readonly [reason: string, text: string] | undefined;
  readonly before: unknown;
  readonly nowMs: number;
}

function statusOf({ names, versions }: DefinitionSpec, { taken, before, nowMs }: StatusInput): unknown {
  const accepted = {
    type: 'NamesAccepted',
    ...verdict(taken === undefined, ['NoConflicts', 'no conflicts found'], [taken?.[0] ?? '', `"${taken?.[1] ?? ''}" is already in use`]),
  };
  const established = {
    type: 'Established',
    ...verdict(
      taken === undefined,
      ['InitialNamesAccepted', 'the initial names have been accepted'],
      ['NotAccepted', 'not all names are accepted'],
    ),
  };
  return {
    conditions: [accepted, established].map((condition) => withTime(condition, before, nowMs)),
    acceptedNames: taken === undefined ? names : { plural: names.plural, kind: '' },
    storedVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
  };
}

type Words = readonly [reason: string, message: string];

function verdict(isGood: boolean, good: Words, bad: Words): Pick<Condition, 'status' | 'reason' | 'message'> {
  const [reason, message] = isGood ? good : bad;
  return { status: isGood ? 'True' : 'False', reason, message };
}

/** The time of the last transition stays while the status does. */
function withTime(condition: Condition, before: unknown, nowMs: number): Condition {
  const conditions = isRecord(before) && Array.isArray(before['conditions']) ? (before['conditions'] as readonly Condition[]) : [];
  const same = conditions.find(({ type, status }) => type === condition.type && status === condition.status);
  return { ...condition, lastTransitionTime: same?.lastTransitionTime ?? timestamp(nowMs) };
}
