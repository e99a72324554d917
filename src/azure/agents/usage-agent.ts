/**
 * The caching agent of the region's usages. Optional: without it, Azure's refusals suffice. If processes share the list, one of them
 * reads it for all, as long as no quota is nearly used up.
 */
import type { Usage } from '@azure/arm-compute';
import { replacedRows, type CachingAgent, type Loaded } from '../../cache/agents/agent.ts';
import { loadTogether } from '../../cache/agents/shared-load.ts';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import { readPages } from '../arm/pages.ts';
import type { UsageRow } from '../sizes/core-quotas.ts';
import { isNearlyUsed, readUsageText, writeUsageText, type UsageList } from '../sizes/usage-list.ts';
import { USAGE_AGENT } from '../rows/tables.ts';
import { cachingAgent, type AgentDeps } from './agents.ts';
import type { Clock } from '../../lib/clock.ts';

const MINUTE = 60_000;
const INTERVAL_MS = 5 * MINUTE;
/** How often within an interval a shared list is looked for. That needs no call of Azure. */
const LOOKS_PER_INTERVAL = 4;
/** After a failed read, the next process tries after this. */
const REST_AFTER_FAILURE_MS = 20_000;
/** A process goes on with a list that is old by up to this many intervals while another one has the turn to read it. */
const USABLE_INTERVALS = 3;

export interface UsageAgentDeps extends Omit<AgentDeps, 'clock'> {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly share: SharedText | undefined;
  /** When Azure contradicted the list last, ms since the epoch: an older list of another process does not count. */
  readonly doubtedAtMs: () => number;
  /** Receives a list only if all of it was read. `isShared`: by another process. */
  readonly keep: (list: UsageList, isShared: boolean) => void;
}

export function usageAgent(deps: UsageAgentDeps): CachingAgent {
  const { share } = deps;
  const policy = {
    intervalMs: share === undefined ? INTERVAL_MS : INTERVAL_MS / LOOKS_PER_INTERVAL,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A missing permission to read usages does not pass by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: share === undefined ? MINUTE / 2 : 2 * MINUTE,
    requestedRate: undefined,
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
  const lists = new UsageLists(deps);
  return cachingAgent(shape, ({ signal }) => (share === undefined ? lists.readAlone(signal) : lists.readTogether(share, signal)));
}

/** The usages as this process and others read them. */
class UsageLists {
  readonly #deps: UsageAgentDeps;
  /** What this process read last. */
  #own: UsageList | undefined;
  /** What counts: the last list of this process, or another's with what only this one saw. */
  #current: UsageList | undefined;
  /** What was committed last. */
  #committed: UsageList | undefined;

  constructor(deps: UsageAgentDeps) {
    this.#deps = deps;
  }

  async readAlone(signal: AbortSignal): Promise<Loaded> {
    return this.#loaded(await this.#readOwn(signal));
  }

  async readTogether(share: SharedText, signal: AbortSignal): Promise<Loaded> {
    const own = this.#own;
    // Nothing that another process says is better than our own list of the last minutes.
    if (own !== undefined && own === this.#committed && this.#isRecent(own) && !this.#isDoubted(own))
      return { commit: () => replacedRows(own.rows.length, 0), error: undefined };
    const { options, clock } = this.#deps;
    const before = this.#current;
    const { value, error, by, origin } = await loadTogether<UsageList>(
      {
        share,
        clock,
        decode: (text) => readUsageText(text, options, clock.now()),
        encode: (list) => writeUsageText(list, options),
        isFresh: (list) => this.#isRecent(list),
        read: (stop) => this.#readOwn(stop),
        onProblem: () => undefined,
        current: before,
        mayGoOn: before !== undefined && clock.now() - before.atMs < USABLE_INTERVALS * INTERVAL_MS,
        rest: { successMs: 0.9 * INTERVAL_MS, failureMs: REST_AFTER_FAILURE_MS },
      },
      signal,
    );
    // guard: a usage that decides soon is read by the process itself
    // guard: a shared usage that Azure has contradicted is read again
    const isOwn = origin === 'own' || isNearlyUsed(value) || this.#isDoubted(value);
    if (isOwn) this.#current = origin === 'own' ? value : await this.#readOwn(signal);
    // guard: absence from a list of usages that another process read means nothing
    else if (origin === 'shared') this.#current = addOther(this.#own, value);
    return { ...this.#loaded(this.#current ?? value, isOwn ? undefined : { by }), error };
  }

  #isRecent({ atMs }: UsageList): boolean {
    return Math.abs(this.#deps.clock.now() - atMs) < INTERVAL_MS;
  }

  #isDoubted({ atMs }: UsageList): boolean {
    return atMs < this.#deps.doubtedAtMs();
  }

  async #readOwn(signal: AbortSignal): Promise<UsageList> {
    const list = await readList(this.#deps, signal);
    this.#own = list;
    return list;
  }

  /** `from`: the other process; what it read is informative. undefined: this process read the list. */
  #loaded(list: UsageList, from?: { readonly by: string | undefined }): Loaded {
    return {
      commit: () => {
        this.#committed = list;
        this.#deps.keep(list, from !== undefined);
        return { ...replacedRows(list.rows.length), readBy: from?.by };
      },
      error: undefined,
    };
  }
}

/** Absence from another process's list means nothing: it may have read with fewer rights. What this one read itself stays for its time. */
function addOther(own: UsageList | undefined, other: UsageList): UsageList {
  if (own === undefined || Math.abs(other.atMs - own.atMs) >= USABLE_INTERVALS * INTERVAL_MS) return other;
  const names = new Set(other.rows.map(({ name }) => name.toLowerCase()));
  return { atMs: other.atMs, rows: [...other.rows, ...own.rows.filter(({ name }) => !names.has(name.toLowerCase()))] };
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
      return value === undefined ? undefined : { key: value.name.toLowerCase(), value, etag: undefined };
    },
  });
  if (error !== undefined) throw error;
  return { atMs, rows: pages.flatMap((page) => page.rows.map(({ value }) => value)) };
}

/** undefined: an entry without numbers, or one that has no limit. */
function projectUsage({ name, currentValue, limit }: Usage): UsageRow | undefined {
  // guard: a negative usage is no usage
  const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  if (name?.value === undefined || !isCount(currentValue) || !isCount(limit)) return undefined;
  return { name: name.value, used: currentValue, limit };
}
