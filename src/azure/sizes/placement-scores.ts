/**
 * Azure's Spot placement scores: how likely it is that Azure has so many VMs of a size in a zone now, and that they stay for a while. What is
 * asked, and what an answer says. A score is a recommendation, valid when it was given (Microsoft Learn, "Spot Placement Score"; models of
 * Microsoft.Compute 2025-06-05, "Spot Placement Scores - Post"). Pure.
 */
import type { PlacementScore } from '../../domain/node-group.ts';
import { isRecord } from '../../lib/json.ts';

export const PLACEMENT_API_VERSION = '2025-06-05';
/** Azure takes five sizes in a question, and eight regions. */
const SIZES_PER_QUESTION = 5;
/** Azure scores a number of VMs for each place; an increase is rarely larger. */
const DESIRED_COUNT = 10;

/** A size of a Spot pool, and whether the pool is zonal. Azure answers for zones or for the region. */
export interface SpotPlace {
  readonly vmSize: string;
  readonly isZonal: boolean;
}

export interface PlacementQuestion {
  readonly sizes: readonly string[];
  readonly isZonal: boolean;
}

/** `zone`: its number; undefined: the region. `score` undefined: Azure has no data now. */
export interface PlacementRow {
  readonly vmSize: string;
  readonly zone: string | undefined;
  readonly score: PlacementScore | undefined;
}

/** As few questions as answer for all places, in a fixed order. */
export function placementQuestions(places: readonly SpotPlace[]): readonly PlacementQuestion[] {
  return [true, false].flatMap((isZonal) => {
    const sizes = [...new Set(places.filter((place) => place.isZonal === isZonal).map(({ vmSize }) => vmSize))].sort();
    const count = Math.ceil(sizes.length / SIZES_PER_QUESTION);
    return Array.from({ length: count }, (_, index) => ({
      sizes: sizes.slice(index * SIZES_PER_QUESTION, (index + 1) * SIZES_PER_QUESTION),
      isZonal,
    }));
  });
}

/** The body of the request. */
export function placementBody({ sizes, isZonal }: PlacementQuestion, location: string) {
  return {
    desiredLocations: [location],
    desiredSizes: sizes.map((sku) => ({ sku })),
    desiredCount: DESIRED_COUNT,
    availabilityZones: isZonal,
  };
}

/** Rows of an unknown form are left out, and so is a score of an unknown name. */
export function projectPlacements(body: unknown): readonly PlacementRow[] {
  const rows = isRecord(body) && Array.isArray(body['placementScores']) ? body['placementScores'] : [];
  return rows.flatMap((row: unknown) => {
    if (!isRecord(row) || typeof row['sku'] !== 'string') return [];
    const zone = row['availabilityZone'];
    return [
      {
        vmSize: row['sku'].toLowerCase(),
        zone: typeof zone === 'string' && zone !== '' ? zone : undefined,
        score: SCORES.get(String(row['score']).toLowerCase()),
      },
    ];
  });
}

/** `DataNotFoundOrStale` is no score. */
const SCORES: ReadonlyMap<string, PlacementScore> = new Map([
  ['high', 'High'],
  ['medium', 'Medium'],
  ['low', 'Low'],
  ['restrictedskunotavailable', 'Restricted'],
]);
