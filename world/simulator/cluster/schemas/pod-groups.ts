/**
 * Pods that start together, of Kubernetes 1.36 (`k8s.io/api` v0.36.3: `core/v1` and `scheduling/v1alpha2`), which is newer than the table of
 * kinds. A real API server has the kind built in and serves it if `GenericWorkload` and the API version are enabled. A world serves it once
 * this definition was applied, and its scheduler acts on it only then.
 */
import { isRecord } from '../store/patches.ts';
import type { PodObject } from '../store/objects.ts';
import type { ObjectStore } from '../store/store.ts';

/** Where the objects are stored. */
export const POD_GROUPS = 'podgroups.scheduling.k8s.io';

/** Rows of the table of kinds. */
export const POD_GROUP_ROWS = 'core.v1.PodSchedulingGroup: podGroupName=s';
/** Fields of rows that the table has. */
export const POD_GROUP_FIELDS: Readonly<Record<string, readonly string[]>> = {
  'core.v1.PodSpec': ['schedulingGroup=core.v1.PodSchedulingGroup'],
};

const POLICY = {
  type: 'object',
  properties: {
    basic: { type: 'object' },
    gang: { type: 'object', required: ['minCount'], properties: { minCount: { type: 'integer', minimum: 1 } } },
  },
};

export const POD_GROUP_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: POD_GROUPS, annotations: { 'api-approved.kubernetes.io': 'https://kep.k8s.io/4671' } },
  spec: {
    group: 'scheduling.k8s.io',
    scope: 'Namespaced',
    names: { plural: 'podgroups', singular: 'podgroup', kind: 'PodGroup' },
    versions: [
      {
        name: 'v1alpha2',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['schedulingPolicy'],
                properties: { schedulingPolicy: POLICY, disruptionMode: { type: 'string', enum: ['Pod', 'PodGroup'] } },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
};

/** Whether this world serves pod groups. */
export function servesPodGroups(store: ObjectStore): boolean {
  return store.get('customresourcedefinitions', `/${POD_GROUPS}`) !== undefined;
}

/** `namespace/name` of the pod's group; undefined: it has none. */
export function podGroupKeyOf({ metadata, spec }: PodObject): string | undefined {
  const group = spec['schedulingGroup'];
  const name = isRecord(group) ? group['podGroupName'] : undefined;
  return typeof name === 'string' && name !== '' ? `${metadata.namespace ?? ''}/${name}` : undefined;
}
