/** CustomResourceDefinitions at the door: their defaults, and what an API server refuses (recorded from Kubernetes 1.35). */
import type { KubeObject, ObjectDraft } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { success, type Result } from '../store/status.ts';
import type { ResourceType } from '../store/resource-types.ts';
import { definitionProblems, unevaluatedRules } from './cel-rules.ts';
import { admitCustom, invalidObject } from './custom-objects.ts';
import type { JsonSchema } from './json-schema.ts';
import { DEFINITIONS, type DefinitionSpec, type KindTable } from './kind-table.ts';
import { schemaProblems, type SchemaProblem } from './schema-validation.ts';

const KIND = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' };
const APPROVAL = 'api-approved.kubernetes.io';
const PROTECTED = /(^|\.)(k8s|kubernetes)\.io$/;

/** An object at the door, with the defaults of its schema, or why it is invalid. An object of a built-in kind is returned as it is. `old` is what it replaces. */
export function admitDefined(kinds: KindTable, type: ResourceType, draft: ObjectDraft, old?: KubeObject): Result<ObjectDraft> {
  return type.storage === DEFINITIONS ? admitDefinition(draft) : admitCustom(kinds, type, draft, old);
}

/** A definition with rules that this server does not evaluate has warnings. */
export function ruleWarnings(type: ResourceType, { spec }: ObjectDraft): readonly string[] {
  const { versions = [] } = (type.storage === DEFINITIONS && isRecord(spec) ? spec : {}) as Partial<DefinitionSpec>;
  return [...new Set(versions.flatMap(({ schema }) => unevaluatedRules(schema?.openAPIV3Schema ?? {})))];
}

/** The definition with its defaults, or why it is invalid. */
function admitDefinition(draft: ObjectDraft): Result<ObjectDraft> {
  const given = (isRecord(draft.spec) ? draft.spec : {}) as Partial<DefinitionSpec>;
  const names = (given.names ?? {}) as Partial<DefinitionSpec['names']>;
  const { kind } = names;
  const filled = {
    conversion: { strategy: 'None' },
    ...given,
    names: { ...(kind === undefined ? {} : { singular: kind.toLowerCase(), listKind: `${kind}List` }), ...names },
  };
  const problems = problemsOf(draft, filled);
  return problems.length === 0 ? success({ ...draft, spec: filled }) : invalidObject(KIND, draft.metadata.name ?? '', problems);
}

function required(field: string, detail = ''): SchemaProblem {
  return { field, reason: 'FieldValueRequired', message: `Required value${detail}` };
}

type DraftedSpec = Partial<Omit<DefinitionSpec, 'names'>> & { readonly names: Partial<DefinitionSpec['names']> };

function problemsOf(draft: ObjectDraft, spec: DraftedSpec): readonly SchemaProblem[] {
  const { metadata } = draft;
  const { group = '', scope, versions = [], names } = spec;
  const { plural = '', singular, kind, listKind } = names;
  const name = metadata.name ?? '';
  const stored = versions.filter(({ storage }) => storage).length;
  const isUnapproved = PROTECTED.test(group) && metadata.annotations?.[APPROVAL] === undefined;
  const storage = `Invalid value: ${JSON.stringify(versions.map((version) => version.name))}: must have exactly one version marked as storage version`;
  return [
    ...(name === `${plural}.${group}`
      ? []
      : [invalidAt('metadata.name', `Invalid value: ${JSON.stringify(name)}: must be spec.names.plural+"."+spec.group`)]),
    ...(group === '' ? [required('spec.group')] : []),
    ...(scope === undefined ? [required('spec.scope')] : []),
    ...(stored === 1 ? [] : [invalidAt('spec.versions', storage)]),
    ...Object.entries({ plural, singular, kind, listKind }).flatMap(([field, value]) =>
      (value ?? '') === '' ? [required(`spec.names.${field}`)] : [],
    ),
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema === undefined ? [required(`spec.versions[${index}].schema.openAPIV3Schema`)] : [],
    ),
    ...versions.flatMap(({ schema }, index) => structureProblems(schema?.openAPIV3Schema ?? {}, placeOf(versions.length, index), true)),
    ...versions.flatMap(({ schema }, index) => definitionProblems(schema?.openAPIV3Schema ?? {}, placeOf(versions.length, index))),
    ...(isUnapproved
      ? [
          required(
            `metadata.annotations[${APPROVAL}]`,
            `: protected groups must have approval annotation "${APPROVAL}", see https://github.com/kubernetes/enhancements/pull/1111`,
          ),
        ]
      : []),
  ];
}

/** The server keeps the schema of a single version in an older field, which its refusals name. */
function placeOf(count: number, index: number): string {
  return count === 1 ? 'spec.validation.openAPIV3Schema' : `spec.versions[${index}].schema.openAPIV3Schema`;
}

function invalidAt(field: string, message: string): SchemaProblem {
  return { field, reason: 'FieldValueInvalid', message };
}

/** A structural schema has a type everywhere, and defaults that fit it. */
function structureProblems(json: JsonSchema, field: string, isRoot = false): readonly SchemaProblem[] {
  const isFree = json['x-kubernetes-int-or-string'] === true || json['x-kubernetes-preserve-unknown-fields'] === true;
  if (json.type === undefined && !isFree && Object.keys(json).length > 0)
    return [required(`${field}.type`, `: must not be empty ${isRoot ? 'at the root' : 'for specified object fields'}`)];
  const unfit = json.default === undefined ? [] : schemaProblems(json, json.default, '');
  const { properties = {}, additionalProperties: rest, items } = json;
  return [
    ...unfit.map(({ message }) => ({ field: `${field}.default`, reason: 'FieldValueTypeInvalid', message })),
    ...Object.entries(properties).flatMap(([name, of]) => structureProblems(of, `${field}.properties[${name}]`)),
    ...(isRecord(rest) ? structureProblems(rest, `${field}.additionalProperties`) : []),
    ...(items === undefined ? [] : structureProblems(items, `${field}.items`)),
  ];
}
