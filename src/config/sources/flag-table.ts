/**
 * The flags, by the names of the Cluster Autoscaler where it has them. This table is the parser's and the help's only source.
 */
import type { TextKind } from './text-values.ts';

export type FlagKind = TextKind | 'nodes' | 'discovery' | 'bounds' | 'file' | 'ignored' | 'retired';

export interface Flag {
  readonly name: string;
  readonly kind: FlagKind;
  /** Dotted path of the setting, of bounds both with a colon between; empty for files and for what is accepted without effect. */
  readonly path: string;
  readonly help: string;
}

function row(name: string, kind: FlagKind, path: string, help: string): Flag {
  return { name, kind, path, help };
}

export const FLAGS: readonly Flag[] = [
  row('config', 'file', '', 'YAML or JSON file of settings (see config/aks-autoscaler.yaml)'),
  row('cloud-config', 'file', '', 'azure.json of the Azure cloud provider'),
  row('nodes', 'nodes', 'nodeGroups', 'MIN:MAX:NAME of a scale set or of its agent pool, or MIN:MAX:POOL/SIZE; may be repeated'),
  row('node-group-auto-discovery', 'discovery', 'discovery', 'label:TAG=VALUE[,...][,min=N][,max=N]; may be repeated'),
  row(
    'kubeconfig',
    'text',
    'kubernetes.kubeconfig',
    "kubeconfig file, or a list of them as KUBECONFIG has it (default: the pod's service account)",
  ),
  row('context', 'text', 'kubernetes.context', 'context of the kubeconfig (default: its current one)'),
  row('namespace', 'text', 'kubernetes.namespace', 'namespace of the lease and of status events (default kube-system)'),
  row('leader-elect', 'boolean', 'kubernetes.leaderElect', 'wait for leadership before acting (default true)'),
  row('leader-elect-resource-name', 'text', 'kubernetes.leaseName', 'name of the lease (default aks-autoscaler)'),
  row('leader-elect-resource-namespace', 'text', 'kubernetes.leaseNamespace', 'namespace of the lease (default: that of --namespace)'),
  row('leader-elect-lease-duration', 'duration', 'kubernetes.leaseDuration', "time after a leader's last sign of life (default 15s)"),
  row(
    'leader-elect-renew-deadline',
    'duration',
    'kubernetes.leaseRenewDeadline',
    'time without renewal after which it gives up (default 10s)',
  ),
  row('leader-elect-retry-period', 'duration', 'kubernetes.leaseRetryPeriod', 'pause between two tries (default 2s)'),
  row('allow-degraded', 'boolean', 'azure.agents.allowDegraded', 'let agents be disabled that decisions wait for (default false)'),
  row('cluster-name', 'text', 'azure.clusterName', 'name of the AKS cluster, to read its agent pools'),
  row('address', 'text', 'http.address', 'HOST:PORT of /metrics and /healthz (default 127.0.0.1:8085)'),
  row('write-status-configmap', 'boolean', 'kubernetes.statusConfigMap', 'write the status to a ConfigMap (default true)'),
  row('status-config-map-name', 'text', 'kubernetes.statusConfigMapName', 'its name (default cluster-autoscaler-status)'),
  row(
    'heed-resource-locker',
    'boolean',
    'kubernetes.heedResourceLocker',
    "freeze all groups while another holds AKS's lock (default true)",
  ),
  row('cluster-autoscaler-metrics', 'boolean', 'metrics.clusterAutoscalerNames', 'serve cluster_autoscaler_* metrics too (default true)'),
  row('log-level', 'text', 'logLevel', 'error, warn, info, debug, trace or silent (default info)'),
  row('dump-directory', 'text', 'dumpDirectory', 'folder to dump decisions to, for replay (default: none)'),
  row('dry-run', 'boolean', 'dryRun', 'decide as ever and write nothing; what would have been is logged and under /debug (default false)'),
  row('scan-interval', 'duration', 'loop.scanInterval', 'time between loops when nothing happens (default 10s)'),
  row('frequent-loops-enabled', 'boolean', 'loop.startEarly', 'start a loop as soon as a pod needs a node (default true)'),
  row('max-inactivity', 'duration', 'health.maxInactivity', 'time without a loop that ends after which /healthz fails (default 10m)'),
  row('max-failing-time', 'duration', 'health.maxFailingTime', 'the same without a loop that completes (default 15m)'),
  row('max-startup-time', 'duration', 'health.maxStartupTime', 'the same until the first one does (default 20m)'),
  row('max-failures-in-row', 'integer', 'health.maxFailuresInRow', 'failed loops in a row after which /healthz fails (default 100)'),
  row(
    'expander',
    'list',
    'scaleUp.expanders',
    'priority, price, least-waste, least-nodes, most-pods or random; a chain with commas (default least-waste)',
  ),
  row('retail-prices', 'boolean', 'scaleUp.retailPrices.enabled', "read the prices of VM sizes from Azure's public list (default false)"),
  row(
    'retail-prices-endpoint',
    'text',
    'scaleUp.retailPrices.endpoint',
    'where that list is (default https://prices.azure.com/api/retail/prices)',
  ),
  row('retail-prices-file', 'text', 'scaleUp.retailPrices.file', 'file that keeps the last answer for later processes (default: none)'),
  row('ok-total-unready-count', 'integer', 'cluster.okTotalUnreadyCount', 'so many nodes that are not ready never matter (default 3)'),
  row(
    'max-total-unready-percentage',
    'number',
    'cluster.maxTotalUnreadyPercentage',
    'percentage of nodes not ready above which nothing is scaled (default 45)',
  ),
  row('scale-up-from-zero', 'boolean', 'cluster.scaleUpFromZero', 'grow a cluster without a ready node too (default true)'),
  row('startup-taint', 'list', 'cluster.startupTaints', 'taints of nodes that are being set up; may be repeated'),
  row('ignore-taint', 'list', 'cluster.startupTaints', 'the former name of --startup-taint'),
  row('startup-taint-prefix', 'list', 'cluster.startupTaintPrefixes', 'beginnings of such names; may be repeated'),
  row('status-taint', 'list', 'cluster.statusTaints', 'taints that a new node will not have; may be repeated'),
  row(
    'scale-from-unschedulable',
    'boolean',
    'cluster.scaleFromUnschedulable',
    'a group known only by a cordoned node adds nodes that are not (default false)',
  ),
  row('max-nodes-total', 'integer', 'scaleUp.maxNodesTotal', 'nodes in the cluster at most; 0 is no limit (default 0)'),
  row('max-nodes-per-scaleup', 'integer', 'scaleUp.maxNodesPerScaleUp', 'nodes asked for at once at most; 0 is no limit (default 1000)'),
  row(
    'max-nodes-per-group-per-minute',
    'integer',
    'scaleUp.maxNodesPerGroupPerMinute',
    'nodes one group is asked for within a minute at most; 0 is no limit (default 0)',
  ),
  row('max-binpacking-time', 'duration', 'scaleUp.maxPlanningTime', 'time for one plan; then what was found is the plan (default 5s)'),
  row('cores-total', 'bounds', 'scaleDown.minCoresTotal:scaleUp.maxCoresTotal', 'MIN:MAX cores in the cluster (default 0:320000)'),
  row('memory-total', 'bounds', 'scaleDown.minMemoryTotalGib:scaleUp.maxMemoryTotalGib', 'MIN:MAX GiB in the cluster (default 0:6400000)'),
  row('expendable-pods-priority-cutoff', 'integer', 'scaleUp.expendablePriorityCutoff', 'pods below cause no scale-up (default -10)'),
  row('new-pod-scale-up-delay', 'duration', 'scaleUp.newPodDelay', 'age a pod must have to cause a scale-up (default 0s)'),
  row('enable-proactive-scaleup', 'boolean', 'scaleUp.proactive', 'pods that controllers are about to make ask for room (default false)'),
  row('pod-injection-limit', 'integer', 'scaleUp.podInjectionLimit', 'pods asking for room beyond which these are left out (default 5000)'),
  row('capacity-quotas-enabled', 'boolean', 'capacity.quotas', 'obey CapacityQuota objects and keep their statuses (default false)'),
  row(
    'capacity-buffer-controller-enabled',
    'boolean',
    'capacity.bufferController',
    'keep the statuses of CapacityBuffer objects (default false)',
  ),
  row(
    'capacity-buffer-pod-injection-enabled',
    'boolean',
    'capacity.bufferInjection',
    'keep room for CapacityBuffer objects (default false)',
  ),
  row('enable-provisioning-requests', 'boolean', 'capacity.provisioningRequests', 'serve ProvisioningRequest objects (default false)'),
  row(
    'provisioning-request-initial-backoff-time',
    'duration',
    'capacity.requestInitialBackoff',
    'wait before a request without room is tried again (default 1m)',
  ),
  row('provisioning-request-max-backoff-time', 'duration', 'capacity.requestMaxBackoff', 'the longest such wait (default 10m)'),
  row(
    'provisioning-request-max-backoff-cache-size',
    'integer',
    'capacity.requestBackoffs',
    'requests whose wait is remembered (default 1000)',
  ),
  row(
    'check-capacity-batch-processing',
    'boolean',
    'capacity.checkCapacityBatch',
    'check several check-capacity requests in one loop (default false)',
  ),
  row('check-capacity-provisioning-request-max-batch-size', 'integer', 'capacity.checkCapacityBatchSize', 'how many at most (default 10)'),
  row(
    'check-capacity-provisioning-request-batch-timebox',
    'duration',
    'capacity.checkCapacityTimebox',
    'for how long at most (default 10s)',
  ),
  row(
    'check-capacity-processor-instance',
    'text',
    'capacity.checkCapacityInstance',
    'serve only check-capacity requests whose parameter processorInstance is this (default: those without)',
  ),
  row('allowed-scheduler-names', 'list', 'scaleUp.allowedSchedulers', 'schedulers whose pods count, with commas (default: all)'),
  row('bypassed-scheduler-names', 'list', 'scaleUp.bypassedSchedulers', 'schedulers that need not have looked at a pod first, with commas'),
  row('max-node-provision-time', 'duration', 'scaleUp.maxProvisionTime', 'time a node may take to join (default 15m)'),
  row('max-node-startup-time', 'duration', 'cluster.maxNodeStartupTime', 'time a new node may take to be ready (default 15m)'),
  row('balance-similar-node-groups', 'boolean', 'scaleUp.balanceSimilarGroups', 'spread a scale-up over similar groups (default false)'),
  row('balancing-ignore-label', 'list', 'scaleUp.balancingIgnoreLabels', 'labels that may differ between similar groups, with commas'),
  row(
    'balancing-label',
    'list',
    'scaleUp.balancingLabels',
    'labels that alone make groups similar when they are equal, with commas; no other measure is then asked',
  ),
  row(
    'memory-difference-ratio',
    'number',
    'scaleUp.memoryDifferenceRatio',
    'share by which memory of similar groups may differ (default 0.015)',
  ),
  row(
    'max-allocatable-difference-ratio',
    'number',
    'scaleUp.maxAllocatableDifferenceRatio',
    'the same of what is allocatable (default 0.05)',
  ),
  row('max-free-difference-ratio', 'number', 'scaleUp.maxFreeDifferenceRatio', 'the same of what daemon pods leave free (default 0.05)'),
  row('enforce-node-group-min-size', 'boolean', 'scaleUp.enforceMinSize', 'raise groups that are below their minimum (default true)'),
  row('initial-node-group-backoff-duration', 'duration', 'backoff.initial', 'rest of a group after its first failure (default 5m)'),
  row('max-node-group-backoff-duration', 'duration', 'backoff.max', 'longest rest (default 30m)'),
  row('node-group-backoff-reset-timeout', 'duration', 'backoff.resetAfter', 'time without failure that forgets them (default 3h)'),
  row('scale-down-enabled', 'boolean', 'scaleDown.enabled', 'remove nodes at all (default true)'),
  row('scale-down-utilization-threshold', 'number', 'scaleDown.utilizationThreshold', 'use below which a node may go (default 0.5)'),
  row('scale-down-gpu-utilization-threshold', 'number', 'scaleDown.gpuUtilizationThreshold', "the same of a GPU node's GPUs (default 0.5)"),
  row('scale-down-unready-enabled', 'boolean', 'scaleDown.unreadyEnabled', 'remove nodes that are not ready (default true)'),
  row('scale-down-unneeded-time', 'duration', 'scaleDown.unneededTime', 'time a node must be unneeded (default 10m)'),
  row('scale-down-unready-time', 'duration', 'scaleDown.unreadyTime', 'the same for nodes that are not ready (default 20m)'),
  row('scale-down-delay-after-add', 'duration', 'scaleDown.delayAfterAdd', 'rest after a scale-up (default 10m)'),
  row('scale-down-delay-after-delete', 'duration', 'scaleDown.delayAfterDelete', 'rest after a removal (default 0s)'),
  row('scale-down-delay-after-failure', 'duration', 'scaleDown.delayAfterFailure', 'rest after a failed removal (default 3m)'),
  row('scale-down-delay-type-local', 'boolean', 'scaleDown.delaysPerGroup', 'these three rests hold per node group (default false)'),
  row(
    'unremovable-node-recheck-timeout',
    'duration',
    'scaleDown.unremovableRecheck',
    'time before a kept node is looked at again (default 5m)',
  ),
  row(
    'ignore-daemonsets-utilization',
    'boolean',
    'scaleDown.ignoreDaemonSetsUtilization',
    'leave DaemonSet pods out of the use (default false)',
  ),
  row(
    'ignore-mirror-pods-utilization',
    'boolean',
    'scaleDown.ignoreMirrorPodsUtilization',
    'leave mirror pods out of the use (default false)',
  ),
  row('skip-nodes-with-system-pods', 'boolean', 'scaleDown.skipNodesWithSystemPods', 'kube-system pods keep their node (default true)'),
  // Misspelled by the Cluster Autoscaler, and so in everybody's manifests.
  row(
    'blocking-system-pod-distruption-timeout',
    'duration',
    'scaleDown.blockingSystemPodTimeout',
    'age from which such a pod no longer does (default 1h)',
  ),
  row(
    'skip-nodes-with-local-storage',
    'boolean',
    'scaleDown.skipNodesWithLocalStorage',
    'emptyDir and hostPath keep the node (default false)',
  ),
  row(
    'skip-nodes-with-custom-controller-pods',
    'boolean',
    'scaleDown.skipNodesWithCustomControllerPods',
    'pods of unknown controllers keep their node (default true)',
  ),
  row(
    'min-replica-count',
    'integer',
    'scaleDown.minReplicaCount',
    'a ReplicaSet or ReplicationController that keeps fewer pods keeps their nodes (default 0)',
  ),
  row('max-scale-down-parallelism', 'integer', 'scaleDown.maxParallelism', 'nodes removed at the same time at most (default 10)'),
  row('max-drain-parallelism', 'integer', 'scaleDown.maxDrainParallelism', 'of these, nodes with pods to move (default 1)'),
  row(
    'max-bulk-soft-taint-count',
    'integer',
    'scaleDown.maxBulkSoftTaintCount',
    'soft taints changed per loop; 0 turns them off (default 10)',
  ),
  row(
    'scale-down-simulation-timeout',
    'duration',
    'scaleDown.maxSimulationTime',
    'time for looking at removals in one loop; the rest waits for the next (default 3s)',
  ),
  row('max-bulk-soft-taint-time', 'duration', 'scaleDown.maxBulkSoftTaintTime', 'time that a loop may spend on them (default 3s)'),
  row(
    'node-deletion-candidate-ttl',
    'duration',
    'scaleDown.deletionCandidateTtl',
    'age up to which soft taints of an earlier run are believed (default 0s: one hour)',
  ),
  row('max-graceful-termination-sec', 'seconds', 'drain.maxGracefulTermination', "cap on a pod's grace period, in seconds (default 600)"),
  row('max-pod-eviction-time', 'duration', 'drain.evictionTimeout', 'how long an eviction is tried again (default 2m)'),
  row('node-delete-delay-after-taint', 'duration', 'drain.delayAfterTaint', 'pause between taint and deletion (default 5s)'),
  row('node-deletion-delay-timeout', 'duration', 'drain.deletionDelayTimeout', 'longest wait for delay-deletion annotations (default 2m)'),
  row('cordon-node-before-terminating', 'boolean', 'drain.cordon', 'cordon a node that is drained (default true)'),
  row(
    'drain-priority-config',
    'list',
    'drain.bands',
    'PRIORITY:SECONDS[,...]: bands evicted in turn, with their longest grace; not with --max-graceful-termination-sec',
  ),
  row(
    'daemonset-eviction-for-occupied-nodes',
    'boolean',
    'drain.evictDaemonPodsFromOccupied',
    'evict DaemonSet pods last from nodes with pods to move (default true)',
  ),
  row('daemonset-eviction-for-empty-nodes', 'boolean', 'drain.evictDaemonPodsFromEmpty', 'the same from nodes without (default false)'),
  row('cloud-provider', 'ignored', '', 'accepted: it is always azure'),
  row('v', 'ignored', '', 'accepted without effect: see --log-level'),
  row('stderrthreshold', 'ignored', '', 'accepted without effect'),
  row('logtostderr', 'ignored', '', 'accepted without effect'),
  row('alsologtostderr', 'ignored', '', 'accepted without effect'),
  row('parallel-scale-up', 'ignored', '', 'accepted without effect: groups always grow at the same time'),
  row('max-empty-bulk-delete', 'ignored', '', 'accepted without effect: gone from the Cluster Autoscaler'),
];

/** The flags as lines of help. */
export function flagHelp(): string {
  const shown = FLAGS.filter((flag) => flag.kind !== 'ignored');
  const width = Math.max(...shown.map((flag) => flag.name.length));
  return shown.map((flag) => `  --${flag.name.padEnd(width)}  ${flag.help}\n`).join('');
}
