/**
 * Settings of the Cluster Autoscaler that have no effect here or are not supported, so that existing manifests can be used.
 * None is ignored silently. An unsupported one is an error that names the alternative. One whose behaviour is built in, or
 * that tunes a part that does not exist here, is a warning.
 */
import { EMPTY_LAYER, type Layer } from './layers.ts';

interface Retired {
  /** In azure.json. */
  readonly key?: string;
  readonly variable?: string;
  readonly verdict: 'refused' | 'ignored';
  /** Values that match the built-in behaviour: they cause no message. */
  readonly builtIn?: readonly string[];
  /** What to use instead, or what happens instead. */
  readonly instead: string;
}

const HOSTED = 'AKS itself scales its hosted system pools: remove it';
const DEPLOYMENTS = 'it served vmType standard, and availability sets are not supported: remove it';
const ONE_LIMIT = 'one limit holds for all reads and one for all writes: set cloudProviderRateLimitQPS and the keys related to it';
const ON = ['true', 't', '1'];
const OFF = ['false', 'f', '0'];

export const RETIRED: readonly Retired[] = [
  {
    key: 'armBaseURLForAPClient',
    variable: 'ARM_BASE_URL_FOR_AP_CLIENT',
    verdict: 'refused',
    instead: 'all calls go to one endpoint: set azure.armEndpoint (AZURE_RESOURCE_MANAGER_ENDPOINT)',
  },
  { key: 'hostedSubscriptionID', variable: 'HOSTED_SUBSCRIPTION_ID', verdict: 'refused', instead: HOSTED },
  { key: 'hostedResourceGroup', variable: 'HOSTED_RESOURCE_GROUP', verdict: 'refused', instead: HOSTED },
  { key: 'hostedResourceProxyURL', variable: 'HOSTED_RESOURCE_PROXY_URL', verdict: 'refused', instead: HOSTED },
  { key: 'deployment', variable: 'ARM_DEPLOYMENT', verdict: 'ignored', instead: DEPLOYMENTS },
  { key: 'deploymentParameters', verdict: 'ignored', instead: DEPLOYMENTS },
  { key: 'maxDeploymentsCount', variable: 'AZURE_MAX_DEPLOYMENT_COUNT', verdict: 'ignored', instead: DEPLOYMENTS },
  {
    key: 'strictCacheUpdates',
    variable: 'AZURE_STRICT_CACHE_UPDATES',
    verdict: 'ignored',
    instead: 'unconfirmed changes are always kept apart from what was read from Azure',
  },
  {
    key: 'enableVMsAgentPool',
    variable: 'AZURE_ENABLE_VMS_AGENT_POOLS',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'VirtualMachines pools are managed if they are named or tagged, and ignored otherwise',
  },
  {
    key: 'enableVmssFlexNodes',
    variable: 'AZURE_ENABLE_VMSS_FLEX_NODES',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'Flexible scale sets are always supported',
  },
  {
    key: 'enableVmssFlex',
    variable: 'AZURE_ENABLE_VMSS_FLEX',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'Flexible scale sets are always supported',
  },
  {
    key: 'enableDynamicInstanceList',
    variable: 'AZURE_ENABLE_DYNAMIC_INSTANCE_LIST',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'sizes are always read from Azure, every azure.cache.skuTtl',
  },
  {
    key: 'enableDetailedCSEMessage',
    variable: 'AZURE_ENABLE_DETAILED_CSE_MESSAGE',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'the reason why an instance did not become a node is always read and reported',
  },
  {
    key: 'enableFastDeleteOnFailedProvisioning',
    variable: 'AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'failed instances that do not run are always replaced at once',
  },
  {
    key: 'enableLabelPredictionsOnTemplate',
    variable: 'AZURE_ENABLE_LABEL_PREDICTIONS_ON_TEMPLATE',
    verdict: 'ignored',
    builtIn: ON,
    instead: 'labels of new nodes are always predicted; add others by tags k8s.io_cluster-autoscaler_node-template_label_NAME',
  },
  { key: 'virtualMachineScaleSetRateLimit', verdict: 'ignored', instead: ONE_LIMIT },
  { key: 'virtualMachineRateLimit', verdict: 'ignored', instead: ONE_LIMIT },
  {
    key: 'disableAzureStackCloud',
    verdict: 'ignored',
    builtIn: OFF,
    instead: 'the endpoints are those of azure.cloud, unless azure.armEndpoint and azure.authorityHost are set',
  },
];

/** Returns the errors and warnings of one source. `text` returns a value as written, or undefined if absent. */
export function retiredLayer(
  nameOf: (entry: Retired) => string | undefined,
  text: (name: string) => string | undefined,
  label: (name: string) => string,
): Layer {
  const messages = RETIRED.flatMap((entry) => {
    const name = nameOf(entry);
    const value = name === undefined ? '' : (text(name)?.trim() ?? '');
    if (name === undefined || value === '' || entry.builtIn?.includes(value.toLowerCase()) === true) return [];
    const verb = entry.verdict === 'refused' ? 'is not supported' : 'has no effect';
    return [{ verdict: entry.verdict, sentence: `${label(name)} ${verb}: ${entry.instead}.` }];
  });
  const withVerdict = (verdict: Retired['verdict']): readonly string[] =>
    messages.flatMap((each) => (each.verdict === verdict ? [each.sentence] : []));
  return { ...EMPTY_LAYER, errors: withVerdict('refused'), warnings: withVerdict('ignored') };
}

/** A flag of the Cluster Autoscaler that has no effect here or is not supported. */
export interface RetiredFlag {
  readonly name: string;
  /** Without a value it means true. */
  readonly isBoolean: boolean;
  readonly verdict: 'refused' | 'ignored';
  /** Values that match the built-in behaviour: they cause no message. */
  readonly builtIn: readonly string[];
  readonly instead: string;
  /** A smaller number is an error in the Cluster Autoscaler too. */
  readonly least?: number;
}

const TRUE = ['true', 't', '1'];
const FALSE = ['false', 'f', '0'];

function toggle(name: string, verdict: RetiredFlag['verdict'], builtIn: readonly string[], instead: string): RetiredFlag {
  return { name, isBoolean: true, verdict, builtIn, instead };
}

function value(name: string, verdict: RetiredFlag['verdict'], builtIn: readonly string[], instead: string): RetiredFlag {
  return { name, isBoolean: false, verdict, builtIn, instead };
}

const OTHER_CLOUD = 'it belongs to another cloud provider: remove it';
const NEVER_USED = 'the Cluster Autoscaler accepts it and does not use it either: remove it';
const CLIENT = 'the API server is read by a few watches: remove it';
const LOGS = 'the log is JSON on standard output: see --log-level';

export const RETIRED_FLAGS: readonly RetiredFlag[] = [
  toggle('async-node-groups', 'ignored', FALSE, 'the autoscaler creates no node groups'),
  toggle('aws-use-static-instance-list', 'ignored', FALSE, OTHER_CLOUD),
  toggle('bulk-mig-instances-listing-enabled', 'ignored', FALSE, OTHER_CLOUD),
  toggle('clusterapi-cloud-config-authoritative', 'ignored', FALSE, OTHER_CLOUD),
  value('gce-concurrent-refreshes', 'ignored', [], OTHER_CLOUD),
  value('gce-mig-instances-min-refresh-wait-time', 'ignored', [], OTHER_CLOUD),
  toggle(
    'node-autoprovisioning-enabled',
    'refused',
    FALSE,
    'the autoscaler never creates or deletes node pools: create the pools and name them with --nodes',
  ),
  value('max-autoprovisioned-node-group-count', 'ignored', ['0'], 'the autoscaler never creates or deletes node pools'),
  value('cluster-snapshot-parallelism', 'ignored', ['16'], NEVER_USED),
  toggle('regional', 'ignored', FALSE, NEVER_USED),
  value('scale-down-candidates-pool-min-count', 'ignored', [], NEVER_USED),
  value('scale-down-candidates-pool-ratio', 'ignored', [], NEVER_USED),
  value('scale-down-non-empty-candidates-count', 'ignored', [], NEVER_USED),
  toggle('enable-inter-pod-affinity-hostname-fast-path', 'ignored', FALSE, NEVER_USED),
  toggle('debugging-snapshot-enabled', 'ignored', FALSE, 'the last loop is always served at /debug/snapshot'),
  toggle('profiling', 'ignored', FALSE, 'the port has no profiler: metrics show the duration of each step'),
  toggle('dynamic-node-delete-delay-after-taint-enabled', 'ignored', FALSE, 'the delay is set by --node-delete-delay-after-taint'),
  toggle('emit-per-nodegroup-metrics', 'ignored', TRUE, 'metrics of node groups are always served'),
  toggle(
    'enable-csi-node-aware-scheduling',
    'ignored',
    TRUE,
    "the volume attach limits of a node's disk drivers, and drivers that must be there, are always checked",
  ),
  toggle(
    'enable-dynamic-resource-allocation',
    'refused',
    TRUE,
    'claimed devices cannot be left out of plans, as in the Cluster Autoscaler',
  ),
  toggle('enable-graceful-degradation', 'ignored', FALSE, 'a plan that takes too long is cut short by --max-binpacking-time'),
  value('pending-pods-batching-timeout', 'ignored', [], 'pods are batched by loop.batchIdle and loop.batchMax'),
  value('estimator', 'refused', ['binpacking'], 'binpacking is the only one'),
  toggle('fastpath-binpacking-enabled', 'ignored', TRUE, 'runs of equal pods are always packed at once'),
  toggle('force-delete-failed-nodes', 'ignored', FALSE, 'set AZURE_ENABLE_FORCE_DELETE for all deletions'),
  toggle('force-delete-unregistered-nodes', 'ignored', FALSE, 'set AZURE_ENABLE_FORCE_DELETE for all deletions'),
  toggle('force-ds', 'ignored', TRUE, 'all DaemonSets that match a new node count'),
  toggle('gce-expander-ephemeral-storage-support', 'ignored', FALSE, OTHER_CLOUD),
  toggle('parallel-drain', 'ignored', TRUE, 'nodes are always drained in parallel: set --max-drain-parallelism=1 for one at a time'),
  value('gpu-total', 'refused', [], 'GPUs cannot be limited by type: set the max of the groups that have them'),
  value('grpc-expander-cert', 'refused', [''], 'there is no grpc expander: see --expander for the available ones'),
  value('grpc-expander-url', 'refused', [''], 'there is no grpc expander: see --expander for the available ones'),
  value('kube-api-content-type', 'ignored', [], CLIENT),
  value('kube-client-burst', 'ignored', [], CLIENT),
  value('kube-client-qps', 'ignored', [], CLIENT),
  value('kubernetes', 'refused', [''], 'use --kubeconfig and --context'),
  toggle('max-node-skip-eval-time-tracker-enabled', 'ignored', TRUE, 'its metric is always served'),
  toggle('node-removal-latency-tracking-enabled', 'ignored', TRUE, 'its metric is always served'),
  value('max-nodegroup-binpacking-duration', 'ignored', [], 'the time of a whole plan is --max-binpacking-time'),
  value(
    'node-deletion-batcher-interval',
    'ignored',
    ['0s', '0'],
    'nodes of one group that are drained at the same time are deleted in one call',
  ),
  value('node-info-cache-expire-time', 'ignored', [], 'a learned template is used until its pool changes'),
  { ...value('predicate-parallelism', 'ignored', [], 'pods are compared by class, in one thread'), least: 1 },
  // In the Cluster Autoscaler it turns on folding; without it, repeats are dropped for 5 min. Here two writes are 1 min apart.
  toggle('record-duplicated-events', 'ignored', [...TRUE, ...FALSE], 'repeated events are always folded into a count'),
  toggle('salvo-scale-up', 'ignored', [], 'groups are always increased in parallel'),
  value('salvo-scale-up-budget', 'ignored', [], 'the time of a plan is --max-binpacking-time'),
  toggle('scaleup-simulation-for-skipped-node-groups-enabled', 'ignored', FALSE, 'skipped groups are always reported with their reasons'),
  value('scheduler-verbosity', 'ignored', [], LOGS),
  value('user-agent', 'ignored', [], 'set AZURE_CLUSTER_AUTOSCALER_USER_AGENT_SUFFIX'),
  value('leader-elect-resource-lock', 'refused', ['leases'], 'leader election uses a Lease'),
  value('vmodule', 'ignored', [''], LOGS),
  value('logging-format', 'ignored', ['json'], LOGS),
  value('log-flush-frequency', 'ignored', [], LOGS),
  value('log-json-split-stream', 'ignored', [], LOGS),
  value('log-json-info-buffer-size', 'ignored', [], LOGS),
  value('log-text-split-stream', 'ignored', [], LOGS),
  value('log-text-info-buffer-size', 'ignored', [], LOGS),
  value('log-dir', 'ignored', [''], LOGS),
  value('log-file', 'ignored', [''], LOGS),
  value('log-file-max-size', 'ignored', [], LOGS),
  value('log-backtrace-at', 'ignored', [''], LOGS),
  toggle('one-output', 'ignored', [], LOGS),
  toggle('legacy-stderr-threshold-behavior', 'ignored', [], LOGS),
  value('alsologtostderrthreshold', 'ignored', [], LOGS),
  toggle('skip-headers', 'ignored', [], LOGS),
  toggle('skip-log-headers', 'ignored', [], LOGS),
  toggle('add-dir-header', 'ignored', [], LOGS),
  value('feature-gates', 'ignored', [''], 'there are no feature gates: features are settings'),
];
