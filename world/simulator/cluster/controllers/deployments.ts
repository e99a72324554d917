/** Deployments: one ReplicaSet per template, and the rolling update from the old ones to the newest. */
import { stableHash } from '../../../../src/lib/random.ts';
import { placeOf } from '../store/api.ts';
import { controllerOf, timestamp, withCondition, type Condition, type ReplicatedObject } from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { countOf } from '../store/eviction.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { onChange, ownerReferenceTo, podsOf, recordEvent, replicaSetsOf, type ControllerContext } from '../base/controller-context.ts';
import { defined } from '../../../../src/lib/defined.ts';

const DEPLOYMENTS = storedType('deployments');
const SETS = storedType('replicasets');
const REVISION = 'deployment.kubernetes.io/revision';
const HASH_LABEL = 'pod-template-hash';
const COMPONENT = 'deployment-controller';

function hashOf(deployment: ReplicatedObject): string {
  return stableHash(JSON.stringify(deployment.spec.template)).toString(36);
}

function revisionOf(set: ReplicatedObject): number {
  return Number(set.metadata.annotations?.[REVISION] ?? 0);
}

function wantedReplicas(set: ReplicatedObject): number {
  return set.spec.replicas ?? 1;
}

function sum(sets: readonly ReplicatedObject[], amount: (set: ReplicatedObject) => number): number {
  return sets.reduce((total, set) => total + amount(set), 0);
}

function available(set: ReplicatedObject): number {
  return set.status?.availableReplicas ?? 0;
}

interface Rollout {
  readonly deployment: ReplicatedObject;
  readonly newest: ReplicatedObject;
  readonly old: readonly ReplicatedObject[];
}

function setsOf({ api }: ControllerContext, deployment: ReplicatedObject): readonly ReplicatedObject[] {
  return replicaSetsOf(api, deployment).map((set) => set as ReplicatedObject);
}

function resize(context: ControllerContext, deployment: ReplicatedObject, set: ReplicatedObject, replicas: number): void {
  const before = wantedReplicas(set);
  if (before === replicas) return;
  context.api.modify(SETS, placeOf(set), 'main', (current) => ({ ...current, spec: { ...(current as ReplicatedObject).spec, replicas } }));
  const direction = replicas > before ? 'up' : 'down';
  recordEvent(context.api, deployment, {
    type: 'Normal',
    reason: 'ScalingReplicaSet',
    message: `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`,
    component: COMPONENT,
  });
}

/** The ReplicaSet of the current template with the highest revision. Creates it if it is absent. */
function newestSet(context: ControllerContext, deployment: ReplicatedObject): ReplicatedObject | undefined {
  const sets = setsOf(context, deployment);
  const hash = hashOf(deployment);
  const name = `${deployment.metadata.name}-${hash}`;
  const found = sets.find((set) => set.metadata.name === name);
  const highest = Math.max(0, ...sets.filter((set) => set !== found).map(revisionOf));
  if (found !== undefined && revisionOf(found) > highest) return found;
  const annotations = { [REVISION]: String(highest + 1) };
  if (found !== undefined) {
    const revised = context.api.modify(SETS, placeOf(found), 'main', (set) => ({
      ...set,
      metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, ...annotations } },
    }));
    return revised.ok ? (revised.value as ReplicatedObject) : undefined;
  }
  const { selector, template, minReadySeconds } = deployment.spec;
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const draft = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, labels, annotations, ownerReferences: [ownerReferenceTo(deployment)] },
    spec: {
      replicas: 0,
      ...defined({ minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  const created = context.api.create(SETS, draft, deployment.metadata.namespace);
  return created.ok ? (created.value as ReplicatedObject) : undefined;
}

function recreateUpdate(context: ControllerContext, { deployment, newest, old }: Rollout): void {
  for (const set of old) resize(context, deployment, set, 0);
  const remain = old.some((set) => podsOf(context.api, set).length > 0);
  if (!remain) resize(context, deployment, newest, deployment.spec.replicas ?? 1);
}

function rollingUpdate(context: ControllerContext, { deployment, newest, old }: Rollout): void {
  const desired = deployment.spec.replicas ?? 1;
  const limits = deployment.spec.strategy?.rollingUpdate;
  const surge = countOf(limits?.maxSurge, desired, 'up');
  const unavailable = countOf(limits?.maxUnavailable, desired, 'down');
  const mayMiss = surge === 0 && unavailable === 0 ? 1 : unavailable;
  const total = wantedReplicas(newest) + sum(old, wantedReplicas);
  const room = Math.max(0, desired + surge - total);
  const grown = wantedReplicas(newest) > desired ? desired : Math.min(desired, wantedReplicas(newest) + room);
  resize(context, deployment, newest, grown);
  shrinkOld(context, { deployment, newest, old }, { total, minimum: desired - mayMiss });
}

/** Removes old pods. Unavailable ones do not count against the minimum; the others are removed as far as the minimum allows. */
function shrinkOld(
  context: ControllerContext,
  { deployment, newest, old }: Rollout,
  limits: { readonly total: number; readonly minimum: number },
): void {
  const newUnavailable = wantedReplicas(newest) - Math.min(wantedReplicas(newest), available(newest));
  let broken = Math.max(0, limits.total - limits.minimum - newUnavailable);
  let healthy = Math.max(0, available(newest) + sum(old, available) - limits.minimum);
  for (const set of old) {
    const unhealthy = Math.min(broken, Math.max(0, wantedReplicas(set) - available(set)));
    const cut = Math.min(healthy, wantedReplicas(set) - unhealthy, Math.max(0, broken - unhealthy));
    resize(context, deployment, set, wantedReplicas(set) - unhealthy - cut);
    broken -= unhealthy + cut;
    healthy -= cut;
  }
}

function forgetHistory({ api }: ControllerContext, { deployment, old }: Rollout): void {
  const limit = Number(deployment.spec['revisionHistoryLimit'] ?? 10);
  const empty = old
    .filter((set) => wantedReplicas(set) === 0 && (set.status?.replicas ?? 0) === 0)
    .sort((left, right) => revisionOf(right) - revisionOf(left));
  for (const set of empty.slice(limit)) api.remove(SETS, placeOf(set), {});
}

function statusOf(context: ControllerContext, rollout: Rollout, nowMs: number): ReplicatedObject['status'] {
  const { deployment } = rollout;
  const sets = setsOf(context, deployment);
  const newest = sets.find((set) => set.metadata.name === rollout.newest.metadata.name) ?? rollout.newest;
  const desired = deployment.spec.replicas ?? 1;
  const availableReplicas = sum(sets, available);
  const updated = newest.status?.replicas ?? 0;
  const isEnough = availableReplicas >= desired - countOf(deployment.spec.strategy?.rollingUpdate?.maxUnavailable, desired, 'down');
  const isComplete = updated === desired && availableReplicas === desired && sum(sets, (set) => set.status?.replicas ?? 0) === desired;
  const conditions = conditionsOf(deployment, { isEnough, isComplete, newest: newest.metadata.name, time: timestamp(nowMs) });
  return {
    observedGeneration: deployment.metadata.generation ?? 1,
    replicas: sum(sets, (set) => set.status?.replicas ?? 0),
    updatedReplicas: updated,
    readyReplicas: sum(sets, (set) => set.status?.readyReplicas ?? 0),
    availableReplicas,
    unavailableReplicas: Math.max(0, desired - availableReplicas),
    conditions,
  };
}

function conditionsOf(
  deployment: ReplicatedObject,
  state: { readonly isEnough: boolean; readonly isComplete: boolean; readonly newest: string; readonly time: string },
): readonly Condition[] {
  const before = deployment.status?.['conditions'] as readonly Condition[] | undefined;
  const time = { lastUpdateTime: state.time, lastTransitionTime: state.time };
  const availability: Condition = state.isEnough
    ? { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.', ...time }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
        ...time,
      };
  const progress: Condition = state.isComplete
    ? {
        type: 'Progressing',
        status: 'True',
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${state.newest}" has successfully progressed.`,
        ...time,
      }
    : {
        type: 'Progressing',
        status: 'True',
        reason: 'ReplicaSetUpdated',
        message: `ReplicaSet "${state.newest}" is progressing.`,
        ...time,
      };
  return [availability, progress].reduce((conditions, condition) => updatedConditions(conditions, condition), before ?? []);
}

/** A condition without a change keeps its times, so that an unchanged status is not written again. */
function updatedConditions(conditions: readonly Condition[], next: Condition): readonly Condition[] {
  const before = conditions.find((condition) => condition.type === next.type);
  return before?.status === next.status && before.reason === next.reason && before.message === next.message
    ? conditions
    : withCondition(conditions, next);
}

function reconcile(context: ControllerContext, key: string): void {
  const { api } = context;
  const deployment = api.store.get('deployments', key) as ReplicatedObject | undefined;
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return;
  const newest = newestSet(context, deployment);
  if (newest === undefined) return;
  const old = setsOf(context, deployment).filter((set) => set.metadata.name !== newest.metadata.name);
  const rollout = { deployment, newest, old };
  if (deployment.spec.paused !== true || sum(old, wantedReplicas) === 0) {
    if (deployment.spec.strategy?.type === 'Recreate') recreateUpdate(context, rollout);
    else rollingUpdate(context, rollout);
  }
  forgetHistory(context, rollout);
  annotate(context, deployment, newest);
  const status = statusOf(context, rollout, api.timers.now());
  if (!sameJson(status, deployment.status)) api.modify(DEPLOYMENTS, placeOf(deployment), 'status', (current) => ({ ...current, status }));
}

function annotate({ api }: ControllerContext, deployment: ReplicatedObject, newest: ReplicatedObject): void {
  const revision = newest.metadata.annotations?.[REVISION] ?? '1';
  if (deployment.metadata.annotations?.[REVISION] === revision) return;
  api.modify(DEPLOYMENTS, placeOf(deployment), 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, [REVISION]: revision } },
  }));
}

export function startDeployments(context: ControllerContext): () => void {
  const { api } = context;
  const queue = createQueue(api.timers, (key) => reconcile(context, key));
  const recreated = api.store.indexBy('deployments', (object) =>
    (object as ReplicatedObject).spec.strategy?.type === 'Recreate' ? object.metadata.namespace : undefined,
  );
  return onChange(api, ['deployments', 'replicasets', 'pods'], ({ storage, object, type }) => {
    if (storage === 'deployments' && type !== 'DELETED') queue.add(keyOf(object));
    const owner = storage === 'replicasets' ? controllerOf(object) : undefined;
    if (owner?.kind === 'Deployment') queue.add(`${object.metadata.namespace ?? ''}/${owner.name}`);
    // Recreate waits until the last old pod is gone, which no ReplicaSet's status shows.
    if (storage === 'pods' && type === 'DELETED')
      for (const deployment of recreated(object.metadata.namespace ?? '')) queue.add(keyOf(deployment));
  });
}
