/** Pods that are not there yet, from manifests: what would be if they came? */
import type { ClaimSpecJson, PodJson, PodSpecJson } from '../../kubernetes/api/core-json.ts';
import { claimWish } from '../../kubernetes/projection/storage.ts';
import type { FileObject } from './files/objects-file.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodClaim } from '../../domain/volumes.ts';
import { readPod, type Reading } from './cluster-from-file.ts';
import { defined } from '../../lib/defined.ts';

const MOST_REPLICAS = 200_000;
const MAKERS = ['Deployment', 'ReplicaSet', 'ReplicationController', 'StatefulSet', 'Job', 'CronJob'];
/** What stands beside workloads in manifests and makes no pods, nor says anything of theirs. */
const BESIDE = new Set(
  `Service ConfigMap Secret ServiceAccount Namespace Role RoleBinding ClusterRole ClusterRoleBinding Ingress NetworkPolicy
  PodDisruptionBudget HorizontalPodAutoscaler`.split(/\s+/),
);

/** What stands beside them and says something of their pods. */
const OF_USE = new Set(
  `PersistentVolumeClaim PersistentVolume StorageClass PriorityClass RuntimeClass ResourceClaim ResourceClaimTemplate`.split(/\s+/),
);

/** Whether pods may mean the object. */
export function isOfUse({ kind }: FileObject): boolean {
  return OF_USE.has(kind);
}

/** Who owns the pods of those that make others first. */
const OWNERS: Readonly<Record<string, string>> = { Deployment: 'ReplicaSet', CronJob: 'Job' };

/** The pods of the manifests, and one for each replica of their workloads. @throws AutoscalerError `config` for what makes none. */
export function podsToAdd(objects: readonly FileObject[], reading: Reading, cluster: ClusterView): readonly Pod[] {
  const taken = new Set([...cluster.pendingPods, ...[...cluster.podsByNode.values()].flat()].map(podName));
  const pods = objects.flatMap((object) => madeFrom(object, reading, taken));
  for (const pod of pods) reading.storage.podChanged(undefined, pod);
  const view = { nodes: new Map(), podsByNode: new Map(), pendingPods: pods, daemonSets: [] };
  return reading.devices.resolve(reading.storage.resolve(view)).pendingPods;
}

/** Adds to the names that are `taken`. */
function madeFrom(object: FileObject, reading: Reading, taken: Set<string>): readonly Pod[] {
  if (BESIDE.has(object.kind) || isOfUse(object)) return [];
  if (object.kind === 'CronJob') return replicasOf(oneRunOf(object as CronJob), reading, taken);
  if (MAKERS.includes(object.kind)) return replicasOf(object as Workload, reading, taken);
  if (object.kind !== 'Pod') throw mistake(`${object.kind} is no kind that pods are made from; accepted are Pod, ${MAKERS.join(', ')}.`);
  const pod = readPod(withoutNode(object as PodJson), reading);
  if (taken.has(podName(pod))) throw mistake(`Pod ${podName(pod)}: metadata.name is there already.`);
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

function replicasOf(workload: Workload, reading: Reading, taken: Set<string>): readonly Pod[] {
  const { kind, metadata, spec = {} } = workload;
  const { template } = spec;
  if (template === undefined) throw mistake(`${kind} ${metadata.name}: spec.template is missing; accepted is a map.`);
  const replicas = countOf(workload);
  const namespace = metadata.namespace ?? 'default';
  const owner = {
    kind: OWNERS[kind] ?? kind,
    name: metadata.name,
    uid: `what-if/${namespace}/${metadata.name}`,
    controller: true,
  };
  const first = readPod(
    { metadata: { ...template.metadata, namespace, name: metadata.name, ownerReferences: [owner] }, spec: template.spec },
    reading,
  );
  const templates = kind === 'StatefulSet' ? (spec.volumeClaimTemplates ?? []) : [];
  return freeNames(metadata.name, { namespace, count: replicas }, taken).map((name) => {
    const claims = [...(first.claims ?? []), ...templates.map((template) => claimFrom(template, { namespace, name }, reading))];
    return { ...first, name, uid: `${owner.uid}/${name}`, ...(claims.length === 0 ? {} : { claims }) };
  });
}

/** How many pods there are at a time. */
function countOf({ kind, metadata, spec = {} }: Workload): number {
  const { parallelism = 1, completions = parallelism, suspend = false } = spec;
  if (suspend) return 0;
  const [field, count] =
    kind === 'Job' || kind === 'CronJob' ? ['parallelism', Math.min(parallelism, completions)] : ['replicas', spec.replicas ?? 1];
  if (count <= MOST_REPLICAS) return count;
  throw mistake(`${kind} ${metadata.name}: spec.${field} is ${count}; accepted are ${MOST_REPLICAS} at most.`);
}

/** The next numbers that no pod of the name has. */
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

/** A StatefulSet makes the claims of its pods before them, unless they are left from an earlier life. */
function claimFrom(
  { metadata, spec }: ClaimTemplate,
  pod: { readonly namespace: string; readonly name: string },
  { storage }: Reading,
): PodClaim {
  const name = `${metadata.name}-${pod.name}`;
  return storage.hasClaim(`${pod.namespace}/${name}`) ? { name } : { name, ephemeral: claimWish(spec) };
}

function withoutNode(json: PodJson): PodJson {
  const { nodeName: _node, ...spec } = json.spec ?? {};
  return { ...defined({ metadata: json.metadata }), spec };
}

function mistake(sentence: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, sentence);
}
