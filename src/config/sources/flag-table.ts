/**
 * The flags, with the names of the Cluster Autoscaler where it has them. The parser, the help and the docs read this table.
 * Must not know how a value is checked.
 */
import type { TextKind } from './text-values.ts';

type FlagKind = TextKind | 'nodes' | 'discovery' | 'bounds' | 'file' | 'ignored' | 'retired';

export interface Flag {
  readonly name: string;
  readonly kind: FlagKind;
  /** Dotted path of the setting; `bounds` has two with a colon between. Empty for files and flags without effect. */
  readonly path: string;
  readonly help: string;
}

function row(name: string, kind: FlagKind, path: string, help: string): Flag {
  return { name, kind, path, help };
}

export const FLAGS: readonly Flag[] = [
  row('config', 'file', '', 'YAML or JSON file with settings (see config/aks-autoscaler.yaml)'),
  row('cloud-config', 'file', '', 'azure.json of the Azure cloud provider'),
  row('nodes', 'nodes', 'nodeGroups', 'MIN:MAX:NAME of a scale set or of its agent pool, or MIN:MAX:POOL/SIZE; may be repeated'),
  row('node-group-auto-discovery', 'discovery', 'discovery', 'label:TAG=VALUE[,...][,min=N][,max=N]; may be repeated'),
  row(
    'kubeconfig',
    'text',
    'kubernetes.kubeconfig',
    "kubeconfig file, or a list of files as in KUBECONFIG (default: the pod's service account)",
  ),
  row(
    'scheduler-config-file',
    'text',
    'kubernetes.schedulerConfigFile',
    "kube-scheduler's own configuration: the default spread constraints of its profiles count (default: none are required)",
  ),
  row('context', 'text', 'kubernetes.context', 'context of the kubeconfig (default: its current context)'),
  row('namespace', 'text', 'kubernetes.namespace', 'namespace of the lease and of status events (default kube-system)'),
  row('leader-elect', 'boolean', 'kubernetes.leaderElect', 'become leader before acting (default true)'),
  row('leader-elect-resource-name', 'text', 'kubernetes.leaseName', 'name of the lease (default aks-autoscaler)'),
  row('leader-elect-resource-namespace', 'text', 'kubernetes.leaseNamespace', 'namespace of the lease (default: that of --namespace)'),
  row(
    'leader-elect-lease-duration',
    'duration',
    'kubernetes.leaseDuration',
    'time after the last renewal before another process may lead (default 15s)',
  ),
  row(
    'leader-elect-renew-deadline',
    'duration',
    'kubernetes.leaseRenewDeadline',
    'time without renewal after which the leader gives up (default 10s)',
  ),
  row(
    'leader-elect-retry-period',
    'duration',
    'kubernetes.leaseRetryPeriod',
    'pause between two attempts to become or stay leader (default 2s)',
  ),
  row('allow-degraded', 'boolean', 'azure.agents.allowDegraded', 'allow disabling of agents that decisions need (default false)'),
  row('cluster-name', 'text', 'azure.clusterName', 'name of the AKS cluster, to read its agent pools'),
  row('address', 'text', 'http.address', 'HOST:PORT of /metrics and /healthz (default 127.0.0.1:8085)'),
  row('probe-address', 'text', 'http.probeAddress', 'HOST:PORT of a listener that serves /healthz and /readyz alone (default none)'),
  row(
    'annotate-nodes',
    'boolean',
    'kubernetes.annotateNodes',
    'write on nodes why they are not removed, as the annotation aks-autoscaler.io/unremovable (default false)',
  ),
  row('write-status-configmap', 'boolean', 'kubernetes.statusConfigMap', 'write the status to a ConfigMap (default true)'),
  row(
    'status-config-map-name',
    'text',
    'kubernetes.statusConfigMapName',
    'name of the status ConfigMap (default cluster-autoscaler-status)',
  ),
  row(
    'heed-resource-locker',
    'boolean',
    'kubernetes.heedResourceLocker',
    "freeze all groups while another component holds AKS's lock (default true)",
  ),
  row('cluster-autoscaler-metrics', 'boolean', 'metrics.clusterAutoscalerNames', 'also serve cluster_autoscaler_* metrics (default true)'),
  row('log-level', 'text', 'logLevel', 'error, warn, info, debug, trace or silent (default info)'),
  row('dump-directory', 'text', 'dumpDirectory', 'folder for dumps of decisions, for replay (default: none)'),
  row(
    'history-directory',
    'text',
    'historyDirectory',
    'folder for changes and decisions as JSON lines, at most 64 MiB; the next process reads the last day (default: none)',
  ),
  row(
    'dry-run',
    'boolean',
    'dryRun',
    'make decisions and write nothing; withheld writes are logged and served under /debug (default false)',
  ),
  row('scan-interval', 'duration', 'loop.scanInterval', 'time between loops without a reason for an early one (default 10s)'),
  row('frequent-loops-enabled', 'boolean', 'loop.startEarly', 'start a loop as soon as a pod needs a node (default true)'),
  row('max-inactivity', 'duration', 'health.maxInactivity', '/healthz fails after this time without an ended loop (default 10m)'),
  row('max-failing-time', 'duration', 'health.maxFailingTime', '/healthz fails after this time without a completed loop (default 15m)'),
  row(
    'max-startup-time',
    'duration',
    'health.maxStartupTime',
    '/healthz fails after this time without a first completed loop (default 20m)',
  ),
  row(
    'max-failures-in-row',
    'integer',
    'health.maxFailuresInRow',
    '/healthz fails after this number of failed loops in a row (default 100)',
  ),
  row(
    'expander',
    'list',
    'scaleUp.expanders',
    'priority, price, placement, preferences, least-waste, least-nodes, most-pods or random; comma-separated for a chain (default least-waste)',
  ),
  row(
    'retail-prices',
    'boolean-or-auto',
    'scaleUp.retailPrices.enabled',
    "read Azure's public price list, and let prices decide between pools; in the public cloud, auto only shows them (default auto)",
  ),
  row(
    'retail-prices-endpoint',
    'text',
    'scaleUp.retailPrices.endpoint',
    'URL of the public price list (default https://prices.azure.com/api/retail/prices)',
  ),
  row(
    'retail-prices-file',
    'text',
    'scaleUp.retailPrices.file',
    'file that stores the last price list for later processes (default: none)',
  ),
  row('ok-total-unready-count', 'integer', 'cluster.okTotalUnreadyCount', 'number of unready nodes that is always tolerated (default 3)'),
  row(
    'max-total-unready-percentage',
    'number',
    'cluster.maxTotalUnreadyPercentage',
    'percentage of unready nodes above which nothing is scaled (default 45)',
  ),
  row('scale-up-from-zero', 'boolean', 'cluster.scaleUpFromZero', 'scale up a cluster without ready nodes (default true)'),
  row('startup-taint', 'list', 'cluster.startupTaints', 'taints of nodes that are still starting; may be repeated'),
  row('ignore-taint', 'list', 'cluster.startupTaints', 'former name of --startup-taint'),
  row('startup-taint-prefix', 'list', 'cluster.startupTaintPrefixes', 'prefixes of such taints; may be repeated'),
  row('status-taint', 'list', 'cluster.statusTaints', 'taints that new nodes do not have; may be repeated'),
  row(
    'scale-from-unschedulable',
    'boolean',
    'cluster.scaleFromUnschedulable',
    'assume that new nodes are not cordoned if a group is known only by a cordoned node (default false)',
  ),
  row('max-nodes-total', 'integer', 'scaleUp.maxNodesTotal', 'maximum number of nodes in the cluster; 0 is no limit (default 0)'),
  row(
    'max-nodes-per-scaleup',
    'integer',
    'scaleUp.maxNodesPerScaleUp',
    'maximum number of nodes per scale-up; 0 is no limit (default 1000)',
  ),
  row(
    'max-nodes-per-group-per-minute',
    'integer',
    'scaleUp.maxNodesPerGroupPerMinute',
    'maximum number of nodes added to one group per minute; 0 is no limit (default 0)',
  ),
  row('max-binpacking-time', 'duration', 'scaleUp.maxPlanningTime', 'time limit of one plan; after it the plan is cut short (default 5s)'),
  row('cores-total', 'bounds', 'scaleDown.minCoresTotal:scaleUp.maxCoresTotal', 'MIN:MAX CPU cores in the cluster (default 0:320000)'),
  row(
    'memory-total',
    'bounds',
    'scaleDown.minMemoryTotalGib:scaleUp.maxMemoryTotalGib',
    'MIN:MAX GiB of memory in the cluster (default 0:6400000)',
  ),
  row(
    'expendable-pods-priority-cutoff',
    'integer',
    'scaleUp.expendablePriorityCutoff',
    'pods with a lower priority cause no scale-up (default -10)',
  ),
  row('new-pod-scale-up-delay', 'duration', 'scaleUp.newPodDelay', 'minimum age of a pod that causes a scale-up (default 0s)'),
  row('enable-proactive-scaleup', 'boolean', 'scaleUp.proactive', 'scale up for pods that controllers are about to create (default false)'),
  row(
    'pod-injection-limit',
    'integer',
    'scaleUp.podInjectionLimit',
    'number of pending pods beyond which such expected pods are ignored (default 5000)',
  ),
  row('capacity-quotas-enabled', 'boolean', 'capacity.quotas', 'enforce CapacityQuota objects and update their statuses (default false)'),
  row(
    'capacity-buffer-controller-enabled',
    'boolean',
    'capacity.bufferController',
    'update the statuses of CapacityBuffer objects (default false)',
  ),
  row(
    'capacity-buffer-pod-injection-enabled',
    'boolean',
    'capacity.bufferInjection',
    'reserve room for CapacityBuffer objects (default false)',
  ),
  row(
    'capacity-buffer-pod-dry-run-enabled',
    'boolean',
    'capacity.podDryRun',
    'count what admission adds to pods of CapacityBuffer objects and of headroom, by dry runs (default false)',
  ),
  row('enable-provisioning-requests', 'boolean', 'capacity.provisioningRequests', 'serve ProvisioningRequest objects (default false)'),
  row(
    'provisioning-request-initial-backoff-time',
    'duration',
    'capacity.requestInitialBackoff',
    'first wait before a request without capacity is tried again (default 1m)',
  ),
  row(
    'provisioning-request-max-backoff-time',
    'duration',
    'capacity.requestMaxBackoff',
    'maximum wait before a request is tried again (default 10m)',
  ),
  row(
    'provisioning-request-max-backoff-cache-size',
    'integer',
    'capacity.requestBackoffs',
    'maximum number of requests whose wait is remembered (default 1000)',
  ),
  row(
    'check-capacity-batch-processing',
    'boolean',
    'capacity.checkCapacityBatch',
    'check several check-capacity requests in one loop (default false)',
  ),
  row(
    'check-capacity-provisioning-request-max-batch-size',
    'integer',
    'capacity.checkCapacityBatchSize',
    'maximum number of requests checked per loop (default 10)',
  ),
  row(
    'check-capacity-provisioning-request-batch-timebox',
    'duration',
    'capacity.checkCapacityTimebox',
    'time limit of the checks of one loop (default 10s)',
  ),
  row(
    'check-capacity-processor-instance',
    'text',
    'capacity.checkCapacityInstance',
    'serve only check-capacity requests with this parameter processorInstance (default: those without it)',
  ),
  row(
    'allowed-scheduler-names',
    'list',
    'scaleUp.allowedSchedulers',
    'schedulers whose pods cause scale-ups, comma-separated (default: all)',
  ),
  row(
    'bypassed-scheduler-names',
    'list',
    'scaleUp.bypassedSchedulers',
    'schedulers whose pods count before the scheduler has tried them, comma-separated',
  ),
  row('max-node-provision-time', 'duration', 'scaleUp.maxProvisionTime', 'time limit for a new node to join the cluster (default 15m)'),
  row('max-node-startup-time', 'duration', 'cluster.maxNodeStartupTime', 'time limit for a new node to become ready (default 15m)'),
  row(
    'balance-similar-node-groups',
    'boolean',
    'scaleUp.balanceSimilarGroups',
    'spread a scale-up over similar node groups (default false)',
  ),
  row('balancing-ignore-label', 'list', 'scaleUp.balancingIgnoreLabels', 'labels that may differ between similar groups, comma-separated'),
  row(
    'balancing-label',
    'list',
    'scaleUp.balancingLabels',
    'labels that alone decide whether groups are similar, comma-separated; other criteria are then ignored',
  ),
  row(
    'memory-difference-ratio',
    'number',
    'scaleUp.memoryDifferenceRatio',
    'share by which the memory of similar groups may differ (default 0.015)',
  ),
  row(
    'max-allocatable-difference-ratio',
    'number',
    'scaleUp.maxAllocatableDifferenceRatio',
    'share by which the allocatable resources of similar groups may differ (default 0.05)',
  ),
  row(
    'max-free-difference-ratio',
    'number',
    'scaleUp.maxFreeDifferenceRatio',
    'share by which the resources left free by DaemonSet pods may differ (default 0.05)',
  ),
  row('enforce-node-group-min-size', 'boolean', 'scaleUp.enforceMinSize', 'increase groups that are below their minimum (default true)'),
  row('initial-node-group-backoff-duration', 'duration', 'backoff.initial', 'back-off of a group after its first failure (default 5m)'),
  row('max-node-group-backoff-duration', 'duration', 'backoff.max', 'maximum back-off of a group (default 30m)'),
  row(
    'node-group-backoff-reset-timeout',
    'duration',
    'backoff.resetAfter',
    'time without failure after which the back-off starts again at the first value (default 3h)',
  ),
  row('scale-down-enabled', 'boolean', 'scaleDown.enabled', 'remove unneeded nodes (default true)'),
  row('repack-enabled', 'boolean', 'repack.enabled', 'remove nodes together whose pods fit on fewer or cheaper ones (default false)'),
  row(
    'scale-down-utilization-threshold',
    'number',
    'scaleDown.utilizationThreshold',
    'nodes with a lower share of requested resources are candidates for removal (default 0.5)',
  ),
  row(
    'scale-down-gpu-utilization-threshold',
    'number',
    'scaleDown.gpuUtilizationThreshold',
    'GPU nodes with a lower share of requested GPUs are candidates for removal (default 0.5)',
  ),
  row('scale-down-unready-enabled', 'boolean', 'scaleDown.unreadyEnabled', 'remove unready nodes (default true)'),
  row('scale-down-unneeded-time', 'duration', 'scaleDown.unneededTime', 'time a node must be unneeded before its removal (default 10m)'),
  row(
    'scale-down-unready-time',
    'duration',
    'scaleDown.unreadyTime',
    'time an unready node must be unneeded before its removal (default 20m)',
  ),
  row('scale-down-delay-after-add', 'duration', 'scaleDown.delayAfterAdd', 'cooldown of scale-down after a scale-up (default 10m)'),
  row('scale-down-delay-after-delete', 'duration', 'scaleDown.delayAfterDelete', 'cooldown of scale-down after a removal (default 0s)'),
  row(
    'scale-down-delay-after-failure',
    'duration',
    'scaleDown.delayAfterFailure',
    'cooldown of scale-down after a failed removal (default 3m)',
  ),
  row('scale-down-delay-type-local', 'boolean', 'scaleDown.delaysPerGroup', 'apply these three cooldowns per node group (default false)'),
  row(
    'unremovable-node-recheck-timeout',
    'duration',
    'scaleDown.unremovableRecheck',
    'time before an unremovable node is checked again (default 5m)',
  ),
  row(
    'ignore-daemonsets-utilization',
    'boolean',
    'scaleDown.ignoreDaemonSetsUtilization',
    'ignore DaemonSet pods when computing utilization (default false)',
  ),
  row(
    'ignore-mirror-pods-utilization',
    'boolean',
    'scaleDown.ignoreMirrorPodsUtilization',
    'ignore mirror pods when computing utilization (default false)',
  ),
  row(
    'skip-nodes-with-system-pods',
    'boolean',
    'scaleDown.skipNodesWithSystemPods',
    'kube-system pods block the removal of their node (default true)',
  ),
  // Misspelled by the Cluster Autoscaler, and therefore in existing manifests.
  row(
    'blocking-system-pod-distruption-timeout',
    'duration',
    'scaleDown.blockingSystemPodTimeout',
    'age from which such a pod no longer blocks the removal (default 1h)',
  ),
  row(
    'skip-nodes-with-local-storage',
    'boolean',
    'scaleDown.skipNodesWithLocalStorage',
    'pods with emptyDir or hostPath block the removal of their node (default false)',
  ),
  row(
    'skip-nodes-with-custom-controller-pods',
    'boolean',
    'scaleDown.skipNodesWithCustomControllerPods',
    'pods of unknown controllers block the removal of their node (default true)',
  ),
  row(
    'min-replica-count',
    'integer',
    'scaleDown.minReplicaCount',
    'pods of a ReplicaSet or ReplicationController with fewer replicas block the removal of their node (default 0)',
  ),
  row('max-scale-down-parallelism', 'integer', 'scaleDown.maxParallelism', 'maximum number of nodes removed at the same time (default 10)'),
  row(
    'max-drain-parallelism',
    'integer',
    'scaleDown.maxDrainParallelism',
    'maximum number of these nodes that are drained at the same time (default 1)',
  ),
  row(
    'max-bulk-soft-taint-count',
    'integer',
    'scaleDown.maxBulkSoftTaintCount',
    'maximum number of soft taints changed per loop; 0 turns soft taints off (default 10)',
  ),
  row(
    'scale-down-simulation-timeout',
    'duration',
    'scaleDown.maxSimulationTime',
    'time limit for the simulation of removals per loop; other nodes wait for the next loop (default 3s)',
  ),
  row(
    'max-bulk-soft-taint-time',
    'duration',
    'scaleDown.maxBulkSoftTaintTime',
    'time limit for changing soft taints per loop (default 3s)',
  ),
  row(
    'node-deletion-candidate-ttl',
    'duration',
    'scaleDown.deletionCandidateTtl',
    'age of the last save up to which idle timers of an earlier process count (default 2m; 0s: never)',
  ),
  row('max-graceful-termination-sec', 'seconds', 'drain.maxGracefulTermination', "cap on a pod's grace period, in seconds (default 600)"),
  row('max-pod-eviction-time', 'duration', 'drain.evictionTimeout', 'how long an eviction is repeated (default 2m)'),
  row('node-delete-delay-after-taint', 'duration', 'drain.delayAfterTaint', 'pause between taint and deletion (default 5s)'),
  row('node-deletion-delay-timeout', 'duration', 'drain.deletionDelayTimeout', 'maximum wait for delay-deletion annotations (default 2m)'),
  row('cordon-node-before-terminating', 'boolean', 'drain.cordon', 'cordon a node before it is drained (default true)'),
  row(
    'drain-priority-config',
    'list',
    'drain.bands',
    'PRIORITY:SECONDS[,...]: priority bands evicted in turn, each with its maximum grace period; not with --max-graceful-termination-sec',
  ),
  row(
    'daemonset-eviction-for-occupied-nodes',
    'boolean',
    'drain.evictDaemonPodsFromOccupied',
    'evict DaemonSet pods last from nodes with pods to move (default true)',
  ),
  row(
    'daemonset-eviction-for-empty-nodes',
    'boolean',
    'drain.evictDaemonPodsFromEmpty',
    'evict DaemonSet pods from nodes without pods to move (default false)',
  ),
  row('cloud-provider', 'ignored', '', 'accepted: the cloud provider is always azure'),
  row('v', 'ignored', '', 'accepted without effect: see --log-level'),
  row('stderrthreshold', 'ignored', '', 'accepted without effect'),
  row('logtostderr', 'ignored', '', 'accepted without effect'),
  row('alsologtostderr', 'ignored', '', 'accepted without effect'),
  row('parallel-scale-up', 'ignored', '', 'accepted without effect: groups are always increased in parallel'),
  row('max-empty-bulk-delete', 'ignored', '', 'accepted without effect: removed from the Cluster Autoscaler'),
];

/** Returns the flags as lines of help. */
export function flagHelp(): string {
  const shown = FLAGS.filter((flag) => flag.kind !== 'ignored');
  const width = Math.max(...shown.map((flag) => flag.name.length));
  return shown.map((flag) => `  --${flag.name.padEnd(width)}  ${flag.help}\n`).join('');
}
