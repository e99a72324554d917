/** Pods of StatefulSets and pods without a controller, which the small cluster has no controller for. */
import type { SimClock } from '../../simulator/base/sim-clock.ts';
import type { SimCluster } from '../../simulator/cluster/cluster.ts';
import type { KubeObject, ObjectDraft, PodTemplate } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';
import type { Workload } from '../loads/load.ts';
import { objectName, podTemplateOf, statefulSetObject } from './workload-objects.ts';

const REPLACE_AFTER_MS = 1_000;

/** A pod of a controller; with a `name` or a generated one. */
export function ownedPod(owner: KubeObject, template: PodTemplate, { name }: { readonly name?: string }): ObjectDraft {
  const { apiVersion, kind, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      ...(name === undefined ? { generateName: `${metadata.name}-` } : { name }),
      namespace: metadata.namespace ?? 'default',
      ownerReferences: [reference],
    },
    spec: template.spec,
  };
}

interface OrdinalSet {
  workload: Workload;
  wanted: number;
  /** The StatefulSet; undefined: its pods have no controller and are not replaced. */
  owner: KubeObject | undefined;
}

/** Pods with ordinal names: `NAME-0`, `NAME-1`, ... */
export class OrdinalPods {
  readonly #cluster: SimCluster;
  readonly #clock: SimClock;
  /** By namespace and name of the object. */
  readonly #sets = new Map<string, OrdinalSet>();

  constructor(cluster: SimCluster, clock: SimClock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** Brings the workload to this many pods. New pods have the present template. */
  scale(workload: Workload, wanted: number): void {
    const name = objectName(workload);
    const key = `${workload.namespace}/${name}`;
    const before = this.#sets.get(key);
    const owner = workload.kind === 'StatefulSet' ? this.#cluster.apply(statefulSetObject(workload, wanted)) : undefined;
    const set: OrdinalSet = { workload, wanted, owner };
    this.#sets.set(key, set);
    for (let at = before?.wanted ?? 0; at < wanted; at++) this.#create(set, `${name}-${at}`);
    for (let at = (before?.wanted ?? 0) - 1; at >= wanted; at--) this.#remove(workload, `${name}-${at}`);
  }

  /** Call it for every change of a pod: a pod of a StatefulSet that is gone is created again. */
  note({ type, object }: StoreChange): void {
    const { namespace = 'default', name } = object.metadata;
    const [, base = '', ordinal = ''] = /^(.*)-(\d+)$/.exec(name) ?? [];
    const key = `${namespace}/${base}`;
    const set = this.#sets.get(key);
    if (type !== 'DELETED' || set?.owner === undefined || Number(ordinal) >= set.wanted) return;
    this.#clock.after(REPLACE_AFTER_MS, () => {
      const now = this.#sets.get(key);
      if (now !== undefined && Number(ordinal) < now.wanted) this.#create(now, name);
    });
  }

  #create({ workload, owner }: OrdinalSet, name: string): void {
    if (this.#cluster.store.get('pods', workload.namespace, name) !== undefined) return;
    const template = podTemplateOf(workload);
    const bare = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name, namespace: workload.namespace },
      spec: template.spec,
    };
    this.#cluster.apply(owner === undefined ? bare : ownedPod(owner, template, { name }));
  }

  #remove({ namespace }: Workload, name: string): void {
    const pod = this.#cluster.store.get('pods', namespace, name);
    if (pod !== undefined) this.#cluster.remove(pod);
  }
}
