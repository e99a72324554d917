/**
 * Who manages which fields of an object (`metadata.managedFields`), after an update and after an apply (kubernetes.io, "Server-Side Apply";
 * words and cases recorded from Kubernetes 1.35). Must not know HTTP.
 */
import type { Schema } from '../schemas/schema.ts';
import { timestamp, type KubeObject } from '../store/objects.ts';
import { isRecord, sameJson } from '../store/patches.ts';
import { refuse, success, type Result } from '../store/status.ts';
import { covers, fromFieldsV1, pathKey, pathOf, pathText, toFieldsV1, type FieldSet } from './field-sets.ts';
import { compareValues, fieldSetOf, mergeValues, withoutPath } from './typed-values.ts';

export interface ManagedEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: Readonly<Record<string, unknown>>;
  readonly subresource?: string;
}

/** Who writes, and when. */
export interface FieldWriter {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string | undefined;
  readonly nowMs: number;
}

interface Manager {
  readonly entry: Omit<ManagedEntry, 'fieldsV1'>;
  readonly fields: FieldSet;
}

/** Fields that no manager owns: identity, and what the server writes. */
const SYSTEM = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];
const UNOWNED: FieldSet = new Set(
  [['f:apiVersion'], ['f:kind'], ['f:metadata'], ...SYSTEM.map((name) => ['f:metadata', `f:${name}`])].map(pathKey),
);

function managedFieldsOf({ metadata }: { readonly metadata: object }): readonly ManagedEntry[] {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedEntry[] };
  return managedFields;
}

function managersOf(object: KubeObject | undefined): readonly Manager[] {
  return (object === undefined ? [] : managedFieldsOf(object)).map(({ fieldsV1, ...entry }) => ({ entry, fields: fromFieldsV1(fieldsV1) }));
}

/** Fields of a write: its subresource has only the status, or the rest. */
function ownable(fields: FieldSet, { subresource }: FieldWriter): FieldSet {
  const isStatus = (key: string): boolean => pathOf(key)[0] === 'f:status';
  const isOwned = (key: string): boolean => !UNOWNED.has(key) && !pathOf(key).slice(0, 2).includes('f:managedFields');
  return new Set([...fields].filter((key) => isOwned(key) && (subresource === 'scale' || isStatus(key) === (subresource === 'status'))));
}

function isOf(writer: FieldWriter, operation: ManagedEntry['operation']) {
  return ({ entry }: Manager): boolean =>
    entry.manager === writer.manager &&
    entry.operation === operation &&
    entry.apiVersion === writer.apiVersion &&
    entry.subresource === writer.subresource;
}

function newEntry({ manager, apiVersion, subresource, nowMs }: FieldWriter, operation: ManagedEntry['operation']): Manager['entry'] {
  const entry = { manager, operation, apiVersion, time: timestamp(nowMs), fieldsType: 'FieldsV1' as const };
  return subresource === undefined ? entry : { ...entry, subresource };
}

function without(fields: FieldSet, lost: FieldSet): FieldSet {
  return new Set([...fields].filter((key) => !lost.has(key)));
}

/** Applies come first, then updates by their time. */
function entriesOf(managers: readonly Manager[]): readonly ManagedEntry[] {
  const order = ({ entry }: Manager): string =>
    [entry.operation, entry.time, entry.manager, entry.apiVersion, entry.subresource ?? ''].join('\n');
  return managers
    .filter(({ fields }) => fields.size > 0)
    .toSorted((left, right) => (order(left) < order(right) ? -1 : 1))
    .map(({ entry, fields }) => ({ ...entry, fieldsV1: toFieldsV1(fields) }));
}

/** The managers after an update made `after` of `before`: the writer owns what it wrote, and no manager owns what it removed. */
export function managersAfterUpdate(
  schema: Schema,
  { before, after }: { readonly before: KubeObject | undefined; readonly after: KubeObject },
  writer: FieldWriter,
): readonly ManagedEntry[] {
  const { written, removed } = compareValues(schema, bare(before), bare(after));
  const [mine, gone] = [ownable(written, writer), ownable(removed, writer)];
  const given = managersOf(after);
  const managers = given.length > 0 ? given : managersOf(before);
  if (mine.size === 0 && gone.size === 0) return entriesOf(managers);
  const isMine = isOf(writer, 'Update');
  const lost = new Set([...mine, ...gone]);
  const others = managers.filter((each) => !isMine(each)).map(({ entry, fields }) => ({ entry, fields: without(fields, lost) }));
  const own = managers.find(isMine);
  const fields = new Set([...without(own?.fields ?? new Set(), gone), ...mine]);
  return entriesOf([...others, { entry: mine.size === 0 && own !== undefined ? own.entry : newEntry(writer, 'Update'), fields }]);
}

/** The object without its managers, which are compared apart. */
function bare(object: KubeObject | undefined): unknown {
  if (object === undefined) return undefined;
  const { managedFields: _apart, ...metadata } = object.metadata as KubeObject['metadata'] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}

export interface AppliedObject {
  readonly object: KubeObject;
  readonly managedFields: readonly ManagedEntry[];
}

export interface ApplyInput {
  readonly schema: Schema;
  /** undefined: the apply creates the object. */
  readonly live: KubeObject | undefined;
  readonly config: KubeObject;
  readonly writer: FieldWriter;
  /** Takes fields from other managers instead of a refusal. */
  readonly force: boolean;
}

/** Merges a configuration into the live object, removes what its manager no longer has, and moves the fields; or refuses with the conflicts. */
export function applyConfiguration({ schema, live, config, writer, force }: ApplyInput): Result<AppliedObject> {
  const isMine = isOf(writer, 'Apply');
  const known = managersOf(live);
  const managers = live !== undefined && known.length === 0 ? [firstManager(schema, live, writer)] : known;
  const own = managers.find(isMine);
  const fields = ownable(fieldSetOf(schema, config), writer);
  const others = managers.filter((each) => !isMine(each));
  const merged = live === undefined ? config : (mergeValues(schema, bare(live), config) as KubeObject);
  const owned = new Set([...fields, ...others.flatMap((each) => [...each.fields])]);
  const object = pruned(schema, merged, { last: own?.fields ?? new Set(), owned }) as KubeObject;
  const { written, removed } = compareValues(schema, bare(live), object);
  const conflicts = others.flatMap((each) => [...each.fields].filter((key) => written.has(key)).map((key) => ({ manager: each, key })));
  if (conflicts.length > 0 && !force) return conflictRefusal(conflicts);
  const lost = new Set([...removed, ...conflicts.map(({ key }) => key)]);
  const isSame = own !== undefined && sameJson(toFieldsV1(own.fields), toFieldsV1(fields)) && sameJson(object, bare(live));
  const entry = isSame ? own.entry : newEntry(writer, 'Apply');
  const rest = others.map((each) => ({ entry: each.entry, fields: without(each.fields, lost) }));
  return success({ object, managedFields: entriesOf([...rest, { entry, fields }]) });
}

/** An object without managers was written before its first apply: all that it has belongs to one manager. */
function firstManager(schema: Schema, live: KubeObject, writer: FieldWriter): Manager {
  const first: FieldWriter = { ...writer, manager: 'before-first-apply', subresource: undefined };
  return { entry: newEntry(first, 'Update'), fields: without(fieldSetOf(schema, bare(live)), UNOWNED) };
}

/** Removes the fields of the last configuration that no manager has any more, with the structs that held only them. */
function pruned(schema: Schema, merged: unknown, { last, owned }: { readonly last: FieldSet; readonly owned: FieldSet }): unknown {
  const candidates = new Set<string>();
  for (const key of last) {
    const path = pathOf(key);
    for (let length = 2; length < path.length; length++)
      if (path[length - 1]?.startsWith('f:') === true) candidates.add(pathKey(path.slice(0, length)));
    candidates.add(key);
  }
  let value = merged;
  for (const key of candidates) if (!covers(key, owned)) value = withoutPath(schema, value, pathOf(key));
  return value;
}

interface Conflict {
  readonly manager: Manager;
  readonly key: string;
}

function conflictRefusal(conflicts: readonly Conflict[]): Result<never> {
  const causes = conflicts.map(({ manager, key }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: pathText(key),
  }));
  return refuse(409, 'Conflict', conflictText(conflicts), { causes });
}

function conflictText(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined)
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${pathText(first.key)}`;
  const groups = [...Map.groupBy(conflicts, ({ manager }) => managerText(manager))].sort(([left], [right]) => (left < right ? -1 : 1));
  const texts = groups.map(([manager, own]) => `conflicts with ${manager}:\n${own.map(({ key }) => `- ${pathText(key)}`).join('\n')}`);
  return `Apply failed with ${conflicts.length} conflicts: ${texts.join('\n')}`;
}

function managerText({ entry: { manager, operation, apiVersion, subresource } }: Manager): string {
  const part = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

/** Whether managers that a client wrote are entries, and not the `[{}]` that clears them. */
export function areEntries(given: unknown): given is readonly ManagedEntry[] {
  return Array.isArray(given) && given.length > 0 && given.every((entry) => isRecord(entry) && typeof entry['manager'] === 'string');
}
