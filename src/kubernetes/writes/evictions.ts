/** One call of the Eviction API (policy/v1). The API server applies the disruption budgets. */
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { EvictOutcome } from '../../domain/outcome.ts';
import type { PodEvictor } from '../../domain/ports/cluster-writes.ts';
import { hasCause } from '../api/errors.ts';
import { getOrUndefined, type Rest } from '../api/rest.ts';

const BUDGET_CAUSE = 'DisruptionBudget';
/**
 * With a grace period of 0 seconds the API server deletes the Pod object at once, while its containers may go on: a StatefulSet would start
 * a second pod of the same identity.
 */
const LEAST_GRACE_SECONDS = 1;

export function createPodEvictor(rest: Rest): PodEvictor {
  return {
    evict: async (pod, gracePeriodMs, signal) => {
      const podPath = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace: pod.namespace, name: pod.name },
        // Without the uid, a new pod of the same name would be evicted from any node.
        deleteOptions: {
          // guard: no eviction is sent with a grace period below a second
          gracePeriodSeconds: Math.max(LEAST_GRACE_SECONDS, Math.ceil(gracePeriodMs / 1000)),
          preconditions: { uid: pod.uid },
        },
      };
      try {
        // guard: evictions take no slot of the calls of the loop
        const call = { method: 'POST', path: `${podPath}/eviction`, body, operation: 'evict', isEviction: true } as const;
        await rest.json({ ...call, ignoresAnswer: true }, signal);
        return { kind: 'evicted' };
      } catch (thrown) {
        const error = asAutoscalerError(thrown);
        return error.kind === 'conflict' ? await outcomeOfConflict(error, { rest, podPath, uid: pod.uid }, signal) : outcomeOf(error);
      }
    },
  };
}

/**
 * The API server answers with a conflict if another pod has the name by now, and also if other evictions wrote the status of the same budget
 * in each of its attempts, or if the pod changed meanwhile. Its words differ between versions, so that the pod is read instead.
 */
async function outcomeOfConflict(
  conflict: AutoscalerError,
  { rest, podPath, uid }: { readonly rest: Rest; readonly podPath: string; readonly uid: string },
  signal: AbortSignal,
): Promise<EvictOutcome> {
  try {
    const pod = await getOrUndefined(rest, podPath, signal);
    const present = pod === undefined ? undefined : (pod.metadata?.uid ?? uid);
    // guard: a conflict of an eviction does not say that the pod is gone
    return present === uid ? { kind: 'failed', error: conflict } : { kind: 'gone' };
  } catch (thrown) {
    return { kind: 'failed', error: asAutoscalerError(thrown) };
  }
}

function outcomeOf(error: AutoscalerError): EvictOutcome {
  switch (error.detail.kind) {
    case 'not-found':
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
