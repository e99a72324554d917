/**
 * The configuration of the whole program, read once at start. Durations are in milliseconds, and everything is frozen. Each
 * part of the program gets only its own section. Must not know where a value comes from.
 */
import type { NodeGroupOptions } from '../../domain/node-group.ts';
import type { Policy } from '../../domain/policy.ts';

type LogLevelName = 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export type CredentialConfig =
  | { readonly method: 'client-secret'; readonly clientId: string; readonly clientSecret: string }
  | { readonly method: 'workload-identity'; readonly clientId: string; readonly tokenFile: string }
  /** Without a client id, the system-assigned identity is used. */
  | { readonly method: 'managed-identity'; readonly clientId: string | undefined }
  | {
      readonly method: 'client-certificate';
      readonly clientId: string;
      readonly certificatePath: string;
      readonly certificatePassword: string | undefined;
    }
  | { readonly method: 'azure-cli' };

interface NodeGroupConfig {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** `name` is the name of a scale set or of an agent pool, or `POOL/SIZE`. */
interface NodeGroupOptionsConfig {
  readonly name: string;
  readonly options: NodeGroupOptions;
}

export interface DiscoveryConfig {
  readonly selectors: readonly { readonly key: string; readonly value: string }[];
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** Present: it is not the user's; it holds because no group and no rule is configured. */
  readonly byDefault?: true;
}

interface CallRateConfig {
  readonly perSecond: number;
  readonly burst: number;
}

interface ReadRetriesConfig {
  readonly retries: number;
  /** Each wait is this many times the one before ... */
  readonly exponent: number;
  readonly firstMs: number;
  /** ... and longer by up to this share of itself. */
  readonly jitter: number;
}

export interface RetailPricesConfig {
  readonly endpoint: string;
  readonly currency: string;
  readonly refreshMs: number;
  /** File that stores the last price list; undefined for none. */
  readonly file: string | undefined;
}

/** Ids or patterns (`*`, `?`) of the caching agents. `disabled` overrides `enabled`. */
interface AgentsConfig {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** Whether agents that decisions need may be disabled. */
  readonly allowDegraded: boolean;
}

interface RedisConfig {
  /** With the scheme `redis:` or, with TLS, `rediss:`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly keyPrefix: string;
}

/** Has the structure that the Azure adapter expects. */
interface AzureConfig {
  /** If undefined, it is read from the instance metadata endpoint. */
  readonly subscriptionId: string | undefined;
  readonly tenantId: string | undefined;
  /** If undefined, it is read from the instance metadata endpoint. */
  readonly nodeResourceGroup: string | undefined;
  readonly clusterName: string | undefined;
  readonly clusterResourceGroup: string | undefined;
  /** If undefined, it is read from the instance metadata endpoint. */
  readonly location: string | undefined;
  readonly armEndpoint: string;
  /** `http://169.254.169.254` on Azure VMs. */
  readonly metadataEndpoint: string;
  readonly authorityHost: string;
  readonly scopes: readonly string[];
  readonly caPem: string | undefined;
  readonly credential: CredentialConfig;
  readonly vmssCacheTtlMs: number;
  readonly spotSizeTtlMs: number;
  readonly vmssVmsCacheTtlMs: number;
  readonly vmssVmsCacheJitterMs: number;
  /** Whether lists of what is at rest are skipped, up to a quarter of an hour. */
  readonly readOnChange: boolean;
  readonly skuCacheTtlMs: number;
  readonly agents: AgentsConfig;
  /** Folder that stores VM sizes for later processes and other clusters; undefined for none. */
  readonly skuFolder: string | undefined;
  /** The server where clusters of one subscription share what they read; undefined for none. */
  readonly redis: RedisConfig | undefined;
  readonly enableVmssEtag: boolean;
  readonly enableForceDelete: boolean;
  /** Holds for scale sets without a tag that overrides it. */
  readonly writePath: 'vmss' | 'agentPool';
  /** Whether AKS's own count of a pool at rest is brought in step with its scale set. */
  readonly syncAgentPoolCount: boolean;
  /** Whether the names of other writers are looked up in the activity log. */
  readonly activityLog: boolean;
  /** In a dry run: pools that AKS's own autoscaler scales are decided about, within its limits. */
  readonly adoptsManagedPools: boolean;
  readonly nodeGroups: readonly NodeGroupConfig[];
  readonly nodeGroupOptions: readonly NodeGroupOptionsConfig[];
  readonly discovery: readonly DiscoveryConfig[];
  readonly requestTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  /** If undefined, only Azure's own limits hold. */
  readonly rateLimit: { readonly read: CallRateConfig; readonly write: CallRateConfig } | undefined;
  /** If undefined, a failed read is not repeated before its next interval. */
  readonly readRetries: ReadRetriesConfig | undefined;
  readonly userAgentSuffix: string;
  /** If undefined, the public price list is not read. */
  readonly retailPrices: RetailPricesConfig | undefined;
}

/** `retryMs` is well below `renewDeadlineMs`, which is below `durationMs`. */
interface LeaseTimingConfig {
  readonly durationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** Has the structure that the Kubernetes adapter expects. */
export interface KubernetesConfig {
  readonly kubeconfigPath?: string;
  readonly context?: string;
  readonly apiServer?: string;
  readonly namespace: string;
  readonly leaseName: string;
  /** Begins the names of the ConfigMaps with the memory and the learned templates: two autoscalers in one namespace have one each. */
  readonly configMapPrefix: string;
  readonly leaseNamespace: string;
  readonly leaseTiming: LeaseTimingConfig;
  readonly identity: string;
  readonly leaderElect: boolean;
  readonly eventSource: string;
  /** Whether the status is written to a ConfigMap, and its name. Events refer to the same ConfigMap. */
  readonly statusConfigMap: boolean;
  readonly statusConfigMapName: string;
  /** Whether nodes that are not removed get an annotation with the reason. */
  readonly annotateNodes: boolean;
  /** Whether writes to Azure stop while another component holds the Lease `kube-system/aks-managed-resource-locker`. */
  readonly heedResourceLocker: boolean;
}

interface LoopConfig {
  readonly scanIntervalMs: number;
  /** An early loop starts when no further pod became unschedulable for this long ... */
  readonly batchIdleMs: number;
  /** ... and at the latest this long after the first. */
  readonly batchMaxMs: number;
  /** Whether early loops are allowed. If not, there is one loop per scan interval. */
  readonly startEarly: boolean;
  /** Maximum number of plans per loop, including the first. */
  readonly maxPlansPerLoop: number;
  /** How long a clean stop may take before the process exits anyway. */
  readonly shutdownTimeoutMs: number;
}

export interface Listener {
  /** As the user wrote it, for messages. */
  readonly address: string;
  /** If undefined, every address of the host. */
  readonly host: string | undefined;
  /** 0 is any free port. */
  readonly port: number;
}

interface HttpConfig extends Listener {
  /** Serves the probes alone. If undefined, only the main listener serves them. */
  readonly probes: Listener | undefined;
  /** Contains the bearer token of /debug. If undefined, /debug is served to the local host only. */
  readonly debugTokenFile: string | undefined;
}

/** `/healthz` fails after these times: without an ended loop, without a completed one, and without a first completed one. */
interface HealthConfig {
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
  /** Folder for dumps of decisions, for replay; undefined for none. */
  readonly dumpDirectory: string | undefined;
  /** Folder for changes and decisions of the last day, for the next process; undefined for none. */
  readonly historyDirectory: string | undefined;
  /** Nothing is written to Azure, and only a Lease of its own to the cluster. Withheld writes are recorded. */
  readonly dryRun: boolean;
  /** Settings that are accepted but ignored, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/** All errors of the input, one sentence each, with the key, the value and what is accepted. */
export interface ConfigErrors {
  readonly errors: readonly string[];
}

export interface ConfigInput {
  /** Arguments after the command's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns a file's text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Set on reload: a file that is being written may be empty for a moment and must not reset the configuration. */
  readonly refuseEmptyFiles?: boolean;
  /** Used in the lease identity if the environment contains no pod name. */
  readonly hostname?: string;
}

export function isConfigErrors(outcome: Config | ConfigErrors): outcome is ConfigErrors {
  return 'errors' in outcome;
}
