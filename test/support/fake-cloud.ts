/**
 * Node groups that remember. Guards as the real adapter does: a stale version is a conflict, nothing goes above max or
 * (for nodes) below min, an instance that is gone is success.
 */
import type { SlicedWork } from '../../src/lib/slices.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import type { InstanceKey, NodeGroupId } from '../../src/domain/ids.ts';
import type { Instance, NodeGroup } from '../../src/domain/node-group.ts';
import type { CloudEvent, CloudView, ClusterView } from '../../src/domain/observation.ts';
import type { AnsweredIncrease, DeleteOutcome } from '../../src/domain/outcome.ts';
import type { CloudNodeGroups, DeleteRequest, IncreaseRequest, UnansweredIncrease } from '../../src/domain/ports/cloud.ts';
import { aCloud, anInstance, START_MS } from './builders.ts';
import type { OnCall } from './fake-cluster.ts';

/** What is left of a request after the last look of its caller. */
type SentDelete = Omit<DeleteRequest, 'objections'>;

export class FakeCloud implements CloudNodeGroups {
  readonly groups = new Map<NodeGroupId, NodeGroup>();
  readonly deletes: SentDelete[] = [];
  /** The instances that may be stopped, of each request. */
  readonly stoppable: (readonly InstanceKey[])[] = [];
  readonly increases: IncreaseRequest[] = [];
  /** The busy groups of each turn in which counts may be brought in step. */
  readonly busyGroups: (readonly NodeGroupId[])[] = [];
  onCall: OnCall = () => undefined;
  /** Answers a deletion instead of carrying it out. */
  onDelete: (request: SentDelete) => DeleteOutcome | undefined = () => undefined;
  /** What happens while a deletion waits for its turn. */
  onTurn: () => Promise<void> | undefined = () => undefined;
  /** Answers an increase instead of carrying it out. */
  onIncrease: (request: IncreaseRequest) => AnsweredIncrease | UnansweredIncrease | undefined = () => undefined;
  scaleDownBlocked: string | undefined;
  optionsWithoutGroup: readonly string[] | undefined;
  rulesWithoutGroup: readonly string[] | undefined;
  scaleUpBlocked: string | undefined;
  #events: CloudEvent[] = [];
  #version = 1;
  readonly #listeners = new Set<() => void>();

  constructor(groups: readonly NodeGroup[]) {
    for (const group of groups) this.groups.set(group.id, group);
  }

  /** What the next view hands over once, and what wakes the loop. */
  emit(event: CloudEvent): void {
    this.#events.push(event);
    for (const listener of this.#listeners) listener();
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#enter('start', '', signal);
  }

  *prepare(): SlicedWork<void> {}

  observe(cluster: ClusterView, _nowMs: number): CloudView {
    const events = this.#events;
    this.#events = [];
    const { scaleDownBlocked, scaleUpBlocked, optionsWithoutGroup, rulesWithoutGroup } = this;
    const odd = {
      ...(optionsWithoutGroup === undefined ? {} : { optionsWithoutGroup }),
      ...(rulesWithoutGroup === undefined ? {} : { rulesWithoutGroup }),
    };
    return aCloud([...this.groups.values()], cluster, { events, scaleDownBlocked, scaleUpBlocked, ...odd });
  }

  withoutStopped(cluster: ClusterView): ClusterView {
    return cluster;
  }

  removalPausedBecause(): string | undefined {
    return undefined;
  }

  syncCounts(busy: ReadonlySet<NodeGroupId>): Promise<void> {
    this.busyGroups.push([...busy].sort());
    return Promise.resolve();
  }

  async increase(request: IncreaseRequest, signal: AbortSignal): Promise<AnsweredIncrease | UnansweredIncrease> {
    await this.#enter('increase', request.group, signal);
    this.increases.push(request);
    const answer = this.onIncrease(request);
    if (answer !== undefined) return answer;
    const group = this.#group(request.group);
    if (!group.target.known || request.to > group.maxSize) return { kind: 'refused', group: group.id, reason: 'above max or unknown' };
    if (group.target.version !== request.version) return { kind: 'conflict', group: group.id, observed: group.target.value };
    const added = Array.from({ length: request.to - group.target.value }, (_, index) =>
      anInstance({ node: `${group.id}-${this.#version}-${index}`, state: 'creating', firstSeenMs: START_MS }),
    );
    this.#replace(group, request.to, [...(group.instances ?? []), ...added]);
    return { kind: 'accepted', group: group.id, target: request.to };
  }

  async deleteInstances(request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
    await this.#enter('deleteInstances', request.group, signal);
    const { objections: look, ...sent } = request;
    const objections = await look(request.instances, signal);
    const left = request.instances.filter((key) => !objections.has(key));
    if (left.length === 0) return { kind: 'refused', group: request.group, reason: [...objections.values()].join(', ') };
    this.stoppable.push([...request.mayStop]);
    return this.#delete({ ...sent, instances: left });
  }

  #delete(request: SentDelete): DeleteOutcome {
    this.deletes.push(request);
    const answer = this.onDelete(request);
    if (answer !== undefined) return answer;
    const group = this.#group(request.group);
    const named = new Set(request.instances);
    const leaving = (group.instances ?? []).filter((instance) => named.has(instance.key) && instance.state !== 'deleting');
    const target = group.target.known ? group.target.value - leaving.length : 0;
    if (!request.allowBelowMin && target < group.minSize) return { kind: 'refused', group: group.id, reason: 'below the minimum size' };
    const instances = (group.instances ?? []).map((instance) => (leaving.includes(instance) ? asDeleting(instance) : instance));
    this.#replace(group, target, instances);
    return { kind: 'accepted', group: group.id, instances: request.instances };
  }

  async untilRemovable(group: NodeGroupId, signal: AbortSignal): Promise<void> {
    await this.#enter('untilRemovable', group, signal);
    await this.onTurn();
  }

  async refresh(group: NodeGroupId, signal: AbortSignal): Promise<void> {
    await this.#enter('refresh', group, signal);
  }

  invalidate(_group?: NodeGroupId): void {}

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Deletions come to their end: the instances are gone. Returns their ids, which are the names of their nodes. */
  finishDeletions(): readonly string[] {
    const gone: string[] = [];
    for (const group of this.groups.values()) {
      const leaving = (group.instances ?? []).filter((instance) => instance.state === 'deleting');
      gone.push(...leaving.map((instance) => instance.instanceId));
      this.groups.set(group.id, { ...group, instances: (group.instances ?? []).filter((instance) => !leaving.includes(instance)) });
    }
    return gone;
  }

  #group(id: NodeGroupId): NodeGroup {
    const group = this.groups.get(id);
    if (group === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no node group ${id}.`);
    return group;
  }

  #replace(group: NodeGroup, value: number, instances: readonly Instance[]): void {
    this.#version += 1;
    const observedAtMs = group.target.known ? group.target.observedAtMs : 0;
    const target = { known: true, value, version: `"${this.#version}"`, confirmed: true, observedAtMs } as const;
    this.groups.set(group.id, { ...group, target, instances });
  }

  async #enter(call: string, subject: string, signal: AbortSignal): Promise<void> {
    await this.onCall(call, subject);
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `${call} was cancelled.`);
  }
}

function asDeleting(instance: Instance): Instance {
  return { ...instance, state: 'deleting' };
}
