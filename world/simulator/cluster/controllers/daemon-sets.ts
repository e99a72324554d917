/** DaemonSets: one pod on every node that accepts it. The scheduler binds them through an affinity to the node's name. */
import { placeOf } from '../store/api.ts';
import {
  conditionOf,
  controllerOf,
  type DaemonSetObject,
  type NodeObject,
  type NodeSelectorTerm,
  type NodeTaint,
  type PodObject,
  type PodSpec,
  type PodTemplate,
  type PodToleration,
} from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import { matchesNodeSelection, firstUntolerated } from '../scheduler/node-filters.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { isActive, onChange, podsOf, type ControllerContext } from '../base/controller-context.ts';
import { createOwnedPod, isReady } from './replica-sets.ts';

const SETS = storedType('daemonsets');
const PODS = storedType('pods');
const COMPONENT = 'daemonset-controller';

/** Tolerations of every daemon pod, added to those of its template. */
const TOLERATED: readonly PodToleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK: PodToleration = { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' };

function tolerationsOf(spec: PodSpec): readonly PodToleration[] {
  return [...(spec.tolerations ?? []), ...TOLERATED, ...(spec.hostNetwork === true ? [HOST_NETWORK] : [])];
}

interface Verdict {
  readonly wanted: boolean;
  /** A running pod stays under a NoSchedule taint; only NoExecute evicts it. */
  readonly mayStay: boolean;
}

/** By template and node: every change of one of 5,000 nodes asks about all of them. */
const verdicts = new WeakMap<PodTemplate, WeakMap<NodeObject, Verdict>>();

function verdictOn({ spec: { template } }: DaemonSetObject, node: NodeObject): Verdict {
  const byNode = verdicts.get(template) ?? new WeakMap<NodeObject, Verdict>();
  verdicts.set(template, byNode);
  const known = byNode.get(node);
  if (known !== undefined) return known;
  const { spec } = template;
  const taints = node.spec.taints ?? [];
  const isSelected = matchesNodeSelection(spec, node);
  const tolerated = (some: readonly NodeTaint[]): boolean => firstUntolerated(some, tolerationsOf(spec)) === undefined;
  const driving = taints.filter((taint) => taint.effect === 'NoExecute');
  const verdict = { wanted: isSelected && tolerated(taints), mayStay: isSelected && tolerated(driving) };
  byNode.set(node, verdict);
  return verdict;
}

/** The template with an affinity to one node. */
function templateFor(set: DaemonSetObject, node: NodeObject): PodTemplate {
  const { template } = set.spec;
  const onNode = { key: 'metadata.name', operator: 'In', values: [node.metadata.name] } as const;
  const own = template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms: readonly NodeSelectorTerm[] = own.map((term) => ({ ...term, matchFields: [onNode] }));
  const nodeAffinity = { ...template.spec.affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return {
    metadata: {
      ...template.metadata,
      labels: { ...template.metadata?.labels, 'pod-template-generation': String(set.metadata.generation ?? 1) },
    },
    spec: { ...template.spec, tolerations: tolerationsOf(template.spec), affinity: { ...template.spec.affinity, nodeAffinity } },
  };
}

/** The node of a daemon pod's affinity, bound or not. */
function targetOf(pod: PodObject): string | undefined {
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return pod.spec.nodeName ?? terms[0]?.matchFields?.[0]?.values?.[0];
}

function reconcile(context: ControllerContext, key: string): void {
  const { api } = context;
  const set = api.store.get('daemonsets', key) as DaemonSetObject | undefined;
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
  const nodes = api.store.list('nodes').map((node) => node as NodeObject);
  const byNode = new Map(nodes.map((node) => [node.metadata.name, node]));
  const pods = podsOf(api, set).filter(isActive);
  for (const pod of pods) {
    const node = byNode.get(targetOf(pod) ?? '');
    if (node === undefined || !verdictOn(set, node).mayStay) api.remove(PODS, placeOf(pod), {});
  }
  const covered = new Set(podsOf(api, set).map(targetOf));
  for (const node of nodes) {
    if (verdictOn(set, node).wanted && !covered.has(node.metadata.name))
      createOwnedPod(context, set, { template: templateFor(set, node) }, COMPONENT);
  }
  replaceOutdated(context, set);
  writeStatus(context, set, nodes);
}

/** Rolls out a changed template one pod at a time, and only while all others are ready. */
function replaceOutdated({ api }: ControllerContext, set: DaemonSetObject): void {
  const pods = podsOf(api, set);
  const outdated = pods.filter(
    (pod) => isActive(pod) && pod.metadata.labels?.['pod-template-generation'] !== String(set.metadata.generation ?? 1),
  );
  const [first] = outdated;
  if (first !== undefined && pods.every((pod) => isActive(pod) && isReady(pod))) api.remove(PODS, placeOf(first), {});
}

function writeStatus({ api }: ControllerContext, set: DaemonSetObject, nodes: readonly NodeObject[]): void {
  const pods = podsOf(api, set).filter(isActive);
  const ready = pods.filter(isReady).length;
  const covered = new Set(pods.map(targetOf));
  const isDesired = (node: NodeObject, { wanted, mayStay }: Verdict): boolean => wanted || (mayStay && covered.has(node.metadata.name));
  const desired = nodes.filter((node) => isDesired(node, verdictOn(set, node))).length;
  const updated = pods.filter((pod) => pod.metadata.labels?.['pod-template-generation'] === String(set.metadata.generation ?? 1)).length;
  const status = {
    currentNumberScheduled: pods.filter((pod) => conditionOf(pod, 'PodScheduled')?.status === 'True').length,
    numberMisscheduled: 0,
    desiredNumberScheduled: desired,
    numberReady: ready,
    numberAvailable: ready,
    numberUnavailable: Math.max(0, desired - ready),
    updatedNumberScheduled: updated,
    observedGeneration: set.metadata.generation ?? 1,
  };
  if (!sameJson(status, set.status)) api.modify(SETS, placeOf(set), 'status', (current) => ({ ...current, status }));
}

export function startDaemonSets(context: ControllerContext): () => void {
  const { api } = context;
  const queue = createQueue(api.timers, (key) => reconcile(context, key));
  return onChange(api, ['daemonsets', 'nodes', 'pods'], ({ storage, object, type }) => {
    if (storage === 'daemonsets' && type !== 'DELETED') queue.add(keyOf(object));
    if (storage === 'nodes') for (const set of api.store.values('daemonsets')) queue.add(keyOf(set));
    const owner = storage === 'pods' ? controllerOf(object) : undefined;
    if (owner?.kind === 'DaemonSet') queue.add(`${object.metadata.namespace ?? ''}/${owner.name}`);
  });
}
