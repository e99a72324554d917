/** The Azure section as the adapter takes it, made from the parsed settings. The adapter says what each value means. */
import type { Schedules } from '../../domain/schedule-rules.ts';
import { cloudByName, isPublicEndpoint } from './azure.ts';
import { priceListOf } from './retail-prices.ts';
import type { Parsed } from './schema.ts';

/** `byDefault` is present if the rule is not the user's: it holds because no group and no rule is configured. */
type DiscoveryRule = Parsed['discovery'][number] & { readonly byDefault?: true };

/** The settings of the Azure adapter; `cli` adds what is read from the instance metadata endpoint. */
export type AzureConfig = Readonly<ReturnType<typeof azureSectionOf>>;

/** `caPem`: the certificate authority of the private cloud, if there is one. `schedules`: with the dates of their calendars. */
export function azureSectionOf(
  { azure, nodeGroups, nodeGroupOptions, discovery, scaleUp, dryRun }: Parsed,
  { caPem, schedules }: { readonly caPem: string | undefined; readonly schedules: Schedules },
) {
  const cloud = cloudByName(azure.cloud);
  const armEndpoint = azure.armEndpoint ?? cloud?.armEndpoint ?? '';
  const rules: readonly DiscoveryRule[] = nodeGroups.length + discovery.length === 0 ? defaultDiscovery(azure) : discovery;
  return {
    subscriptionId: azure.subscriptionId,
    tenantId: azure.tenantId,
    nodeResourceGroup: azure.resourceGroup,
    clusterName: azure.clusterName,
    clusterResourceGroup: azure.clusterResourceGroup,
    location: azure.location,
    metadataEndpoint: azure.metadataEndpoint,
    armEndpoint,
    authorityHost: azure.authorityHost ?? cloud?.authorityHost ?? '',
    scopes: azure.scopes,
    caPem,
    credential: azure.credential,
    vmssCacheTtlMs: azure.cache.vmssTtl,
    spotSizeTtlMs: azure.cache.spotSizeTtl,
    vmssVmsCacheTtlMs: azure.cache.vmssVmsTtl,
    vmssVmsCacheJitterMs: azure.cache.vmssVmsJitter,
    readOnChange: azure.cache.readOnChange,
    skuCacheTtlMs: azure.cache.skuTtl,
    skuFolder: azure.cache.skuFolder,
    redis: azure.cache.redis,
    agents: azure.agents,
    enableVmssEtag: azure.enableVmssEtag,
    enableForceDelete: azure.enableForceDelete,
    writePath: azure.writePath,
    syncAgentPoolCount: azure.syncAgentPoolCount,
    deallocate: azure.deallocate,
    maxStoppedInstances: azure.maxStoppedInstances,
    activityLog: azure.activityLog,
    adoptsManagedPools: dryRun,
    nodeGroups,
    nodeGroupOptions,
    discovery: rules,
    schedules,
    requestTimeoutMs: azure.requestTimeout,
    maxConcurrentCalls: azure.maxConcurrentCalls,
    rateLimit: azure.rateLimit,
    readRetries: azure.readRetries,
    userAgentSuffix: azure.userAgentSuffix,
    placementScores: scaleUp.expanders.includes('placement'),
    retailPrices: priceListOf(scaleUp, isPublicEndpoint(armEndpoint)),
  };
}

/** The pools that carry the Cluster Autoscaler's tags with the name of this cluster. Without that name nothing is selected. */
function defaultDiscovery({ clusterName }: Parsed['azure']): readonly DiscoveryRule[] {
  if (clusterName === undefined) return [];
  const tags = { 'cluster-autoscaler-enabled': 'true', 'cluster-autoscaler-name': clusterName };
  return [{ selectors: Object.entries(tags).map(([key, value]) => ({ key, value })), min: undefined, max: undefined, byDefault: true }];
}
