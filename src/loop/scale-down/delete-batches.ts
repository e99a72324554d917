/** Joins the deletions of one node group into few calls. Must not know which nodes are deleted, and why. */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, isEffectUnknown, reactionTo, type AutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import { type CloudNodeGroups, type DeleteRequest, PLAIN_DELETE } from '../../domain/ports/cloud.ts';

/** How long the first drained node of a group waits for others, so that one call deletes them all. */
const GATHER_MS = 200;
const MAX_ATTEMPTS = 3;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;

/** One drained node, ready to be deleted. */
export interface ReadyNode {
  readonly instance: InstanceKey;
  /** It worked until now: where its group does so, its instance is stopped instead. */
  readonly mayStop: boolean;
  /** Its instance is reimaged instead. */
  readonly reimages: boolean;
  /** Looks at the node once more. Returns why it must not be deleted, or undefined. */
  readonly lastLook: (signal: AbortSignal) => Promise<string | undefined>;
}

/** `spared`: the last look found a reason not to delete the node. */
export type NodeDeletion = DeleteOutcome | { readonly kind: 'spared'; readonly reason: string };

export interface DeletionSignals {
  /** Cancels the deletion before its request is sent. */
  readonly before: AbortSignal;
  /** After that only this ends it, because the effect of an interrupted deletion is unknown. */
  readonly during: AbortSignal;
}

/** The last looks at the nodes of one request. A node that was spared once stays spared when the request is repeated. */
export class LastLooks {
  readonly #nodes: readonly ReadyNode[];
  readonly #spared = new Map<InstanceKey, string>();

  constructor(nodes: readonly ReadyNode[]) {
    this.#nodes = nodes;
  }

  /** For `DeleteRequest.objections`. */
  async look(instances: readonly InstanceKey[], signal: AbortSignal): Promise<ReadonlyMap<InstanceKey, string>> {
    const asked = new Set(instances);
    const looks = this.#nodes.map(async ({ instance, lastLook }) => {
      const reason = asked.has(instance) && !this.#spared.has(instance) ? await lastLook(signal) : undefined;
      if (reason !== undefined) this.#spared.set(instance, reason);
    });
    await Promise.all(looks);
    return this.#spared;
  }

  reasonAgainst(instance: InstanceKey): string | undefined {
    return this.#spared.get(instance);
  }
}

interface Batch {
  readonly nodes: ReadyNode[];
  readonly looks: LastLooks;
  readonly outcome: Promise<DeleteOutcome>;
}

/** Owns the batches that are being gathered: deletions of one group that become ready at the same moment. */
export class DeleteBatches {
  readonly #cloud: CloudNodeGroups;
  readonly #clock: Clock;
  readonly #gathering = new Map<NodeGroupId | InstanceKey, Batch>();

  constructor(deps: { readonly cloud: CloudNodeGroups; readonly clock: Clock }) {
    this.#cloud = deps.cloud;
    this.#clock = deps.clock;
  }

  /** Deletes one node's instance, with others of its group that become ready at the same moment. */
  async delete(group: NodeGroupId, node: ReadyNode, signals: DeletionSignals): Promise<NodeDeletion> {
    // Azure reimages one instance in a call.
    const key = node.reimages ? node.instance : group;
    const batch = this.#gathering.get(key) ?? this.#gather(key, group, signals);
    batch.nodes.push(node);
    const outcome = await batch.outcome;
    const reason = batch.looks.reasonAgainst(node.instance);
    if (reason !== undefined) return { kind: 'spared', reason };
    // guard: a node whose instance Azure did not accept is not taken for deleted
    const isLeft = outcome.kind === 'accepted' && !outcome.instances.includes(node.instance);
    return isLeft ? { kind: 'refused', group, reason: 'Azure accepted the removal of other nodes alone' } : outcome;
  }

  #gather(key: NodeGroupId | InstanceKey, group: NodeGroupId, signals: DeletionSignals): Batch {
    const nodes: ReadyNode[] = [];
    const looks = new LastLooks(nodes);
    const batch: Batch = { nodes, looks, outcome: this.#send(key, group, { nodes, looks, signals }) };
    this.#gathering.set(key, batch);
    return batch;
  }

  async #send(
    key: NodeGroupId | InstanceKey,
    group: NodeGroupId,
    { nodes, looks, signals }: Omit<Batch, 'outcome'> & { readonly signals: DeletionSignals },
  ): Promise<DeleteOutcome> {
    try {
      await this.#clock.sleep(GATHER_MS, signals.before);
    } finally {
      this.#gathering.delete(key);
    }
    const objections: DeleteRequest['objections'] = (instances, signal) => looks.look(instances, signal);
    const request: DeleteRequest = {
      ...PLAIN_DELETE,
      group,
      instances: nodes.map(({ instance }) => instance),
      allowBelowMin: false,
      mayStop: new Set(nodes.filter(({ mayStop }) => mayStop).map(({ instance }) => instance)),
      reimages: nodes.some(({ reimages }) => reimages),
      objections,
    };
    return deleteWithRetry(request, { cloud: this.#cloud, clock: this.#clock }, signals.during);
  }
}

/** Deletion by id is safe to repeat: every attempt starts with a fresh read. Not-found counts as success. */
export async function deleteWithRetry(
  request: DeleteRequest,
  deps: { readonly cloud: CloudNodeGroups; readonly clock: Clock },
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptDelete(request, deps.cloud, signal);
    if (outcome.kind !== 'failed') return outcome;
    // guard: a reimage is sent once; one whose answer was lost may be under way, and the node shows it
    if (request.reimages)
      return isEffectUnknown(outcome.error) ? { kind: 'accepted', group: request.group, instances: request.instances } : outcome;
    if (outcome.error.kind === 'not-found') return { kind: 'accepted', group: request.group, instances: request.instances };
    if (attempt >= MAX_ATTEMPTS || signal.aborted || reactionTo(outcome.error) !== 'refresh-and-replan') return outcome;
    await deps.clock.sleep(pauseAfter(outcome.error), signal);
  }
}

async function attemptDelete(request: DeleteRequest, cloud: CloudNodeGroups, signal: AbortSignal): Promise<DeleteOutcome> {
  try {
    return await cloud.deleteInstances(request, signal);
  } catch (thrown) {
    return { kind: 'failed', group: request.group, error: asAutoscalerError(thrown) };
  }
}

function pauseAfter(error: AutoscalerError): number {
  const requested = error.detail.kind === 'throttled' ? error.detail.retryAfterMs : undefined;
  return Math.min(LONGEST_RETRY_MS, requested ?? RETRY_MS);
}
