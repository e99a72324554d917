/**
 * Moves pods from a node that stays, so that another one fits there: one node at a time, after a last look at fresh data, by the evictions of a
 * drain. The node gets no taint, and what could not be evicted stays. Must not know which pods are enough, or where they go.
 */
import { untilAborted } from '../../lib/abort.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ReadNode } from '../../domain/ports/cluster.ts';
import { comesBackWith } from '../../planning/facts/recreated-pods.ts';
import type { EndedMoves, RoomMove } from '../../planning/scale-down/room/room.ts';
import { budgetIndex, drainContext, drainRulesOf } from '../../scheduling/drainability/drain-rule.ts';
import { checkNodeDrain } from '../../scheduling/drainability/drainability.ts';
import { policyForDrains } from '../../scheduling/drainability/group-drain-options.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { evictWithoutWaiting, UNCHECKED } from './evict-pods.ts';
import { DRAIN_EVICTIONS, EvictionTurns } from './eviction-turns.ts';
import { readOwners, withOwners } from './removal-safety.ts';

const GONE = 'the node is gone';
/** How long no pod of a node is moved after a move that came to nothing. */
const AGAIN_AFTER_MS = 60_000;

type RoomDeps = Omit<DrainDeps, 'onEnd'>;

/** Owns the move under way. A loop starts it and never waits for it. */
export class RoomMaker {
  #deps: RoomDeps;
  readonly #work = new AbortController();
  readonly #turns = new EvictionTurns(DRAIN_EVICTIONS);
  #running: Promise<void> | undefined;
  #ended: EndedMoves = { failed: [], moved: [] };

  constructor(deps: RoomDeps) {
    this.#deps = deps;
  }

  /** Moves that start from now on follow this policy. */
  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
  }

  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  begin(move: RoomMove): void {
    if (this.isBusy || this.#work.signal.aborted) return;
    this.#running = this.#make(move)
      .catch((thrown: unknown) => {
        const error = asAutoscalerError(thrown);
        if (error.kind === 'cancelled') return;
        this.#deps.log.warn({ node: move.node, error: error.message }, 'No room made on the node');
        this.#fail(move, error.message);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** What ended since the last call. Of a cancelled move nothing is known. */
  collect(): EndedMoves {
    const ended = this.#ended;
    this.#ended = { failed: [], moved: [] };
    return ended;
  }

  #fail({ node, before }: RoomMove, why: string): void {
    const failed = { node, before, why: `no pod was moved: ${why}`, waitMs: AGAIN_AFTER_MS };
    this.#ended = { ...this.#ended, failed: [...this.#ended.failed, failed] };
  }

  async #make(move: RoomMove): Promise<void> {
    const { reader, log, events, clock, owners, cloud } = this.#deps;
    const { node, asker, group } = move;
    const policy = policyForDrains(this.#deps.policy, move.drain);
    const signal = this.#work.signal;
    const names = move.pods.map(podName);
    const facts = { node, for: podName(asker), pods: names };
    const unknown = policy.scaleDown.skipNodesWithCustomControllerPods ? await readOwners(move.pods, owners, signal) : undefined;
    const fresh = await reader.readFresh(node, signal);
    const refusal = unknown ?? cloud.removalPausedBecause(group) ?? this.#objection(move, fresh, policy);
    if (refusal !== undefined || fresh === undefined) {
      log.info({ ...facts, reason: refusal }, 'No room made on the node: it changed since the plan was made');
      this.#fail(move, refusal ?? GONE);
      return;
    }
    log.info(facts, 'Moving pods from a node to make room');
    const { namespace, name, uid } = asker;
    const isItself = move.pods.some((pod) => pod.uid === uid);
    const message = isItself
      ? `moving this pod from node ${node}, which can not hold its new size`
      : `moving ${names.join(', ')} from node ${node} so that this pod fits there`;
    events.record({ subject: { kind: 'Pod', namespace, name, uid }, type: 'Normal', reason: 'MakingRoom', message });
    const budgets = budgetIndex(reader.observe(clock.now()).disruptionBudgets);
    const { maxGracefulTerminationMs } = policy.drain;
    const capMs = maxGracefulTerminationMs > 0 ? maxGracefulTerminationMs : Number.POSITIVE_INFINITY;
    const said = { reason: 'MakingRoom', message: `evicting this pod from node ${node} to make room for pod ${podName(asker)}` };
    const pods = freshPods(move, fresh);
    const atMs = clock.now();
    const stayed = await evictWithoutWaiting(
      pods,
      capMs,
      { ...this.#deps, policy: policy.drain, turns: this.#turns, budgets, said, ...UNCHECKED },
      signal,
    );
    if (stayed.length > 0) log.warn({ ...facts, first: stayed[0] }, 'Pods could not be evicted to make room');
    if (stayed.length === pods.length) this.#fail(move, stayed[0] ?? GONE);
    else this.#ended = { ...this.#ended, moved: [...this.#ended.moved, { group, pods, atMs }] };
  }

  /** What is against it on fresh data. */
  #objection(move: RoomMove, fresh: ReadNode | undefined, policy: Policy): string | undefined {
    if (fresh === undefined) return GONE;
    const { reader, owners, clock } = this.#deps;
    const pods = freshPods(move, fresh);
    // guard: a pod that is gone or ends by itself leaves the others where they are
    if (pods.length < move.pods.length) return 'a pod that was to move is gone';
    const cluster = withOwners(reader.observe(clock.now()), owners);
    // guard: no pod is moved for one that has its room, or is gone
    if (!waits(move, fresh.pods, cluster)) return 'the pod waits no longer';
    const { movable, blocker } = checkNodeDrain(pods, drainContext(cluster, drainRulesOf(policy), clock.now()));
    if (blocker !== undefined) return `pod ${blocker.pod} blocks: ${blocker.reason}`;
    return movable.length < pods.length ? 'a pod may not be moved any more' : undefined;
  }

  /** Starts nothing new and waits until the signal fires. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#work.abort();
    await untilAborted(Promise.allSettled([this.#running]), signal);
  }
}

/** A pod that moves itself still comes back with its size; a pod of a DaemonSet is pending, and not on the node by now; a resize is still deferred there. */
function waits({ asker: { uid, nodeName }, pods }: RoomMove, onNode: readonly Pod[], cluster: ClusterView): boolean {
  const there = onNode.find((pod) => pod.uid === uid);
  if (pods.some((pod) => pod.uid === uid))
    return there?.status.resize !== undefined && comesBackWith(there, there.status.resize.wanted, cluster);
  if (nodeName !== undefined) return there?.status.resize?.kind === 'deferred';
  return there === undefined && cluster.pendingPods.some((pod) => pod.uid === uid && pod.deletionAtMs === undefined);
}

function freshPods({ pods }: RoomMove, fresh: ReadNode): readonly Pod[] {
  const wanted = new Set(pods.map(({ uid }) => uid));
  return fresh.pods.filter(({ uid, deletionAtMs }) => wanted.has(uid) && deletionAtMs === undefined);
}
