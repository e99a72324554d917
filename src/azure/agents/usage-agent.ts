/**
 * The caching agent of the region's usages. Optional: without it, Azure's refusals suffice. If processes share the list, one of them
 * reads it for all, as long as no quota is nearly used up.
 */
import type { Usage } from '@azure/arm-compute';
import type { CachingAgent, Loaded } from '../../cache/agents/agent.ts';
import { loadTogether } from '../../cache/agents/shared-load.ts';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import { defined } from '../../lib/defined.ts';
import { readPages } from '../arm/pages.ts';
import type { UsageRow } from '../sizes/core-quotas.ts';
import { isNearlyUsed, readUsageText, writeUsageText, type UsageList } from '../sizes/usage-list.ts';
import { USAGE_AGENT } from '../rows/tables.ts';
import { cachingAgent, type AgentDeps } from './agents.ts';
import type { Clock } from '../../lib/clock.ts';

const MINUTE = 60_000;
const INTERVAL_MS = 5 * MINUTE;
/** Within an interval, how often a shared list is looked for. That needs no call of Azure. */
const LOOKS = 4;
/** After a failed read, the next process tries after this. */
const REST_AFTER_FAILURE_MS = 20_000;
/** A process goes on with a list that is old by up to this many intervals while another one has the turn to read it. */
const LIVES = 3;

export interface UsageAgentDeps extends Omit<AgentDeps, 'clock'> {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly share: SharedText | undefined;
  /** When Azure contradicted the list last, ms since the epoch: an older list of another process does not count. */
  readonly doubtedAtMs: () => number;
  /** Receives a list only if all of it was read. */
  readonly keep: (list: UsageList) => void;
}

export function usageAgent(deps: UsageAgentDeps): CachingAgent {
  const { share, options, clock } = deps;
  const policy = {
    intervalMs: share === undefined ? INTERVAL_MS : INTERVAL_MS / LOOKS,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A missing permission to read usages does not pass by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: share === undefined ? MINUTE / 2 : 2 * MINUTE,
  };
  const shape = {
    id: USAGE_AGENT,
    kind: 'usage',
    order: 1,
    operation: 'listUsages',
    policy,
    optional: true,
    rest: deps.rest?.restOf(USAGE_AGENT, policy.intervalMs),
  } as const;
  let ownMs = Number.NEGATIVE_INFINITY;
  let current: UsageList | undefined;
  const readOwn = async (signal: AbortSignal): Promise<UsageList> => {
    const list = await readList(deps, signal);
    ownMs = list.atMs;
    return list;
  };
  const isRecent = (atMs: number): boolean => Math.abs(clock.now() - atMs) < INTERVAL_MS;
  return cachingAgent(shape, async ({ signal }) => {
    if (share === undefined) return loaded(deps, await readOwn(signal));
    const { value, error, by } = await loadTogether<UsageList>(
      {
        share,
        clock,
        decode: (text) => readUsageText(text, options, clock.now()),
        encode: (list) => writeUsageText(list, options),
        isFresh: (list) => isRecent(list.atMs),
        read: readOwn,
        onProblem: () => undefined,
        current,
        mayGoOn: current !== undefined && clock.now() - current.atMs < LIVES * INTERVAL_MS,
        rest: { successMs: 0.9 * INTERVAL_MS, failureMs: REST_AFTER_FAILURE_MS },
      },
      signal,
    );
    // Our own list of the last minutes is as good; another process's is not.
    const matters = isNearlyUsed(value) && !isRecent(ownMs);
    const isOwn = matters || value.atMs < deps.doubtedAtMs();
    current = isOwn ? await readOwn(signal) : value;
    return { ...loaded(deps, current, isOwn ? undefined : by), ...defined({ error }) };
  });
}

/** @throws AutoscalerError if any page cannot be read. */
async function readList(deps: UsageAgentDeps, signal: AbortSignal): Promise<UsageList> {
  const atMs = deps.clock.now();
  const location = deps.options.location.replaceAll(' ', '').toLowerCase();
  const { pages, error } = await readPages(deps, {
    call: { operation: 'listUsages', resource: '' },
    signal,
    open: () => deps.clients.compute.usage.list(location).byPage(),
    project: (raw: Usage) => {
      const value = projectUsage(raw);
      return value === undefined ? undefined : { key: value.name.toLowerCase(), value };
    },
  });
  if (error !== undefined) throw error;
  return { atMs, rows: pages.flatMap((page) => page.rows.map(({ value }) => value)) };
}

function loaded({ keep }: UsageAgentDeps, list: UsageList, readBy?: string): Loaded {
  return {
    commit: () => {
      keep(list);
      const rows = list.rows.length;
      const from = readBy === undefined ? {} : ({ readBy, authority: 'informative' } as const);
      return { rows, added: 0, changed: rows, evicted: 0, rejected: 0, runAgain: false, ...from };
    },
  };
}

/** undefined: an entry without numbers, or one that has no limit. */
function projectUsage({ name, currentValue, limit }: Usage): UsageRow | undefined {
  const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  if (name?.value === undefined || !isCount(currentValue) || !isCount(limit)) return undefined;
  return { name: name.value, used: currentValue, limit };
}
