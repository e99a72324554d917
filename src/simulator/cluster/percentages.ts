/** Counts that specs give as a number or as a percentage of something. */

/** The count, with a percentage of `total` rounded as told. Text that is neither counts as zero. */
export function countOf(value: string | number | undefined, total: number, round: 'up' | 'down'): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return /^\d+$/.test(value) ? Number(value) : 0;
  const share = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
