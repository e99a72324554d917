/** Pods that every node of a pool runs, learned from an exemplary node: a file may lack its DaemonSets. */
import { isCustomDaemon } from '../../azure/templates/custom-daemons.ts';
import { podName } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import type { PodSpecJson } from '../../kubernetes/api/core-json.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';
import { defined } from '../../lib/defined.ts';

const POOL_LABEL = 'kubernetes.azure.com/agentpool';

/** The requests of DaemonSet pods on a real node. */
export function daemonRequests(pods: readonly Pod[]): NodeTemplate['daemonRequests'] {
  return new Map(pods.filter((pod) => pod.daemonSet && isRunning(pod)).map((pod) => [ownerName(pod), pod.shape.requests]));
}

/**
 * DaemonSets made from the DaemonSet pods of an exemplary node, for a file without DaemonSets. The controller pins its
 * pods to their node by affinity, which is dropped here; the rest of the selector stays.
 */
export function daemonSetsFromPods(pool: string, pods: readonly Pod[]): readonly DaemonSet[] {
  return pods
    .filter((pod) => isRunning(pod) && pod.daemonSet && !isCustomDaemon(pod))
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

function isRunning({ phase, deletionAtMs }: Pod): boolean {
  return deletionAtMs === undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

function ownerName(pod: Pod): string {
  return pod.controller === undefined ? podName(pod) : `${pod.namespace}/${pod.controller.name}`;
}

export interface RuntimeClassJson {
  readonly metadata: { readonly name: string };
  readonly overhead?: { readonly podFixed?: PodSpecJson['overhead'] };
  readonly scheduling?: Pick<PodSpecJson, 'nodeSelector' | 'tolerations'>;
}

/** Adds what the API server adds for a RuntimeClass: overhead, node selector and tolerations. Does nothing if the pod has an overhead. */
export function withRuntimeClass(spec: PodSpecJson, runtime: RuntimeClassJson | undefined): PodSpecJson {
  if (runtime === undefined || spec.nodeName !== undefined || spec.overhead !== undefined) return spec;
  const { overhead = {}, scheduling = {} } = runtime;
  return {
    ...spec,
    ...defined({ overhead: overhead.podFixed }),
    nodeSelector: { ...scheduling.nodeSelector, ...spec.nodeSelector },
    tolerations: [...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])],
  };
}
