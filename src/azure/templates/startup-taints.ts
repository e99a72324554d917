/**
 * Learns which taints nodes of a group lose during their start. A taint that was removed before a node was ready counts at
 * once. A taint that was removed from a ready node could have been removed by hand, so two nodes must have lost it. A taint on
 * an old node is no startup taint.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { DELETION_CANDIDATE_TAINT, isStatusTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';

/** A node older than this is not starting. */
const YOUNG_MS = 900_000;
/** Number of ready nodes that must have lost a taint. */
const NODES_NEEDED = 2;
/** Taints that come and go with the state of a node at any age. */
const CONDITION_PREFIX = 'node.kubernetes.io/';
const NONE: readonly string[] = [];

/** Every taint that a node was seen with -> whether it was always ready then. */
type SeenTaints = Map<string, boolean>;

/** Key -> UIDs of ready nodes that lost it; undefined: confirmed without counting nodes. */
type Losses = Map<string, Set<string> | undefined>;

export class StartupTaints {
  readonly #young = new Map<string, SeenTaints>();
  readonly #losses = new Map<NodeGroupId, Losses>();
  readonly #lasting = new Map<NodeGroupId, Set<string>>();
  #last: unknown;

  /** Observes the nodes. Costs nothing while they are the same. */
  observe(nodes: ReadonlyMap<NodeName, Node>, groupOfNode: ReadonlyMap<NodeName, NodeGroupId>, nowMs: number): void {
    if (this.#last === nodes) return;
    this.#last = nodes;
    const young = new Set<string>();
    this.#lasting.clear();
    for (const [name, group] of groupOfNode) {
      const node = nodes.get(name);
      if (node === undefined) continue;
      if (nowMs - node.createdAtMs >= YOUNG_MS) this.#recordLasting(node, group);
      else {
        young.add(node.uid);
        this.#observeYoung(node, group);
      }
    }
    for (const uid of this.#young.keys()) if (!young.has(uid)) this.#young.delete(uid);
  }

  #recordLasting(node: Node, group: NodeGroupId): void {
    if (node.taints.length === 0) return;
    const keys = this.#lasting.get(group) ?? new Set<string>();
    for (const { key } of node.taints) keys.add(key);
    this.#lasting.set(group, keys);
  }

  #observeYoung(node: Node, group: NodeGroupId): void {
    const { ready } = node.readiness;
    const keys: SeenTaints = this.#young.get(node.uid) ?? new Map<string, boolean>();
    const present = new Set(node.taints.map(({ key }) => key));
    if (ready)
      for (const [key, wasReady] of keys) {
        if (present.has(key)) continue;
        keys.delete(key);
        this.#recordLoss(group, key, wasReady ? node.uid : undefined);
      }
    for (const key of present) if (canBeStartupTaint(key)) keys.set(key, ready && keys.get(key) !== false);
    this.#young.set(node.uid, keys);
  }

  #recordLoss(group: NodeGroupId, key: string, lostWhenReady: string | undefined): void {
    const losses: Losses = this.#losses.get(group) ?? new Map<string, Set<string> | undefined>();
    this.#losses.set(group, losses);
    const known = losses.get(key);
    if (lostWhenReady === undefined || (losses.has(key) && known === undefined)) losses.set(key, undefined);
    else losses.set(key, new Set([...(known ?? []), lostWhenReady]));
  }

  /** Keys of the startup taints that this process has observed. */
  lostBy(group: NodeGroupId): readonly string[] {
    const losses = this.#losses.get(group);
    if (losses === undefined) return NONE;
    const lasting = this.#lasting.get(group);
    return [...losses].flatMap(([key, nodes]) =>
      (nodes === undefined || nodes.size >= NODES_NEEDED) && lasting?.has(key) !== true ? [key] : [],
    );
  }

  /** Those of the declared startup taints that no old node still carries: AKS sets new nodes up under them. */
  confirmDeclared(group: NodeGroupId, declared: readonly string[] = NONE): readonly string[] {
    const lasting = this.#lasting.get(group);
    return lasting === undefined ? declared : declared.filter((key) => !lasting.has(key));
  }
}

function canBeStartupTaint(key: string): boolean {
  return key !== TO_BE_DELETED_TAINT && key !== DELETION_CANDIDATE_TAINT && !isStatusTaint(key) && !key.startsWith(CONDITION_PREFIX);
}
