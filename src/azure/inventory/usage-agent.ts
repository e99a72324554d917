/** The caching agent of the region's usages. Optional: without it, Azure's refusals suffice. */
import type { Usage } from '@azure/arm-compute';
import type { CachingAgent } from '../../cache/agents/agent.ts';
import { cachingAgent, replaceAll, type AgentDeps } from './agents.ts';
import { readPages } from '../arm/pages.ts';
import type { UsageRow } from '../sizes/core-quotas.ts';
import { USAGE_AGENT } from '../rows/tables.ts';

const MINUTE = 60_000;

/** `keep` receives the usages and when the read began, only if the whole list was read. */
export function usageAgent(deps: AgentDeps, keep: (rows: readonly UsageRow[], atMs: number) => void): CachingAgent {
  const policy = {
    intervalMs: 5 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A missing permission to read usages does not pass by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: 30_000,
  };
  const location = deps.options.location.replaceAll(' ', '').toLowerCase();
  const shape = { id: USAGE_AGENT, kind: 'usage', order: 1, operation: 'listUsages', policy, optional: true } as const;
  return cachingAgent(shape, async ({ signal }) => {
    const readAtMs = deps.clock.now();
    const list = await readPages(deps, {
      call: { operation: 'listUsages', resource: '' },
      signal,
      open: () => deps.clients.compute.usage.list(location).byPage(),
      project: (raw: Usage) => {
        const value = projectUsage(raw);
        return value === undefined ? undefined : { key: value.name.toLowerCase(), value };
      },
    });
    return replaceAll(list, (rows) =>
      keep(
        rows.map(({ value }) => value),
        readAtMs,
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
