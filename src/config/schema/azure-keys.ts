/** The keys of the Azure section, their defaults, and the rules between them. Must not know what the adapter makes of them. */
import * as z from 'zod';
import { duration, endpoint, flag, SECOND_MS, text, HOUR_MS, MINUTE_MS, number, oneOf, wholeNumber } from './value-types.ts';
import { CLOUD_NAMES, cloudByName, STACK, agents, chooseCredential } from './azure.ts';

const METHODS = ['client-secret', 'workload-identity', 'managed-identity', 'client-certificate', 'azure-cli'] as const;
const NEED_TENANT: ReadonlySet<string | undefined> = new Set(['client-secret', 'workload-identity', 'client-certificate']);
const NO_AVAILABILITY_SETS =
  'vmss, for AKS too (availability sets are not supported: they are resized by template deployments, which undo other changes. Move such a pool to a scale set, ' +
  'or to an agent pool of type VirtualMachines and name it POOL/SIZE)';

const credential = z
  .strictObject({
    method: oneOf(METHODS).optional(),
    clientId: text('a client id').optional(),
    clientSecret: text('a secret').optional(),
    tokenFile: text('a file path').optional(),
    certificatePath: text('a file path').optional(),
    certificatePassword: z.string({ error: 'a password' }).optional(),
    useManagedIdentity: flag(false),
    userAssignedIdentityId: text('the client id or the ARM id of an identity').optional(),
    useWorkloadIdentity: flag(false),
  })
  .refine((given) => !(given.useManagedIdentity && given.useWorkloadIdentity), {
    error: 'false if azure.credential.useManagedIdentity is true: only one of the two can be used',
    path: ['useWorkloadIdentity'],
  })
  .prefault({})
  .transform((given, context) => {
    const outcome = chooseCredential(given);
    if ('credential' in outcome) return outcome.credential;
    context.addIssue({ code: 'custom', path: [outcome.missing], message: outcome.accepts });
    return z.NEVER;
  });

/** A Redis or Valkey server that the clusters of a subscription share. Its password comes from the environment. */
const redis = z.strictObject({
  url: text('redis://HOST:PORT or, with TLS, rediss://HOST:PORT, without a user or a password').refine(isRedisUrl, {
    error: 'redis://HOST:PORT or, with TLS, rediss://HOST:PORT, without a user or a password',
  }),
  username: text('the name of a user').optional(),
  password: text('a secret').optional(),
  keyPrefix: text('the beginning of each key').default('aks-autoscaler'),
});

function isRedisUrl(given: string): boolean {
  const url = URL.parse(given);
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') return false;
  // A path is the number of a database.
  return url.username === '' && url.password === '' && /^\/?\d*$/.test(url.pathname);
}

/**
 * The share of the TTL over which lists of instances are spread by default. Without any, the lists that one event begins together, such as a
 * refresh or the end of an outage, stay together in every later interval, too, and each of them reads a whole pool.
 */
const JITTER_OF_TTL = 0.1;

// guard: lists of instances are spread unless a jitter of zero is given
const cache = z
  .strictObject({
    vmssTtl: duration(MINUTE_MS, { leastMs: SECOND_MS }),
    spotSizeTtl: duration(0),
    vmssVmsTtl: duration(5 * MINUTE_MS, { leastMs: SECOND_MS }),
    vmssVmsJitter: duration(0).unwrap().optional(),
    readOnChange: flag(false),
    skuTtl: duration(24 * HOUR_MS, { leastMs: MINUTE_MS }),
    skuFolder: text('a folder that processes may share').optional(),
    redis: redis.optional(),
  })
  .prefault({})
  .transform((given) => ({ ...given, vmssVmsJitter: given.vmssVmsJitter ?? Math.round(given.vmssVmsTtl * JITTER_OF_TTL) }))
  .refine((ttl) => ttl.vmssVmsJitter <= ttl.vmssVmsTtl, {
    error: 'a jitter that is not longer than the TTL it varies (azure.cache.vmssVmsTtl)',
    path: ['vmssVmsJitter'],
  });

/** A rate limit below Azure's own, for compatibility. The defaults are those that the Cluster Autoscaler documents. */
const rateLimit = z
  .strictObject({
    enabled: flag(false),
    readQps: number(1, 0.01),
    readBurst: wholeNumber(1).default(5),
    // If absent, the limits of reads hold, as in the library of the Cluster Autoscaler's provider.
    writeQps: number(1, 0.01).unwrap().optional(),
    writeBurst: wholeNumber(1).optional(),
  })
  .prefault({})
  .transform((given) => {
    const read = { perSecond: given.readQps, burst: given.readBurst };
    const write = { perSecond: given.writeQps ?? read.perSecond, burst: given.writeBurst ?? read.burst };
    return given.enabled ? { read, write } : undefined;
  });

/** Only reads are repeated, for compatibility. After a write without a response, a read shows its effect. */
const readRetries = z
  .strictObject({
    enabled: flag(false),
    retries: wholeNumber(0, 20).default(6),
    exponent: number(1.5, 1),
    first: duration(5 * SECOND_MS),
    jitter: number(1, 0),
  })
  .refine((given) => !given.enabled || given.retries > 0, {
    error: 'a whole number from 1 to 20 while retries are on (azure.readRetries.enabled)',
    path: ['retries'],
  })
  .prefault({})
  .transform(({ enabled, retries, exponent, first, jitter }) => (enabled ? { retries, exponent, firstMs: first, jitter } : undefined));

const NODE_GROUP = 'the resource group that holds the nodes (MC_...)';

/** The section `azure`, with the rules between its keys. */
export const azure = z
  .strictObject({
    cloud: text(`one of ${CLOUD_NAMES}`)
      .refine((name) => cloudByName(name) !== undefined || isStack(name), { error: `one of ${CLOUD_NAMES}` })
      .default('AzurePublicCloud'),
    vmType: z
      .string({ error: 'vmss' })
      .refine((type) => ['', 'vmss'].includes(type.trim().toLowerCase()), { error: NO_AVAILABILITY_SETS })
      .default('vmss'),
    subscriptionId: text('the id of the subscription that holds the nodes').optional(),
    tenantId: text('the id of the directory').optional(),
    // Of an AKS cluster, it is read from the instance metadata.
    resourceGroup: text(NODE_GROUP).optional(),
    // `West Europe` is the same region.
    location: text('the region of the cluster, such as westeurope')
      .transform((name) => name.replaceAll(' ', '').toLowerCase())
      .optional(),
    clusterName: text("the cluster's name").optional(),
    clusterResourceGroup: text('the resource group of the cluster resource').optional(),
    metadataEndpoint: endpoint().default('http://169.254.169.254'),
    armEndpoint: endpoint().optional(),
    authorityHost: endpoint().optional(),
    scopes: z.array(text('a token scope'), { error: 'a list of token scopes' }).default([]),
    caFile: text('a file path').optional(),
    credential,
    cache,
    agents,
    enableVmssEtag: flag(true),
    enableForceDelete: flag(false),
    writePath: oneOf(['vmss', 'agentPool']).default('vmss'),
    syncAgentPoolCount: flag(false),
    deallocate: flag(false),
    maxStoppedInstances: wholeNumber(0, 1000).default(10),
    activityLog: flag(false),
    requestTimeout: duration(30 * SECOND_MS, { leastMs: SECOND_MS }),
    maxConcurrentCalls: wholeNumber(1, 64).default(8),
    rateLimit,
    readRetries,
    userAgentSuffix: z.string({ error: 'a text' }).default(''),
  })
  .refine((given) => given.resourceGroup !== undefined || given.clusterName !== undefined, {
    error: `${NODE_GROUP}, or azure.clusterName with azure.clusterResourceGroup on a node of that cluster`,
    path: ['resourceGroup'],
    // Checked even if another key is wrong, so that every error is reported at once.
    when: () => true,
  })
  .refine((given) => given.writePath === 'vmss' || given.clusterName !== undefined, {
    error: 'vmss, or agentPool together with azure.clusterName and azure.clusterResourceGroup',
    path: ['writePath'],
  })
  .refine((given) => !given.syncAgentPoolCount || given.clusterName !== undefined, {
    error: 'false, or true together with azure.clusterName and azure.clusterResourceGroup',
    path: ['syncAgentPoolCount'],
  })
  .refine((given) => !given.deallocate || given.clusterName !== undefined, {
    error: 'false, or true together with azure.clusterName and azure.clusterResourceGroup',
    path: ['deallocate'],
  })
  .refine((given) => given.clusterName === undefined || given.clusterResourceGroup !== undefined, {
    error: 'the resource group of the cluster resource, which azure.clusterName needs',
    path: ['clusterResourceGroup'],
  })
  .refine((given) => given.clusterResourceGroup === undefined || given.clusterName !== undefined, {
    error: 'the name of the cluster, which azure.clusterResourceGroup needs',
    path: ['clusterName'],
  })
  .refine((given) => given.tenantId !== undefined || !NEED_TENANT.has(given.credential?.method), {
    error: 'the id of the directory, which this kind of identity needs',
    path: ['tenantId'],
    // Checked even if another key is wrong, so that every error is reported at once.
    when: () => true,
  })
  .refine((given) => !isStack(given.cloud) || (given.armEndpoint !== undefined && given.authorityHost !== undefined), {
    error:
      'a cloud whose endpoints are known; for AzureStackCloud set azure.armEndpoint and azure.authorityHost too, or AZURE_ENVIRONMENT_FILEPATH',
    path: ['cloud'],
  })
  .prefault({} as never);

function isStack(cloud: string): boolean {
  return cloud.trim().toLowerCase() === STACK;
}
