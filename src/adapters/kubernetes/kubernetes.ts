/**
 * The Kubernetes side: watches, projection to domain values, taints, evictions, events, the lease. Knows the API's JSON
 * and nothing of Azure, of planning or of the loop. No API type leaves this folder.
 */
import type { Clock } from '../../domain/clock.ts';
import { AutoscalerError } from '../../domain/errors.ts';
import type { Random } from '../../domain/random.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Kubernetes, KubernetesOptions } from './options.ts';

export type { ConfigMapContent, Kubernetes, KubernetesOptions } from './options.ts';

export interface KubernetesDeps {
  readonly options: KubernetesOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
}

/**
 * Opens the connections and proves that the API server answers. Starts no watch: `reader.start` does.
 * @throws AutoscalerError `config` (kubeconfig unreadable), `auth`, `unavailable` (nobody answers).
 */
export async function connectKubernetes(deps: KubernetesDeps): Promise<Kubernetes> {
  throw new AutoscalerError({ kind: 'bug' }, `Not connected yet to ${deps.options.namespace}: under construction.`);
}
