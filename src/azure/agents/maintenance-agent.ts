/**
 * The caching agent of AKS's maintenance configurations. It exists only while removals of a pool keep out of them or to them.
 * Optional: while they are not known, removals of such pools wait.
 */
import { replacedRows, type CachingAgent } from '../../cache/agents/agent.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import { readPages } from '../arm/pages.ts';
import type { MaintenanceConfiguration } from '../../domain/schedule-rules.ts';
import { projectMaintenance } from '../rows/maintenance.ts';
import { MAINTENANCE_AGENT } from '../rows/tables.ts';
import { cachingAgent, type AgentDeps } from './agents.ts';

const MINUTE = 60_000;

export interface MaintenanceAgentDeps extends AgentDeps {
  readonly cluster: { readonly resourceGroup: string; readonly name: string };
  readonly readings: {
    keep(configurations: readonly MaintenanceConfiguration[], atMs: number): void;
    keepFailure(failure: AutoscalerError): void;
  };
}

export function maintenanceAgent(deps: MaintenanceAgentDeps): CachingAgent {
  const policy = {
    // People change them a few times a year, and removals follow an hour later at the latest.
    intervalMs: 60 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.1 } as const,
    errorIntervalMs: 2 * MINUTE,
    // A missing permission does not pass by itself.
    maxErrorIntervalMs: 30 * MINUTE,
    timeoutMs: MINUTE,
    requestedRate: undefined,
  };
  const shape = {
    id: MAINTENANCE_AGENT,
    kind: 'maintenance',
    order: 1,
    operation: 'listMaintenance',
    policy,
    optional: true,
  } as const;
  return cachingAgent(shape, async ({ signal }) => {
    const atMs = deps.clock.now();
    try {
      const configurations = await readAll(deps, signal);
      return {
        commit: () => {
          deps.readings.keep(configurations, atMs);
          return replacedRows(configurations.length);
        },
        error: undefined,
      };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      const commit = () => {
        deps.readings.keepFailure(error);
        return replacedRows(0);
      };
      return { commit, error };
    }
  });
}

/** @throws AutoscalerError if any page cannot be read, or a configuration is not understood. */
async function readAll(deps: MaintenanceAgentDeps, signal: AbortSignal): Promise<readonly MaintenanceConfiguration[]> {
  const { resourceGroup, name } = deps.cluster;
  const { pages, error } = await readPages(deps, {
    call: { operation: 'listMaintenance', resource: name },
    signal,
    open: () => deps.clients.containers.maintenanceConfigurations.listByManagedCluster(resourceGroup, name).byPage(),
    project: (raw) => ({ key: foldName(raw.name ?? ''), value: projectMaintenance(raw), etag: undefined }),
  });
  if (error !== undefined) throw error;
  return pages.flatMap(({ rows }) => rows.map(({ value }) => value));
}
