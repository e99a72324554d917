/**
 * VerticalPodAutoscalers, for worlds that apply this definition (kubernetes/autoscaler, `vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go`).
 * The world has their admission controller: new pods get the target of the recommendation that the object has. It has no recommender and no
 * updater: the test or the person that plays them writes the status, and resizes or evicts pods.
 */
import type { ContainerSpec, KubeObject, ObjectDraft, PodSpec, Quantities } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import type { ObjectStore } from '../store/store.ts';

const PLURAL = 'verticalpodautoscalers';
const GROUP = 'autoscaling.k8s.io';
/** Where the objects are stored. */
const STORED = `${PLURAL}.${GROUP}`;
const MODES = ['Off', 'Initial', 'Recreate', 'InPlaceOrRecreate', 'Auto'];

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export const VERTICAL_POD_AUTOSCALER_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: STORED,
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/63797' },
  },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: PLURAL, singular: 'verticalpodautoscaler', kind: 'VerticalPodAutoscaler', shortNames: ['vpa'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['targetRef'],
                properties: {
                  targetRef: OPEN,
                  updatePolicy: { ...OPEN, properties: { updateMode: { type: 'string', enum: MODES } } },
                  resourcePolicy: OPEN,
                  recommenders: { type: 'array', items: OPEN },
                },
              },
              status: OPEN,
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
};

interface Autoscaler extends KubeObject {
  readonly spec: {
    readonly targetRef: { readonly kind: string; readonly name: string };
    readonly updatePolicy?: { readonly updateMode?: string };
    readonly resourcePolicy?: { readonly containerPolicies?: readonly ContainerPolicy[] };
  };
  readonly status?: {
    readonly recommendation?: {
      readonly containerRecommendations?: readonly { readonly containerName: string; readonly target: Quantities }[];
    };
  };
}

interface ContainerPolicy {
  readonly containerName: string;
  readonly mode?: string;
}

/** The new pod with the target of the VerticalPodAutoscaler of its workload, as its webhook patches it. Bounds of the policy are in the target already. */
export function withTarget(draft: ObjectDraft, store: ObjectStore): ObjectDraft {
  const autoscalers = store.list(STORED);
  if (autoscalers.length === 0 || !isRecord(draft.spec)) return draft;
  const workload = workloadOf(draft, store);
  const heeded = autoscalers
    .map((object) => object as Autoscaler)
    .filter(({ metadata, spec }) => metadata.namespace === draft.metadata.namespace && spec.updatePolicy?.updateMode !== 'Off')
    .filter(({ spec: { targetRef } }) => targetRef.kind === workload?.kind && targetRef.name === workload.name)
    .toSorted((left, right) => left.metadata.creationTimestamp.localeCompare(right.metadata.creationTimestamp))[0];
  if (heeded === undefined) return draft;
  const spec = draft.spec as Partial<PodSpec>;
  return { ...draft, spec: { ...spec, containers: (spec.containers ?? []).map((container) => withTargetOf(container, heeded)) } };
}

function withTargetOf(container: ContainerSpec, { spec, status }: Autoscaler): ContainerSpec {
  const policies = spec.resourcePolicy?.containerPolicies ?? [];
  const policy =
    policies.find(({ containerName }) => containerName === container.name) ?? policies.find(({ containerName }) => containerName === '*');
  const found = status?.recommendation?.containerRecommendations?.find(({ containerName }) => containerName === container.name);
  if (found === undefined || policy?.mode === 'Off') return container;
  return { ...container, resources: { ...container.resources, requests: { ...container.resources?.requests, ...found.target } } };
}

/** The controller of its controller, if there is one. */
function workloadOf({ metadata }: ObjectDraft, store: ObjectStore): { readonly kind: string; readonly name: string } | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== 'ReplicaSet') return owner;
  const set = store.get('replicasets', `${metadata.namespace ?? ''}/${owner.name}`);
  return set?.metadata.ownerReferences?.find(({ controller }) => controller === true) ?? owner;
}
