/**
 * A small cluster that remembers: reader, tainter, evictor and event recorder over one set of nodes and pods. Evicted
 * pods end after `endsAfterPolls` questions whether they still exist. Every call passes through `onCall` first, where a
 * test can fail it or never let it return.
 */
import { AutoscalerError } from '../../src/lib/errors.ts';
import type { CapacityObjects } from '../../src/domain/capacity-objects.ts';
import type { Node } from '../../src/domain/node.ts';
import type { ClusterView } from '../../src/domain/observation.ts';
import type { EvictOutcome } from '../../src/domain/outcome.ts';
import type { Pod } from '../../src/domain/pod.ts';
import type { Taint, TaintNote, TaintOwner } from '../../src/domain/taints.ts';
import type { DaemonSet, DisruptionBudget, VerticalPodAutoscalers } from '../../src/domain/workloads.ts';
import type { ClusterReader, OwnerReader, ReadNode } from '../../src/domain/ports/cluster.ts';
import type { AutoscalerEvent, EventRecorder } from '../../src/domain/ports/records.ts';
import type { NodeTainter, PodEvictor } from '../../src/domain/ports/cluster-writes.ts';
import { aCluster } from './builders.ts';

export type OnCall = (call: string, subject: string) => Promise<void> | void;

export interface FakeClusterOptions {
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly disruptionBudgets?: readonly DisruptionBudget[];
  readonly daemonSets?: readonly DaemonSet[];
  readonly capacity?: CapacityObjects;
  readonly verticalPodAutoscalers?: VerticalPodAutoscalers;
}

/** No controller was read, and each can be. */
export const NO_OWNERS: OwnerReader = { known: () => new Map(), read: () => Promise.resolve() };

export class FakeCluster implements ClusterReader, NodeTainter, PodEvictor, EventRecorder {
  readonly nodes = new Map<string, Node>();
  readonly pods = new Map<string, Pod>();
  readonly events: AutoscalerEvent[] = [];
  /** Evictions in the order in which they were granted: pod name and grace. */
  readonly evicted: { readonly pod: string; readonly graceMs: number }[] = [];
  disruptionBudgets: readonly DisruptionBudget[];
  daemonSets: readonly DaemonSet[];
  readonly #capacity: CapacityObjects | undefined;
  readonly #autoscalers: VerticalPodAutoscalers | undefined;
  onCall: OnCall = () => undefined;
  /** Answers an eviction instead of granting it. */
  onEvict: (pod: Pod) => EvictOutcome | undefined = () => undefined;
  endsAfterPolls = 0;
  readonly #polls = new Map<string, number>();
  readonly #listeners = new Set<(pod: Pod) => void>();

  constructor(options: FakeClusterOptions = {}) {
    for (const node of options.nodes ?? []) this.nodes.set(node.name, node);
    for (const pod of options.pods ?? []) this.pods.set(pod.uid, pod);
    this.disruptionBudgets = options.disruptionBudgets ?? [];
    this.daemonSets = options.daemonSets ?? [];
    this.#capacity = options.capacity;
    this.#autoscalers = options.verticalPodAutoscalers;
  }

  podsOn(node: string): readonly Pod[] {
    return [...this.pods.values()].filter((pod) => pod.nodeName === node);
  }

  /** The node and its pods are gone, as when its machine was deleted. */
  removeNode(name: string): void {
    this.nodes.delete(name);
    for (const pod of this.podsOn(name)) this.pods.delete(pod.uid);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#enter('start', '', signal);
  }

  observe(_nowMs: number): ClusterView {
    const pods = [...this.pods.values()].filter((pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed');
    const { disruptionBudgets, daemonSets } = this;
    const capacity = this.#capacity === undefined ? {} : { capacity: this.#capacity };
    const autoscalers = this.#autoscalers === undefined ? {} : { verticalPodAutoscalers: this.#autoscalers };
    return aCluster({ nodes: [...this.nodes.values()], pods, disruptionBudgets, daemonSets, ...capacity, ...autoscalers });
  }

  /** By node, the volumes that are attached to it. */
  readonly volumes = new Map<string, readonly string[]>();

  async readFresh(name: string, signal: AbortSignal): Promise<ReadNode | undefined> {
    await this.#enter('readFresh', name, signal);
    const node = this.nodes.get(name);
    return node === undefined ? undefined : { node, pods: this.podsOn(name), volumes: this.volumes.get(name) ?? [] };
  }

  async podExists(pod: { readonly name: string; readonly uid: string }, signal: AbortSignal): Promise<boolean> {
    await this.#enter('podExists', pod.name, signal);
    const polls = (this.#polls.get(pod.uid) ?? 0) + 1;
    this.#polls.set(pod.uid, polls);
    const known = this.pods.get(pod.uid);
    if (known?.deletionAtMs !== undefined && polls > this.endsAfterPolls) this.pods.delete(pod.uid);
    return this.pods.has(pod.uid);
  }

  onPreemption(_listener: (node: Node) => void): () => void {
    return () => undefined;
  }

  onUnschedulable(listener: (pod: Pod) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds a pending pod and tells the listeners, as the watch would. */
  addPending(pod: Pod): void {
    this.pods.set(pod.uid, pod);
    if (pod.unschedulable !== undefined) for (const listener of this.#listeners) listener(pod);
  }

  async taint(
    name: string,
    taint: Taint,
    { cordon, owner, note }: { readonly cordon: boolean; readonly owner?: TaintOwner; readonly note?: TaintNote },
    signal: AbortSignal,
  ): Promise<{ readonly uncordonLater: boolean; readonly heldBy?: string }> {
    await this.#enter('taint', name, signal);
    const node = this.nodes.get(name);
    if (node === undefined) throw new AutoscalerError({ kind: 'not-found' }, `Node ${name} is gone.`);
    const heldBy = node.deletionOwner;
    if (owner !== undefined && isCovered(node, owner) && heldBy !== owner.value) return { uncordonLater: false, heldBy };
    const others = node.taints.filter((other) => other.key !== taint.key || other.effect !== taint.effect);
    const named = {
      ...(owner === undefined ? {} : { deletionOwner: owner.value }),
      ...(note === undefined ? {} : { reimagedAtMs: Number(note.value) * 1000 }),
    };
    this.nodes.set(name, { ...node, ...named, taints: [...others, taint], unschedulable: node.unschedulable || cordon });
    return { uncordonLater: cordon && !node.unschedulable };
  }

  async untaint(
    name: string,
    key: string,
    { uncordon, owner }: { readonly uncordon: boolean; readonly owner?: TaintOwner },
    signal: AbortSignal,
  ): Promise<boolean> {
    await this.#enter('untaint', name, signal);
    const node = this.nodes.get(name);
    if (node === undefined || (owner !== undefined && node.deletionOwner !== owner.value)) return false;
    const taints = node.taints.filter((taint) => taint.key !== key);
    const uncordons = uncordon && taints.length < node.taints.length;
    const next = { ...node, taints, unschedulable: node.unschedulable && !uncordons };
    this.nodes.set(name, owner === undefined || isCovered(next, owner) ? next : { ...next, deletionOwner: '' });
    return taints.length < node.taints.length;
  }

  async evict(pod: { readonly uid: string; readonly name: string }, gracePeriodMs: number, signal: AbortSignal): Promise<EvictOutcome> {
    await this.#enter('evict', pod.name, signal);
    const known = this.pods.get(pod.uid);
    if (known === undefined) return { kind: 'gone' };
    const answer = this.onEvict(known);
    if (answer !== undefined) return answer;
    this.evicted.push({ pod: pod.name, graceMs: gracePeriodMs });
    this.pods.set(pod.uid, { ...known, deletionAtMs: known.deletionAtMs ?? known.createdAtMs + 1_000_000_000_000 });
    return { kind: 'evicted' };
  }

  record(event: AutoscalerEvent): void {
    this.events.push(event);
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#enter('flush', '', signal);
  }

  async #enter(call: string, subject: string, signal: AbortSignal): Promise<void> {
    await this.onCall(call, subject);
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `${call} was cancelled.`);
  }
}

function isCovered({ taints }: Node, { covers }: TaintOwner): boolean {
  return taints.some(({ key }) => covers.includes(key));
}
