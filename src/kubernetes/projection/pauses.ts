/**
 * Entries of the ConfigMap of pauses, as people write them with kubectl: `until=2026-07-01T06:00:00Z direction=scale-down by=ann reason=migration`.
 * The reason comes last and takes the rest. Must not know what a pause is against.
 */
import { CLUSTER_KEY, type Pause, type PauseDirection, type Pauses, type UnreadablePause } from '../../domain/ports/pauses.ts';

/** Follows the name of the lease in the name of the ConfigMap. */
export const PAUSES_SUFFIX = '-pause';
/** The longest `by` and `reason` that are kept. They are shown in events and on the page. */
const MOST_CHARACTERS = 200;
const TIME = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;
const DIRECTIONS: ReadonlySet<string> = new Set<PauseDirection>(['scale-up', 'scale-down', 'both']);
const FIELDS: ReadonlySet<string> = new Set(['until', 'direction', 'by']);

/** The ConfigMap's data. Each entry is read by itself: one that cannot be read says nothing of another. */
export function projectPauses(data: Readonly<Record<string, string>>): Pauses {
  const read = Object.entries(data).map(([key, text]) => projectPause(key, text));
  return {
    pauses: read.flatMap((entry) => ('untilMs' in entry ? [entry] : [])),
    unreadable: read.flatMap((entry) => ('untilMs' in entry ? [] : [entry])),
  };
}

function projectPause(key: string, text: string): Pause | UnreadablePause {
  const pool = key === CLUSTER_KEY ? undefined : key;
  const { fields, reason, doubts } = fieldsOf(text);
  const { until, direction = 'both', by } = fields;
  if (until === undefined) return { pool, problem: 'it has no "until="' };
  const untilMs = readTime(until);
  if (untilMs === undefined) return { pool, problem: `until is "${shown(until)}"; it must be a time such as 2026-07-01T06:00:00Z` };
  if (!isDirection(direction)) doubts.push(`direction is "${shown(direction)}"; it must be scale-up, scale-down or both`);
  // guard: an entry that is understood in part pauses both directions until its end
  const paused = doubts.length === 0 && isDirection(direction) ? direction : 'both';
  return { pool, direction: paused, untilMs, by, reason, problem: doubts[0] };
}

function isDirection(text: string): text is PauseDirection {
  return DIRECTIONS.has(text);
}

interface Fields {
  readonly fields: { until?: string; direction?: string; by?: string };
  readonly reason: string | undefined;
  readonly doubts: string[];
}

function fieldsOf(text: string): Fields {
  const [, head = '', reason] = /^([\s\S]*?)(?:(?:^|\s)reason=([\s\S]*))?$/.exec(text) ?? [];
  const fields: Fields['fields'] = {};
  const doubts: string[] = [];
  for (const word of head.split(/\s+/).filter((part) => part !== '')) {
    const [name = '', ...rest] = word.split('=');
    const value = rest.join('=');
    if (!FIELDS.has(name) || rest.length === 0)
      doubts.push(`"${shown(word)}" is not understood; the fields are until, direction, by and reason`);
    else if (name in fields) doubts.push(`"${name}" is there twice`);
    else Object.assign(fields, { [name]: name === 'by' ? shown(value) : value });
  }
  return { fields, reason: reason === undefined || reason.trim() === '' ? undefined : shown(reason), doubts };
}

/** With its zone: two readers must see the same end. */
function readTime(text: string): number | undefined {
  const [, year = '', month = '', day = ''] = TIME.exec(text) ?? [];
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const ms = Date.parse(text);
  return day !== '' && isDay && Number.isFinite(ms) ? ms : undefined;
}

function shown(text: string): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= MOST_CHARACTERS ? line : `${line.slice(0, MOST_CHARACTERS - 1)}…`;
}

/** What `pause` writes: the text of an entry, which {@link projectPauses} reads as the same pause. */
export function pauseText({ direction, untilMs, by, reason }: Omit<Pause, 'pool' | 'problem'>): string {
  const fields = [`until=${new Date(untilMs).toISOString().replace('.000Z', 'Z')}`, `direction=${direction}`];
  if (by !== undefined) fields.push(`by=${shown(by).replaceAll(' ', '_')}`);
  if (reason !== undefined) fields.push(`reason=${shown(reason)}`);
  return fields.join(' ');
}
