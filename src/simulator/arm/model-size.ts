/** What Compute refuses of the size that a scale set's model asks for: no number, too many, unknown, withheld, over the quota. */
import { armError, invalidParameter, quotaExceeded, skuNotAvailable } from './errors.ts';
import { pick, pickText, type JsonObject } from './json.ts';
import type { ArmReply } from './messages.ts';
import { findVmSize } from './sku-table.ts';
import { quotaShortage } from './stock.ts';
import type { ArmWorld } from './world-state.ts';

const MAX_INSTANCES = 1_000;
const MAX_IN_ONE_PLACEMENT_GROUP = 100;

export interface Asking {
  readonly name: string;
  readonly zones: readonly string[];
  /** The model asks for more than before. */
  readonly isRaise: boolean;
  /** Machines that it would add. */
  readonly growth: number;
}

export function refuseModelSize(world: ArmWorld, model: JsonObject, { name, zones, isRaise, growth }: Asking): ArmReply | undefined {
  const { location } = world.spec;
  const capacity = pick(model, 'sku', 'capacity');
  const vmSize = pickText(model, 'sku', 'name') ?? '';
  if (typeof capacity !== 'number' || !Number.isInteger(capacity) || capacity < 0) {
    return invalidParameter('sku.capacity', 'The value of parameter sku.capacity is invalid.');
  }
  if (findVmSize(vmSize) === undefined) {
    return invalidParameter('vmSize', `The value ${vmSize} provided for the VM size is not valid in location '${location}'.`);
  }
  const limit = pick(model, 'properties', 'singlePlacementGroup') === true ? MAX_IN_ONE_PLACEMENT_GROUP : MAX_INSTANCES;
  if (capacity > limit) return armError(400, 'BadRequest', `The VM Scale Set ${name} cannot exceed ${limit} VMs.`);
  if (isRaise && isWithheld(world, vmSize, zones)) return skuNotAvailable(vmSize, location);
  const spot = pickText(model, 'properties', 'virtualMachineProfile', 'priority') === 'Spot';
  const shortage = quotaShortage(world, [{ vmSize, spot, count: growth }]);
  return shortage === undefined ? undefined : quotaExceeded(shortage);
}

/** Whether the subscription is not offered the size anywhere where the set would put a machine. */
function isWithheld({ restricted }: ArmWorld, vmSize: string, zones: readonly string[]): boolean {
  const withheld = restricted.get(vmSize.toLowerCase());
  return withheld !== undefined && (withheld.length === 0 || zones.some((zone) => withheld.includes(zone)));
}
