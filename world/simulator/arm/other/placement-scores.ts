/**
 * Spot placement scores. The answer has the form that Azure's CLI recorded in July 2025: the question, and a row for each size and zone (or
 * the region), those that the subscription cannot have included. How Azure scores is not published. Here the stock decides: High is enough
 * for twice the desired count, Medium for the count, Low is less, and a VM that Azure has no data of (an unknown size) is
 * `DataNotFoundOrStale`. Five sizes and eight regions at most (Microsoft Learn, "Spot Placement Score"). Read only.
 */
import { REGION_ZONES } from '../../base/world-spec.ts';
import { armError } from '../http/errors.ts';
import { isJsonObject, pick, type Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { quotaShortage, stockLeft } from '../state/stock-and-quota.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { isLocation } from '../state/resource-names.ts';
import type { ArmWorld } from '../state/arm-state.ts';

const MOST_SIZES = 5;
const MOST_LOCATIONS = 8;

export function generatePlacementScores(world: ArmWorld, request: ArmRequest): ArmReply {
  const { body } = request;
  const [locations, sizes] = [textsOf(pick(body, 'desiredLocations')), skusOf(pick(body, 'desiredSizes'))];
  if (locations.length === 0 || locations.length > MOST_LOCATIONS || sizes.length === 0 || sizes.length > MOST_SIZES)
    return armError(400, 'BadRequest', `A question has one to ${MOST_LOCATIONS} regions and one to ${MOST_SIZES} sizes.`);
  const count = Number(pick(body, 'desiredCount') ?? 1);
  const zones = pick(body, 'availabilityZones') === true ? REGION_ZONES : [undefined];
  const rows = locations.flatMap((region) =>
    sizes.flatMap((sku) =>
      zones.map((zone): Json => {
        const score = isLocation(world.spec, region) ? scoreOf(world, { sku, zone }, count) : 'DataNotFoundOrStale';
        return {
          sku,
          region,
          ...(zone === undefined ? {} : { availabilityZone: zone }),
          score,
          isQuotaAvailable: hasQuota(world, sku, count),
        };
      }),
    ),
  );
  return { status: 200, body: { ...(isJsonObject(body) ? body : {}), placementScores: rows } };
}

function scoreOf(world: ArmWorld, { sku, zone }: { readonly sku: string; readonly zone: string | undefined }, count: number): string {
  const size = findVmSize(sku);
  if (size === undefined) return 'DataNotFoundOrStale';
  const restricted = world.restricted.get(size.name.toLowerCase());
  if (restricted !== undefined && (restricted.length === 0 || (zone !== undefined && restricted.includes(zone))))
    return 'RestrictedSkuNotAvailable';
  const left = stockLeft(world, size.name, { zone: zone ?? '0', priority: 'Spot' }) ?? Number.POSITIVE_INFINITY;
  if (left >= 2 * count) return 'High';
  return left >= count ? 'Medium' : 'Low';
}

function hasQuota(world: ArmWorld, vmSize: string, count: number): boolean {
  return quotaShortage(world, [{ vmSize, spot: true, count }]) === undefined;
}

function textsOf(given: Json | undefined): readonly string[] {
  return Array.isArray(given) ? given.filter((each) => typeof each === 'string') : [];
}

function skusOf(given: Json | undefined): readonly string[] {
  return Array.isArray(given) ? textsOf(given.map((each) => pick(each, 'sku') ?? null)) : [];
}
