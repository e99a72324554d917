/** Data computed once per pod shape: its need, its static class, its dependence on other pods, and where its last search ended. */
import type { PodShape } from '../../domain/pod.ts';
import { WeakValues } from '../../lib/collections.ts';
import { needOf, type Need } from '../predicates/resources-fit.ts';
import { compileVolumes, requestsAlone, type CompiledVolume } from '../volumes/attachments.ts';
import type { NodeSlots } from './node-slots.ts';
import { fitsStatically, staticKey, type NodeOnlyShape } from './node-only-fit.ts';
import type { ShapeTies, TopologyIndex } from './topology-index.ts';

/** Shapes with the same result on every node, with that result per node slot: twice the slot's stamp, plus 1 for a fit. */
interface StaticClass {
  readonly wishes: NodeOnlyShape;
  verdicts: Float64Array;
}

export interface CompiledShape {
  readonly shape: PodShape;
  readonly need: Need;
  readonly shared: readonly CompiledVolume[];
  /** The free vector of a node must be at least this long. */
  readonly width: number;
  readonly statics: StaticClass;
  readonly ties: ShapeTies;
  /** Where the next search starts. Void if `cursorEpoch` is not the present one. */
  cursor: number;
  cursorEpoch: number;
  /** The value of the room counter when no node had room for the shape. */
  refusedAt: number;
  /** No node that came up to this stamp could hold such a pod, whatever ran on it. */
  refusedTo: number;
  /** A node that could. */
  holder: { readonly slot: number; readonly stamp: number } | undefined;
  /** The last epoch of its table in which it was used. */
  usedEpoch: number;
}

export class ShapeTable {
  readonly #ledger: TopologyIndex;
  readonly #byShape = new WeakMap<PodShape, CompiledShape>();
  /** Shapes that no pod has any more are dropped: a snapshot lives as long as the process. */
  readonly #byKey = new WeakValues<CompiledShape>();
  readonly #classes = new WeakValues<StaticClass>();
  /** Keeps the ends of searches until the next sync, when they are void: a plan must not depend on the garbage collector. */
  #inUse: CompiledShape[] = [];
  #epoch = 0;

  constructor(ledger: TopologyIndex) {
    this.#ledger = ledger;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** To be called at the end of each sync. */
  beginEpoch(): void {
    this.#inUse = [];
    this.#epoch += 1;
  }

  of(shape: PodShape): CompiledShape {
    const compiled = this.#byShape.get(shape) ?? this.#compile(shape);
    if (compiled.usedEpoch !== this.#epoch) {
      compiled.usedEpoch = this.#epoch;
      this.#inUse.push(compiled);
    }
    return compiled;
  }

  #compile(shape: PodShape): CompiledShape {
    const compiled = this.#byKey.get(shape.key) ?? {
      shape,
      need: needOf(shape.requests),
      shared: compileVolumes(shape.sharedVolumes),
      width: needOf(requestsAlone(shape)).length,
      statics: this.#classOf(shape),
      ties: this.#ledger.tiesOf(shape),
      cursor: 0,
      cursorEpoch: -1,
      refusedAt: -1,
      refusedTo: -1,
      holder: undefined,
      usedEpoch: -1,
    };
    this.#byKey.set(shape.key, compiled);
    this.#byShape.set(shape, compiled);
    return compiled;
  }

  #classOf(shape: PodShape): StaticClass {
    const key = staticKey(shape);
    const known = this.#classes.get(key);
    if (known !== undefined) return known;
    const made = { wishes: shape, verdicts: new Float64Array(0) };
    this.#classes.set(key, made);
    return made;
  }
}

/**
 * Whether no node could hold such a pod even if nothing ran on it: by its size and by the predicates that read only the node. Remembered from
 * plan to plan, so that each node is looked at once for each shape that nothing holds.
 */
export function isRefusedByAll(compiled: CompiledShape, slots: NodeSlots): boolean {
  const { holder, shape, need } = compiled;
  if (holder !== undefined && slots.isSeated(holder)) return false;
  const found = slots.findSince(compiled.refusedTo, (slot) => {
    const node = slots.nodes[slot];
    return node !== undefined && slots.couldHold(slot, need) && fitsStatically(shape, node);
  });
  if (found === undefined) compiled.refusedTo = slots.lastStamp;
  compiled.holder = found === undefined ? undefined : { slot: found, stamp: slots.stamps[found] ?? 0 };
  return found === undefined;
}

/** The result of the predicates that read only the node. Kept until the slot gets another node. */
export function fitsClass(statics: StaticClass, slot: number, slots: NodeSlots): boolean {
  const stamp = (slots.stamps[slot] ?? 0) * 2;
  const verdict = statics.verdicts[slot] ?? 0;
  if (verdict === stamp) return false;
  if (verdict === stamp + 1) return true;
  if (slot >= statics.verdicts.length) {
    const longer = new Float64Array(slots.live.length);
    longer.set(statics.verdicts);
    statics.verdicts = longer;
  }
  const node = slots.nodes[slot];
  const fits = node !== undefined && fitsStatically(statics.wishes, node);
  statics.verdicts[slot] = stamp + (fits ? 1 : 0);
  return fits;
}
