/** Nodes that stop being ready although they are not being removed, and for how long. Must not know the format of a recording. */
import type { ObservedNode } from './observed.ts';

export interface NodeOutage {
  readonly pool: string;
  readonly fromMs: number;
  /** If absent, the node was not ready until it was gone. */
  readonly untilMs?: number;
}

interface Seen {
  node: ObservedNode;
  /** A node that was never ready is starting. */
  hasBeenReady: boolean;
  outSinceMs: number | undefined;
}

export class NodeOutages {
  readonly #nodes = new Map<string, Seen>();
  #outages: NodeOutage[] = [];

  see(node: ObservedNode, nowMs: number): void {
    const seen = this.#nodes.get(node.name) ?? { node, hasBeenReady: false, outSinceMs: undefined };
    this.#nodes.set(node.name, seen);
    seen.node = node;
    if (node.notReadySinceMs === undefined) this.#ready(seen, nowMs);
    else if (seen.hasBeenReady && !node.isLeaving && !node.isPreempted) seen.outSinceMs ??= node.notReadySinceMs;
  }

  /** A Spot node that is gone was evicted, which is not recorded here. */
  forget(name: string): void {
    const seen = this.#nodes.get(name);
    this.#nodes.delete(name);
    if (seen?.outSinceMs !== undefined && !seen.node.isSpot) this.#outages.push({ pool: seen.node.pool, fromMs: seen.outSinceMs });
  }

  /** Those that are over. */
  take(): readonly NodeOutage[] {
    const outages = this.#outages;
    this.#outages = [];
    return outages;
  }

  /** Those that last end now. */
  end(nowMs: number): readonly NodeOutage[] {
    for (const seen of this.#nodes.values()) this.#ready(seen, nowMs);
    return this.take();
  }

  #ready(seen: Seen, nowMs: number): void {
    const { outSinceMs, node } = seen;
    seen.hasBeenReady = true;
    seen.outSinceMs = undefined;
    if (outSinceMs !== undefined) this.#outages.push({ pool: node.pool, fromMs: outSinceMs, untilMs: Math.max(nowMs, outSinceMs) });
  }
}
