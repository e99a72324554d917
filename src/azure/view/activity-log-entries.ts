/** Reads entries of the activity log: whose write explains a change. Must not know how the log is read. */
import { isRecord, textIn } from '../../lib/json.ts';

/** Ids under which the log names this process. */
export type OwnIdentity = readonly string[];

/** A change as it was noticed, which is after it was made. Milliseconds since the epoch. */
export interface CapacityWrite {
  readonly atMs: number;
}

interface LogEntry {
  readonly atMs: number;
  readonly caller: string;
}

/** Operations on a scale set or an agent pool that change its capacity. */
const WRITES = [
  /^microsoft\.compute\/virtualmachinescalesets\/(?:write|delete\/action|deallocate\/action|virtualmachines\/(?:delete|write|deallocate\/action))$/i,
  /^microsoft\.containerservice\/managedclusters\/agentpools\/(?:write|deletemachines\/action)$/i,
];
/** Clocks of Azure and of this process differ by less. */
const SLACK_MS = 30_000;
/** Usually a change is noticed with the next list, one minute later. */
const RECENT_MS = 3 * 60_000;
const MOST_NAMES = 3;

/** Those who wrote in the minutes before the change was noticed, the last one first; else the last one before. Empty: none is known. */
export function callersOf(raw: readonly unknown[], { atMs }: CapacityWrite, own: OwnIdentity): readonly string[] {
  const earlier = raw
    .flatMap((entry) => entryOf(entry, own))
    .filter((entry) => entry.atMs <= atMs + SLACK_MS)
    .sort((left, right) => right.atMs - left.atMs);
  const recent = earlier.filter((entry) => entry.atMs >= atMs - RECENT_MS);
  return [...new Set((recent.length > 0 ? recent : earlier.slice(0, 1)).map(({ caller }) => caller))].slice(0, MOST_NAMES);
}

/** Empty for entries of this process, of failed writes and of other operations. */
function entryOf(raw: unknown, own: OwnIdentity): readonly LogEntry[] {
  if (!isRecord(raw)) return [];
  const { caller, claims, eventTimestamp, operationName, status } = raw;
  const atMs = Date.parse(textIn(eventTimestamp));
  const operation = textIn(isRecord(operationName) ? operationName['value'] : operationName);
  const isWrite = WRITES.some((pattern) => pattern.test(operation));
  const hasFailed = textIn(isRecord(status) ? status['value'] : status) === 'Failed';
  const ids = [caller, ...(isRecord(claims) ? [claims['appid'], claims[OBJECT_ID]] : [])].map(textIn);
  if (Number.isNaN(atMs) || !isWrite || hasFailed || textIn(caller) === '') return [];
  return ids.some((id) => own.includes(id)) ? [] : [{ atMs, caller: textIn(caller) }];
}

const OBJECT_ID = 'http://schemas.microsoft.com/identity/claims/objectidentifier';
