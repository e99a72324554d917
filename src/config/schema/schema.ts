/**
 * The schema of the configuration: every key, its kind, its default, and the rules between keys. Unknown keys are errors.
 * Rules between keys are on the smallest object that contains them, so that one error does not hide another. Must not know
 * where a value comes from.
 */
import * as z from 'zod';
import { duration, endpoint, flag, SECOND_MS, text, HOUR_MS, MINUTE_MS, number, oneOf, wholeNumber } from './value-types.ts';
import { CLOUD_NAMES, cloudByName, STACK, agents, chooseCredential } from './azure.ts';
import { nodeGroupOptions } from './node-groups.ts';
import { schedules } from './schedules.ts';
import { repack } from './repack.ts';
import { defaultConstraints } from './spread-defaults.ts';
import { backoff, capacity, cluster, drain, scaleDown, scaleUp } from './policy.ts';

const RETRY_JITTER = 1.2;

const kubernetes = z
  .strictObject({
    kubeconfig: text('a file path').optional(),
    context: text("a context's name").optional(),
    apiServer: endpoint().optional(),
    namespace: text("a namespace's name").default('kube-system'),
    leaderElect: flag(true),
    leaseName: text("a lease's name").default('aks-autoscaler'),
    leaseNamespace: text("a namespace's name").optional(),
    leaseDuration: duration(15 * SECOND_MS, { leastMs: SECOND_MS }),
    leaseRenewDeadline: duration(10 * SECOND_MS, { leastMs: 100 }),
    leaseRetryPeriod: duration(2 * SECOND_MS, { leastMs: 100 }),
    identity: text('a name that is unique per process').optional(),
    eventSource: text("a component's name").default('aks-autoscaler'),
    statusConfigMap: flag(true),
    annotateNodes: flag(false),
    statusConfigMapName: text("a ConfigMap's name")
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, { error: "a ConfigMap's name" })
      .default('cluster-autoscaler-status'),
    heedResourceLocker: flag(true),
    schedulerConfigFile: text('a file path').optional(),
    defaultConstraints,
  })
  .refine((given) => given.schedulerConfigFile === undefined || given.defaultConstraints.length === 0, {
    error: 'an empty list if kubernetes.schedulerConfigFile is set: only one of the two can be used',
    path: ['defaultConstraints'],
  })
  // As in Kubernetes' own leader election: a try, with its jitter, must fit into the time in which one must succeed.
  .refine((given) => given.leaseRenewDeadline > given.leaseRetryPeriod * RETRY_JITTER, {
    error: `a time that is longer than ${RETRY_JITTER} times kubernetes.leaseRetryPeriod`,
    path: ['leaseRenewDeadline'],
  })
  .refine((given) => given.leaseDuration > given.leaseRenewDeadline, {
    error: 'a time that is longer than kubernetes.leaseRenewDeadline, so that a leader gives up before another takes over',
    path: ['leaseDuration'],
  })
  // The record has whole seconds.
  .refine((given) => given.leaseDuration % SECOND_MS === 0, { error: 'a whole number of seconds', path: ['leaseDuration'] })
  .prefault({});

const METHODS = ['client-secret', 'workload-identity', 'managed-identity', 'client-certificate', 'azure-cli'] as const;
const NEED_TENANT: ReadonlySet<string | undefined> = new Set(['client-secret', 'workload-identity', 'client-certificate']);
const LEVELS = ['error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const NO_AVAILABILITY_SETS =
  'vmss, for AKS too (availability sets are not supported: they are resized by template deployments, which undo other changes. Move such a pool to a scale set, ' +
  'or to an agent pool of type VirtualMachines and name it POOL/SIZE)';

const nodeGroup = z
  .strictObject({ name: text('the name of a scale set or of its agent pool, or POOL/SIZE'), min: wholeNumber(0), max: wholeNumber(0) })
  .refine((group) => group.min <= group.max, { error: 'a minimum that is not above max', path: ['min'] });

const nodeGroups = z
  .array(nodeGroup, { error: 'a list of {name, min, max}' })
  .superRefine((groups, context) => {
    const names = groups.map((group) => group.name.toLowerCase());
    names.forEach((name, index) => {
      if (names.indexOf(name) === index) return;
      context.addIssue({ code: 'custom', path: [index, 'name'], message: 'a name that no other node group has' });
    });
  })
  .default([]);

const discovery = z
  .array(
    z
      .strictObject({
        selectors: z
          .record(z.string(), text('a tag value, in quotes where it could be read as something else, such as "true"'), {
            error: 'a map of tag names to values',
          })
          .refine((selectors) => Object.keys(selectors).length > 0, {
            error: 'at least one tag, such as cluster-autoscaler-enabled: "true"',
          })
          .transform((selectors) => Object.entries(selectors).map(([key, value]) => ({ key, value }))),
        min: wholeNumber(0).optional(),
        max: wholeNumber(0).optional(),
      })
      .refine((rule) => rule.min === undefined || rule.max === undefined || rule.min <= rule.max, {
        error: 'a minimum that is not above max',
        path: ['min'],
      })
      .transform((rule) => ({ selectors: rule.selectors, min: rule.min, max: rule.max })),
    { error: 'a list of {selectors, min, max}' },
  )
  .default([]);

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

const azure = z
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

const loop = z
  .strictObject({
    scanInterval: duration(10 * SECOND_MS, { leastMs: 100 }),
    batchIdle: duration(250),
    batchMax: duration(2 * SECOND_MS),
    startEarly: flag(true),
    maxPlansPerLoop: wholeNumber(1, 10).default(3),
    shutdownTimeout: duration(20 * SECOND_MS, { leastMs: SECOND_MS }),
  })
  .refine((given) => given.batchIdle <= given.batchMax, { error: 'a wait that is not longer than loop.batchMax', path: ['batchIdle'] })
  .prefault({})
  .transform((given) => ({
    scanIntervalMs: given.scanInterval,
    batchIdleMs: given.batchIdle,
    batchMaxMs: given.batchMax,
    startEarly: given.startEarly,
    maxPlansPerLoop: given.maxPlansPerLoop,
    shutdownTimeoutMs: given.shutdownTimeout,
  }));

const ADDRESS = /^(?<host>\[[0-9a-fA-F:]+\]|[^:\s]*):(?<port>\d{1,5})$/;
const ADDRESS_ACCEPTS = 'HOST:PORT such as 127.0.0.1:8085, or :8085 for every address';

const listenAddress = z
  .string({ error: ADDRESS_ACCEPTS })
  .trim()
  .refine((address) => portOf(address) <= 65_535, { error: ADDRESS_ACCEPTS });

const http = z
  .strictObject({
    address: listenAddress.default('127.0.0.1:8085'),
    probeAddress: listenAddress.optional(),
    debugTokenFile: text('a file path').optional(),
  })
  .prefault({})
  .refine(
    ({ address, probeAddress }) => probeAddress === undefined || portOf(probeAddress) === 0 || portOf(probeAddress) !== portOf(address),
    {
      error: 'HOST:PORT with a port other than that of http.address',
      path: ['probeAddress'],
    },
  )
  .transform(({ address, probeAddress, debugTokenFile }) => ({
    ...listenerAt(address),
    probes: probeAddress === undefined ? undefined : listenerAt(probeAddress),
    debugTokenFile,
  }));

/** NaN for anything else than an address. */
function portOf(address: string): number {
  return Number(ADDRESS.exec(address)?.groups?.['port'] ?? NaN);
}

export interface Listener {
  /** As the user wrote it, for messages. */
  readonly address: string;
  /** If undefined, every address of the host. */
  readonly host: string | undefined;
  /** 0 is any free port. */
  readonly port: number;
}

function listenerAt(address: string): Listener {
  const host = (ADDRESS.exec(address)?.groups?.['host'] ?? '').replace(/^\[|\]$/g, '');
  return { address, host: host === '' ? undefined : host, port: portOf(address) };
}

export const SCHEMA = z.strictObject({
  azure,
  nodeGroups,
  nodeGroupOptions,
  discovery,
  schedules,
  kubernetes,
  cluster,
  scaleUp,
  scaleDown,
  repack,
  backoff,
  drain,
  capacity,
  loop,
  http,
  health: z
    .strictObject({
      maxInactivity: duration(10 * MINUTE_MS, { leastMs: SECOND_MS }),
      maxFailingTime: duration(15 * MINUTE_MS, { leastMs: SECOND_MS }),
      maxStartupTime: duration(20 * MINUTE_MS, { leastMs: SECOND_MS }),
      maxFailuresInRow: wholeNumber(1).default(100),
    })
    .prefault({})
    .transform(({ maxInactivity, maxFailingTime, maxStartupTime, maxFailuresInRow }) => ({
      maxInactivityMs: maxInactivity,
      maxFailingMs: maxFailingTime,
      maxStartupMs: maxStartupTime,
      maxFailuresInRow,
    })),
  metrics: z.strictObject({ clusterAutoscalerNames: flag(true) }).prefault({}),
  logLevel: oneOf(LEVELS).default('info'),
  dumpDirectory: text('a folder').optional(),
  historyDirectory: text('a folder').optional(),
  dryRun: flag(false),
});

export type Parsed = z.infer<typeof SCHEMA>;
