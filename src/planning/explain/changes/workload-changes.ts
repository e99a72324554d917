/** Changes of workloads whose pods run, so that the pods may move or make room. */
import type { PodAnnotations } from '../../../domain/annotations.ts';
import { podName, type NodeName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import { CPU } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import { shell, yamlText } from '../../../lib/shown-text.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { withFork } from '../../../scheduling/snapshot/snapshot.ts';
import { grown, selects, withBudgets } from './budget-changes.ts';
import { type EffectInput, type FixStep, kind, type StepsInput, type World } from './change.ts';
import { withCluster, withWorkload } from './edits.ts';
import { counted, isOf, SHARED_FATE, templateOf, type Workload } from './workload.ts';

interface OfWorkload {
  readonly workload: Workload;
}

interface Scaling extends OfWorkload {
  readonly from: number;
  readonly to: number;
}

/** For all pods of the workload. Without a value, the annotation is removed. */
interface Annotation extends OfWorkload {
  readonly key: string;
  readonly value?: string;
}

interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}

export const WORKLOAD_CHANGES = {
  'scale-workload': kind<Scaling>({
    describe: ({ workload: { namespace, name }, to }) => `run ${to} replicas of ${namespace}/${name}`,
    steps: ({ workload: { kind: owner, namespace, name }, to }) => [
      {
        where: `${owner} ${namespace}/${name}`,
        command: shell`kubectl -n ${namespace} scale ${owner.toLowerCase()} ${name} --replicas=${to}`,
        warning: `if a HorizontalPodAutoscaler scales it, set its minReplicas to ${to} instead`,
      },
    ],
    apply: (world, change, { modelOf }) => withReplicas(world, change, modelOf),
  }),
  'annotate-workload': kind<Annotation>({
    describe: describeAnnotation,
    steps: annotationSteps,
    apply: (world, { workload, key, value }) => withWorkload(world, workload, (pod) => annotated(pod, key, value)),
  }),
  /** The pod is created by a controller from now on. */
  'own-pod': kind<OfWorkload>({
    describe: ({ workload }) => `run pod ${podName(workload)} as a Deployment, StatefulSet or Job`,
    steps: ({ workload }) => [
      { where: `a new Deployment, StatefulSet or Job with the spec of pod ${podName(workload)}` },
      {
        where: `pod ${podName(workload)}, once the other runs`,
        command: deletionOf(workload),
        warning: 'what the pod holds in memory and on its node is lost',
      },
    ],
    apply: (world, { workload }) =>
      withWorkload(world, workload, (pod) => ({ ...pod, controller: { kind: 'Job', apiVersion: '', name: pod.name, uid: '' } })),
  }),
  'delete-pod': kind<NamedPod>({
    describe: (pod) => `delete pod ${podName(pod)}, which nothing would create again`,
    steps: (pod) => [
      { where: `pod ${podName(pod)}`, command: deletionOf(pod), warning: 'nothing creates this pod again, and what it holds is lost' },
    ],
    apply: withoutPod,
  }),
  /** The workload's pods no longer require to be apart from others by this label. */
  'drop-repulsion': kind<{ readonly topologyKey: string } & OfWorkload>({
    describe: ({ workload: { kind: owner, namespace, name }, topologyKey }) =>
      `make the anti-affinity rule for ${topologyKey} of ${owner} ${namespace}/${name} preferred instead of required`,
    steps: ({ workload }) => [{ where: `podAntiAffinity in ${templateOf(workload)}`, warning: SHARED_FATE }],
    apply: (world, { workload, topologyKey }) => withWorkload(world, workload, (pod) => withoutTerms(pod, topologyKey)),
  }),
};

function describeAnnotation({ workload, key, value }: Annotation): string {
  const of = `${workload.kind} ${workload.namespace}/${workload.name}`;
  return value === undefined ? `remove the annotation ${key} from the pods of ${of}` : `annotate the pods of ${of} with ${key}: "${value}"`;
}

/** The running pods need it at once, and their template for all later pods. The template of a Job cannot be changed. */
function annotationSteps(change: Annotation, { observation }: StepsInput): readonly FixStep[] {
  const { workload, key, value } = change;
  const all = [...observation.cluster.podsByNode.values()].flat();
  const pods = all.filter((pod) => isOf(pod, workload));
  // guard: advice that loses what is on a node says so before
  const warning = annotationWarning(change, pods);
  const edit = value === undefined ? shell`${key}-` : shell`${`${key}=${value}`} --overwrite`;
  const now =
    pods.length === 0
      ? []
      : [
          {
            where: 'its running pods',
            command: `${shell`kubectl -n ${workload.namespace} annotate pods`} ${namesOf(pods, all)} ${edit}`,
            warning,
          },
        ];
  if (workload.kind === 'Job' || workload.kind === 'Pod') return now;
  const later = {
    where: `${templateOf(workload)}, for later pods`,
    patch: `metadata: {annotations: {${yamlText(key)}: ${value === undefined ? 'null' : JSON.stringify(value)}}}`,
    warning: `${now.length === 0 ? `${warning}; ` : ''}a change of the pod template replaces the running pods`,
  };
  return [...now, later];
}

/** What the consent to lose data, or the end of a protection from interruption, means. */
function annotationWarning({ key, value }: Annotation, pods: readonly Pod[]): string {
  const volumes = new Map(pods.flatMap(({ mounts }) => mounts.localVolumes.map(({ name, kind }) => [name, `${name} (${kind})`] as const)));
  const isOne = pods.length === 1;
  const of = pods.length === 0 ? 'its pods' : counted(pods.length);
  if (key.endsWith('/safe-to-evict-local-volumes')) {
    const names = (value ?? '').split(',').map((name) => volumes.get(name) ?? name);
    return `the content of ${names.join(', ')} of ${of} is lost when ${isOne ? 'its node is' : 'their nodes are'} removed, which may be within minutes`;
  }
  const lost =
    volumes.size === 0
      ? `what ${isOne ? 'it keeps on its node' : 'they keep on their nodes'}`
      : `the content of ${[...volumes.values()].join(', ')}`;
  const effect = `${of} may be evicted at any time from then on, and ${lost} is lost`;
  return value === undefined ? `the annotation protects from interruption; without it, ${effect}` : effect;
}

/** Pods of one ReplicaSet share a hash. If other pods of the namespace have it, too, the names alone are exact. */
function namesOf(pods: readonly Pod[], all: readonly Pod[]): string {
  const [hash, ...more] = new Set(pods.map(({ shape }) => shape.labels['pod-template-hash']));
  const withHash = all.filter(({ namespace, shape }) => namespace === pods[0]?.namespace && shape.labels['pod-template-hash'] === hash);
  return hash !== undefined && more.length === 0 && withHash.length === pods.length
    ? shell`-l ${`pod-template-hash=${hash}`}`
    : shell`${pods.map(({ name }) => name).sort()}`;
}

function deletionOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return shell`kubectl -n ${namespace} delete pod ${name}`;
}

const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
const LOCAL_VOLUMES = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

function annotated(pod: Pod, key: string, value: string | undefined): Pod {
  const annotate = (part: Partial<PodAnnotations>): Pod => ({ ...pod, annotations: { ...pod.annotations, ...part } });
  if (key === SAFE_TO_EVICT) return annotate({ safeToEvict: value === 'true' ? 'true' : undefined });
  if (key === LOCAL_VOLUMES) return annotate({ safeToEvictVolumes: (value ?? '').split(',') });
  return key === 'karpenter.sh/do-not-disrupt' ? annotate({ protection: undefined }) : pod;
}

/** The new pods are ready, where kube-scheduler is likely to place them: on the nodes that are used least, even if these are to go. */
function withReplicas(world: World, { workload, from, to }: Scaling, modelOf: EffectInput['modelOf']): World | undefined {
  const { cluster } = world.observation;
  const sample = [...cluster.podsByNode.values()].flat().find((pod) => isOf(pod, workload));
  if (sample === undefined) return undefined;
  const added = placeCopies({ sample, from, to }, cluster, modelOf(world));
  if (added === undefined) return undefined;
  const podsByNode = new Map(cluster.podsByNode);
  for (const pod of added) podsByNode.set(pod.nodeName, [...(podsByNode.get(pod.nodeName) ?? []), pod]);
  const withAll = withCluster(world, () => ({ podsByNode, ...scaledOwners(cluster, workload, to) }));
  return withBudgets(withAll, (budget) => (selects(budget, sample) ? grown(budget, to - from) : budget));
}

type PlacedPod = Pod & { readonly nodeName: NodeName };

function placeCopies(
  { sample, from, to }: { readonly sample: Pod; readonly from: number; readonly to: number },
  { nodes, podsByNode }: ClusterView,
  model: ClusterSnapshot,
): readonly PlacedPod[] | undefined {
  const open = [...nodes.values()].filter(({ unschedulable, readiness }) => !unschedulable && readiness.ready);
  const shares = new Map(open.map((node) => [node.name, usedShare(node, podsByNode.get(node.name) ?? [])]));
  const emptiest = open.sort(
    (left, right) => (shares.get(left.name) ?? 0) - (shares.get(right.name) ?? 0) || compareText(left.name, right.name),
  );
  return withFork(model, () => {
    const added: PlacedPod[] = [];
    for (let at = from; at < to; at++) {
      const copy = { ...sample, uid: `${sample.uid} copy ${at}`, name: `${sample.name} copy ${at}` };
      const nodeName = emptiest.find(({ name }) => model.check(copy, name).length === 0)?.name;
      if (nodeName === undefined) return undefined;
      model.addPod({ ...copy, nodeName }, nodeName);
      added.push({ ...copy, nodeName });
    }
    return added;
  });
}

function usedShare({ allocatable }: Node, pods: readonly Pod[]): number {
  return pods.reduce((sum, { shape }) => sum + (shape.requests[CPU] ?? 0), 0) / Math.max(1, allocatable[CPU] ?? 0);
}

function scaledOwners({ owners }: ClusterView, { namespace, controller = '' }: Workload, desired: number): Pick<ClusterView, 'owners'> {
  const key = controller.replace(' ', ` ${namespace}/`);
  return owners.has(key) ? { owners: new Map([...owners, [key, { exists: true, desired }]]) } : { owners };
}

function withoutPod(world: World, gone: NamedPod): World {
  return withCluster(world, ({ podsByNode }) => {
    const [node, pods = []] = [...podsByNode].find(([, all]) => all.some((pod) => podName(pod) === podName(gone))) ?? [];
    const left = pods.filter((pod) => podName(pod) !== podName(gone));
    return node === undefined ? {} : { podsByNode: new Map([...podsByNode, [node, left]]) };
  });
}

function withoutTerms(pod: Pod, topologyKey: string): Pod {
  const { shape } = pod;
  const podAntiAffinity = shape.podAntiAffinity.filter((term) => term.topologyKey !== topologyKey);
  return { ...pod, shape: { ...shape, podAntiAffinity, key: `${shape.key}|apart from none by ${topologyKey}` } };
}
