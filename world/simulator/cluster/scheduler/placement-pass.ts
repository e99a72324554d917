/**
 * Decisions of one pass over the waiting pods. Equal pods share what was found for the first of them, because within a pass nodes
 * only fill up: a node that refused a pod refuses its equals, and only nodes that took a pod since are judged again. The decisions
 * are those of `scheduleOne`. Must not know the API.
 */
import type { PodObject, PodSpec } from '../store/objects.ts';
import { hostPortsOf, nodeReasons, requestsOf, roomReasons, type NodeUsage } from './node-filters.ts';
import {
  compareRanks,
  type Decision,
  type Rank,
  rankOf,
  refusalsBy,
  scheduleOne,
  unschedulableMessage,
  usedShareWith,
} from './placement.ts';
import type { TopologyView } from './topology.ts';
import { mountsOf } from './volumes.ts';

interface Judged {
  readonly usage: NodeUsage;
  reasons: readonly string[];
  rank: Rank;
  /** The usage's revision at that time. */
  revision: number;
}

/** By the key of equal pods, what was found for each node. A node that changed has another usage. */
export type JudgedNodes = ReadonlyMap<string, ReadonlyMap<NodeUsage, Judged>>;

const NONE: JudgedNodes = new Map();
/** More than this is not kept for the next pass. */
const MOST_KEPT = 200_000;

/** What was found for the first of several equal pods. */
interface ShapeState {
  readonly judged: readonly Judged[];
  /** Fitting nodes, the best first; their place may be outdated. */
  readonly fitting: Judged[];
  /** The message for a pod that no node accepts, and the sum of all revisions at that time. */
  refusal?: { readonly message: string; readonly revisions: number };
}

export class PlacementPass {
  readonly #view: TopologyView;
  readonly #byName: ReadonlyMap<string, NodeUsage>;
  readonly #shapes = new Map<string, ShapeState>();
  readonly #before: JudgedNodes;
  /** Whether a running pod, or one of this pass, may refuse others. */
  #guarded: boolean;

  /** `before`: what the last pass left, so that only nodes that changed since are judged again. */
  constructor(view: TopologyView, before: JudgedNodes = NONE) {
    this.#view = view;
    this.#before = before;
    this.#byName = new Map(view.nodes.map((usage) => [usage.node.metadata.name, usage]));
    this.#guarded = view.nodes.some(({ guards }) => guards.length > 0);
  }

  /** Decides for one pod. Add the pod to the usage before the next call. */
  decide(pod: PodObject): Decision {
    this.#guarded ||= pod.spec.affinity?.podAntiAffinity !== undefined;
    return this.#onlyNode(pod) ?? (this.#isPlain(pod) ? this.#decidePlain(pod) : scheduleOne(pod, this.#view));
  }

  /** For the next pass. */
  get judged(): JudgedNodes {
    if (this.#shapes.size * this.#view.nodes.length > MOST_KEPT) return NONE;
    return new Map([...this.#shapes].map(([key, { judged }]) => [key, new Map(judged.map((one) => [one.usage, one]))]));
  }

  /** A pod of a DaemonSet looks at its own node. The other nodes refuse it, which matters only for the message if its own one does, too. */
  #onlyNode(pod: PodObject): Decision | undefined {
    const name = onlyNodeOf(pod);
    const usage = name === undefined ? undefined : this.#byName.get(name);
    if (usage === undefined) return undefined;
    // Rules about other pods need all nodes.
    const view = this.#isPlain(pod) ? { ...this.#view, nodes: [usage] } : this.#view;
    return refusalsBy(view, pod)(usage).length === 0 ? { kind: 'bind', usage } : undefined;
  }

  /** Whether only the node itself decides: no rule of the pod or of a running pod looks elsewhere, and it has no volumes. */
  #isPlain({ spec, ...pod }: PodObject): boolean {
    if (mountsOf({ ...pod, spec }).length > 0 || (spec.volumes ?? []).some((volume) => !isLocal(volume))) return false;
    if ((spec.topologySpreadConstraints ?? []).length > 0) return false;
    if (spec.affinity?.podAffinity !== undefined || spec.affinity?.podAntiAffinity !== undefined) return false;
    return !this.#guarded;
  }

  #decidePlain(pod: PodObject): Decision {
    const state = this.#stateOf(pod);
    const { fitting } = state;
    for (;;) {
      const [best] = fitting;
      if (best === undefined) return { kind: 'unschedulable', message: messageFor(pod, state) };
      if (best.revision === best.usage.revision) return { kind: 'bind', usage: best.usage };
      if (judgeAgain(pod, best).length === 0) sinkFirst(fitting);
      else removeFirst(fitting);
    }
  }

  #stateOf(pod: PodObject): ShapeState {
    const key = shapeKeyOf(pod);
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const before = this.#before.get(key);
    const judged = this.#view.nodes.map((usage): Judged => before?.get(usage) ?? { usage, ...judge(pod, usage) });
    const fitting = judged.filter(({ reasons }) => reasons.length === 0).sort((left, right) => compareRanks(left.rank, right.rank));
    const state = { judged, fitting };
    this.#shapes.set(key, state);
    return state;
  }
}

function judge(pod: PodObject, usage: NodeUsage): Omit<Judged, 'usage'> {
  return { reasons: nodeReasons(pod, usage), rank: rankOf(pod, usage), revision: usage.revision };
}

/** The reasons against the node, found again if it took a pod since. */
function judgeAgain(pod: PodObject, one: Judged): readonly string[] {
  const { usage, rank } = one;
  if (one.revision === usage.revision) return one.reasons;
  // The node itself does not change within a pass.
  one.reasons = one.reasons.length === 0 ? roomReasons(pod, usage) : nodeReasons(pod, usage);
  one.rank = { ...rank, share: usedShareWith(pod, usage) };
  one.revision = usage.revision;
  return one.reasons;
}

function messageFor(pod: PodObject, state: ShapeState): string {
  const revisions = state.judged.reduce((sum, { usage }) => sum + usage.revision, 0);
  if (state.refusal?.revisions !== revisions)
    state.refusal = { revisions, message: unschedulableMessage(state.judged.map((one) => judgeAgain(pod, one))) };
  return state.refusal.message;
}

// `fitting` is a heap by the ranks at the time of judging: a sorted list is one, and the first entry is the best. Present ranks
// are never less than those, so the first entry is the best of all once it has been judged again and stayed first.

function removeFirst(heap: Judged[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  sinkFirst(heap);
}

function sinkFirst(heap: Judged[]): void {
  let at = 0;
  for (;;) {
    const child = betterChild(heap, at);
    const [here, there] = [heap[at], heap[child]];
    if (here === undefined || there === undefined || compareRanks(here.rank, there.rank) <= 0) return;
    [heap[at], heap[child]] = [there, here];
    at = child;
  }
}

function betterChild(heap: readonly Judged[], at: number): number {
  const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
  return left !== undefined && right !== undefined && compareRanks(right.rank, left.rank) < 0 ? 2 * at + 2 : 2 * at + 1;
}

/** The one node that the pod's node affinity names, as the DaemonSet controller writes it. */
function onlyNodeOf({ spec }: PodObject): string | undefined {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const fields = terms.flatMap(({ matchFields = [] }) => matchFields);
  const [field] = fields;
  if (terms.length !== 1 || fields.length !== 1 || field === undefined) return undefined;
  const { key, operator, values = [] } = field;
  return key === 'metadata.name' && operator === 'In' && values.length === 1 ? values[0] : undefined;
}

/** Volumes that no filter reads. */
function isLocal(volume: object): boolean {
  return ['emptyDir', 'configMap', 'secret', 'projected', 'downwardAPI', 'hostPath'].some((kind) => kind in volume);
}

/** By spec: the pods of a controller share one until they are bound. */
const shapeKeys = new WeakMap<PodSpec, string>();

/** Equal for plain pods that every node treats alike: all that {@link nodeReasons} and {@link rankOf} read of a pod. */
function shapeKeyOf(pod: PodObject): string {
  const { spec } = pod;
  const known = shapeKeys.get(spec);
  if (known !== undefined) return known;
  const { affinity, tolerations, nodeSelector } = spec;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const key = JSON.stringify([[...requestsOf(pod)], tolerations, nodeSelector, required, hostPortsOf(pod), spec['resourceClaims']]);
  shapeKeys.set(spec, key);
  return key;
}
