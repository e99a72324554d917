/** What the admission plug-ins of an API server write into new objects, and what they turn away: RuntimeClass, default storage class. */
import type { KubeObject, ObjectDraft, PodSpec, RuntimeClassObject, StringMap } from './objects.ts';
import { isRecord, sameJson } from './json-values.ts';
import type { ResourceType } from './resource-types.ts';
import { refuse, success, type Result } from './status.ts';
import type { ObjectStore } from './store.ts';

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

/** Refuses with 403 what the plug-ins refuse. */
export function admit(type: ResourceType, draft: ObjectDraft, store: ObjectStore): Result<ObjectDraft> {
  if (type.storage === 'pods') return admitPod(draft, store);
  if (type.storage === 'persistentvolumeclaims') return success(withClass(draft, store));
  return success(draft);
}

/** The overhead and the scheduling of its RuntimeClass become the pod's own: the scheduler never looks at the class. */
function admitPod(draft: ObjectDraft, store: ObjectStore): Result<ObjectDraft> {
  const spec = (isRecord(draft.spec) ? draft.spec : {}) as Partial<PodSpec>;
  const { runtimeClassName, overhead } = spec;
  if (runtimeClassName === undefined) {
    const set = Object.keys(overhead ?? {}).length > 0;
    return set ? rejected(draft, 'Pod Overhead set without corresponding RuntimeClass defined Overhead') : success(draft);
  }
  const found = store.get('runtimeclasses', `/${runtimeClassName}`) as RuntimeClassObject | undefined;
  if (found === undefined) return rejected(draft, `RuntimeClass "${runtimeClassName}" not found`);
  const fixed = found.overhead?.podFixed;
  if (overhead !== undefined && !sameJson(overhead, fixed ?? {}))
    return rejected(draft, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  const conflict = conflictOf(found.scheduling?.nodeSelector ?? {}, spec.nodeSelector ?? {});
  if (conflict !== undefined) return rejected(draft, conflict);
  return success({ ...draft, spec: withClassOf(found, spec) });
}

function withClassOf({ overhead, scheduling = {} }: RuntimeClassObject, spec: Partial<PodSpec>): Partial<PodSpec> {
  const { nodeSelector = {}, tolerations = [] } = scheduling;
  const own = spec.tolerations ?? [];
  const fixed = overhead?.podFixed;
  return {
    ...spec,
    ...(fixed === undefined ? {} : { overhead: fixed }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }),
    ...(tolerations.length === 0
      ? {}
      : { tolerations: [...own, ...tolerations.filter((one) => !own.some((other) => sameJson(one, other)))] }),
  };
}

function conflictOf(wanted: StringMap, own: StringMap): string | undefined {
  const key = Object.keys(wanted).find((label) => own[label] !== undefined && own[label] !== wanted[label]);
  if (key === undefined) return undefined;
  return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${wanted[key] ?? ''}; pod.spec.nodeSelector[${key}] = ${own[key] ?? ''}`;
}

function rejected({ metadata }: ObjectDraft, why: string): Result<ObjectDraft> {
  return refuse(403, 'Forbidden', `pods "${metadata.name ?? ''}" is forbidden: pod rejected: ${why}`);
}

/** A claim that names no class gets the default one; of several the newest. */
function withClass(draft: ObjectDraft, store: ObjectStore): ObjectDraft {
  const spec = isRecord(draft.spec) ? draft.spec : {};
  if (spec['storageClassName'] !== undefined) return draft;
  const defaults = store.list('storageclasses').filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true');
  const newest = defaults.toSorted((left, right) => ageOrder(left, right)).at(-1);
  return newest === undefined ? draft : { ...draft, spec: { ...spec, storageClassName: newest.metadata.name } };
}

function ageOrder(left: KubeObject, right: KubeObject): number {
  return left.metadata.creationTimestamp.localeCompare(right.metadata.creationTimestamp);
}
