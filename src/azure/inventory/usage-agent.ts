/** The caching agent of the region's usages. Optional: without it Azure's own refusals are all there is, and they suffice. */
import type { Usage } from '@azure/arm-compute';
import type { CachingAgent } from '../../cache/agents/agent.ts';
import { cachingAgent, replaceAll, type AgentDeps } from './agents.ts';
import { readPages } from '../arm/pages.ts';
import type { UsageRow } from '../sizes/core-quotas.ts';
import { USAGE_AGENT } from '../rows/tables.ts';

const MINUTE = 60_000;

/** `keep` gets the usages and when they were asked for, only when the whole list was read. */
export function usageAgent(parts: AgentDeps, keep: (rows: readonly UsageRow[], atMs: number) => void): CachingAgent {
  const policy = {
    intervalMs: 5 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A role that may not read usages is no fault that passes by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: 30_000,
  };
  const location = parts.options.location.replaceAll(' ', '').toLowerCase();
  const shape = { id: USAGE_AGENT, kind: 'usage', order: 1, operation: 'listUsages', policy, optional: true } as const;
  return cachingAgent(shape, async ({ signal }) => {
    const askedAtMs = parts.clock.now();
    const list = await readPages(parts, {
      call: { operation: 'listUsages', resource: '' },
      signal,
      open: () => parts.clients.compute.usage.list(location).byPage(),
      project: (raw: Usage) => {
        const value = projectUsage(raw);
        return value === undefined ? undefined : { key: value.name.toLowerCase(), value };
      },
    });
    return replaceAll(list, (rows) =>
      keep(
        rows.map(({ value }) => value),
        askedAtMs,
      ),
    );
  });
}

/** undefined: an entry without numbers, or one that has no limit. */
function projectUsage({ name, currentValue, limit }: Usage): UsageRow | undefined {
  const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  if (name?.value === undefined || !isCount(currentValue) || !isCount(limit)) return undefined;
  return { name: name.value, used: currentValue, limit };
}
