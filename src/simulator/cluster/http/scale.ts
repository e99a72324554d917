/** The scale subresource: replicas of a workload under the autoscaling/v1 name. */
import type { KubeObject, ReplicatedObject } from '../objects.ts';
import { isRecord } from '../json-values.ts';

/** What `/scale` shows of a workload. */
export function scaleOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as ReplicatedObject;
  const selector = Object.entries(spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    },
    spec: { replicas: spec.replicas ?? 1 },
    status: { replicas: status?.replicas ?? 0, selector: selector.join(',') },
  };
}

/** The workload with the replicas of a Scale; undefined when the Scale names none. */
export function scaled(object: KubeObject, scale: unknown): KubeObject | undefined {
  const spec = isRecord(scale) && isRecord(scale['spec']) ? scale['spec'] : {};
  const replicas = spec['replicas'] ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0 || !isRecord(object.spec)) return undefined;
  const version = isRecord(scale) && isRecord(scale['metadata']) ? scale['metadata']['resourceVersion'] : undefined;
  const metadata = typeof version === 'string' && version !== '' ? { ...object.metadata, resourceVersion: version } : object.metadata;
  return { ...object, metadata, spec: { ...object.spec, replicas } };
}
