/**
 * The schema of the configuration: every key, its kind, its default, and the rules between keys. Unknown keys are errors.
 * Rules between keys are on the smallest object that contains them, so that one error does not hide another. Must not know
 * where a value comes from.
 */
import * as z from 'zod';
import { duration, endpoint, flag, SECOND_MS, text, MINUTE_MS, oneOf, wholeNumber } from './value-types.ts';
import { azure } from './azure-keys.ts';
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

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

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
