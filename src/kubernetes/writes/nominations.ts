/**
 * Nominations of pods by server-side apply: the API server keeps who named the node. A name that kube-scheduler wrote is never replaced, and
 * only our own can be withdrawn, also after a restart or by another replica.
 */
import type { PodNominator } from '../../domain/ports/cluster-writes.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { Rest } from '../api/rest.ts';

const APPLY = 'application/apply-patch+yaml';
/** Every replica has the same. It owns the one field alone. */
const FIELD_MANAGER = 'aks-autoscaler-nominations';

export function createPodNominator(rest: Pick<Rest, 'json'>): PodNominator {
  return {
    nominate: async ({ namespace, name, uid }, node, signal) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/status`;
      // Without the uid, a new pod of the same name would be nominated.
      const metadata = { namespace, name, uid };
      const body = { apiVersion: 'v1', kind: 'Pod', metadata, status: node === undefined ? {} : { nominatedNodeName: node } };
      try {
        // guard: a nomination by another writer is never replaced
        const query = { fieldManager: FIELD_MANAGER, force: false };
        await rest.json({ method: 'PATCH', path, query, body, contentType: APPLY, operation: 'nominate', ignoresAnswer: true }, signal);
        return 'written';
      } catch (thrown) {
        const error = asAutoscalerError(thrown);
        if (isKept(error)) return 'kept';
        throw error;
      }
    },
  };
}

/** Another writer has the field, the pod is gone, or another pod has its name or is bound (HTTP 422). */
function isKept({ kind, context }: AutoscalerError): boolean {
  return kind === 'conflict' || kind === 'not-found' || context['status'] === 422;
}
