/** The adapter's configuration. The `config` ring produces a structurally equal, validated and frozen object. */
import type { AgentSelection } from '../../cache/agents/agent-selection.ts';
import type { StatedOptions } from '../../domain/node-group.ts';
import type { Schedules } from '../../domain/schedule-rules.ts';
import type { TaintRules } from '../../domain/taints.ts';

/**
 * How the shared credential is made. `managed-identity` without a client id is the system-assigned identity. The id may be an
 * ARM id.
 */
export type AzureCredentialOptions =
  | { readonly method: 'client-secret'; readonly clientId: string; readonly clientSecret: string }
  | { readonly method: 'workload-identity'; readonly clientId: string; readonly tokenFile: string }
  | { readonly method: 'managed-identity'; readonly clientId: string | undefined }
  | {
      readonly method: 'client-certificate';
      readonly clientId: string;
      readonly certificatePath: string;
      readonly certificatePassword: string | undefined;
    }
  | { readonly method: 'azure-cli' };

/** A limit on calls: so many in a second, and after a pause so many at once. */
interface CallRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Waits `firstMs`, then each time `exponent` times the wait before. Each wait is longer by up to `jitter` of itself. */
interface ReadRetries {
  readonly retries: number;
  readonly exponent: number;
  readonly firstMs: number;
  readonly jitter: number;
}

/** A scale set (by its own name or that of its agent pool) or a size of a VMs pool. These limits win over tags. */
export interface ExplicitNodeGroup {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** The user's options for one group; they win over its tags. `name` is the name of a scale set or of an agent pool, or `POOL/SIZE`. */
export interface NamedGroupOptions {
  readonly name: string;
  readonly options: StatedOptions;
}

/** One discovery rule. Every selector must match a tag exactly; a set needs to match only one rule. */
export interface DiscoveryRule {
  readonly selectors: readonly { readonly key: string; readonly value: string }[];
  /** Used if a set has no `min` tag. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** Present: it holds because the user set neither rules nor groups, so it need not select anything. */
  readonly byDefault?: true;
}

/** How the size of a scale set is written: to the set, or as the count of its agent pool. */
export type WritePath = 'vmss' | 'agentPool';

/** Which groups are scaled and by which rules: the options that may change while the process runs. */
export type GroupSelection = Pick<AzureOptions, 'nodeGroups' | 'discovery' | 'nodeGroupOptions' | 'schedules' | 'adoptsManagedPools'>;

export interface AzureOptions {
  readonly subscriptionId: string;
  /** Only the managed identity and the Azure CLI work without it. */
  readonly tenantId: string | undefined;
  /** The resource group that holds the nodes (`MC_...`). */
  readonly nodeResourceGroup: string;
  /** Agent pools are read if this and `clusterResourceGroup` are set. */
  readonly clusterName: string | undefined;
  readonly clusterResourceGroup: string | undefined;
  readonly location: string;
  readonly armEndpoint: string;
  readonly authorityHost: string;
  /** Token scopes. If empty, `<armEndpoint>/.default`. */
  readonly scopes: readonly string[];
  /** PEM of the private certificate authority that signs the endpoints' certificates. */
  readonly caPem: string | undefined;
  readonly credential: AzureCredentialOptions;
  readonly vmssCacheTtlMs: number;
  /** How long a read of a Spot set's size is valid. If 0, as long as a list of the sets. */
  readonly spotSizeTtlMs: number;
  readonly vmssVmsCacheTtlMs: number;
  /** Upper bound of the random reduction of `vmssVmsCacheTtlMs`. */
  readonly vmssVmsCacheJitterMs: number;
  /** Whether lists of what is at rest are skipped, up to a quarter of an hour. */
  readonly readOnChange: boolean;
  readonly skuCacheTtlMs: number;
  /** Which caching agents run. */
  readonly agents: AgentSelection;
  /** Whether capacity writes carry `If-Match`. */
  readonly enableVmssEtag: boolean;
  readonly enableForceDelete: boolean;
  /** For scale sets whose tags do not choose a path. */
  readonly writePath: WritePath;
  /** Whether AKS's own count of a pool at rest is brought in step with its scale set. */
  readonly syncAgentPoolCount: boolean;
  /** Whether nodes of pools that AKS deallocates (`scaleDownMode: Deallocate`) are deallocated instead of deleted; groups may choose for themselves. */
  readonly deallocate: boolean;
  /** How many instances of one group may be deallocated; groups may choose for themselves. */
  readonly maxStoppedInstances: number;
  /** Whether the names of other writers are looked up in the activity log. */
  readonly activityLog: boolean;
  /** Whether Azure's placement scores of the sizes of Spot pools are read: an expander compares them. */
  readonly placementScores: boolean;
  /** Nothing is ever written: pools that AKS's own autoscaler scales are node groups with its limits. If absent, they are frozen. */
  readonly adoptsManagedPools?: boolean;
  readonly nodeGroups: readonly ExplicitNodeGroup[];
  /** Options of single groups. */
  readonly nodeGroupOptions?: readonly NamedGroupOptions[];
  readonly discovery: readonly DiscoveryRule[];
  /** Rules that hold in local time. If absent, none. */
  readonly schedules?: Schedules;
  /** Longest wait for one response. */
  readonly requestTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  /** The first wait between the sign-in library's own three tries, milliseconds; each next wait is twice as long. If absent, its own second. */
  readonly signInRetryDelayMs?: number;
  /** For how long the start retries while Azure throttles or does not respond. If absent, the first failure ends it. */
  readonly startPatienceMs?: number;
  /** The user's own limit, below Azure's. If absent, only Azure's limits apply. */
  readonly rateLimit?: { readonly read: CallRate; readonly write: CallRate } | undefined;
  /** Retries of a read without a usable response, within its time-out. If absent, the read waits for its next turn. */
  readonly readRetries?: ReadRetries | undefined;
  readonly userAgentSuffix: string;
  /** If absent, the public price list is not read. */
  readonly retailPrices?: RetailPriceOptions | undefined;
  /** Taints that a new node does not keep. If absent, only the built-in ones. */
  readonly taints?: TaintRules;
  /** Whether new nodes are expected to be schedulable although the group's only known node is cordoned. If absent, they are not. */
  readonly scaleFromUnschedulable?: boolean;
}

export interface RetailPriceOptions {
  /** `https://prices.azure.com/api/retail/prices`, or its stand-in. */
  readonly endpoint: string;
  /** Such as `USD`. */
  readonly currency: string;
  /** How long a read of one size is valid. */
  readonly refreshMs: number;
  /** Present if the list is read by default: prices are only shown, and failures are reported once. */
  readonly byDefault?: true;
}
