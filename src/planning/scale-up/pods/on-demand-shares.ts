/**
 * Workloads that keep a share of their pods on regular nodes (`aks-autoscaler/min-on-demand`). So many pods of each are marked that however
 * the others are placed, the share holds: every placement reads the marks, of growth, of removals and of anything else that simulates.
 * Must not know how a pod is placed.
 * Idea: on-demand share.
 */
import type { NodeName } from '../../../domain/ids.ts';
import { isSpotNode } from '../../../domain/node.ts';
import { onDemandPods, type OnDemandShare } from '../../../domain/annotations.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { compareText } from '../../../lib/comparison.ts';
import { factsOf } from './pod-list-facts.ts';

type Cluster = Pick<ClusterView, 'nodes' | 'podsByNode' | 'pendingPods'>;

/** Pods on Spot nodes keep their right to be there, then pending pods, then those on regular nodes, which live there already. */
const RANKS = { spot: 0, pending: 1, regular: 2 } as const;

interface Member {
  readonly pod: Pod;
  readonly place: keyof typeof RANKS;
}

/** Pods by the uid of their controller. */
type Workloads = ReadonlyMap<string, readonly Member[]>;

/** The view with marked pods. Returns the view itself if no workload states a share. Unchanged parts keep their identity. */
export function withOnDemandShares<View extends Cluster>(cluster: View): View {
  const marked = new Map<Pod, OnDemandShare>();
  for (const members of workloadsOf(cluster).values()) {
    const share = shareOf(members);
    const sorted = [...members].sort(byRight);
    const regular = onDemandPods(share, members.length);
    // guard: no more pods of a workload may be placed on Spot nodes than its share leaves
    for (const { pod } of sorted.slice(members.length - regular)) marked.set(pod, share);
  }
  if (marked.size === 0) return cluster;
  const pendingPods = withMarks(cluster.pendingPods, marked);
  const podsByNode = new Map(
    [...cluster.podsByNode].map(([node, pods]) => [node, factsOf(pods).hasShares ? withMarks(pods, marked) : pods]),
  );
  return { ...cluster, pendingPods, podsByNode };
}

/** A workload with fewer pods on regular nodes than it states. */
export interface BrokenShare {
  readonly controller: string;
  readonly share: OnDemandShare;
  readonly pods: number;
  readonly onRegular: number;
}

/** Which shares these places break, if the pods without a place do not count. For any set of pods: those of a plan, or all. */
export function brokenShares(places: Iterable<{ readonly pod: Pod; readonly spot: boolean }>): readonly BrokenShare[] {
  const workloads = new Map<string, { readonly members: Member[] }>();
  for (const { pod, spot } of places) addMember(workloads, { pod, place: spot ? 'spot' : 'regular' });
  return [...workloads].flatMap(([controller, { members }]) => {
    const share = shareOf(members);
    const onRegular = members.filter(({ place }) => place === 'regular').length;
    return onRegular >= onDemandPods(share, members.length) ? [] : [{ controller, share, pods: members.length, onRegular }];
  });
}

function workloadsOf({ nodes, podsByNode, pendingPods }: Cluster): Workloads {
  const workloads = new Map<string, { readonly members: Member[] }>();
  for (const pod of pendingPods) addMember(workloads, { pod, place: 'pending' });
  for (const [name, pods] of listsWithShares(podsByNode)) {
    const node = nodes.get(name);
    for (const pod of pods) addMember(workloads, { pod, place: node !== undefined && isSpotNode(node) ? 'spot' : 'regular' });
  }
  return new Map([...workloads].map(([uid, { members }]) => [uid, members]));
}

type Lists = readonly (readonly [NodeName, readonly Pod[]])[];

/** The view keeps its map while no pod changed, and most clusters have no such pod. */
const sharing = new WeakMap<Cluster['podsByNode'], Lists>();

function listsWithShares(podsByNode: Cluster['podsByNode']): Lists {
  const known = sharing.get(podsByNode) ?? [...podsByNode].filter(([, pods]) => factsOf(pods).hasShares);
  sharing.set(podsByNode, known);
  return known;
}

/** A pod that is being deleted is no pod of its workload any more; its successor is. */
function addMember(workloads: Map<string, { readonly members: Member[] }>, member: Member): void {
  const { annotations, controller, deletionAtMs, daemonSet } = member.pod;
  if (annotations.minOnDemand === undefined || controller === undefined || deletionAtMs !== undefined || daemonSet) return;
  const known = workloads.get(controller.uid);
  if (known === undefined) workloads.set(controller.uid, { members: [member] });
  else known.members.push(member);
}

/** While a new template is rolled out to pods of one controller, the larger share holds. */
function shareOf(members: readonly Member[]): OnDemandShare {
  return members.reduce<OnDemandShare>(
    (
      most,
      {
        pod: {
          annotations: { minOnDemand },
        },
      },
    ) => (minOnDemand !== undefined && minOnDemand.percent > most.percent ? minOnDemand : most),
    { percent: 0, text: '0%' },
  );
}

function byRight(left: Member, right: Member): number {
  return RANKS[left.place] - RANKS[right.place] || left.pod.createdAtMs - right.pod.createdAtMs || compareText(left.pod.uid, right.pod.uid);
}

interface MarkedList {
  readonly marks: string;
  readonly pods: readonly Pod[];
}

const lists = new WeakMap<readonly Pod[], MarkedList>();
const pods = new WeakMap<Pod, Pod>();
const shapes = new WeakMap<PodShape, Map<string, PodShape>>();

/** The same list for the same marks, so that what is known of a list is known in the next loop. */
function withMarks(list: readonly Pod[], marked: ReadonlyMap<Pod, OnDemandShare>): readonly Pod[] {
  const marks = list.map((pod) => marked.get(pod)?.text ?? '').join();
  const known = lists.get(list);
  if (known?.marks === marks) return known.pods;
  const some = list.map((pod) => {
    const share = marked.get(pod);
    return share === undefined ? pod : markedPod(pod, share);
  });
  const changed = some.some((pod, at) => pod !== list[at]) ? some : list;
  lists.set(list, { marks, pods: changed });
  return changed;
}

function markedPod(pod: Pod, { text }: OnDemandShare): Pod {
  const known = pods.get(pod);
  if (known?.shape.regularOnly === text) return known;
  const made = { ...pod, shape: markedShape(pod.shape, text) };
  pods.set(pod, made);
  return made;
}

function markedShape(shape: PodShape, text: string): PodShape {
  const byText = shapes.get(shape) ?? new Map<string, PodShape>();
  shapes.set(shape, byText);
  const known = byText.get(text) ?? { ...shape, key: `${shape.key}|regular ${text}`, regularOnly: text };
  byText.set(text, known);
  return known;
}
