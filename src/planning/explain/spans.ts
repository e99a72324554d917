/** Times for people: a span in the unit that reads best, and a clock time with its distance. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `90 s`, `24 min`, `3 h 20 min`, `5 d`. A negative span counts as 0. */
export function formatSpan(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 100 * SECOND) return `${Math.round(span / SECOND)} s`;
  if (span < 100 * MINUTE) return `${Math.round(span / MINUTE)} min`;
  if (span < 2 * DAY) return `${Math.floor(span / HOUR)} h ${Math.floor((span % HOUR) / MINUTE)} min`;
  return `${Math.round(span / DAY)} d`;
}

/** `02:50:02, 24 min ago`, or `03:18:41, in 4 min`; with the date if it is another day. UTC. */
export function formatMoment(ms: number, nowMs: number): string {
  const [day = '', clock = ''] = new Date(ms).toISOString().slice(0, 19).split('T');
  const isToday = new Date(nowMs).toISOString().startsWith(day);
  const distance = ms <= nowMs ? `${formatSpan(nowMs - ms)} ago` : `in ${formatSpan(ms - nowMs)}`;
  return `${isToday ? '' : `${day} `}${clock}, ${distance}`;
}
