/** The kinds of storage, as far as the small scheduler and the controllers read them. */
import type { ClaimSpec, KubeObject, NodeSelectorTerm, PodVolume, Quantities, ObjectDraft } from './objects.ts';
import { isRecord } from './patches.ts';
import { apiVersionOf, type ResourceType } from './resource-types.ts';

export interface ClaimObject extends KubeObject {
  readonly spec: ClaimSpec;
  readonly status?: { readonly phase?: string };
}

export interface VolumeObject extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: Quantities;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    readonly csi?: { readonly driver: string; readonly volumeHandle?: string };
    readonly azureDisk?: PodVolume['azureDisk'];
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] } };
    readonly persistentVolumeReclaimPolicy?: string;
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClassObject extends KubeObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: string;
  readonly reclaimPolicy?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export interface CsiDriverObject extends KubeObject {
  readonly spec: { readonly preventPodSchedulingIfMissing?: boolean };
}

export interface CsiNodeObject extends KubeObject {
  readonly spec: { readonly drivers?: readonly { readonly name: string; readonly allocatable?: { readonly count?: number } }[] };
}

// Events are stored in the core form; `events.k8s.io/v1` shows the same objects with other field names.

/** Newer name -> core name, for fields that differ only by name. */
const RENAMED: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedCount', 'count'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
];

function renamed(object: Readonly<Record<string, unknown>>, names: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]));
}

const TO_CORE = new Map(RENAMED);
const FROM_CORE = new Map(RENAMED.map(([newer, core]) => [core, newer]));

/** An object as clients of that group and version see it. */
export function encodeObject(type: ResourceType, object: KubeObject): KubeObject {
  // All versions of a custom kind have the same content: nothing converts between them.
  if (type.custom !== undefined) return { ...object, apiVersion: apiVersionOf(type) };
  if (type.group !== 'events.k8s.io') return object;
  const { apiVersion: _apiVersion, kind, metadata, ...rest } = object;
  return { ...renamed(rest, FROM_CORE), apiVersion: 'events.k8s.io/v1', kind, metadata };
}

/** The inverse of {@link encodeObject}. */
export function decodeObject(type: ResourceType, draft: ObjectDraft): ObjectDraft {
  if (type.group !== 'events.k8s.io') return draft;
  const { apiVersion: _apiVersion, kind, metadata, ...rest } = draft;
  const core = renamed(rest, TO_CORE);
  const series = core['series'];
  const count = isRecord(series) && typeof series['count'] === 'number' ? { count: series['count'] } : {};
  return { ...core, ...count, apiVersion: 'v1', kind, metadata };
}
