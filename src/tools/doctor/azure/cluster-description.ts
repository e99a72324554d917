/** What AKS knows about a cluster and its pools, read with the rights of the caller, for an installation. Must not know what is installed. */
import type { Clock } from '../../../lib/clock.ts';
import { AutoscalerError } from '../../../lib/errors.ts';
import type { Metrics } from '../../../telemetry/metrics.ts';
import { ArmCalls } from '../../../azure/arm/arm-client.ts';
import { jsonOf } from '../../../azure/arm/error-bodies.ts';
import type { AzureOptions } from '../../../azure/arm/options.ts';
import { RateLimits } from '../../../azure/arm/rate-limits.ts';
import { createClients, createCredential } from '../../../azure/arm/sdk-clients.ts';
import { projectAgentPool } from '../../../azure/rows/agent-pool.ts';
import { parseAgentPool } from '../../../azure/rows/agent-pool-list.ts';
import { VMS_POOL_TYPE, type PoolLimits } from '../../../azure/rows/vms-pool.ts';
import { isRecord } from '../../../lib/json.ts';

export interface ClusterPool {
  readonly name: string;
  readonly kind: 'scale-set' | 'vms-pool';
  readonly isSystem: boolean;
  readonly count: number;
  /** AKS runs its own autoscaler over it, within these limits if they are usable. */
  readonly managed: boolean;
  readonly limits?: PoolLimits;
  readonly tags: Readonly<Record<string, string>>;
}

export interface AksCluster {
  readonly nodeResourceGroup: string;
  readonly location: string;
  readonly tenantId: string | undefined;
  /** undefined: the issuer of tokens for workload identity is off. */
  readonly oidcIssuer: string | undefined;
  readonly hasWorkloadIdentity: boolean;
  readonly pools: readonly ClusterPool[];
}

interface ClusterReadDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

const API_VERSION = '2025-05-01';

/** @throws AutoscalerError if the cluster does not exist, may not be read, or Azure does not answer. */
export async function describeCluster({ options, clock, metrics }: ClusterReadDeps, signal: AbortSignal): Promise<AksCluster> {
  const { armEndpoint, requestTimeoutMs: timeoutMs, maxConcurrentCalls: maxConcurrent } = options;
  const rateLimits = new RateLimits(clock, metrics.arm);
  const calls = new ArmCalls({ clock, metrics: metrics.arm, rateLimits, endpoint: armEndpoint, timeoutMs, maxConcurrent, random: () => 0 });
  const clients = createClients(options, createCredential(options), calls);
  const { subscriptionId, clusterResourceGroup = '', clusterName = '' } = options;
  const path = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;
  const url = `${armEndpoint.replace(/\/+$/, '')}${path}`;
  const call = { operation: 'listAgentPools', resource: clusterName } as const;
  const read = async (address: string): Promise<unknown> =>
    jsonOf((await calls.run(call, signal, () => clients.getRaw(`${address}?api-version=${API_VERSION}`))).bodyAsText);
  const [cluster, pools] = [await read(url), await read(`${url}/agentPools`)];
  return clusterOf(cluster, isRecord(pools) && Array.isArray(pools['value']) ? (pools['value'] as readonly unknown[]) : []);
}

function clusterOf(cluster: unknown, pools: readonly unknown[]): AksCluster {
  const at = (...keys: readonly string[]): unknown =>
    keys.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), cluster);
  const text = (...keys: readonly string[]): string | undefined => {
    const value = at(...keys);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const nodeResourceGroup = text('properties', 'nodeResourceGroup');
  if (nodeResourceGroup === undefined)
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure returned something else than an AKS cluster.');
  return {
    nodeResourceGroup,
    location: text('location') ?? '',
    tenantId: text('identity', 'tenantId'),
    oidcIssuer:
      at('properties', 'oidcIssuerProfile', 'enabled') === true ? text('properties', 'oidcIssuerProfile', 'issuerURL') : undefined,
    hasWorkloadIdentity: at('properties', 'securityProfile', 'workloadIdentity', 'enabled') === true,
    pools: pools.flatMap(clusterPool),
  };
}

function clusterPool(json: unknown): readonly ClusterPool[] {
  const listed = parseAgentPool(json);
  const row = listed === undefined ? undefined : projectAgentPool(listed);
  if (row === undefined) return [];
  const { name, tags, managedAutoscaler: managed, managedLimits: limits, vms } = row;
  const isOfVms = row.type.toLowerCase() === VMS_POOL_TYPE;
  return [
    {
      name,
      kind: isOfVms ? 'vms-pool' : 'scale-set',
      isSystem: row.mode?.toLowerCase() === 'system',
      count: isOfVms ? (vms?.sizes ?? []).reduce((sum, { count = 0 }) => sum + count, 0) : (row.count ?? 0),
      managed: managed || vms?.shared.managedAutoscaler === true,
      ...(limits === undefined ? {} : { limits }),
      tags,
    },
  ];
}
