/**
 * In which zones the instances of a group may come. Most groups name their zones. In a group with automatic zone placement (a preview of
 * July 2026, for scale sets and pools of virtual machines) Azure chooses a zone for each instance: AKS shows the zone `auto`, and the
 * scale set has `placement` instead of `zones` (recorded by azure-powershell in December 2025).
 */

/** What limits Azure's choice: zone numbers. Empty lists limit nothing. */
export interface ZonePlacement {
  readonly included: readonly string[];
  readonly excluded: readonly string[];
}

/** Azure may choose any zone of the size. */
const ANY_ZONE: ZonePlacement = { included: [], excluded: [] };

/** The numbers among them, sorted. Any other word is no zone. */
export function zoneNumbers(given: readonly unknown[] | undefined): readonly string[] {
  // guard: a zone that is no number is no zone
  return (given ?? [])
    .map(String)
    .filter((zone) => /^\d+$/.test(zone))
    .sort();
}

/** From the zones of an agent pool. undefined: it names its zones, or has none. */
export function placementOfPool(zones: readonly unknown[] | undefined): ZonePlacement | undefined {
  return (zones ?? []).some((zone) => /^auto$/i.test(String(zone))) ? ANY_ZONE : undefined;
}

interface ScaleSetPlacement {
  readonly zonePlacementPolicy?: string;
  readonly includeZones?: readonly string[];
  readonly excludeZones?: readonly string[];
}

/** From the `placement` of a scale set. Both documented policies, `Auto` and `Any`, let Azure choose. undefined: it does not. */
export function placementOfScaleSet(placement: ScaleSetPlacement | undefined): ZonePlacement | undefined {
  if ((placement?.zonePlacementPolicy ?? '') === '') return undefined;
  return { included: zoneNumbers(placement?.includeZones), excluded: zoneNumbers(placement?.excludeZones) };
}

/**
 * The zone numbers of a group whose instances Azure places: those of its size that Azure may choose, and those in which it has instances.
 * @param ofSize the zones of the VM size in the region
 * @param ofInstances zones such as `westeurope-1`, as instances have them
 */
export function placedZones(
  { included, excluded }: ZonePlacement,
  ofSize: readonly string[],
  ofInstances: Iterable<string | undefined>,
): readonly string[] {
  // guard: Azure chooses no zone that the group excludes
  const open = ofSize.filter((zone) => (included.length === 0 || included.includes(zone)) && !excluded.includes(zone));
  const seen = [...ofInstances].map((zone = '') => zone.slice(zone.lastIndexOf('-') + 1));
  return [...new Set([...open, ...zoneNumbers(seen)])].sort();
}
