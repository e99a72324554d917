/** What the CSINodes say of the nodes: how many volumes they attach, and which drivers they lack. Must not know which pods need that. */
import type { Node } from '../../domain/node.ts';
import type { CsiDriver, CsiNode } from '../projection/storage.ts';

type Nodes = ReadonlyMap<string, Node>;

interface CsiTables {
  readonly csiNodes: ReadonlyMap<string, CsiNode>;
  readonly csiDrivers?: ReadonlyMap<string, CsiDriver>;
}

const NONE: readonly string[] = [];

/** Owns the nodes with what their CSINodes add: the same objects while nothing changed. */
export class NodesOfCsi {
  readonly #tables: CsiTables;
  readonly #known = new WeakMap<Node, Node>();
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
    this.#demanding = [...(csiDrivers?.values() ?? [])]
      .filter(({ mustBeThere }) => mustBeThere)
      .map(({ name }) => name)
      .sort();
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
    const found = new Map([...nodes].map(([name, node]) => [name, this.#resolved(node)]));
    this.#last = { given: nodes, found };
    return found;
  }

  #resolved(node: Node): Node {
    const { limits = node.attachLimits, drivers = NONE } = this.#tables.csiNodes.get(node.name) ?? {};
    const missing = this.#demanding.filter((driver) => !drivers.includes(driver));
    if (Object.keys(limits).length === 0 && missing.length === 0) return node;
    const known = this.#known.get(node);
    if (known?.attachLimits === limits && known.missingDrivers.join() === missing.join()) return known;
    const resolved = { ...node, attachLimits: limits, missingDrivers: missing };
    this.#known.set(node, resolved);
    return resolved;
  }
}
