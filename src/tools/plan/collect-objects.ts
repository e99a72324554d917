/** Keeps of the objects of a file what a plan reads, as they come: a file may be larger than memory. */
import type { Pod } from '../../domain/pod.ts';
import { isOwnerKind } from '../../domain/workloads.ts';
import type { PodJson } from '../../kubernetes/api/core-json.ts';
import type { PodProjection } from '../../kubernetes/projection/pod.ts';
import { newestTime } from './files/newest-time.ts';
import { OBJECT_SCHEMAS } from './files/object-schemas.ts';
import type { FileObject } from './files/objects-file.ts';
import { isComplete, readPod } from './read-pod.ts';

export interface FileCluster {
  /** Everything but pods. */
  readonly objects: readonly FileObject[];
  /** All kinds of the file, also those that no plan reads. */
  readonly kinds: ReadonlySet<string>;
  readonly pods: readonly Pod[];
  /** Pods that can only be read together with other objects. */
  readonly podObjects: readonly PodJson[];
  /** The newest time in the objects, usually a node's last heartbeat, so that the same file always gives the same plan. 0 if there is none. */
  readonly newestMs: number;
}

export class ObjectCollector implements FileCluster {
  readonly objects: FileObject[] = [];
  readonly kinds = new Set<string>();
  readonly pods: Pod[] = [];
  readonly podObjects: PodJson[] = [];
  newestMs = 0;
  readonly #projection: PodProjection;

  constructor(projection: PodProjection) {
    this.#projection = projection;
  }

  add(object: FileObject): void {
    this.kinds.add(object.kind);
    this.newestMs = Math.max(this.newestMs, newestTime(object as PodJson, object.kind));
    if (object.kind === 'Pod') this.#addPod(object as PodJson);
    else if (OBJECT_SCHEMAS.has(object.kind)) this.objects.push(smaller(object));
  }

  #addPod(json: PodJson): void {
    if (isComplete(json)) this.pods.push(readPod(json, { pods: this.#projection, priorities: new Map(), runtimes: new Map() }));
    else this.podObjects.push(json);
  }
}

/** Without the largest parts that no plan reads. There may be a hundred thousand old ReplicaSets. */
function smaller(object: FileObject): FileObject {
  const { kind } = object;
  if (kind === 'Node') return withoutImages(object);
  if (!isOwnerKind(kind)) return object;
  const { apiVersion, metadata, spec } = object as SizedWorkload;
  return { kind, apiVersion, metadata: { name: metadata.name, namespace: metadata.namespace }, spec: { replicas: spec?.replicas } };
}

interface SizedWorkload extends FileObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly replicas?: number };
}

function withoutImages({ metadata, status, ...node }: FileObject): FileObject {
  const { managedFields: _fields, ...meta } = metadata as Readonly<Record<string, unknown>>;
  const { images: _images, ...state } = status as Readonly<Record<string, unknown>>;
  return { ...node, kind: 'Node', metadata: meta, status: state };
}
