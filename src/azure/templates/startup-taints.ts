/**
 * Learns which taints nodes of a group lose during their start. A taint that was removed before a node was ready counts at
 * once. A taint that was removed from a ready node could have been removed by hand, so two nodes must have lost it. A taint on
 * an old node is no startup taint.
 * Idea: evidence.
 */
import type { Node } from '../../domain/node.ts';
import { DELETION_CANDIDATE_TAINT, isConditionTaint, isStatusTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';

/** A node older than this is not starting. */
const YOUNG_MS = 900_000;
/** Number of ready nodes that must have lost a taint. */
const NODES_NEEDED = 2;

/** Every taint that a node was seen with -> whether it was always ready then. */
type SeenTaints = Map<string, boolean>;

/** Key -> UIDs of ready nodes that lost it; undefined: confirmed without counting nodes. */
type Losses = Map<string, Set<string> | undefined>;

/** Remembers the taints of one group's nodes. */
export class StartupTaints {
  /** By the UID of the node. */
  #young = new Map<string, SeenTaints>();
  readonly #losses: Losses = new Map<string, Set<string> | undefined>();
  /** Keys of the taints of old nodes. */
  #lasting: ReadonlySet<string> = new Set();

  /** All nodes of the group. */
  observe(nodes: readonly Node[], nowMs: number): void {
    const isYoung = ({ createdAtMs }: Node): boolean => nowMs - createdAtMs < YOUNG_MS;
    const old = nodes.filter((node) => !isYoung(node));
    this.#lasting = new Set(old.flatMap(({ taints }) => taints.map(({ key }) => key)));
    this.#young = new Map(nodes.filter(isYoung).map((node) => [node.uid, this.#observeYoung(node)]));
  }

  #observeYoung({ uid, readiness: { ready }, taints }: Node): SeenTaints {
    const keys: SeenTaints = this.#young.get(uid) ?? new Map<string, boolean>();
    const present = new Set(taints.map(({ key }) => key));
    if (ready)
      for (const [key, wasReady] of keys) {
        if (present.has(key)) continue;
        keys.delete(key);
        this.#recordLoss(key, wasReady ? uid : undefined);
      }
    for (const key of present) if (canBeStartupTaint(key)) keys.set(key, ready && keys.get(key) !== false);
    return keys;
  }

  #recordLoss(key: string, lostWhenReady: string | undefined): void {
    const known = this.#losses.get(key);
    const isConfirmed = lostWhenReady === undefined || (this.#losses.has(key) && known === undefined);
    this.#losses.set(key, isConfirmed ? undefined : new Set([...(known ?? []), lostWhenReady]));
  }

  /** Keys of the startup taints that this process has observed. */
  lost(): readonly string[] {
    return [...this.#losses].flatMap(([key, nodes]) =>
      (nodes === undefined || nodes.size >= NODES_NEEDED) && !this.#lasting.has(key) ? [key] : [],
    );
  }

  /** Those of the declared startup taints that no old node still carries: AKS sets new nodes up under them. */
  confirm(declared: readonly string[] = []): readonly string[] {
    return declared.filter((key) => !this.#lasting.has(key));
  }
}

function canBeStartupTaint(key: string): boolean {
  // Taints of conditions come and go with the state of a node at any age.
  return key !== TO_BE_DELETED_TAINT && key !== DELETION_CANDIDATE_TAINT && !isStatusTaint(key) && !isConditionTaint(key);
}
