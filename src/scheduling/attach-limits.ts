/** Attach slots as resources: what a node states is its limit, what nobody states has none. */
import type { ResourceNames, Resources } from '../domain/resources.ts';
import type { AttachLimits } from '../domain/volumes.ts';

/** More than any node is asked for, and far from where adding ones stops being exact. */
const NO_LIMIT = 2 ** 40;

interface Attaching {
  readonly allocatable: Resources;
  readonly attachLimits?: AttachLimits;
}

/** The number of volumes of a driver that a node holds. */
export function attachLimit(limits: AttachLimits | undefined, driver: string): number {
  return limits !== undefined && Object.hasOwn(limits, driver) ? (limits[driver] ?? NO_LIMIT) : NO_LIMIT;
}

/** Allocatable with every attach slot that anybody has asked about. The very vector while nobody has. */
export function withAttachSlots({ allocatable, attachLimits }: Attaching, names: ResourceNames): Resources {
  const last = names.attachable.at(-1);
  if (last === undefined) return allocatable;
  const vector = new Float64Array(Math.max(allocatable.length, last.index + 1));
  vector.set(allocatable);
  for (const { index, driver } of names.attachable) vector[index] = attachLimit(attachLimits, driver);
  return vector;
}

/** The same for a template or a node. */
export function attaching<Some extends Attaching>(some: Some, names: ResourceNames): Some {
  const allocatable = withAttachSlots(some, names);
  return allocatable === some.allocatable ? some : { ...some, allocatable };
}
