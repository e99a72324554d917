/** What the API server writes into a pod that names a RuntimeClass, for pods that have not met it. */
import type { PodSpecJson } from '../../adapters/kubernetes/api-json.ts';

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
    ...(overhead.podFixed === undefined ? {} : { overhead: overhead.podFixed }),
    nodeSelector: { ...scheduling.nodeSelector, ...spec.nodeSelector },
    tolerations: [...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])],
  };
}
