/** The kinds of one API server: the built-in ones, and those of the definitions that it stores. Must not know HTTP. */
import { isRecord } from '../store/patches.ts';
import { apiVersionOf, RESOURCE_TYPES, type PrinterColumn, type ResourceType, type ScalePaths } from '../store/resource-types.ts';
import type { KubeObject } from '../store/objects.ts';
import type { ObjectStore } from '../store/store.ts';
import { structOfCustomKind, type JsonSchema } from './json-schema.ts';
import { builtInSchema, type StructSchema } from './schema.ts';
import { defined } from '../../../../src/lib/defined.ts';

export const DEFINITIONS = 'customresourcedefinitions';

/** The spec of a CustomResourceDefinition, as far as this server acts on it. */
export interface DefinitionSpec {
  readonly group: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly names: {
    readonly plural: string;
    readonly singular: string;
    readonly kind: string;
    readonly listKind: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  };
  readonly versions: readonly DefinedVersion[];
}

interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: JsonSchema };
  readonly subresources?: {
    readonly status?: object;
    readonly scale?: ScalePaths;
  };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export interface CustomKind {
  readonly type: ResourceType;
  readonly version: DefinedVersion;
  readonly json: JsonSchema;
  readonly schema: StructSchema;
}

export class KindTable {
  readonly #store: ObjectStore;
  #custom: readonly CustomKind[] | undefined;
  #types: readonly ResourceType[] = RESOURCE_TYPES;
  /** By `apiVersion|plural`: every request looks here. */
  #byPlural: ReadonlyMap<string, ResourceType> = new Map();

  constructor(store: ObjectStore) {
    this.#store = store;
    store.subscribe(({ storage }) => {
      if (storage === DEFINITIONS) this.#custom = undefined;
    });
  }

  types(): readonly ResourceType[] {
    this.#read();
    return this.#types;
  }

  find(apiVersion: string, plural: string): ResourceType | undefined {
    this.#read();
    return this.#byPlural.get(`${apiVersion}|${plural}`);
  }

  findKind(apiVersion: string, kind: string): ResourceType | undefined {
    return this.types().find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
  }

  /** undefined for a built-in kind. */
  custom(type: ResourceType): CustomKind | undefined {
    return type.custom === undefined
      ? undefined
      : this.#read().find(({ type: { version, storage } }) => version === type.version && storage === type.storage);
  }

  /** The stored object of a kind. */
  stored(
    { storage }: Pick<ResourceType, 'storage'>,
    { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
  ): KubeObject | undefined {
    return this.#store.get(storage, `${namespace ?? ''}/${name}`);
  }

  /** undefined: this server does not know the fields of the kind. */
  schemaOf(type: ResourceType): StructSchema | undefined {
    return type.custom === undefined ? builtInSchema(type) : this.custom(type)?.schema;
  }

  #read(): readonly CustomKind[] {
    if (this.#custom !== undefined) return this.#custom;
    this.#custom = this.#store.list(DEFINITIONS).filter(isEstablished).flatMap(customKinds);
    this.#types = [...RESOURCE_TYPES, ...this.#custom.map(({ type }) => type)];
    this.#byPlural = new Map(this.#types.map((type) => [`${apiVersionOf(type)}|${type.plural}`, type]));
    return this.#custom;
  }
}

function isEstablished({ status }: KubeObject): boolean {
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  return conditions.some((condition) => isRecord(condition) && condition['type'] === 'Established' && condition['status'] === 'True');
}

function customKinds({ spec }: KubeObject): readonly CustomKind[] {
  const definition = spec as DefinitionSpec;
  return definition.versions
    .filter(({ served }) => served)
    .map((version) => {
      const json = version.schema?.openAPIV3Schema ?? {};
      return { type: typeOf(definition, version), version, json, schema: structOfCustomKind(json) };
    });
}

function typeOf({ group, scope, names }: DefinitionSpec, version: DefinedVersion): ResourceType {
  const { name, subresources, selectableFields = [], additionalPrinterColumns } = version;
  return {
    group,
    version: name,
    plural: names.plural,
    singular: names.singular,
    kind: names.kind,
    shortNames: names.shortNames ?? [],
    namespaced: scope === 'Namespaced',
    inAll: names.categories?.includes('all') === true,
    subresources: [
      ...(subresources?.status === undefined ? [] : ['status' as const]),
      ...(subresources?.scale === undefined ? [] : ['scale' as const]),
    ],
    fields: selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
    storage: `${names.plural}.${group}`,
    hasGeneration: true,
    custom: {
      columns: additionalPrinterColumns ?? [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
      ...defined({ scale: subresources?.scale, deprecation: deprecationOf(`${group}/${name} ${names.kind}`, version) }),
    },
  };
}

function deprecationOf(what: string, { deprecated, deprecationWarning }: DefinedVersion): string | undefined {
  return deprecated === true ? (deprecationWarning ?? `${what} is deprecated`) : undefined;
}
