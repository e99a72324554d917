/**
 * The spread constraints that a profile of kube-scheduler gives to pods without their own. As in kube-scheduler 1.37
 * (pkg/scheduler/framework/plugins/podtopologyspread/common.go, `buildDefaultConstraints`, and plugins/helper/spread.go, `DefaultSelector`), their
 * selector is that of the Services that select the pod and of its ReplicaSet, StatefulSet or ReplicationController; a pod without any has no
 * constraint. Nothing is watched if no profile refuses nodes by default. Must not know plans.
 */
import type { LabelSelector, Requirement } from '../../domain/labels.ts';
import { matchesSelector } from '../../domain/labels.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape, SpreadDefaults } from '../../domain/pod.ts';
import { exactSelector, workloadSelector } from '../projection/selectors.ts';
import { compareBy } from '../../lib/comparison.ts';
import { namespacedName, Table } from '../watch/object-table.ts';
import type { Source } from '../watch/reflector-options.ts';

type Claiming = Pick<ClusterView, 'podsByNode' | 'pendingPods'>;

const WORKLOADS = [
  { kind: 'ReplicaSet', resource: 'replicasets', path: '/apis/apps/v1/replicasets', project: workloadSelector },
  { kind: 'StatefulSet', resource: 'statefulsets', path: '/apis/apps/v1/statefulsets', project: workloadSelector },
  { kind: 'ReplicationController', resource: 'replicationcontrollers', path: '/api/v1/replicationcontrollers', project: exactSelector },
] as const;
const FEATURE = 'default-topology-spread';

/** Gives pods of these profiles the constraints that kube-scheduler would. Returns what does not change as it is. */
export class DefaultSpread {
  readonly #defaults: SpreadDefaults;
  readonly #services = new Table({ keyOf: namespacedName, project: (object) => exactSelector(object) });
  readonly #workloads: ReadonlyMap<string, Table<LabelSelector | undefined>>;
  #servicesByNamespace: ReadonlyMap<string, readonly LabelSelector[]> = new Map();
  #trouble: string | undefined;
  /** Everything below is of the present objects. */
  #shapes = new WeakMap<PodShape, Map<string, PodShape>>();
  #lists = new WeakMap<readonly Pod[], readonly Pod[]>();
  #last: { readonly given: Claiming; readonly found: Claiming } | undefined;
  readonly #pods = new WeakMap<Pod, Pod>();

  constructor(defaults: SpreadDefaults) {
    this.#defaults = defaults;
    this.#workloads = new Map(
      WORKLOADS.map(({ kind, project }) => [kind, new Table({ keyOf: namespacedName, project: (object) => project(object) })]),
    );
  }

  /** None if no profile has such constraints. */
  sources(): readonly Source[] {
    if (this.#defaults.size === 0) return [];
    const workloads = WORKLOADS.flatMap(({ kind, resource, path }) => {
      const table = this.#workloads.get(kind);
      return table === undefined ? [] : [{ resource, path, table, onlyFor: 'spread' as const }];
    });
    return [{ resource: 'services', path: '/api/v1/services', table: this.#services, onlyFor: 'spread' }, ...workloads];
  }

  /** `trouble`: why Services and workloads are not known. If absent, they are. */
  resolve<View extends Claiming>(view: View, trouble?: string): View {
    if (this.#defaults.size === 0) return view;
    this.#update(trouble);
    const last = this.#last;
    if (last?.given.podsByNode === view.podsByNode && last.given.pendingPods === view.pendingPods) return { ...view, ...last.found };
    const lists = [...view.podsByNode].map(([node, pods]) => [node, this.#listOf(pods)] as const);
    const before = last?.found.podsByNode;
    const isSame = before?.size === lists.length && lists.every(([node, pods]) => before.get(node) === pods);
    const podsByNode = isSame && before !== undefined ? before : new Map(lists);
    const found = { podsByNode, pendingPods: this.#listOf(view.pendingPods) };
    this.#last = { given: { podsByNode: view.podsByNode, pendingPods: view.pendingPods }, found };
    return { ...view, ...found };
  }

  #update(trouble: string | undefined): void {
    const changed = [this.#services, ...this.#workloads.values()].filter((table) => table.takeChanged());
    if (changed.length === 0 && trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#shapes = new WeakMap();
    this.#lists = new WeakMap();
    this.#last = undefined;
    const services = new Map<string, LabelSelector[]>();
    for (const [key, selector] of [...this.#services.items].sort(compareBy(([key]) => key))) {
      const namespace = key.slice(0, key.indexOf('/'));
      if (selector !== undefined) services.set(namespace, [...(services.get(namespace) ?? []), selector]);
    }
    this.#servicesByNamespace = services;
  }

  #listOf(pods: readonly Pod[]): readonly Pod[] {
    const known = this.#lists.get(pods);
    if (known !== undefined) return known;
    const resolved = pods.map((pod) => this.#podOf(pod));
    const list = resolved.every((pod, at) => pod === pods[at]) ? pods : resolved;
    this.#lists.set(pods, list);
    return list;
  }

  #podOf(pod: Pod): Pod {
    const { shape, controller } = pod;
    // guard: a pod with spread constraints of its own, soft ones too, gets none by default
    if (!this.#defaults.has(shape.schedulerName) || shape.topologySpread.length > 0 || shape.ownSpread) return pod;
    const owner = controller === undefined ? '' : `${controller.kind} ${controller.name}`;
    const byOwner = this.#shapes.get(shape) ?? new Map<string, PodShape>();
    this.#shapes.set(shape, byOwner);
    const spread = byOwner.get(owner) ?? this.#spreadShape(pod);
    byOwner.set(owner, spread);
    if (spread === shape) return pod;
    const before = this.#pods.get(pod);
    // Shapes are made again when a Service changes; a pod whose constraints stay the same stays the same pod.
    if (before?.shape.key === spread.key) return before;
    const made = { ...pod, shape: spread };
    this.#pods.set(pod, made);
    return made;
  }

  #spreadShape(pod: Pod): PodShape {
    const { shape } = pod;
    if (this.#trouble !== undefined) {
      // guard: a pod whose default constraints are not known is not planned as if it had none
      const unsupported = [...shape.unsupported, { feature: FEATURE, detail: this.#trouble }];
      return { ...shape, key: `${shape.key} spread by default: ${this.#trouble}`, unsupported };
    }
    const requirements = this.#requirementsFor(pod);
    if (requirements.length === 0) return shape;
    const defaults = this.#defaults.get(shape.schedulerName) ?? [];
    const topologySpread = defaults.map((constraint) => ({ ...constraint, selector: { requirements } }));
    return { ...shape, key: `${shape.key} spread by default: ${JSON.stringify(requirements)}`, topologySpread };
  }

  #requirementsFor({ shape: { namespace, labels }, controller }: Pod): readonly Requirement[] {
    const services = (this.#servicesByNamespace.get(namespace) ?? []).filter((selector) => matchesSelector(selector, labels));
    const workload =
      controller === undefined ? undefined : this.#workloads.get(controller.kind)?.items.get(`${namespace}/${controller.name}`);
    const all = [...services, ...(workload === undefined ? [] : [workload])].flatMap(({ requirements }) => requirements);
    return [...new Map(all.map((requirement) => [JSON.stringify(requirement), requirement])).values()];
  }
}
