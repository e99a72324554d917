/** The scale subresource: replicas of a workload, or of a custom kind by the paths of its definition, under the autoscaling/v1 name. */
import type { KubeObject, ReplicatedObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import type { ResourceType, ScalePaths } from '../store/resource-types.ts';
import { valueAt, withValueAt } from './json-path.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** The `/scale` document of an object. */
export function scaleOf(type: ResourceType, object: KubeObject): KubeObject {
  const { metadata } = object;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      ...defined({ namespace: metadata.namespace }),
    },
    ...(type.custom?.scale === undefined ? scaleOfWorkload(object as ReplicatedObject) : scaleOfCustom(object, type.custom.scale)),
  };
}

function scaleOfWorkload({ spec, status }: ReplicatedObject): Pick<KubeObject, 'spec' | 'status'> {
  const selector = Object.entries(spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return { spec: { replicas: spec.replicas ?? 1 }, status: { replicas: status?.replicas ?? 0, selector: selector.join(',') } };
}

function scaleOfCustom(object: KubeObject, paths: ScalePaths): Pick<KubeObject, 'spec' | 'status'> {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = paths;
  const selector = labelSelectorPath === undefined ? undefined : valueAt(object, labelSelectorPath);
  return {
    spec: { replicas: valueAt(object, specReplicasPath) ?? 0 },
    status: { replicas: valueAt(object, statusReplicasPath) ?? 0, ...(selector === undefined ? {} : { selector }) },
  };
}

/** The object with the replicas of a Scale; undefined if the Scale has no valid number of replicas. */
export function withScale(type: ResourceType, object: KubeObject, scale: unknown): KubeObject | undefined {
  const spec = isRecord(scale) && isRecord(scale['spec']) ? scale['spec'] : {};
  const replicas = spec['replicas'] ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0 || !isRecord(object.spec)) return undefined;
  const version = isRecord(scale) && isRecord(scale['metadata']) ? scale['metadata']['resourceVersion'] : undefined;
  const metadata = typeof version === 'string' && version !== '' ? { ...object.metadata, resourceVersion: version } : object.metadata;
  const path = type.custom?.scale?.specReplicasPath ?? '.spec.replicas';
  return { ...(withValueAt(object, path, replicas) as KubeObject), metadata };
}
