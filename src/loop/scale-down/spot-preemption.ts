/**
 * What is done about nodes whose machines the platform takes back: cordoned at once, and their pods sent away with what is
 * left of the notice as grace. Their replacement is the planner's business and waits for nothing here. The mark tells a later
 * process what was begun and who cordoned; a node that is spared after all is given back.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Node, Preemption } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import { hasTaint } from '../../domain/taints.ts';
import { isPreempted, preemptedNodes } from '../../planning/state/preempted-nodes.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { evictUnawaited } from './evict-pods.ts';

/** NoSchedule. The value says whether undoing it un-cordons. */
export const PREEMPTED_TAINT = 'aks-autoscaler/preempted';
const CORDONED_BY_US = 'cordoned';
const CORDONED_BEFORE = 'cordoned-before';
const RETRY_MS = 1_000;
/** Kept back of the notice, so that a pod's grace ends before its machine does. */
const SPARE_MS = 2_000;

export type PreemptionDeps = Omit<DrainDeps, 'onEnd' | 'cloud'>;

/** Owns the evacuations that are under way. A loop starts them and never waits for them. */
export class PreemptionResponder {
  #deps: PreemptionDeps;
  readonly #work = new AbortController();
  readonly #running = new Map<NodeName, Promise<void>>();
  /** Of which notice each node was evacuated: once is enough. */
  readonly #answered = new Map<NodeName, number>();

  constructor(deps: PreemptionDeps) {
    this.#deps = deps;
  }

  /** What begins from now on goes by this policy. */
  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
  }

  /** Begins the evacuation of nodes that were announced, and gives back those that were spared. `leaving`: drained by others of ours. */
  async respond(observation: Observation, leaving: ReadonlySet<NodeName>, signal: AbortSignal): Promise<void> {
    const { nodes } = observation.cluster;
    for (const name of this.#answered.keys()) if (!nodes.has(name)) this.#answered.delete(name);
    for (const name of preemptedNodes(observation)) {
      const node = nodes.get(name);
      if (node?.preemption === undefined || leaving.has(name)) continue;
      this.#begin(node, node.preemption, observation);
    }
    for (const node of nodes.values()) {
      const spared = hasTaint(node.taints, PREEMPTED_TAINT) && !isPreempted(node, observation.nowMs);
      if (spared && !this.#running.has(node.name) && node.deletionAtMs === undefined) await this.#giveBack(node, signal);
    }
  }

  #begin(node: Node, preemption: Preemption, { cloud }: Observation): void {
    const isKnown = this.#running.has(node.name) || this.#answered.get(node.name) === preemption.noticedAtMs;
    if (isKnown || this.#work.signal.aborted) return;
    const group = cloud.groupOfNode.get(node.name) ?? '';
    if (!this.#answered.has(node.name)) this.#deps.metrics.cluster.preemptedNodes.inc({ node_group: group });
    const work = this.#evacuate(node, preemption).then(
      () => void this.#answered.set(node.name, preemption.noticedAtMs),
      (thrown: unknown) => {
        const error = asAutoscalerError(thrown);
        // Tried again by the next loop, unless the node went first.
        if (error.kind !== 'cancelled' && error.kind !== 'not-found')
          this.#deps.log.warn({ node: node.name, nodeGroup: group, error: error.message }, 'a preempted node could not be evacuated yet');
      },
    );
    const running: Promise<void> = work.finally(() => this.#running.delete(node.name));
    this.#running.set(node.name, running);
  }

  async #evacuate(node: Node, preemption: Preemption): Promise<void> {
    const { clock, log, events, policy, reader, metrics } = this.#deps;
    const signal = this.#work.signal;
    await this.#mark(node, signal);
    const fresh = await reader.readFresh(node.name, signal);
    const pods = (fresh?.pods ?? []).filter(isWorthMoving);
    const leftMs = Math.max(0, preemption.deadlineMs - clock.now());
    const until = new Date(preemption.deadlineMs).toISOString();
    log.info(
      { node: node.name, pods: pods.length, until, notice: preemption.notice },
      'the platform takes a node back; its pods are sent away',
    );
    const message = `Azure takes the machine back at ${until} (${preemption.notice}): cordoned, ${pods.length} pods to evict`;
    events.record({ subject: { kind: 'Node', name: node.name, uid: node.uid }, type: 'Warning', reason: 'NodePreempted', message });
    const within = { ...policy.drain, evictionTimeoutMs: leftMs, evictionRetryMs: RETRY_MS };
    metrics.cluster.preemptionNotice.observe(leftMs / 1000);
    const stayed = await evictUnawaited(pods, Math.max(0, leftMs - SPARE_MS), { ...this.#deps, policy: within }, signal);
    metrics.cluster.preemptedPods.inc({ outcome: 'evicted' }, pods.length - stayed.length);
    metrics.cluster.preemptedPods.inc({ outcome: 'stayed' }, stayed.length);
    if (stayed.length > 0) log.warn({ node: node.name, pods: stayed.length, first: stayed[0] }, 'pods stayed on a node that is taken back');
  }

  /** What an earlier process marked stays as it is: it knew who had cordoned. */
  async #mark(node: Node, signal: AbortSignal): Promise<void> {
    if (hasTaint(node.taints, PREEMPTED_TAINT)) return;
    const { tainter } = this.#deps;
    const taint = (value: string) => ({ key: PREEMPTED_TAINT, value, effect: 'NoSchedule' }) as const;
    if (node.unschedulable) {
      await tainter.taint(node.name, taint(CORDONED_BEFORE), { cordon: false }, signal);
      return;
    }
    const { uncordonLater } = await tainter.taint(node.name, taint(CORDONED_BY_US), { cordon: true }, signal);
    // Somebody cordoned between our look and our write.
    if (!uncordonLater) await tainter.taint(node.name, taint(CORDONED_BEFORE), { cordon: false }, signal);
  }

  async #giveBack(node: Node, signal: AbortSignal): Promise<void> {
    const { tainter, log, events } = this.#deps;
    const uncordon = node.taints.some(({ key, value }) => key === PREEMPTED_TAINT && value === CORDONED_BY_US);
    try {
      await tainter.untaint(node.name, PREEMPTED_TAINT, { uncordon }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.warn({ node: node.name, error: error.message }, 'a node that was spared could not be given back yet');
      return;
    }
    this.#answered.delete(node.name);
    // A deallocated machine keeps its node, which may become ready again when Azure starts it.
    const { ready } = node.readiness;
    log.info({ node: node.name, uncordoned: uncordon, ready }, 'the preemption of a node is over; its mark was taken off');
    const message = `${ready ? 'the machine was spared' : 'the machine was taken and its node is left'}: the mark of its preemption was taken off`;
    events.record({
      subject: { kind: 'Node', name: node.name, uid: node.uid },
      type: 'Normal',
      reason: 'ClusterAutoscalerCleanup',
      message,
    });
  }

  /** Begins nothing more; what was begun is left to the next process, which the marks tell. At most until the signal fires. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#work.abort();
    const over = Promise.withResolvers<void>();
    if (signal.aborted) over.resolve();
    signal.addEventListener('abort', () => over.resolve(), { once: true });
    await Promise.race([Promise.allSettled(this.#running.values()), over.promise]);
  }
}

/** A pod that nothing creates again gains nothing from going early; daemons end with their node. */
function isWorthMoving(pod: Pod): boolean {
  const over = pod.phase === 'Succeeded' || pod.phase === 'Failed';
  return !over && pod.controller !== undefined && !pod.mirror && !pod.daemonSet && pod.deletionAtMs === undefined;
}
