/** The list of usages of a region, also as text for processes that share it. What others published is bounded and dated like an answer. */
import type { TextReading } from '../../cache/agents/shared-load.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { UsageRow } from './core-quotas.ts';
import { isRecord } from '../../lib/json.ts';
import { foldKey } from './sku-text.ts';

export interface UsageList {
  /** When its read began, ms since the epoch. */
  readonly atMs: number;
  readonly rows: readonly UsageRow[];
}

interface UsageScope {
  readonly subscriptionId: string;
  readonly location: string;
}

/** Version of the text format. It grows when the meaning of a field changes; other versions are not read. */
const SCHEMA = 1;
/** A region lists about 150. */
const MOST_ROWS = 2_000;
const MOST_CORES = 100_000_000;
/** A clock may be ahead by this much. */
const CLOCK_SKEW_MS = 60_000;
/** A quota that is used up to this share decides soon, so each process reads it for itself. */
const NEARLY_USED = 0.9;

export function writeUsageText({ atMs, rows }: UsageList, scope: UsageScope): string {
  return JSON.stringify({ schema: SCHEMA, ...foldKey(scope), atMs, rows });
}

export function readUsageText(text: string, scope: UsageScope, nowMs: number): TextReading<UsageList> {
  const bad = (reason: string): TextReading<UsageList> => ({ ok: false, reason });
  const raw = jsonOf(text);
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { subscriptionId, location } = foldKey(scope);
  if (raw['location'] !== location || raw['subscriptionId'] !== subscriptionId) return bad('it is for another region or subscription');
  const { atMs, rows } = raw;
  if (typeof atMs !== 'number' || !(atMs > 0) || atMs > nowMs + CLOCK_SKEW_MS) return bad('its time is no time in the past');
  // guard: a shared list of usages has a limited length, of limited numbers
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > MOST_ROWS) return bad('it has no rows, or too many');
  const readable: unknown[] = rows;
  const usages = readable.filter(isUsageRow);
  return usages.length === rows.length ? { ok: true, value: { atMs, rows: usages } } : bad('one of its rows is not valid');
}

/** Whether a quota in use is nearly used up. What decides about a write must not come from another process. */
export function isNearlyUsed({ rows }: UsageList): boolean {
  return rows.some(({ used, limit }) => used > 0 && used >= limit * NEARLY_USED);
}

function isUsageRow(value: unknown): value is UsageRow {
  const isCount = (count: unknown): boolean => typeof count === 'number' && count >= 0 && count <= MOST_CORES;
  return isRecord(value) && typeof value['name'] === 'string' && isCount(value['used']) && isCount(value['limit']);
}
