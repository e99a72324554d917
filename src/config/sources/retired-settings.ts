/**
 * Keys and variables of the Cluster Autoscaler's Azure provider that mean nothing here, or something that is not done here.
 * None is passed over in silence: one whose wish cannot be granted is an error that says what to use instead, one whose
 * wish is granted anyway, or that only tuned what is built otherwise here, is a warning.
 */
import { EMPTY_LAYER, type Layer } from './layers.ts';

export interface Retired {
  /** In azure.json. */
  readonly key?: string;
  readonly variable?: string;
  readonly verdict: 'refused' | 'ignored';
  /** The values that are what is done here: nothing is said of them. */
  readonly asDone?: readonly string[];
  /** What to use, or what is done, instead. */
  readonly instead: string;
}

const HOSTED = 'system pools that AKS hosts are scaled by AKS itself: leave it out';
const DEPLOYMENTS = 'it served vmType standard, and availability sets are not scaled here: leave it out';
const ONE_LIMIT = 'one limit holds for all reads and one for all writes: set cloudProviderRateLimitQPS and those beside it';
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
    instead: 'what was asked for and is not confirmed is always kept apart from what Azure told',
  },
  {
    key: 'enableVMsAgentPool',
    variable: 'AZURE_ENABLE_VMS_AGENT_POOLS',
    verdict: 'ignored',
    asDone: ON,
    instead: 'pools of virtual machines are served when they are named or tagged, and left alone otherwise',
  },
  {
    key: 'enableVmssFlexNodes',
    variable: 'AZURE_ENABLE_VMSS_FLEX_NODES',
    verdict: 'ignored',
    asDone: ON,
    instead: 'Flexible scale sets are always served',
  },
  {
    key: 'enableVmssFlex',
    variable: 'AZURE_ENABLE_VMSS_FLEX',
    verdict: 'ignored',
    asDone: ON,
    instead: 'Flexible scale sets are always served',
  },
  {
    key: 'enableDynamicInstanceList',
    variable: 'AZURE_ENABLE_DYNAMIC_INSTANCE_LIST',
    verdict: 'ignored',
    asDone: ON,
    instead: 'sizes are always read from Azure, every azure.cache.skuTtl',
  },
  {
    key: 'enableDetailedCSEMessage',
    variable: 'AZURE_ENABLE_DETAILED_CSE_MESSAGE',
    verdict: 'ignored',
    asDone: ON,
    instead: 'why a machine could not become a node is always read and told',
  },
  {
    key: 'enableFastDeleteOnFailedProvisioning',
    variable: 'AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING',
    verdict: 'ignored',
    asDone: ON,
    instead: 'machines that failed and do not run are always replaced at once',
  },
  {
    key: 'enableLabelPredictionsOnTemplate',
    variable: 'AZURE_ENABLE_LABEL_PREDICTIONS_ON_TEMPLATE',
    verdict: 'ignored',
    asDone: ON,
    instead: 'labels of new nodes are always worked out; give others by tags k8s.io_cluster-autoscaler_node-template_label_NAME',
  },
  { key: 'virtualMachineScaleSetRateLimit', verdict: 'ignored', instead: ONE_LIMIT },
  { key: 'virtualMachineRateLimit', verdict: 'ignored', instead: ONE_LIMIT },
  {
    key: 'disableAzureStackCloud',
    verdict: 'ignored',
    asDone: OFF,
    instead: 'endpoints are those of azure.cloud unless azure.armEndpoint and azure.authorityHost name others',
  },
];

/** What one source says with keys that are gone. `text` answers a value as it is written; undefined: not given. */
export function retiredLayer(
  nameOf: (entry: Retired) => string | undefined,
  text: (name: string) => string | undefined,
  label: (name: string) => string,
): Layer {
  const said = RETIRED.flatMap((entry) => {
    const name = nameOf(entry);
    const value = name === undefined ? '' : (text(name)?.trim() ?? '');
    if (name === undefined || value === '' || entry.asDone?.includes(value.toLowerCase()) === true) return [];
    const verb = entry.verdict === 'refused' ? 'is not supported' : 'has no effect';
    return [{ verdict: entry.verdict, sentence: `${label(name)} ${verb}: ${entry.instead}.` }];
  });
  const of = (verdict: Retired['verdict']): readonly string[] => said.flatMap((each) => (each.verdict === verdict ? [each.sentence] : []));
  return { ...EMPTY_LAYER, errors: of('refused'), warnings: of('ignored') };
}

// Flags of the Cluster Autoscaler that mean nothing here, or something that is not done here, so that an existing
// Deployment's arguments can be pasted. None is passed over in silence, unless it asks for what is done anyway: a wish that
// cannot be granted is an error that says what to use instead, one that only tuned what is built otherwise is a warning.

export interface RetiredFlag {
  readonly name: string;
  /** A flag that stands alone means true. */
  readonly isBoolean: boolean;
  readonly verdict: 'refused' | 'ignored';
  /** The values that ask for what is done here: nothing is said of them. */
  readonly asDone: readonly string[];
  readonly instead: string;
  /** A smaller number is an error there as well. */
  readonly least?: number;
}

const TRUE = ['true', 't', '1'];
const FALSE = ['false', 'f', '0'];

function toggle(name: string, verdict: RetiredFlag['verdict'], asDone: readonly string[], instead: string): RetiredFlag {
  return { name, isBoolean: true, verdict, asDone, instead };
}

function value(name: string, verdict: RetiredFlag['verdict'], asDone: readonly string[], instead: string): RetiredFlag {
  return { name, isBoolean: false, verdict, asDone, instead };
}

const OTHER_CLOUD = 'it is of another cloud provider: leave it out';
const NEVER_USED = 'the Cluster Autoscaler accepts it and does not use it either: leave it out';
const CLIENT = 'calls to the API server are watches, and few: leave it out';
const LOGS = 'the log is JSON on standard output: see --log-level';

export const RETIRED_FLAGS: readonly RetiredFlag[] = [
  toggle('async-node-groups', 'ignored', FALSE, 'no node groups are created here, so none in the background'),
  toggle('aws-use-static-instance-list', 'ignored', FALSE, OTHER_CLOUD),
  toggle('bulk-mig-instances-listing-enabled', 'ignored', FALSE, OTHER_CLOUD),
  toggle('clusterapi-cloud-config-authoritative', 'ignored', FALSE, OTHER_CLOUD),
  value('gce-concurrent-refreshes', 'ignored', [], OTHER_CLOUD),
  value('gce-mig-instances-min-refresh-wait-time', 'ignored', [], OTHER_CLOUD),
  toggle(
    'node-autoprovisioning-enabled',
    'refused',
    FALSE,
    'node pools are never created or deleted here: make the pools and name them by --nodes',
  ),
  value('max-autoprovisioned-node-group-count', 'ignored', ['0'], 'node pools are never created or deleted here'),
  toggle('capacity-buffer-pod-dry-run-enabled', 'ignored', [], 'how the pods of buffers are made is not a setting'),
  value('cluster-snapshot-parallelism', 'ignored', ['16'], NEVER_USED),
  toggle('regional', 'ignored', FALSE, NEVER_USED),
  value('scale-down-candidates-pool-min-count', 'ignored', [], NEVER_USED),
  value('scale-down-candidates-pool-ratio', 'ignored', [], NEVER_USED),
  value('scale-down-non-empty-candidates-count', 'ignored', [], NEVER_USED),
  toggle('enable-inter-pod-affinity-hostname-fast-path', 'ignored', FALSE, NEVER_USED),
  toggle('debugging-snapshot-enabled', 'ignored', FALSE, 'the last loop is always served at /debug/snapshot'),
  toggle('profiling', 'ignored', FALSE, 'there is no profiler on the port: metrics tell the length of each step'),
  toggle('dynamic-node-delete-delay-after-taint-enabled', 'ignored', FALSE, 'the pause is --node-delete-delay-after-taint'),
  toggle('emit-per-nodegroup-metrics', 'ignored', TRUE, 'metrics of node groups are always served'),
  toggle('enable-csi-node-aware-scheduling', 'ignored', TRUE, "what a node's disk drivers can attach is always counted"),
  toggle('enable-dynamic-resource-allocation', 'refused', TRUE, 'claimed devices cannot be left out of plans, here as there'),
  toggle('enable-graceful-degradation', 'ignored', FALSE, 'a plan that takes too long is cut by --max-binpacking-time'),
  value('pending-pods-batching-timeout', 'ignored', [], 'pods are batched by loop.batchIdle and loop.batchMax'),
  value('estimator', 'refused', ['binpacking'], 'binpacking is the only one'),
  toggle('fastpath-binpacking-enabled', 'ignored', TRUE, 'runs of equal pods are always packed at once'),
  toggle('force-delete-failed-nodes', 'ignored', FALSE, 'set AZURE_ENABLE_FORCE_DELETE for all deletions'),
  toggle('force-delete-unregistered-nodes', 'ignored', FALSE, 'set AZURE_ENABLE_FORCE_DELETE for all deletions'),
  toggle('force-ds', 'ignored', TRUE, 'all DaemonSets that suit a new node count'),
  toggle('gce-expander-ephemeral-storage-support', 'ignored', FALSE, OTHER_CLOUD),
  toggle('parallel-drain', 'ignored', TRUE, 'nodes are always drained side by side: set --max-drain-parallelism=1 for one at a time'),
  value('gpu-total', 'refused', [], 'there is no limit of GPUs by type: set the max of the groups that have them'),
  value('grpc-expander-cert', 'refused', [''], 'the grpc expander is not there: see --expander for those that are'),
  value('grpc-expander-url', 'refused', [''], 'the grpc expander is not there: see --expander for those that are'),
  value('kube-api-content-type', 'ignored', [], CLIENT),
  value('kube-client-burst', 'ignored', [], CLIENT),
  value('kube-client-qps', 'ignored', [], CLIENT),
  value('kubernetes', 'refused', [''], 'use --kubeconfig and --context'),
  toggle('max-node-skip-eval-time-tracker-enabled', 'ignored', TRUE, 'its metric is always served'),
  toggle('node-removal-latency-tracking-enabled', 'ignored', TRUE, 'its metric is always served'),
  value('max-nodegroup-binpacking-duration', 'ignored', [], 'the time of a whole plan is --max-binpacking-time'),
  value('node-deletion-batcher-interval', 'ignored', ['0s', '0'], 'nodes of one group that are ready at once go in one call'),
  value('node-info-cache-expire-time', 'ignored', [], 'a learned template counts as long as its pool stays as it was'),
  { ...value('predicate-parallelism', 'ignored', [], 'pods are compared by class, in one thread'), least: 1 },
  // Folding is what it turns on there; without, repeats are left out for five minutes, and here a minute passes between two writes.
  toggle('record-duplicated-events', 'ignored', [...TRUE, ...FALSE], 'repeated events are always folded into a count'),
  toggle('salvo-scale-up', 'ignored', [], 'groups always grow at the same time'),
  value('salvo-scale-up-budget', 'ignored', [], 'the time of a plan is --max-binpacking-time'),
  toggle('scaleup-simulation-for-skipped-node-groups-enabled', 'ignored', FALSE, 'skipped groups are told with their reasons'),
  value(
    'scheduler-config-file',
    'refused',
    [],
    'pods are judged by the default profile of kube-scheduler: name other schedulers by --allowed-scheduler-names',
  ),
  value('scheduler-verbosity', 'ignored', [], LOGS),
  value('user-agent', 'ignored', [], 'set AZURE_CLUSTER_AUTOSCALER_USER_AGENT_SUFFIX'),
  value('leader-elect-resource-lock', 'refused', ['leases'], 'leadership is a Lease'),
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
  value('feature-gates', 'ignored', [''], 'there are no gates: features are settings'),
];
