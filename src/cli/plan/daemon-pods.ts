/** What runs on every node of a pool, learned from the one that speaks for it: DaemonSets may be missing from a file, or say less. */
import { podName } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import type { PodSpecJson } from '../../kubernetes/api/core-json.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';
import { defined } from '../../lib/defined.ts';

const POOL_LABEL = 'kubernetes.azure.com/agentpool';

/** What pods of DaemonSets ask for on a real node. */
export function daemonRequests(pods: readonly Pod[]): Pick<NodeTemplate, 'daemonRequests'> {
  const daemons = pods.filter((pod) => pod.daemonSet && isLasting(pod));
  return daemons.length === 0 ? {} : { daemonRequests: new Map(daemons.map((pod) => [ownerName(pod), pod.shape.requests])) };
}

/**
 * Stand-ins for what a new node of the pool would run and no DaemonSet of the file says, where the file holds no
 * DaemonSets. The controller pins its pods to their node; what else they select stays.
 */
export function standIns(pool: string, pods: readonly Pod[]): readonly DaemonSet[] {
  return pods
    .filter((pod) => isLasting(pod) && pod.daemonSet)
    .map((pod) => ({
      uid: `${pod.uid}@${pool}`,
      namespace: pod.namespace,
      name: pod.controller?.name ?? pod.name,
      shape: {
        ...pod.shape,
        key: `${pod.shape.key}@${pool}`,
        nodeAffinity: undefined,
        nodeSelector: { ...pod.shape.nodeSelector, [POOL_LABEL]: pool },
      },
    }));
}

function isLasting({ phase, deletionAtMs }: Pod): boolean {
  return deletionAtMs === undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

function ownerName(pod: Pod): string {
  return pod.controller === undefined ? podName(pod) : `${pod.namespace}/${pod.controller.name}`;
}

// What the API server writes into a pod that names a RuntimeClass, for pods that have not met it.

export interface RuntimeClassJson {
  readonly metadata: { readonly name: string };
  readonly overhead?: { readonly podFixed?: PodSpecJson['overhead'] };
  readonly scheduling?: Pick<PodSpecJson, 'nodeSelector' | 'tolerations'>;
}

/** The class's overhead, unless the pod has one, and what it says of nodes; the pod's own selector and tolerations stay. */
export function withRuntime(spec: PodSpecJson, runtime: RuntimeClassJson | undefined): PodSpecJson {
  if (runtime === undefined || spec.nodeName !== undefined || spec.overhead !== undefined) return spec;
  const { overhead = {}, scheduling = {} } = runtime;
  return {
    ...spec,
    ...defined({ overhead: overhead.podFixed }),
    nodeSelector: { ...scheduling.nodeSelector, ...spec.nodeSelector },
    tolerations: [...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])],
  };
}
