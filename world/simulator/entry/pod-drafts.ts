/** Manifests of many equal pods. */
import type { ObjectDraft } from '../cluster/store/objects.ts';

export interface PodsRequest {
  /** The name of the Deployment. */
  readonly name: string;
  readonly count: number;
  /** Requests of each pod. Default: 100m and 128Mi. */
  readonly cpu?: string;
  readonly memory?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields of the pods' spec, such as `nodeSelector` and `tolerations`. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** @internal */
export function podsOf({
  name,
  count,
  cpu = '100m',
  memory = '128Mi',
  namespace = 'default',
  labels: more = {},
  spec = {},
}: PodsRequest): ObjectDraft {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas: count,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, ...more } },
        spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu, memory } } }], ...spec },
      },
    },
  };
}
