/** Settings from environment variables: the names of the Cluster Autoscaler's Azure provider and of the Azure SDKs. */
import type { Layer } from './layers.ts';
import { retiredLayer } from './retired-settings.ts';
import { isUnset, settingFromText, type TextKind } from './text-values.ts';

interface Variable {
  readonly name: string;
  readonly path: string;
  readonly kind: TextKind;
}

/** In order: if two variables set one key, the later wins. */
export const VARIABLES: readonly Variable[] = [
  { name: 'ARM_CLOUD', path: 'azure.cloud', kind: 'text' },
  { name: 'ARM_VM_TYPE', path: 'azure.vmType', kind: 'text' },
  { name: 'ARM_SUBSCRIPTION_ID', path: 'azure.subscriptionId', kind: 'text' },
  { name: 'ARM_RESOURCE_GROUP', path: 'azure.resourceGroup', kind: 'text' },
  { name: 'LOCATION', path: 'azure.location', kind: 'text' },
  { name: 'CLUSTER_NAME', path: 'azure.clusterName', kind: 'text' },
  { name: 'ARM_CLUSTER_RESOURCE_GROUP', path: 'azure.clusterResourceGroup', kind: 'text' },
  { name: 'ARM_TENANT_ID', path: 'azure.tenantId', kind: 'text' },
  { name: 'AZURE_TENANT_ID', path: 'azure.tenantId', kind: 'text' },
  { name: 'ARM_CLIENT_ID', path: 'azure.credential.clientId', kind: 'text' },
  { name: 'AZURE_CLIENT_ID', path: 'azure.credential.clientId', kind: 'text' },
  { name: 'ARM_CLIENT_SECRET', path: 'azure.credential.clientSecret', kind: 'secret' },
  { name: 'AZURE_CLIENT_SECRET', path: 'azure.credential.clientSecret', kind: 'secret' },
  { name: 'ARM_CLIENT_CERT_PATH', path: 'azure.credential.certificatePath', kind: 'text' },
  { name: 'ARM_CLIENT_CERT_PASSWORD', path: 'azure.credential.certificatePassword', kind: 'secret' },
  { name: 'ARM_USE_MANAGED_IDENTITY_EXTENSION', path: 'azure.credential.useManagedIdentity', kind: 'boolean' },
  { name: 'ARM_USER_ASSIGNED_IDENTITY_ID', path: 'azure.credential.userAssignedIdentityId', kind: 'text' },
  { name: 'ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION', path: 'azure.credential.useWorkloadIdentity', kind: 'boolean' },
  { name: 'ARM_USE_WORKLOAD_IDENTITY_EXTENSION', path: 'azure.credential.useWorkloadIdentity', kind: 'boolean' },
  { name: 'AZURE_FEDERATED_TOKEN_FILE', path: 'azure.credential.tokenFile', kind: 'text' },
  { name: 'AZURE_AUTHORITY_HOST', path: 'azure.authorityHost', kind: 'text' },
  { name: 'AZURE_POD_IDENTITY_AUTHORITY_HOST', path: 'azure.metadataEndpoint', kind: 'text' },
  { name: 'AZURE_RESOURCE_MANAGER_ENDPOINT', path: 'azure.armEndpoint', kind: 'text' },
  { name: 'AZURE_CA_FILE', path: 'azure.caFile', kind: 'text' },
  { name: 'AZURE_CLUSTER_AUTOSCALER_USER_AGENT_SUFFIX', path: 'azure.userAgentSuffix', kind: 'text' },
  { name: 'AZURE_VMSS_CACHE_TTL_IN_SECONDS', path: 'azure.cache.vmssTtl', kind: 'seconds' },
  { name: 'AZURE_VMSS_CACHE_TTL', path: 'azure.cache.vmssTtl', kind: 'seconds' },
  { name: 'AZURE_GET_VMSS_SIZE_REFRESH_PERIOD', path: 'azure.cache.spotSizeTtl', kind: 'seconds' },
  { name: 'AZURE_VMSS_VMS_CACHE_TTL_IN_SECONDS', path: 'azure.cache.vmssVmsTtl', kind: 'seconds' },
  { name: 'AZURE_VMSS_VMS_CACHE_TTL', path: 'azure.cache.vmssVmsTtl', kind: 'seconds' },
  { name: 'AZURE_VMSS_VMS_CACHE_JITTER', path: 'azure.cache.vmssVmsJitter', kind: 'seconds' },
  { name: 'AZURE_CACHE_READ_ON_CHANGE', path: 'azure.cache.readOnChange', kind: 'boolean' },
  { name: 'AZURE_SKU_FOLDER', path: 'azure.cache.skuFolder', kind: 'text' },
  { name: 'AZURE_CACHE_REDIS_URL', path: 'azure.cache.redis.url', kind: 'text' },
  { name: 'AZURE_CACHE_REDIS_USERNAME', path: 'azure.cache.redis.username', kind: 'text' },
  { name: 'AZURE_CACHE_REDIS_KEY_PREFIX', path: 'azure.cache.redis.keyPrefix', kind: 'text' },
  { name: 'AZURE_CACHE_REDIS_PASSWORD', path: 'azure.cache.redis.password', kind: 'secret' },
  { name: 'AZURE_ENABLE_VMSS_ETAG', path: 'azure.enableVmssEtag', kind: 'boolean' },
  { name: 'AZURE_ENABLE_FORCE_DELETE', path: 'azure.enableForceDelete', kind: 'boolean' },
  { name: 'AZURE_WRITE_PATH', path: 'azure.writePath', kind: 'text' },
  { name: 'AZURE_SYNC_AGENT_POOL_COUNT', path: 'azure.syncAgentPoolCount', kind: 'boolean' },
  { name: 'AZURE_DEALLOCATE', path: 'azure.deallocate', kind: 'boolean' },
  { name: 'AZURE_ACTIVITY_LOG', path: 'azure.activityLog', kind: 'boolean' },
  { name: 'CLOUD_PROVIDER_RATE_LIMIT', path: 'azure.rateLimit.enabled', kind: 'boolean' },
  { name: 'RATE_LIMIT_READ_QPS', path: 'azure.rateLimit.readQps', kind: 'number' },
  { name: 'RATE_LIMIT_READ_BUCKETS', path: 'azure.rateLimit.readBurst', kind: 'integer' },
  { name: 'RATE_LIMIT_WRITE_QPS', path: 'azure.rateLimit.writeQps', kind: 'number' },
  { name: 'RATE_LIMIT_WRITE_BUCKETS', path: 'azure.rateLimit.writeBurst', kind: 'integer' },
  { name: 'ENABLE_BACKOFF', path: 'azure.readRetries.enabled', kind: 'boolean' },
  { name: 'BACKOFF_RETRIES', path: 'azure.readRetries.retries', kind: 'integer' },
  { name: 'BACKOFF_EXPONENT', path: 'azure.readRetries.exponent', kind: 'number' },
  { name: 'BACKOFF_DURATION', path: 'azure.readRetries.first', kind: 'seconds' },
  { name: 'BACKOFF_JITTER', path: 'azure.readRetries.jitter', kind: 'number' },
  { name: 'KUBECONFIG', path: 'kubernetes.kubeconfig', kind: 'text' },
  { name: 'POD_NAME', path: 'kubernetes.identity', kind: 'text' },
];

/** A blank variable counts as not set. */
export function environmentLayer(env: Readonly<Record<string, string | undefined>>): Layer {
  const settings = VARIABLES.flatMap(({ name, path, kind }) => {
    const text = env[name] ?? '';
    return isUnset(path, text) ? [] : [settingFromText(path.split('.'), kind, text, `environment variable ${name}`)];
  });
  const retired = retiredLayer(
    ({ variable }) => variable,
    (name) => env[name],
    (name) => `environment variable ${name}`,
  );
  return { ...retired, settings: [...inCluster(env), ...settings] };
}

/** Inside a pod, the kubelet sets the address of the API server. */
function inCluster(env: Readonly<Record<string, string | undefined>>): Layer['settings'] {
  const host = env['KUBERNETES_SERVICE_HOST']?.trim() ?? '';
  if (host === '') return [];
  const port = env['KUBERNETES_SERVICE_PORT']?.trim() ?? '443';
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return [settingFromText(['kubernetes', 'apiServer'], 'text', url, 'environment variable KUBERNETES_SERVICE_HOST')];
}
