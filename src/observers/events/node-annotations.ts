/**
 * Writes on nodes why they are not removed, as an annotation, at most one node a second in the whole cluster. An annotation changes only with
 * its reason. Must not know how it is sent.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Observation } from '../../domain/observation.ts';
import type { NodeAnnotator } from '../../domain/ports/cluster-writes.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type BlockedNode, BlockedNodes } from './blocked-nodes.ts';

const PACE_MS = 1_000;
/** A repeated failure is logged again after this time. */
const SAME_WARNING_MS = 600_000;

interface NodeAnnotationsDeps {
  readonly annotator: NodeAnnotator;
  readonly clock: Clock;
  readonly log: Log;
}

/** The change of one node. */
interface Change {
  readonly node: NodeName;
  /** undefined: the annotation is removed. */
  readonly value: string | undefined;
}

/** Owns the queue and its single sender. Only the leader uses it. */
export class NodeAnnotations {
  readonly #deps: NodeAnnotationsDeps;
  readonly #nodes = new BlockedNodes();
  /** What was written and the cluster may not show yet. */
  readonly #written = new Map<NodeName, string | undefined>();
  #queue: readonly Change[] = [];
  #sending: Promise<void> | undefined;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: NodeAnnotationsDeps) {
    this.#deps = deps;
  }

  loopEnded(report: LoopReport, signal: AbortSignal): void {
    const { observation } = report;
    if (observation === undefined || signal.aborted) return;
    const blocked = this.#nodes.observe(report);
    for (const name of this.#written.keys()) if (!observation.cluster.nodes.has(name)) this.#written.delete(name);
    // Before the first plan for removals, nothing is known about any node.
    if (report.scaleDown === undefined || report.scaleDown.inhibited !== undefined) return;
    this.#queue = this.#changes(observation, blocked);
    if (this.#queue.length > 0) this.#sending ??= this.#send(signal);
  }

  /** Resolves when the write under way has ended. Never rejects. */
  settled(): Promise<void> {
    return this.#sending ?? Promise.resolve();
  }

  #changes({ cluster, cloud }: Observation, blocked: ReadonlyMap<NodeName, BlockedNode>): readonly Change[] {
    const changes: Change[] = [];
    for (const { name, unremovableNote } of cluster.nodes.values()) {
      if (!cloud.groupOfNode.has(name)) continue;
      const present = this.#written.has(name) ? this.#written.get(name) : unremovableNote;
      const cause = blocked.get(name);
      if (reasonIn(present) !== cause?.reason) changes.push({ node: name, value: cause === undefined ? undefined : describe(cause) });
    }
    return changes;
  }

  async #send(signal: AbortSignal): Promise<void> {
    try {
      for (let [change] = this.#queue; change !== undefined; [change] = this.#queue) {
        this.#queue = this.#queue.slice(1);
        await this.#annotate(change, signal);
        await this.#deps.clock.sleep(PACE_MS, signal);
      }
    } catch {
      // Only the signal ends the wait.
      this.#queue = [];
    } finally {
      this.#sending = undefined;
    }
  }

  async #annotate({ node, value }: Change, signal: AbortSignal): Promise<void> {
    const { annotator, clock, log } = this.#deps;
    try {
      await annotator.annotate(node, value, signal);
      this.#written.set(node, value);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      // A later loop tries again.
      if (error.kind === 'cancelled' || clock.monotonic() - this.#warnedAtMs < SAME_WARNING_MS) return;
      this.#warnedAtMs = clock.monotonic();
      log.warn({ node, error: error.message }, 'Annotation of a node could not be written');
    }
  }
}

/** `NotEnoughPdb since 2026-11-22T02:51:10Z: pod payments/api-x: ...`. */
function describe({ reason, detail, sinceMs }: BlockedNode): string {
  const since = new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `${reason} since ${since}${detail === '' ? '' : `: ${detail}`}`;
}

function reasonIn(value: string | undefined): string | undefined {
  return value?.split(' since ')[0];
}
