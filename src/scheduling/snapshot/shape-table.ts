/** What is worked out once per pod shape: its need, its static class, its ties to other pods, and where its last search ended. */
import type { PodShape } from '../../domain/pod.ts';
import { needOf, type Need } from '../predicates/resources-fit.ts';
import { compileVolumes, requestsAlone, type CompiledVolume } from '../volumes/attachments.ts';
import type { NodeSlots } from './node-slots.ts';
import { fitsStatically, staticKey, type StaticWishes } from './node-only-fit.ts';
import type { ShapeTies, TopologyLedger } from './topology-index.ts';

/** Shapes that every node treats alike, with the verdict per node slot: twice the slot's stamp, plus 1 for a fit. */
export interface StaticClass {
  readonly wishes: StaticWishes;
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
  /** Where the next search begins; worth nothing when `cursorEpoch` is not the present one. */
  cursor: number;
  cursorEpoch: number;
  /** The room generation in which no node would take the shape. */
  refusedAt: number;
}

export class ShapeTable {
  readonly #ledger: TopologyLedger;
  readonly #byShape = new WeakMap<PodShape, CompiledShape>();
  readonly #byKey = new Map<string, CompiledShape>();
  readonly #classes = new Map<string, StaticClass>();

  constructor(ledger: TopologyLedger) {
    this.#ledger = ledger;
  }

  get size(): number {
    return this.#byKey.size;
  }

  of(shape: PodShape): CompiledShape {
    return this.#byShape.get(shape) ?? this.#compile(shape);
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

/** What the predicates say that read only the node itself; remembered until the slot gets another node. */
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
