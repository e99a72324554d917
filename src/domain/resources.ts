/**
 * Resource vectors: integers in a small typed array. The four resources of every node have fixed places; each extended resource gets the
 * next index from a registry. A vector shorter than the registry has zero of the rest.
 */
import { configError } from '../lib/errors.ts';
import { cpuMillis, wholeUnits } from './quantity.ts';

/** CPU in millicores, memory and ephemeral storage in bytes, pods and extended resources in ones. */
export type Resources = Float64Array;

export const CPU = 0;
export const MEMORY = 1;
export const PODS = 3;
/** Attach slots of a CSI driver, in ones: `attachable-volumes-csi-<driver>`, a name that Kubernetes itself has used. */
const ATTACHABLE = 'attachable-volumes-csi-';
/** Resources of one object, and of all together. A cluster has a few dozen; vectors are as long as the highest index in them. */
const MAX_NAMES = { ofOne: 500, ofAll: 5_000 };
const FIXED = ['cpu', 'memory', 'ephemeral-storage', 'pods'] as const;

/** What pods ask of a resource that a device class stands for: the node's own amount of it, or devices where the node has none. */
const CLAIMABLE = 'claimable/';

interface AttachSlots {
  readonly index: number;
  readonly driver: string;
}

interface ClaimableResource {
  readonly index: number;
  /** The index of the node's own amount. */
  readonly own: number;
}

export function claimableResource(resource: string): string {
  return `${CLAIMABLE}${resource}`;
}

/** The name that people know. */
export function plainResource(resource: string): string {
  return resource.startsWith(CLAIMABLE) ? resource.slice(CLAIMABLE.length) : resource;
}

/** The resource that counts the volumes of a CSI driver. */
export function attachResource(driver: string): string {
  return `${ATTACHABLE}${driver}`;
}

export function isAttachResource(resource: string): boolean {
  return resource.startsWith(ATTACHABLE);
}

/** Gives each resource name its index. The composition root owns it; everything that maps quantities shares it. */
export class ResourceNames {
  readonly #names: string[] = [...FIXED];
  readonly #indexes = new Map<string, number>(FIXED.map((name, index) => [name, index]));
  readonly #attachable: AttachSlots[] = [];
  readonly #claimable: ClaimableResource[] = [];

  /** The index of a name. A new name gets the next index. */
  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const index = this.#names.length;
    this.#names.push(name);
    this.#indexes.set(name, index);
    if (name.startsWith(ATTACHABLE)) this.#attachable.push({ index, driver: name.slice(ATTACHABLE.length) });
    if (name.startsWith(CLAIMABLE)) this.#claimable.push({ index, own: this.indexOf(plainResource(name)) });
    return index;
  }

  /** The resources of attach slots. Unlike other resources they are unlimited unless a limit is known. */
  get attachable(): readonly AttachSlots[] {
    return this.#attachable;
  }

  /** Resources that device classes stand for. Unlimited on a node that has no amount of its own: its devices decide. */
  get claimable(): readonly ClaimableResource[] {
    return this.#claimable;
  }

  /** Whether no node states this resource: attach slots, and what devices may stand for. */
  isOpen(index: number): boolean {
    return [...this.#attachable, ...this.#claimable].some((other) => other.index === index);
  }

  nameOf(index: number): string {
    return this.#names[index] ?? `resource-${index}`;
  }

  get count(): number {
    return this.#names.length;
  }

  /** Maps Kubernetes quantities to a vector. Throws as {@link cpuMillis} does on a bad or negative quantity. */
  parse(quantities: Readonly<Record<string, string | number>>): Resources {
    this.#checkNames(Object.keys(quantities));
    const entries = Object.entries(quantities).map(([name, text]) => [this.indexOf(name), text] as const);
    const length = entries.reduce<number>((longest, [index]) => Math.max(longest, index + 1), FIXED.length);
    const vector = new Float64Array(length);
    for (const [index, text] of entries) {
      const amount = index === CPU ? cpuMillis(text) : wholeUnits(text);
      // guard: a negative amount is not an amount
      if (amount < 0) throw configError(`${this.nameOf(index)} is "${text}"; it must not be negative.`);
      vector[index] = amount;
    }
    return vector;
  }

  #checkNames(names: readonly string[]): void {
    const added = names.length === 0 ? 0 : names.filter((name) => !this.#indexes.has(name)).length;
    if (names.length > MAX_NAMES.ofOne || (added > 0 && this.count + added > MAX_NAMES.ofAll))
      throw configError(`${names.length} resources, ${added} of them new, are too many: ${MAX_NAMES.ofOne} of one object are read.`);
  }

  /** The non-zero part as names and integers, for dumps and messages. */
  toRecord(vector: Resources): Readonly<Record<string, number>> {
    const record: Record<string, number> = {};
    vector.forEach((amount, index) => {
      if (amount !== 0) record[this.nameOf(index)] = amount;
    });
    return record;
  }

  /** The inverse of {@link toRecord}: integers in the vector's own units. */
  fromRecord(record: Readonly<Record<string, number>>): Resources {
    const entries = Object.entries(record).map(([name, amount]) => [this.indexOf(name), amount] as const);
    const vector = new Float64Array(entries.reduce<number>((longest, [index]) => Math.max(longest, index + 1), FIXED.length));
    for (const [index, amount] of entries) vector[index] = amount;
    return vector;
  }
}

export function noResources(): Resources {
  return new Float64Array(FIXED.length);
}

export function plus(left: Resources, right: Resources): Resources {
  const sum = new Float64Array(Math.max(left.length, right.length));
  sum.set(left);
  for (let index = 0; index < right.length; index++) sum[index] = (sum[index] ?? 0) + (right[index] ?? 0);
  return sum;
}

/** May be negative. */
export function minus(left: Resources, right: Resources): Resources {
  const difference = new Float64Array(Math.max(left.length, right.length));
  difference.set(left);
  for (let index = 0; index < right.length; index++) difference[index] = (difference[index] ?? 0) - (right[index] ?? 0);
  return difference;
}

/** Element-wise maximum. */
export function largest(left: Resources, right: Resources): Resources {
  const result = new Float64Array(Math.max(left.length, right.length));
  for (let index = 0; index < result.length; index++) result[index] = Math.max(left[index] ?? 0, right[index] ?? 0);
  return result;
}
