/**
 * Pods of groups whose nodes must share the value of a label. kube-scheduler tries such a group in one domain after the other (v1.36.3,
 * `pkg/scheduler/framework/plugins/topologyaware`); for the planner, each pod requires to be near the others of its group. Must not know plans.
 */
import { POD_GROUP_LABEL, podGroupOf, type PodGroups } from '../../domain/workloads.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';

type Claiming = Pick<ClusterView, 'podsByNode' | 'pendingPods'>;

/** Returns unchanged parts as they are, and the same values for the same pods. */
export class PodGroupShapes {
  readonly #shapes = new WeakMap<PodShape, { readonly topologyKey: string; readonly shape: PodShape }>();
  readonly #pods = new WeakMap<Pod, Pod>();
  readonly #lists = new WeakMap<readonly Pod[], readonly Pod[]>();
  #known: PodGroups | undefined;

  resolve<View extends Claiming>(view: View, known: PodGroups | undefined): View {
    if (known === undefined || ![...known.groups.values()].some(({ topologyKey }) => topologyKey !== undefined)) return view;
    const isSame = this.#known === known;
    this.#known = known;
    const listOf = (pods: readonly Pod[]): readonly Pod[] => {
      const before = isSame ? this.#lists.get(pods) : undefined;
      if (before !== undefined) return before;
      const resolved = pods.map((pod) => this.#podOf(pod, known));
      const list = resolved.every((pod, at) => pod === pods[at]) ? pods : resolved;
      this.#lists.set(pods, list);
      return list;
    };
    const podsByNode = new Map([...view.podsByNode].map(([node, pods]) => [node, listOf(pods)]));
    return { ...view, podsByNode, pendingPods: listOf(view.pendingPods) };
  }

  #podOf(pod: Pod, known: PodGroups): Pod {
    const topologyKey = pod.shape.gang === undefined ? undefined : podGroupOf(pod, known)?.topologyKey;
    if (topologyKey === undefined) return pod;
    const shape = this.#shapeOf(pod.shape, topologyKey);
    const before = this.#pods.get(pod);
    if (before?.shape === shape) return before;
    const made = { ...pod, shape };
    this.#pods.set(pod, made);
    return made;
  }

  #shapeOf(given: PodShape, topologyKey: string): PodShape {
    const before = this.#shapes.get(given);
    if (before?.topologyKey === topologyKey) return before.shape;
    const { gang = '', namespace } = given;
    const selector = { requirements: [{ key: POD_GROUP_LABEL, operator: 'In' as const, values: [gang] }] };
    const together = { topologyKey, selector, namespaces: [namespace], namespaceSelector: undefined };
    const shape = {
      ...given,
      key: `${given.key} together by ${topologyKey}`,
      labels: { ...given.labels, [POD_GROUP_LABEL]: gang },
      podAffinity: [...given.podAffinity, together],
    };
    this.#shapes.set(given, { topologyKey, shape });
    return shape;
  }
}
