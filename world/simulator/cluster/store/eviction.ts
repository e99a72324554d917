/** The eviction subresource (policy/v1): a delete that PodDisruptionBudgets may refuse. */
import { placeOf, type Api, type DeleteOptions } from './api.ts';
import { conditionOf, timestamp, type BudgetObject, type KubeObject, type PodObject } from './objects.ts';
import { storedType } from './resource-types.ts';
import { selects } from './selectors.ts';
import { failureStatus, refuse, success, type KubeStatus, type Result } from './status.ts';
import { defined } from '../../../../src/lib/defined.ts';

const SENTENCE = "Cannot evict pod as it would violate the pod's disruption budget.";

function tooManyRequests(cause: string, retryAfterSeconds?: number): { readonly ok: false; readonly refusal: KubeStatus } {
  const details = {
    causes: [{ reason: 'DisruptionBudget', message: cause }],
    ...defined({ retryAfterSeconds }),
  };
  return { ok: false, refusal: failureStatus(429, 'TooManyRequests', SENTENCE, details) };
}

/** A budget does not protect finished pods or pods that do not run yet. */
function isBeyondBudgets(pod: PodObject): boolean {
  return pod.status.phase !== 'Running' || pod.metadata.deletionTimestamp !== undefined;
}

/** The budgets whose selector matches the pod. An empty selector matches all pods of the namespace, an absent one none. */
function budgetsOf(api: Api, pod: KubeObject): readonly BudgetObject[] {
  return api.store
    .list('poddisruptionbudgets')
    .filter((budget) => budget.metadata.namespace === pod.metadata.namespace)
    .map((budget) => budget as BudgetObject)
    .filter((budget) => selects(budget.spec.selector, pod.metadata.labels));
}

/** Evicts one pod: 404, 409 on preconditions, 429 with the budget's name, 500 when two budgets match. */
export function evict(api: Api, name: { readonly namespace: string; readonly name: string }, options: DeleteOptions): Result<KubeObject> {
  const pods = storedType('pods');
  const found = api.get(pods, name);
  if (!found.ok) return found;
  const pod = found.value as PodObject;
  const stale = options.uid !== undefined && options.uid !== pod.metadata.uid;
  if (!stale && !isBeyondBudgets(pod)) {
    const refused = takeDisruption(api, pod);
    if (refused !== undefined) return refused;
  }
  const removed = api.remove(pods, name, options);
  return removed.ok ? success(removed.value.object) : removed;
}

/** Takes one disruption from the pod's budget, or returns why it cannot. */
function takeDisruption(api: Api, pod: PodObject): { readonly ok: false; readonly refusal: KubeStatus } | undefined {
  const [budget, ...more] = budgetsOf(api, pod);
  if (budget === undefined) return undefined;
  if (more.length > 0) {
    return refuse(500, 'InternalError', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
  }
  if (mayEvictUnhealthy(budget, pod)) return undefined;
  const refused = refusalOf(budget);
  if (refused !== undefined) return refused;
  const { disruptionsAllowed = 0, disruptedPods } = budget.status ?? {};
  const spent = api.modify(storedType('poddisruptionbudgets'), placeOf(budget), 'status', (current) => ({
    ...current,
    status: {
      ...budget.status,
      disruptionsAllowed: disruptionsAllowed - 1,
      disruptedPods: { ...disruptedPods, [pod.metadata.name]: timestamp(api.timers.now()) },
    },
  }));
  return spent.ok ? undefined : spent;
}

/** A budget whose status is outdated allows nothing yet; a used-up one allows nothing now. */
function refusalOf({ metadata, status }: BudgetObject): { readonly ok: false; readonly refusal: KubeStatus } | undefined {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return tooManyRequests(`The disruption budget ${metadata.name} is still being processed by the server.`, 10);
  }
  if ((status?.disruptionsAllowed ?? 0) > 0) return undefined;
  const { desiredHealthy = 0, currentHealthy = 0 } = status ?? {};
  return tooManyRequests(`The disruption budget ${metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`);
}

/** A running pod that is not ready does not count as healthy. It may be evicted if the budget still has enough healthy pods. */
function mayEvictUnhealthy(budget: BudgetObject, pod: PodObject): boolean {
  if (conditionOf(pod, 'Ready')?.status === 'True') return false;
  if (budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

// Counts that specs give as a number or as a percentage.

/** The count. A percentage of `total` is rounded in the given direction. Any other text counts as zero. */
export function countOf(value: string | number | undefined, total: number, round: 'up' | 'down'): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return /^\d+$/.test(value) ? Number(value) : 0;
  const share = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
