/**
 * What the whole program is told, once, at start. Every duration is in milliseconds; everything is frozen. The parts are
 * handed on separately, so that no room sees more of it than it needs.
 */
import type { NodeGroupOptions } from '../../domain/node-group.ts';
import type { Policy } from '../../domain/policy.ts';

export type LogLevelName = 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export type CredentialConfig =
  | { readonly method: 'client-secret'; readonly clientId: string; readonly clientSecret: string }
  | { readonly method: 'workload-identity'; readonly clientId: string; readonly tokenFile: string }
  /** Without a client id: the system-assigned identity. */
  | { readonly method: 'managed-identity'; readonly clientId: string | undefined }
  | {
      readonly method: 'client-certificate';
      readonly clientId: string;
      readonly certificatePath: string;
      readonly certificatePassword: string | undefined;
    }
  | { readonly method: 'azure-cli' };

export interface NodeGroupConfig {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** By the name of a scale set, of an agent pool, or `POOL/SIZE`. */
export interface NodeGroupOptionsConfig {
  readonly name: string;
  readonly options: NodeGroupOptions;
}

export interface DiscoveryConfig {
  readonly selectors: readonly { readonly key: string; readonly value: string }[];
  readonly min: number | undefined;
  readonly max: number | undefined;
}

export interface CallRateConfig {
  readonly perSecond: number;
  readonly burst: number;
}

export interface ReadRetriesConfig {
  readonly retries: number;
  /** Each wait is so many times the one before ... */
  readonly exponent: number;
  readonly firstMs: number;
  /** ... and longer by up to this part of itself. */
  readonly jitter: number;
}

export interface RetailPricesConfig {
  readonly endpoint: string;
  readonly currency: string;
  readonly refreshMs: number;
  /** Where the last answer is kept; undefined: nowhere. */
  readonly file: string | undefined;
}

/** Ids or patterns (`*`, `?`) of the agents that keep Azure's answers; what is disabled goes before what is enabled. */
export interface AgentsConfig {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** Lets those be disabled that decisions cannot do without. */
  readonly allowDegraded: boolean;
}

/** Structurally what the Azure adapter asks for. */
export interface AzureConfig {
  /** undefined: that of the machine, told by its metadata endpoint. */
  readonly subscriptionId: string | undefined;
  readonly tenantId: string | undefined;
  readonly nodeResourceGroup: string;
  readonly clusterName: string | undefined;
  readonly clusterResourceGroup: string | undefined;
  /** undefined: that of the machine, told by its metadata endpoint. */
  readonly location: string | undefined;
  readonly armEndpoint: string;
  /** `http://169.254.169.254` on Azure machines. */
  readonly metadataEndpoint: string;
  readonly authorityHost: string;
  readonly scopes: readonly string[];
  readonly caPem: string | undefined;
  readonly credential: CredentialConfig;
  readonly vmssCacheTtlMs: number;
  readonly spotSizeTtlMs: number;
  readonly vmssVmsCacheTtlMs: number;
  readonly vmssVmsCacheJitterMs: number;
  readonly skuCacheTtlMs: number;
  readonly agents: AgentsConfig;
  /** Where VM sizes are kept for later processes and other clusters; undefined: nowhere. */
  readonly skuFolder: string | undefined;
  readonly enableVmssEtag: boolean;
  readonly enableForceDelete: boolean;
  /** Of scale sets without a tag that says otherwise. */
  readonly writePath: 'vmss' | 'agentPool';
  readonly nodeGroups: readonly NodeGroupConfig[];
  readonly nodeGroupOptions: readonly NodeGroupOptionsConfig[];
  readonly discovery: readonly DiscoveryConfig[];
  readonly requestTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  /** undefined: Azure's own limits are the only ones. */
  readonly rateLimit: { readonly read: CallRateConfig; readonly write: CallRateConfig } | undefined;
  /** undefined: a failed read is not sent again before its turn. */
  readonly readRetries: ReadRetriesConfig | undefined;
  readonly userAgentSuffix: string;
  /** undefined: the public price list is not read. */
  readonly retailPrices: RetailPricesConfig | undefined;
}

/** `retryMs` is well below `renewDeadlineMs`, which is below `durationMs`. */
export interface LeaseTimingConfig {
  readonly durationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** Structurally what the Kubernetes adapter asks for. */
export interface KubernetesConfig {
  readonly kubeconfigPath?: string;
  readonly context?: string;
  readonly apiServer?: string;
  readonly namespace: string;
  readonly leaseName: string;
  readonly leaseNamespace: string;
  readonly leaseTiming: LeaseTimingConfig;
  readonly identity: string;
  readonly leaderElect: boolean;
  readonly eventSource: string;
  /** Whether the status is written to a ConfigMap, and its name, under which events are told too. */
  readonly statusConfigMap: boolean;
  readonly statusConfigMapName: string;
  /** Whether nothing is written to Azure while another component holds the Lease `kube-system/aks-managed-resource-locker`. */
  readonly heedResourceLocker: boolean;
}

export interface LoopConfig {
  readonly scanIntervalMs: number;
  /** An early loop starts when no further pod turned unschedulable for this long ... */
  readonly batchIdleMs: number;
  /** ... and at the latest this long after the first. */
  readonly batchMaxMs: number;
  /** Whether there are early loops at all, or one per scan interval and no more. */
  readonly startEarly: boolean;
  /** Plans made in one loop at most, the first included. */
  readonly maxPlansPerLoop: number;
  /** How long a clean stop may take before the process ends all the same. */
  readonly shutdownTimeoutMs: number;
}

export interface HttpConfig {
  /** As given, for messages. */
  readonly address: string;
  /** undefined: every address of the machine. */
  readonly host: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  /** Holds the bearer token of /debug; undefined: /debug answers on this machine only. */
  readonly debugTokenFile: string | undefined;
}

/** After which times without a loop that ended, that completed, and that completed first `/healthz` fails. */
export interface HealthConfig {
  readonly maxInactivityMs: number;
  readonly maxFailingMs: number;
  readonly maxStartupMs: number;
  readonly maxFailuresInRow: number;
}

export interface Config {
  readonly azure: AzureConfig;
  readonly kubernetes: KubernetesConfig;
  readonly policy: Policy;
  readonly loop: LoopConfig;
  readonly http: HttpConfig;
  readonly health: HealthConfig;
  /** Whether the Cluster Autoscaler's metric names are served beside the native ones. */
  readonly metrics: { readonly clusterAutoscalerNames: boolean };
  readonly logLevel: LogLevelName;
  /** Where decisions are dumped for replay; undefined: nowhere. */
  readonly dumpDirectory: string | undefined;
  /** Nothing is written to the cluster but an own Lease, and nothing to Azure: what would have been is on record. */
  readonly dryRun: boolean;
  /** Things accepted but not obeyed, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/** Everything that is wrong with the input: one sentence each, naming key, value and what is accepted. */
export interface ConfigErrors {
  readonly errors: readonly string[];
}

export interface ConfigInput {
  /** Arguments after the command's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns a file's text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Set while a configuration runs: a file that somebody is writing is empty for a moment, and that is nobody's wish. */
  readonly refuseEmptyFiles?: boolean;
  /** Used in the lease identity where the environment gives no pod name. */
  readonly hostname?: string;
}

export function isConfigErrors(outcome: Config | ConfigErrors): outcome is ConfigErrors {
  return 'errors' in outcome;
}
