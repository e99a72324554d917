/**
 * How long each stage of a scale-up takes, from the pod that asked to the pod that runs. Looks on after each loop and
 * decides nothing. A machine belongs to the oldest order of its group that still waits for one.
 */
import type { InstanceKey, NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { IncreaseRecord, LoopListener, LoopReport } from '../../domain/loop-report.ts';

/** A closed set, used as a metric label. */
export const STAGES = ['planned', 'written', 'created', 'ready', 'bound'] as const;
type Stage = (typeof STAGES)[number];

/** What has not come by then never counts: orders that failed are among it. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Kubernetes tells whole seconds. */
const COARSE_MS = 1_000;

interface Order {
  readonly acceptedMs: number;
  missing: number;
}

interface Machine {
  readonly createdMs: number;
  readonly orderedMs: number;
  isReady: boolean;
}

interface Waiting {
  readonly sinceMs: number;
  readonly orderedMs: number;
}

export function stageTimes(metrics: Metrics['scaleUp']): LoopListener {
  const times = new StageTimes(metrics);
  return (report) => times.look(report);
}

class StageTimes {
  readonly #metrics: Metrics['scaleUp'];
  readonly #orders = new Map<NodeGroupId, Order[]>();
  readonly #machines = new Map<InstanceKey, Machine>();
  readonly #pods = new Map<PodUid, Waiting>();

  constructor(metrics: Metrics['scaleUp']) {
    this.#metrics = metrics;
  }

  look(report: LoopReport): void {
    const { observation } = report;
    if (observation === undefined) return;
    this.#forget(observation.nowMs);
    this.#machinesIn(observation);
    this.#podsIn(observation);
    for (const record of report.rounds.flatMap(({ increases }) => increases)) this.#order(record, report.startedAtMs);
  }

  #order({ increase, outcome, atMs }: IncreaseRecord, plannedMs: number): void {
    if (outcome.kind !== 'accepted') return;
    const { group } = increase;
    this.#observe(group, 'written', atMs - plannedMs);
    const orders = this.#orders.get(group) ?? [];
    orders.push({ acceptedMs: atMs, missing: Math.max(0, outcome.target - increase.from) });
    this.#orders.set(group, orders);
    for (const { uid, unschedulable, injected } of increase.pods) {
      if (unschedulable === undefined || injected === true || this.#pods.has(uid)) continue;
      this.#observe(group, 'planned', plannedMs - unschedulable.sinceMs);
      this.#pods.set(uid, { sinceMs: unschedulable.sinceMs, orderedMs: atMs });
    }
  }

  #machinesIn(observation: Observation): void {
    if (this.#orders.size === 0 && this.#machines.size === 0) return;
    const nodes = nodesByInstance(observation);
    for (const { id, instances = [] } of observation.cloud.groups) {
      if (!this.#orders.has(id)) continue;
      for (const { key, state, firstSeenMs } of instances) {
        const node = nodes.get(key);
        if (state !== 'failed' && state !== 'deleting') this.#machine(id, key, Math.min(firstSeenMs, node?.createdAtMs ?? firstSeenMs));
        if (node?.readiness.ready === true) this.#ready(id, key, node.readiness.sinceMs);
      }
    }
  }

  #ready(group: NodeGroupId, key: InstanceKey, sinceMs: number): void {
    const machine = this.#machines.get(key);
    if (machine === undefined || machine.isReady) return;
    machine.isReady = true;
    this.#observe(group, 'ready', sinceMs - machine.createdMs);
  }

  #machine(group: NodeGroupId, key: InstanceKey, createdMs: number): void {
    if (this.#machines.has(key)) return;
    const order = this.#orders.get(group)?.find(({ acceptedMs, missing }) => missing > 0 && createdMs >= acceptedMs - COARSE_MS);
    if (order === undefined) return;
    order.missing -= 1;
    this.#machines.set(key, { createdMs, orderedMs: order.acceptedMs, isReady: false });
    this.#observe(group, 'created', createdMs - order.acceptedMs);
  }

  /** Looks through all pods, but only while some are awaited. */
  #podsIn({ cloud, cluster, nowMs }: Observation): void {
    if (this.#pods.size === 0) return;
    for (const [name, pods] of cluster.podsByNode) {
      for (const { uid } of pods) {
        const waiting = this.#pods.get(uid);
        const group = cloud.groupOfNode.get(name);
        if (waiting === undefined) continue;
        this.#pods.delete(uid);
        if (group === undefined) continue;
        this.#metrics.podsToBound.observe({ node_group: group }, seconds(nowMs - waiting.sinceMs));
        const key = cloud.instanceOfNode.get(name);
        const node = cluster.nodes.get(name);
        // Where room became free on an old node the last stage has no beginning.
        if (key !== undefined && node !== undefined && this.#machines.has(key))
          this.#observe(group, 'bound', nowMs - node.readiness.sinceMs);
      }
    }
  }

  #forget(nowMs: number): void {
    const endedMs = nowMs - FORGOTTEN_AFTER_MS;
    for (const [group, orders] of this.#orders) {
      const live = orders.filter(({ acceptedMs }) => acceptedMs > endedMs);
      if (live.length === 0) this.#orders.delete(group);
      else this.#orders.set(group, live);
    }
    for (const [key, { orderedMs }] of this.#machines) if (orderedMs <= endedMs) this.#machines.delete(key);
    for (const [uid, { orderedMs }] of this.#pods) if (orderedMs <= endedMs) this.#pods.delete(uid);
  }

  #observe(group: NodeGroupId, stage: Stage, ms: number): void {
    this.#metrics.stages.observe({ stage }, seconds(ms));
    this.#metrics.groupStages.observe({ node_group: group, stage }, seconds(ms));
  }
}

function nodesByInstance({ cloud, cluster }: Observation): ReadonlyMap<InstanceKey, Node> {
  const nodes = new Map<InstanceKey, Node>();
  for (const [name, key] of cloud.instanceOfNode) {
    const node = cluster.nodes.get(name);
    if (node !== undefined) nodes.set(key, node);
  }
  return nodes;
}

/** Clocks of different machines may make a short stage negative. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
