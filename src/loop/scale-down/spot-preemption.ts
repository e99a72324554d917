/**
 * The response to spot preemption: the node is cordoned at once, and its pods are evicted with the rest of the notice as
 * grace. A taint shows a later process what was started and who cordoned. If the preemption does not happen, the taint is
 * removed. A ready node that has outlived its deadline may have been spared, so that nothing is begun on it any more. Must not
 * know how the node is replaced: that is planned elsewhere.
 */
import { untilAborted } from '../../lib/abort.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node, Preemption } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DrainPolicy, Policy } from '../../domain/policy.ts';
import { hasTaint } from '../../domain/taints.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import { isPreempted, preemptedNodes } from '../../planning/state/node-counts.ts';
import { budgetIndex } from '../../scheduling/drainability/drain-rule.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { evictWithoutWaiting, OF_REMOVED_NODE, UNCHECKED } from './evict-pods.ts';
import { EvictionTurns, PREEMPTION_EVICTIONS } from './eviction-turns.ts';

/** Its effect is NoSchedule. The value records whether its removal un-cordons the node. */
export const PREEMPTED_TAINT = 'aks-autoscaler/preempted';
const CORDONED_BY_US = 'cordoned';
const CORDONED_BEFORE = 'cordoned-before';
const RETRY_MS = 1_000;
/** Subtracted from the notice, so that a pod's grace period ends before its instance does. */
const SPARE_MS = 2_000;
/**
 * The shortest grace period that the notice leaves to a pod. If the notice is all but over, or this process's clock is ahead, less would
 * only take the pod's time to shut down: the grace period of a container whose instance ends first does no harm.
 */
const LEAST_GRACE_MS = 5_000;

type PreemptionDeps = Omit<DrainDeps, 'onEnd' | 'cloud'>;

/** Owns the evacuations under way. A loop starts them and never waits for them. */
export class PreemptionResponder {
  #deps: PreemptionDeps;
  readonly #work = new AbortController();
  readonly #turns = new EvictionTurns(PREEMPTION_EVICTIONS);
  readonly #running = new Map<NodeName, Promise<unknown>>();
  /** The notice that each node was evacuated for, so that it happens once. */
  readonly #evacuated = new Map<NodeName, number>();

  constructor(deps: PreemptionDeps) {
    this.#deps = deps;
  }

  /** Evacuations that start from now on follow this policy. */
  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
  }

  /**
   * Starts the evacuation of announced nodes, and removes the taint from nodes that were not preempted after all. Nodes in
   * `leaving` are skipped, since another part of the loop drains them.
   */
  async respond(observation: Observation, leaving: ReadonlySet<NodeName>, signal: AbortSignal): Promise<void> {
    const { nodes } = observation.cluster;
    for (const name of this.#evacuated.keys()) if (!nodes.has(name)) this.#evacuated.delete(name);
    for (const name of preemptedNodes(observation)) {
      const node = nodes.get(name);
      if (node?.preemption === undefined || leaving.has(name)) continue;
      // guard: on a node that is ready after the deadline of its preemption no evacuation begins
      if (mayBeSpared(node, node.preemption, this.#deps.clock.now())) continue;
      this.#begin(node, node.preemption, observation);
    }
    for (const node of nodeListFacts(nodes).tainted) {
      const spared = hasTaint(node.taints, PREEMPTED_TAINT) && !isPreempted(node, observation.nowMs);
      if (spared && !this.#running.has(node.name) && node.deletionAtMs === undefined) await this.#removeTaint(node, signal);
    }
  }

  #begin(node: Node, preemption: Preemption, { cloud }: Observation): void {
    const isKnown = this.#running.has(node.name) || this.#evacuated.get(node.name) === preemption.noticedAtMs;
    if (isKnown || this.#work.signal.aborted) return;
    const group = cloud.groupOfNode.get(node.name) ?? '';
    const work = this.#evacuate(node, preemption, group).then(
      (begun) => begun && this.#evacuated.set(node.name, preemption.noticedAtMs),
      (thrown: unknown) => {
        const error = asAutoscalerError(thrown);
        // The next loop tries again, unless the node is gone by then.
        if (error.kind !== 'cancelled' && error.kind !== 'not-found')
          this.#deps.log.warn({ node: node.name, nodeGroup: group, error: error.message }, 'Preempted node could not be evacuated yet');
      },
    );
    const running = work.finally(() => this.#running.delete(node.name));
    this.#running.set(node.name, running);
  }

  /** Returns whether evictions began. */
  async #evacuate(node: Node, preemption: Preemption, group: NodeGroupId | ''): Promise<boolean> {
    const { clock, log, events, policy, reader, metrics } = this.#deps;
    const signal = this.#work.signal;
    const isFirst = await this.#applyTaint(node, signal);
    // If the taint was there, the process that wrote it counted the node.
    if (isFirst) metrics.cluster.preemptedNodes.inc({ node_group: group });
    const fresh = await reader.readFresh(node.name, signal);
    const leftMs = preemption.deadlineMs - clock.now();
    // The taint and the read may have taken the rest of the notice.
    // guard: the deadline of a preemption is looked at again after the taint
    if (fresh === undefined || mayBeSpared(fresh.node, preemption, clock.now())) return false;
    if (isFirst) metrics.cluster.preemptionNotice.observe(Math.max(0, leftMs) / 1000);
    const pods = fresh.pods.filter(needsEviction);
    const until = new Date(preemption.deadlineMs).toISOString();
    log.info({ node: node.name, pods: pods.length, until, notice: preemption.notice }, 'Node preempted by Azure; evicting its pods');
    const message = `Azure preempts this instance at ${until} (${preemption.notice}): node cordoned, evicting ${pods.length} pods`;
    events.record({ subject: { kind: 'Node', name: node.name, uid: node.uid }, type: 'Warning', reason: 'NodePreempted', message });
    const budgets = budgetIndex(reader.observe(clock.now()).disruptionBudgets);
    const rules = evictionRules(policy.drain, leftMs, clock.monotonic());
    const stayed = await evictWithoutWaiting(
      pods,
      rules.capMs,
      { ...this.#deps, ...UNCHECKED, ...rules, turns: this.#turns, budgets, said: OF_REMOVED_NODE },
      signal,
    );
    metrics.cluster.preemptedPods.inc({ outcome: 'evicted' }, pods.length - stayed.length);
    metrics.cluster.preemptedPods.inc({ outcome: 'stayed' }, stayed.length);
    if (stayed.length > 0)
      log.warn({ node: node.name, pods: stayed.length, first: stayed[0] }, 'Pods could not be evicted from a preempted node');
    return true;
  }

  /** Returns whether the taint is new. One of an earlier process stays as it is: that process knew who had cordoned. */
  async #applyTaint(node: Node, signal: AbortSignal): Promise<boolean> {
    if (hasTaint(node.taints, PREEMPTED_TAINT)) return false;
    const { tainter } = this.#deps;
    const taint = (value: string) => ({ key: PREEMPTED_TAINT, value, effect: 'NoSchedule' }) as const;
    if (node.unschedulable) {
      await tainter.taint(node.name, taint(CORDONED_BEFORE), { cordon: false }, signal);
      return true;
    }
    const { uncordonLater } = await tainter.taint(node.name, taint(CORDONED_BY_US), { cordon: true }, signal);
    // Another writer cordoned between our read and our write.
    if (!uncordonLater) await tainter.taint(node.name, taint(CORDONED_BEFORE), { cordon: false }, signal);
    return true;
  }

  async #removeTaint(node: Node, signal: AbortSignal): Promise<void> {
    const { tainter, log, events } = this.#deps;
    const uncordon = node.taints.some(({ key, value }) => key === PREEMPTED_TAINT && value === CORDONED_BY_US);
    try {
      await tainter.untaint(node.name, PREEMPTED_TAINT, { uncordon }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.warn({ node: node.name, error: error.message }, 'Preemption taint could not be removed yet');
      return;
    }
    this.#evacuated.delete(node.name);
    // A deallocated instance keeps its node, which may become ready again when Azure starts it.
    const { ready } = node.readiness;
    log.info({ node: node.name, uncordoned: uncordon, ready }, 'Preemption over; taint removed from the node');
    const message = `${ready ? 'the instance was not preempted' : 'the instance was preempted and its node remains'}: preemption taint removed`;
    events.record({
      subject: { kind: 'Node', name: node.name, uid: node.uid },
      type: 'Normal',
      reason: 'ClusterAutoscalerCleanup',
      message,
    });
  }

  /** Starts nothing new and waits until the signal fires. Unfinished work is left to the next process, which sees the taints. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#work.abort();
    await untilAborted(Promise.allSettled(this.#running.values()), signal);
  }
}

/**
 * Whether the node still works after its deadline. Azure spared it, or this process's clock is ahead: then its pods end with it, as they
 * would without a notice. A node that is not ready any more is evacuated even then, so that its pods are replaced.
 */
function mayBeSpared({ readiness }: Node, { deadlineMs }: Preemption, nowMs: number): boolean {
  return readiness.ready && nowMs >= deadlineMs;
}

interface EvictionRules {
  readonly policy: DrainPolicy;
  readonly capMs: number;
  /** Monotonic. */
  readonly endsAtMs: number;
}

/** Within the notice, evictions are repeated quickly, and no pod gets more time than is left. After it, the rules of a drain hold. */
function evictionRules(drain: DrainPolicy, leftMs: number, monotonicMs: number): EvictionRules {
  if (leftMs <= 0) return { policy: drain, capMs: Number.POSITIVE_INFINITY, endsAtMs: Number.POSITIVE_INFINITY };
  const policy = { ...drain, evictionTimeoutMs: leftMs, evictionRetryMs: RETRY_MS };
  return { policy, capMs: Math.max(LEAST_GRACE_MS, leftMs - SPARE_MS), endsAtMs: monotonicMs + leftMs };
}

/** A pod without a controller gains nothing from an early eviction. DaemonSet pods end with their node. */
function needsEviction(pod: Pod): boolean {
  const over = pod.phase === 'Succeeded' || pod.phase === 'Failed';
  return !over && pod.controller !== undefined && !pod.mirror && !pod.daemonSet && pod.deletionAtMs === undefined;
}
