/** What the CSINodes say of the nodes: how many volumes they attach, and which drivers they lack. Must not know which pods need that. */
import type { Node } from '../../domain/node.ts';
import { sameItems } from '../../lib/collections.ts';
import type { CsiDriver, CsiNode } from '../projection/storage.ts';

type Nodes = ReadonlyMap<string, Node>;

interface CsiTables {
  readonly csiNodes: ReadonlyMap<string, CsiNode>;
  readonly csiDrivers?: ReadonlyMap<string, CsiDriver>;
}

const NONE: readonly string[] = [];

/** A node with what its CSINode added, and what that was found from. */
interface KnownNode {
  readonly csiNode: CsiNode | undefined;
  readonly demanding: readonly string[];
  readonly found: Node;
}

/** Owns the nodes with what their CSINodes add: the same objects while nothing changed. */
export class NodesOfCsi {
  readonly #tables: CsiTables;
  readonly #known = new WeakMap<Node, KnownNode>();
  #limited: ReadonlySet<string> = new Set();
  #demanding: readonly string[] = NONE;
  #last: { readonly given: Nodes; readonly found: Nodes } | undefined;

  constructor(tables: CsiTables) {
    this.#tables = tables;
    this.changed();
  }

  /** To be called after the tables changed. */
  changed(): void {
    const { csiNodes, csiDrivers } = this.#tables;
    this.#last = undefined;
    this.#limited = new Set([...csiNodes.values()].flatMap(({ limits }) => Object.keys(limits)));
    const demanding = [...(csiDrivers?.values() ?? [])]
      .filter(({ mustBeThere }) => mustBeThere)
      .map(({ name }) => name)
      .sort();
    if (!sameItems(demanding, this.#demanding)) this.#demanding = demanding;
  }

  /** Drivers with an attach limit on any node. */
  get limited(): ReadonlySet<string> {
    return this.#limited;
  }

  /**
   * Of these drivers, those without which a node takes no pod that needs them: `preventPodSchedulingIfMissing` of the CSIDriver, which the
   * NodeVolumeLimits of kube-scheduler heeds by default since 1.37 (pkg/scheduler/framework/plugins/nodevolumelimits/csi.go,
   * `checkCSIDriverOnNode`, 1.37.2; feature gate VolumeLimitScaling). A driver without a CSIDriver object demands nothing. Sorted.
   */
  demandingOf(drivers: readonly string[]): readonly string[] {
    return this.#demanding.length === 0 ? NONE : this.#demanding.filter((driver) => drivers.includes(driver));
  }

  resolve(nodes: Nodes): Nodes {
    const hasLimits = this.#tables.csiNodes.size > 0 && this.#limited.size > 0;
    if (!hasLimits && this.#demanding.length === 0) return nodes;
    if (this.#last?.given === nodes) return this.#last.found;
    const found = new Map<string, Node>();
    for (const [name, node] of nodes) found.set(name, this.#resolved(node));
    this.#last = { given: nodes, found };
    return found;
  }

  /** Asked for every node of every view: most are known. */
  #resolved(node: Node): Node {
    const csiNode = this.#tables.csiNodes.get(node.name);
    const demanding = this.#demanding;
    const known = this.#known.get(node);
    if (known?.csiNode === csiNode && known?.demanding === demanding) return known.found;
    const found = withCsi(node, { csiNode, demanding, found: known?.found ?? node });
    this.#known.set(node, { csiNode, demanding, found });
    return found;
  }
}

/** `found` is the node as it was last seen: the result, if nothing that counts is new. */
function withCsi(node: Node, { csiNode, demanding, found }: KnownNode): Node {
  const { limits = node.attachLimits, drivers = NONE } = csiNode ?? {};
  const missing = demanding.filter((driver) => !drivers.includes(driver));
  if (Object.keys(limits).length === 0 && missing.length === 0) return node;
  if (found.attachLimits === limits && sameItems(found.missingDrivers, missing)) return found;
  return { ...node, attachLimits: limits, missingDrivers: missing };
}
