/**
 * Which taints nodes of a group lose while they start. One that went before a node was ready is believed at once; one
 * that went from a node that called itself ready could have been taken off by hand, so two nodes must have lost it. What
 * an old node of the group carries does not belong to the start.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { DELETION_CANDIDATE_TAINT, isStatusTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';

/** An older node is not starting. */
const YOUNG_MS = 900_000;
/** Nodes that must have lost a taint while they were ready. */
const WITNESSES = 2;
/** Taints that come and go with the state of a node at any age. */
const CONDITION_PREFIX = 'node.kubernetes.io/';
const NONE: readonly string[] = [];

/** Every taint that a node was seen with -> whether it was ready each time. */
type SeenTaints = Map<string, boolean>;

/** Key -> nodes (by UID) that lost it when ready; undefined once it is believed without them. */
type Losses = Map<string, Set<string> | undefined>;

export class StartupTaints {
  readonly #young = new Map<string, SeenTaints>();
  readonly #losses = new Map<NodeGroupId, Losses>();
  readonly #lasting = new Map<NodeGroupId, Set<string>>();
  #last: unknown;

  /** Takes a look at the nodes; costs nothing while they are the same. */
  observe(nodes: ReadonlyMap<NodeName, Node>, groupOfNode: ReadonlyMap<NodeName, NodeGroupId>, nowMs: number): void {
    if (this.#last === nodes) return;
    this.#last = nodes;
    const young = new Set<string>();
    this.#lasting.clear();
    for (const [name, group] of groupOfNode) {
      const node = nodes.get(name);
      if (node === undefined) continue;
      if (nowMs - node.createdAtMs >= YOUNG_MS) this.#note(node, group);
      else {
        young.add(node.uid);
        this.#follow(node, group);
      }
    }
    for (const uid of this.#young.keys()) if (!young.has(uid)) this.#young.delete(uid);
  }

  #note(node: Node, group: NodeGroupId): void {
    if (node.taints.length === 0) return;
    const keys = this.#lasting.get(group) ?? new Set<string>();
    for (const { key } of node.taints) keys.add(key);
    this.#lasting.set(group, keys);
  }

  #follow(node: Node, group: NodeGroupId): void {
    const { ready } = node.readiness;
    const keys: SeenTaints = this.#young.get(node.uid) ?? new Map<string, boolean>();
    const present = new Set(node.taints.map(({ key }) => key));
    if (ready)
      for (const [key, wasReady] of keys) {
        if (present.has(key)) continue;
        keys.delete(key);
        this.#lose(group, key, wasReady ? node.uid : undefined);
      }
    for (const key of present) if (canBeStartupTaint(key)) keys.set(key, ready && keys.get(key) !== false);
    this.#young.set(node.uid, keys);
  }

  #lose(group: NodeGroupId, key: string, witness: string | undefined): void {
    const losses: Losses = this.#losses.get(group) ?? new Map<string, Set<string> | undefined>();
    this.#losses.set(group, losses);
    const known = losses.get(key);
    if (witness === undefined || (losses.has(key) && known === undefined)) losses.set(key, undefined);
    else losses.set(key, new Set([...(known ?? []), witness]));
  }

  /** Keys, of this process's time. */
  lostBy(group: NodeGroupId): readonly string[] {
    const losses = this.#losses.get(group);
    if (losses === undefined) return NONE;
    const lasting = this.#lasting.get(group);
    return [...losses].flatMap(([key, nodes]) =>
      (nodes === undefined || nodes.size >= WITNESSES) && lasting?.has(key) !== true ? [key] : [],
    );
  }

  /** Those of the taints that AKS says new nodes are set up under. One that an old node still carries is taken off by nobody. */
  confirmDeclared(group: NodeGroupId, declared: readonly string[] = NONE): readonly string[] {
    const lasting = this.#lasting.get(group);
    return lasting === undefined ? declared : declared.filter((key) => !lasting.has(key));
  }
}

function canBeStartupTaint(key: string): boolean {
  return key !== TO_BE_DELETED_TAINT && key !== DELETION_CANDIDATE_TAINT && !isStatusTaint(key) && !key.startsWith(CONDITION_PREFIX);
}
