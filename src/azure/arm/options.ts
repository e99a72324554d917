/** What the adapter is told by configuration. The config room produces a structurally equal, validated and frozen object. */
import type { AgentSelection } from '../../cache/agents/agent-selection.ts';
import type { NodeGroupOptions } from '../../domain/node-group.ts';
import type { TaintRules } from '../../domain/taints.ts';
import type { CallRate } from './rate-limits.ts';

/** How the one shared credential is made. `managed-identity` without a client id is the system-assigned identity; the id may be an ARM id. */
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

/** Waits of `firstMs`, then `exponent` times the one before, each longer by up to `jitter` of itself. */
export interface ReadRetries {
  readonly retries: number;
  readonly exponent: number;
  readonly firstMs: number;
  readonly jitter: number;
}

/** A scale set (by its own name or that of its agent pool) or a size of a VMs pool; limits given here win over tags. */
export interface ExplicitNodeGroup {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** What the user says of one group; goes before its tags. By the name of a scale set, of an agent pool, or `POOL/SIZE`. */
export interface StatedGroupOptions {
  readonly name: string;
  readonly options: NodeGroupOptions;
}

/** One discovery rule: every selector must match a tag exactly. Rules are alternatives of each other. */
export interface DiscoveryRule {
  readonly selectors: readonly { readonly key: string; readonly value: string }[];
  /** Used where a set has no `min` tag. */
  readonly min: number | undefined;
  readonly max: number | undefined;
}

/** Where the size of a scale set is written: at the set, or as the count of its agent pool. */
export type WritePath = 'vmss' | 'agentPool';

/** What is scaled and by which rules: the part of the options that may change while the process runs. */
export type GroupChoice = Pick<AzureOptions, 'nodeGroups' | 'discovery' | 'nodeGroupOptions'>;

export interface AzureOptions {
  readonly subscriptionId: string;
  /** Only the managed identity and the Azure CLI can do without. */
  readonly tenantId: string | undefined;
  /** The resource group that holds the nodes (`MC_...`). */
  readonly nodeResourceGroup: string;
  /** With `clusterResourceGroup`: agent pools are read. */
  readonly clusterName: string | undefined;
  readonly clusterResourceGroup: string | undefined;
  readonly location: string;
  readonly armEndpoint: string;
  readonly authorityHost: string;
  /** Token scopes; empty: `<armEndpoint>/.default`. */
  readonly scopes: readonly string[];
  /** PEM of a private certificate authority that signs the endpoints. */
  readonly caPem: string | undefined;
  readonly credential: AzureCredentialOptions;
  readonly vmssCacheTtlMs: number;
  /** How long a read of a Spot set's size is good for; 0 or absent: as long as a list of the sets. */
  readonly spotSizeTtlMs?: number;
  readonly vmssVmsCacheTtlMs: number;
  /** Upper bound of the random part taken off the instances' time to live. */
  readonly vmssVmsCacheJitterMs: number;
  readonly skuCacheTtlMs: number;
  /** Which caching agents run. Absent: all. */
  readonly agents?: AgentSelection;
  /** Whether capacity writes carry `If-Match`. */
  readonly enableVmssEtag: boolean;
  readonly enableForceDelete: boolean;
  /** For scale sets without a tag that says otherwise. Absent: `vmss`. */
  readonly writePath?: WritePath;
  readonly nodeGroups: readonly ExplicitNodeGroup[];
  /** Absent: none. */
  readonly nodeGroupOptions?: readonly StatedGroupOptions[];
  readonly discovery: readonly DiscoveryRule[];
  /** Longest wait for one answer. */
  readonly requestTimeoutMs: number;
  readonly maxConcurrentCalls: number;
  /** For how long a start goes on trying while Azure throttles or does not answer. Absent: the first failure ends it. */
  readonly startPatienceMs?: number;
  /** A limit of one's own below Azure's. Absent: none. */
  readonly rateLimit?: { readonly read: CallRate; readonly write: CallRate } | undefined;
  /** Whether a read that got no usable answer is sent again within its time. Absent: not; its turn comes. */
  readonly readRetries?: ReadRetries | undefined;
  readonly userAgentSuffix: string;
  /** Absent: the public price list is not read. */
  readonly retailPrices?: RetailPriceOptions | undefined;
  /** Taints that a new node will not keep. Absent: those that are always known. */
  readonly taints?: TaintRules;
  /** Whether a cordon of the only node that is known of a group is taken off in what is expected of new ones. Absent: not. */
  readonly scaleFromUnschedulable?: boolean;
}

export interface RetailPriceOptions {
  /** `https://prices.azure.com/api/retail/prices`, unless somebody else answers in its place. */
  readonly endpoint: string;
  /** Such as `USD`. */
  readonly currency: string;
  /** How long a read of one size is good for. */
  readonly refreshMs: number;
}
