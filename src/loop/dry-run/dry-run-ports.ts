/**
 * The loop's ports for a dry run: reads are real, and every write is recorded instead of carried out. A removal must run to
 * its end, so pods whose eviction was withheld are read as gone for a while. Nothing else is made up. Must not know what
 * is planned.
 */
import type { Clock } from '../../lib/clock.ts';
import type { NodeName, PodUid } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { TO_BE_DELETED_TAINT, hasTaint, type Taint } from '../../domain/taints.ts';
import type { CapacityObjectWriter, NodeTainter, PodEvictor, PodNominator } from '../../domain/ports/cluster-writes.ts';
import type { CloudNodeGroups } from '../../domain/ports/cloud.ts';
import type { CloudView } from '../../domain/observation.ts';
import type { ClusterReader } from '../../domain/ports/cluster.ts';
import type { AutoscalerEvent, EventRecorder } from '../../domain/ports/records.ts';
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { WithheldWrites } from './withheld-writes.ts';

/** As long as a deletion without effect is assumed to run. Then the node is planned again, with its pods. */
const GONE_FOR_MS = 600_000;

/** Returns the same dependencies without a way to change the cluster or Azure. */
export function dryRunDeps(deps: LoopDeps, writes: WithheldWrites): LoopDeps {
  const evicted = new EvictedPods(deps.clock);
  const tainted = new Map<NodeName, WithheldTaint>();
  return {
    ...deps,
    metrics: withoutActs(deps.metrics),
    cloud: withholdingCloud(deps.cloud, writes),
    cluster: withholdingReader(deps.cluster, evicted, tainted),
    tainter: withholdingTainter(deps, writes, tainted),
    evictor: withholdingEvictor(writes, evicted),
    events: withholdingEvents(writes),
    nominator: withholdingNominator(writes),
    capacityObjects: withholdingStatuses(writes),
  };
}

/** Counters of actions stay at 0, since a dry run takes none. */
function withoutActs(metrics: Metrics): Metrics {
  const unseen = createMetrics();
  const { unneeded, kept } = metrics.scaleDown;
  return { ...metrics, scaleDown: { ...unseen.scaleDown, unneeded, kept } };
}

function withholdingCloud(cloud: CloudNodeGroups, writes: WithheldWrites): CloudNodeGroups {
  return {
    start: (signal) => cloud.start(signal),
    prepare: (cluster, nowMs) => cloud.prepare(cluster, nowMs),
    withoutStopped: (cluster) => cloud.withoutStopped(cluster),
    observe: (cluster, nowMs) => followingOthers(cloud.observe(cluster, nowMs)),
    refresh: (group, signal) => cloud.refresh(group, signal),
    invalidate: (group) => cloud.invalidate(group),
    onWake: (listener) => cloud.onWake(listener),
    increase: ({ group, from, to }) => {
      writes.record('increase', group, `capacity from ${from} to ${to}`);
      return Promise.resolve({ kind: 'withheld', group });
    },
    removalPausedBecause: (group) => cloud.removalPausedBecause(group),
    untilRemovable: (group, signal) => cloud.untilRemovable(group, signal),
    deleteInstances: ({ group, instances, reimages }) => {
      writes.record(reimages ? 'reimage-instance' : 'delete-instances', group, instances.join(', '));
      return Promise.resolve({ kind: 'accepted', group, instances });
    },
    syncCounts: () => Promise.resolve(),
  };
}

/**
 * What another autoscaler adds counts as added by this one: had it added the nodes itself, its removals would wait as long. Else a
 * dry run would remove nodes that it would keep if it ran alone.
 */
function followingOthers(view: CloudView): CloudView {
  if (!view.events.some(({ kind }) => kind === 'external-change')) return view;
  return {
    ...view,
    events: view.events.map((event) => (event.kind === 'external-change' ? { ...event, followed: true as const } : event)),
  };
}

/** A deletion taint that was withheld. A removal in progress must find it on its node. */
type WithheldTaint = Pick<Node, 'deletionOwner'> & { readonly taint: Taint };

function withholdingReader(reader: ClusterReader, evicted: EvictedPods, tainted: ReadonlyMap<NodeName, WithheldTaint>): ClusterReader {
  return {
    start: (signal) => reader.start(signal),
    observe: (nowMs) => reader.observe(nowMs),
    onUnschedulable: (listener) => reader.onUnschedulable(listener),
    onPreemption: (listener) => reader.onPreemption(listener),
    readFresh: async (node, signal) => {
      const fresh = await reader.readFresh(node, signal);
      if (fresh === undefined) return undefined;
      const pods = fresh.pods.filter(({ uid }) => !evicted.has(uid));
      // Those of the pods whose evictions were withheld are attached still.
      return { node: withWithheldTaint(fresh.node, tainted.get(node)), pods, volumes: [] };
    },
    podExists: async (pod, signal) => !evicted.has(pod.uid) && (await reader.podExists(pod, signal)),
  };
}

function withWithheldTaint(node: Node, withheld: WithheldTaint | undefined): Node {
  if (withheld === undefined || hasTaint(node.taints, TO_BE_DELETED_TAINT)) return node;
  return { ...node, taints: [...node.taints, withheld.taint], deletionOwner: withheld.deletionOwner };
}

function withholdingTainter(
  { cluster, clock }: Pick<LoopDeps, 'cluster' | 'clock'>,
  writes: WithheldWrites,
  tainted: Map<NodeName, WithheldTaint>,
): NodeTainter {
  return {
    taint: (node, taint, { cordon, owner }) => {
      const { key, effect } = taint;
      writes.record('taint', node, `${key}:${effect}${cordon ? ', cordoned' : ''}`);
      if (owner !== undefined && key === TO_BE_DELETED_TAINT) tainted.set(node, { taint, deletionOwner: owner.value });
      const known = cluster.observe(clock.now()).nodes.get(node);
      return Promise.resolve({ uncordonLater: cordon && known?.unschedulable === false });
    },
    untaint: (node, key, { uncordon }) => {
      writes.record('untaint', node, `${key}${uncordon ? ', un-cordoned' : ''}`);
      if (key === TO_BE_DELETED_TAINT) tainted.delete(node);
      return Promise.resolve(true);
    },
  };
}

function withholdingEvictor(writes: WithheldWrites, evicted: EvictedPods): PodEvictor {
  return {
    evict: ({ namespace, name, uid }, gracePeriodMs) => {
      writes.record('evict', `${namespace}/${name}`, `grace ${gracePeriodMs / 1000} s`);
      evicted.add(uid);
      return Promise.resolve({ kind: 'evicted' });
    },
  };
}

function withholdingNominator(writes: WithheldWrites): PodNominator {
  return {
    nominate: ({ namespace, name }, node) => {
      writes.record('nominate', `${namespace}/${name}`, node === undefined ? 'withdrawn' : `for node ${node}`);
      return Promise.resolve('written');
    },
  };
}

function withholdingStatuses(writes: WithheldWrites): CapacityObjectWriter {
  return {
    writeStatus: ({ kind, namespace, name }, { after }) => {
      const conditions = after.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).join(', ');
      writes.record('status', `${kind} ${namespace}/${name}`, conditions);
      return Promise.resolve();
    },
    remove: ({ kind, namespace, name }) => {
      writes.record('delete-object', `${kind} ${namespace}/${name}`, 'finished and expired');
      return Promise.resolve();
    },
  };
}

/** Events are withheld, since they would promise a pod's owner nodes that never come. */
function withholdingEvents(writes: WithheldWrites): EventRecorder {
  return {
    record: ({ subject, reason, message }) => writes.record('event', subjectOf(subject), `${reason}: ${message}`),
    flush: () => Promise.resolve(),
  };
}

function subjectOf(subject: AutoscalerEvent['subject']): string {
  return subject.kind === 'Node' ? `Node ${subject.name}` : `${subject.kind} ${subject.namespace}/${subject.name}`;
}

/** Owns the set of pods whose eviction a dry run withheld lately. */
class EvictedPods {
  readonly #clock: Clock;
  readonly #untilMs = new Map<PodUid, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(uid: PodUid): void {
    const nowMs = this.#clock.monotonic();
    for (const [known, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(known);
    this.#untilMs.set(uid, nowMs + GONE_FOR_MS);
  }

  has(uid: PodUid): boolean {
    return (this.#untilMs.get(uid) ?? Number.NEGATIVE_INFINITY) > this.#clock.monotonic();
  }
}
