/** The status of PodDisruptionBudgets: how many of their pods may be disrupted now. */
import { placeOf } from '../store/api.ts';
import {
  controllerOf,
  timestamp,
  withCondition,
  type BudgetObject,
  type KubeObject,
  type PodObject,
  type ReplicatedObject,
} from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { countOf } from '../store/eviction.ts';
import { storedType } from '../store/resource-types.ts';
import { selects } from '../store/selectors.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { isActive, onChange, podsInNamespace, type ControllerContext } from '../base/controller-context.ts';
import { isReady } from './replica-sets.ts';

const BUDGETS = storedType('poddisruptionbudgets');
/** A granted eviction counts for this long, even if the pod is not deleted. */
const DISRUPTION_MS = 120_000;

function podsUnder({ api }: ControllerContext, budget: BudgetObject): readonly PodObject[] {
  return podsInNamespace(api, budget.metadata.namespace ?? '')
    .filter((pod) => selects(budget.spec.selector, pod.metadata.labels))
    .filter((pod) => pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed');
}

/** Grants that still count: they are recent, and the pod exists and is not terminating. */
function openDisruptions(
  budget: BudgetObject,
  pods: readonly PodObject[],
  now: { readonly ms: number; readonly speed: number },
): Readonly<Record<string, string>> {
  const waiting = new Set(pods.filter((pod) => pod.metadata.deletionTimestamp === undefined).map((pod) => pod.metadata.name));
  const entries = Object.entries(budget.status?.disruptedPods ?? {});
  return Object.fromEntries(entries.filter(([name, at]) => waiting.has(name) && (now.ms - Date.parse(at)) * now.speed < DISRUPTION_MS));
}

const SCALED: Readonly<Record<string, string>> = { ReplicaSet: 'replicasets', StatefulSet: 'statefulsets', Deployment: 'deployments' };

function controllerObject({ api }: ControllerContext, object: KubeObject): KubeObject | undefined {
  const owner = controllerOf(object);
  const storage = SCALED[owner?.kind ?? ''];
  return storage === undefined ? undefined : api.store.get(storage, `${object.metadata.namespace ?? ''}/${owner?.name ?? ''}`);
}

/** The expected number of pods, from their controllers. Percentages and maxUnavailable need it. */
function expectedByControllers(context: ControllerContext, pods: readonly PodObject[]): number {
  const byUid = new Map<string, number>();
  for (const pod of pods) {
    const set = controllerObject(context, pod);
    const top = set === undefined ? undefined : (controllerObject(context, set) ?? set);
    if (top === undefined) byUid.set(pod.metadata.uid, 1);
    else byUid.set(top.metadata.uid, (top as ReplicatedObject).spec.replicas ?? 1);
  }
  return [...byUid.values()].reduce((total, count) => total + count, 0);
}

interface BudgetNeed {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

function needOf(context: ControllerContext, { spec }: BudgetObject, pods: readonly PodObject[]): BudgetNeed {
  if (spec.maxUnavailable !== undefined) {
    const expectedPods = expectedByControllers(context, pods);
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - countOf(spec.maxUnavailable, expectedPods, 'up')) };
  }
  if (typeof spec.minAvailable !== 'string') return { expectedPods: pods.length, desiredHealthy: spec.minAvailable ?? 1 };
  const expectedPods = expectedByControllers(context, pods);
  return { expectedPods, desiredHealthy: countOf(spec.minAvailable, expectedPods, 'up') };
}

function reconcile(context: ControllerContext, key: string): void {
  const { api } = context;
  const budget = api.store.get('poddisruptionbudgets', key) as BudgetObject | undefined;
  if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return;
  const pods = podsUnder(context, budget);
  const { expectedPods, desiredHealthy } = needOf(context, budget, pods);
  const disruptedPods = openDisruptions(budget, pods, { ms: api.timers.now(), speed: api.timers.speed });
  const healthy = pods.filter((pod) => isActive(pod) && isReady(pod) && disruptedPods[pod.metadata.name] === undefined);
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, healthy.length - desiredHealthy) : 0;
  const condition = {
    type: 'DisruptionAllowed',
    status: disruptionsAllowed > 0 ? 'True' : 'False',
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    lastTransitionTime: timestamp(api.timers.now()),
    observedGeneration: budget.metadata.generation ?? 1,
  } as const;
  const status = {
    observedGeneration: budget.metadata.generation ?? 1,
    disruptionsAllowed,
    currentHealthy: healthy.length,
    desiredHealthy,
    expectedPods,
    ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
    conditions: withCondition(budget.status?.conditions, condition),
  };
  if (!sameJson(status, budget.status)) api.modify(BUDGETS, placeOf(budget), 'status', (current) => ({ ...current, status }));
}

/** Starts the controller. Returns a function that stops it. */
export function startDisruptionBudgets(context: ControllerContext): () => void {
  const { api } = context;
  const queue = createQueue(api.timers, (key) => {
    reconcile(context, key);
    const budget = api.store.get('poddisruptionbudgets', key) as BudgetObject | undefined;
    if (budget?.status?.disruptedPods !== undefined) queue.add(key, DISRUPTION_MS);
  });
  const budgetsIn = api.store.indexBy('poddisruptionbudgets', (budget) => budget.metadata.namespace);
  const addAll = (namespace = ''): void => {
    for (const budget of budgetsIn(namespace)) queue.add(keyOf(budget));
  };
  return onChange(api, ['poddisruptionbudgets', 'pods', 'replicasets', 'deployments', 'statefulsets'], ({ storage, object, type }) => {
    if (storage !== 'poddisruptionbudgets') addAll(object.metadata.namespace);
    else if (type !== 'DELETED') queue.add(keyOf(object));
  });
}
