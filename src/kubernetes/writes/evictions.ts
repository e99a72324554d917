/** One call of the Eviction API (policy/v1). The API server applies the disruption budgets. */
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { EvictOutcome } from '../../domain/outcome.ts';
import type { PodEvictor } from '../../domain/ports/cluster-writes.ts';
import { hasCause } from '../api/errors.ts';
import type { Rest } from '../api/rest.ts';

const BUDGET_CAUSE = 'DisruptionBudget';
/**
 * With a grace period of 0 seconds the API server deletes the Pod object at once, while its containers may go on: a StatefulSet would start
 * a second pod of the same identity.
 */
const LEAST_GRACE_SECONDS = 1;

export function createPodEvictor(rest: Rest): PodEvictor {
  return {
    evict: async (pod, gracePeriodMs, signal) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/eviction`;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace: pod.namespace, name: pod.name },
        // Without the uid, a new pod of the same name would be evicted from any node.
        deleteOptions: {
          gracePeriodSeconds: Math.max(LEAST_GRACE_SECONDS, Math.ceil(gracePeriodMs / 1000)),
          preconditions: { uid: pod.uid },
        },
      };
      try {
        await rest.json({ method: 'POST', path, body, operation: 'evict', ignoresAnswer: true }, signal);
        return { kind: 'evicted' };
      } catch (thrown) {
        return outcomeOf(asAutoscalerError(thrown));
      }
    },
  };
}

function outcomeOf(error: AutoscalerError): EvictOutcome {
  switch (error.detail.kind) {
    case 'not-found':
    case 'conflict':
      // A conflict means that the uid differs: the intended pod is gone.
      return { kind: 'gone' };
    case 'throttled':
      // A busy API server returns 429 too, without saying anything about the pod. The Eviction API names the budget as
      // the cause.
      if (!hasCause(error, BUDGET_CAUSE)) return { kind: 'failed', error };
      return { kind: 'blocked', message: error.message, retryAfterMs: error.detail.retryAfterMs };
    default:
      return { kind: 'failed', error };
  }
}
