/** Reads pods from the manifests of `--add-pods`, with one pod for each replica of a workload. */
import type { ClaimSpecJson, PodJson, PodSpecJson } from '../../kubernetes/api/core-json.ts';
import { claimWish } from '../../kubernetes/projection/storage.ts';
import type { FileObject } from './files/objects-file.ts';
import { configError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodClaim } from '../../domain/volumes.ts';
import type { ObjectReader } from './cluster-from-file.ts';
import { readPod } from './read-pod.ts';
import { defined } from '../../lib/defined.ts';

const MOST_REPLICAS = 200_000;
const WORKLOADS = ['Deployment', 'ReplicaSet', 'ReplicationController', 'StatefulSet', 'Job', 'CronJob'];
/** Kinds that manifests contain beside workloads and that do not affect pods. */
const IGNORED = new Set(
  `Service ConfigMap Secret ServiceAccount Namespace Role RoleBinding ClusterRole ClusterRoleBinding Ingress NetworkPolicy
  PodDisruptionBudget HorizontalPodAutoscaler`.split(/\s+/),
);

/** Kinds that pods refer to. */
const AFFECTS_PODS = new Set(
  `PersistentVolumeClaim PersistentVolume StorageClass PriorityClass RuntimeClass ResourceClaim ResourceClaimTemplate`.split(/\s+/),
);

/** Whether pods may refer to the object. */
export function affectsPods({ kind }: FileObject): boolean {
  return AFFECTS_PODS.has(kind);
}

/** The owner of the pods, for workloads that create another workload first. */
const OWNERS: Readonly<Record<string, string>> = { Deployment: 'ReplicaSet', CronJob: 'Job' };

/** @throws AutoscalerError `config` for a kind that creates no pods. */
export function podsToAdd(objects: readonly FileObject[], reader: ObjectReader, cluster: ClusterView): readonly Pod[] {
  const taken = new Set([...cluster.pendingPods, ...[...cluster.podsByNode.values()].flat()].map(podName));
  const pods = objects.flatMap((object) => podsOf(object, reader, taken));
  for (const pod of pods) reader.storage.podChanged(undefined, pod);
  const view = { nodes: new Map(), podsByNode: new Map(), pendingPods: pods, daemonSets: [] };
  return reader.devices.resolve(reader.storage.resolve(view)).pendingPods;
}

/** Adds the names of the pods to `taken`. */
function podsOf(object: FileObject, reader: ObjectReader, taken: Set<string>): readonly Pod[] {
  if (IGNORED.has(object.kind) || affectsPods(object)) return [];
  if (object.kind === 'CronJob') return replicasOf(oneRunOf(object as CronJob), reader, taken);
  if (WORKLOADS.includes(object.kind)) return replicasOf(object as Workload, reader, taken);
  if (object.kind !== 'Pod')
    throw configError(`--add-pods: ${object.kind} creates no pods; accepted kinds are Pod, ${WORKLOADS.join(', ')}.`);
  const pod = readPod(withoutNode(object as PodJson), reader);
  if (taken.has(podName(pod))) throw configError(`Pod ${podName(pod)}: metadata.name is in use already; it must be a new name.`);
  taken.add(podName(pod));
  return [pod];
}

interface ClaimTemplate {
  readonly metadata: { readonly name: string };
  readonly spec: ClaimSpecJson;
}

interface Workload extends FileObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly suspend?: boolean;
    readonly template?: { readonly metadata?: PodJson['metadata']; readonly spec: PodSpecJson };
    readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  };
}

interface CronJob extends FileObject {
  readonly metadata: Workload['metadata'];
  readonly spec?: { readonly suspend?: boolean; readonly jobTemplate?: Pick<Workload, 'spec'> };
}

function oneRunOf({ kind, metadata, spec: { suspend = false, jobTemplate = {} } = {} }: CronJob): Workload {
  return { kind, metadata, spec: { ...jobTemplate.spec, ...(suspend ? { suspend } : {}) } };
}

function replicasOf(workload: Workload, reader: ObjectReader, taken: Set<string>): readonly Pod[] {
  const { kind, metadata, spec = {} } = workload;
  const { template } = spec;
  if (template === undefined) throw configError(`${kind} ${metadata.name}: spec.template is missing; it must be a map.`);
  const replicas = replicaCount(workload);
  const namespace = metadata.namespace ?? 'default';
  const owner = {
    kind: OWNERS[kind] ?? kind,
    name: metadata.name,
    uid: `what-if/${namespace}/${metadata.name}`,
    controller: true,
  };
  const first = readPod(
    { metadata: { ...template.metadata, namespace, name: metadata.name, ownerReferences: [owner] }, spec: template.spec },
    reader,
  );
  const templates = kind === 'StatefulSet' ? (spec.volumeClaimTemplates ?? []) : [];
  return freeNames(metadata.name, { namespace, count: replicas }, taken).map((name) => {
    const claims = [...first.mounts.claims, ...templates.map((template) => claimFrom(template, { namespace, name }, reader))];
    return { ...first, name, uid: `${owner.uid}/${name}`, mounts: { ...first.mounts, claims } };
  });
}

/** How many pods exist at a time. */
function replicaCount({ kind, metadata, spec = {} }: Workload): number {
  const { parallelism = 1, completions = parallelism, suspend = false } = spec;
  if (suspend) return 0;
  const [field, count] =
    kind === 'Job' || kind === 'CronJob' ? ['parallelism', Math.min(parallelism, completions)] : ['replicas', spec.replicas ?? 1];
  if (count <= MOST_REPLICAS) return count;
  throw configError(`${kind} ${metadata.name}: spec.${field} is ${count}; it must be at most ${MOST_REPLICAS}.`);
}

/** Returns names with the lowest numbers that are not taken. */
function freeNames(
  base: string,
  { namespace, count }: { readonly namespace: string; readonly count: number },
  taken: Set<string>,
): string[] {
  const names: string[] = [];
  for (let at = 0; names.length < count; at++) {
    const name = `${base}-${at}`;
    const key = podName({ namespace, name });
    if (taken.has(key)) continue;
    taken.add(key);
    names.push(name);
  }
  return names;
}

/** A StatefulSet creates the claims of a pod before the pod. A claim of an earlier pod of the same name is reused. */
function claimFrom(
  { metadata, spec }: ClaimTemplate,
  pod: { readonly namespace: string; readonly name: string },
  { storage }: ObjectReader,
): PodClaim {
  const name = `${metadata.name}-${pod.name}`;
  return storage.hasClaim(`${pod.namespace}/${name}`) ? { name, ephemeral: undefined } : { name, ephemeral: claimWish(spec) };
}

function withoutNode(json: PodJson): PodJson {
  const { nodeName: _node, ...spec } = json.spec ?? {};
  return { ...defined({ metadata: json.metadata }), spec };
}
