/** ReplicaSets: replaces pods until the wanted number exists. */
import { placeOf } from '../store/api.ts';
import { conditionOf, controllerOf, type KubeObject, type PodObject, type ReplicatedObject } from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { isActive, onChange, ownerReferenceTo, podsOf, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { compareText } from '../../../../src/lib/comparison.ts';
import { defined } from '../../../../src/lib/defined.ts';

const SETS = storedType('replicasets');
const PODS = storedType('pods');
const COMPONENT = 'replicaset-controller';

export function isReady(pod: PodObject): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True';
}

/** Creates a pod from a template with `owner` as its controller. */
export function createOwnedPod(
  context: ControllerContext,
  owner: KubeObject,
  spec: { readonly template: ReplicatedObject['spec']['template'] },
  component: string,
): void {
  const { metadata, spec: pod } = spec.template;
  const draft = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${owner.metadata.name}-`,
      ...defined({ labels: metadata?.labels, annotations: metadata?.annotations }),
      ownerReferences: [ownerReferenceTo(owner)],
    },
    spec: pod,
  };
  const created = context.api.create(PODS, draft, owner.metadata.namespace);
  recordEvent(context.api, owner, {
    type: created.ok ? 'Normal' : 'Warning',
    reason: created.ok ? 'SuccessfulCreate' : 'FailedCreate',
    message: created.ok ? `Created pod: ${created.value.metadata.name}` : `Error creating: ${created.refusal.message ?? ''}`,
    component,
  });
}

/**
 * Deletion order of the real controller: pods without a node, then not ready, then those with most siblings on their node, then
 * the youngest.
 */
function byDeletionOrder(siblings: readonly PodObject[]): (left: PodObject, right: PodObject) => number {
  const onNode = new Map<string, number>();
  for (const { spec } of siblings) if (spec.nodeName !== undefined) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1);
  const rank = (pod: PodObject): number => (pod.spec.nodeName === undefined ? 0 : isReady(pod) ? 2 : 1);
  const company = (pod: PodObject): number => onNode.get(pod.spec.nodeName ?? '') ?? 0;
  return (left, right) => {
    const age = right.metadata.creationTimestamp.localeCompare(left.metadata.creationTimestamp);
    return rank(left) - rank(right) || company(right) - company(left) || age || compareText(left.metadata.name, right.metadata.name);
  };
}

function reconcile(context: ControllerContext, key: string): void {
  const { api } = context;
  const set = api.store.get('replicasets', key) as ReplicatedObject | undefined;
  if (set === undefined) return;
  if (set.metadata.deletionTimestamp === undefined) reconcilePods(context, set, podsOf(api, set).filter(isActive));
  const pods = podsOf(api, set).filter(isActive);
  const ready = pods.filter(isReady).length;
  const status = {
    ...set.status,
    replicas: pods.length,
    fullyLabeledReplicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: set.metadata.generation ?? 1,
  };
  if (!sameJson(status, set.status)) api.modify(SETS, placeOf(set), 'status', (current) => ({ ...current, status }));
}

function reconcilePods(context: ControllerContext, set: ReplicatedObject, pods: readonly PodObject[]): void {
  const wanted = set.spec.replicas ?? 1;
  for (let count = pods.length; count < wanted; count++) createOwnedPod(context, set, set.spec, COMPONENT);
  if (pods.length <= wanted) return;
  const surplus = [...pods].sort(byDeletionOrder(pods)).slice(0, pods.length - wanted);
  for (const pod of surplus) {
    context.api.remove(PODS, placeOf(pod), {});
    recordEvent(context.api, set, {
      type: 'Normal',
      reason: 'SuccessfulDelete',
      message: `Deleted pod: ${pod.metadata.name}`,
      component: COMPONENT,
    });
  }
}

export function startReplicaSets(context: ControllerContext): () => void {
  const queue = createQueue(context.api.timers, (key) => reconcile(context, key));
  return onChange(context.api, ['replicasets', 'pods'], ({ storage, object, type }) => {
    if (storage === 'replicasets') {
      if (type !== 'DELETED') queue.add(keyOf(object));
      return;
    }
    const owner = controllerOf(object);
    if (owner?.kind === 'ReplicaSet') queue.add(`${object.metadata.namespace ?? ''}/${owner.name}`);
  });
}
