/** What Azure calls its quotas of cores, in the list of usages (folded) and in refusals. Pure. */

/** Every regular core of the region. */
export const REGION = 'cores';
/** Every Spot core of the region. */
export const SPOT = 'lowprioritycores';

/**
 * The folded name in the list of usages of a quota as a refusal spells it: `standardDSv5Family Cores`, `Total Regional Cores`,
 * `LowPriorityCores`; the older sentence says `Core` for all of the region. Newer texts count vCPUs.
 */
export function nameOfQuota(told: string): string {
  const name = told
    .toLowerCase()
    .replace(/\s+(?:cores?|vcpus?)\s*$/, '')
    .replaceAll(/\s/g, '');
  if (name === 'totalregional' || name === 'core') return REGION;
  return name === 'lowpriority' || name === 'totalregionalspot' || name === 'totalregionallow-priority' ? SPOT : name;
}
