/**
 * The Kubernetes permissions that the daemon needs. The manifests are made from these lists, `doctor` checks each row, and
 * a test compares them with the calls that the daemon makes.
 */
import { PAUSES_SUFFIX } from '../../kubernetes/projection/pauses.ts';

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};

/** Permissions on the whole cluster. */
export const CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['aks-managed-resource-locker'], verbs: ['list', 'watch'] },
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['list', 'watch'] },
  { apiGroups: ['apps'], resources: ['replicasets', 'statefulsets'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['storageclasses', 'csinodes', 'csidrivers', 'csistoragecapacities'],
    verbs: ['list', 'watch'],
  },
  // Used only if the cluster serves these kinds.
  {
    apiGroups: ['resource.k8s.io'],
    resources: ['resourceslices', 'deviceclasses', 'resourceclaims', 'resourceclaimtemplates', 'devicetaintrules'],
    verbs: ['list', 'watch'],
  },
  // Used only if a pod names a group of pods that start together.
  { apiGroups: ['scheduling.k8s.io'], resources: ['podgroups', 'workloads'], verbs: ['list', 'watch'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  // Used only if the features of these names are enabled. The kinds come with the Cluster Autoscaler's definitions.
  {
    apiGroups: ['autoscaling.x-k8s.io'],
    resources: ['capacityquotas', 'capacitybuffers', 'provisioningrequests'],
    verbs: ['list', 'watch'],
  },
  {
    apiGroups: ['autoscaling.x-k8s.io'],
    resources: ['capacityquotas/status', 'capacitybuffers/status', 'provisioningrequests/status'],
    verbs: ['patch'],
  },
  { apiGroups: ['autoscaling.x-k8s.io'], resources: ['provisioningrequests'], verbs: ['delete'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['podtemplates', 'resourcequotas'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['replicationcontrollers'], verbs: ['get', 'list', 'watch'] },
  // A dry run lists what the other autoscaler says in its events.
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch', 'list'] },
];

/** Needed only with required constraints of `kubernetes.defaultConstraints` or `schedulerConfigFile`. The manifests do not grant it. */
export const SERVICES_RULE: Rule = { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] };

/** Needed only with `scaleUp.nominateNodes`. The chart grants it where that is on. */
export const NOMINATIONS_RULE: Rule = { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] };

/** Needed only with `cluster.verticalPodAutoscalers`. The chart grants it where that is on. */
export const AUTOSCALERS_RULE: Rule = {
  apiGroups: ['autoscaling.k8s.io'],
  resources: ['verticalpodautoscalers'],
  verbs: ['list', 'watch'],
};

/** Needed only with `capacity.podDryRun`. The manifests do not grant it: it lets its owner run any pod. */
export const POD_DRY_RUN_RULE: Rule = { apiGroups: [''], resources: ['pods'], verbs: ['create'] };

/** The name of the lease unless the configuration sets another. */
export const LEASE_NAME = 'aks-autoscaler';

/**
 * Permissions in the daemon's own namespace. The chart's Role and `doctor` use the configured names of the status ConfigMap and the
 * lease, from which the names of the other ConfigMaps derive.
 */
export const NAMESPACE_RULES: readonly Rule[] = [
  // A request to create has no name yet that a rule could compare.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [LEASE_NAME],
    // A standby lists the lease by its name before it watches it. An operator of the account may hand it over with kubectl patch.
    verbs: ['get', 'list', 'watch', 'update', 'patch'],
  },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: ['cluster-autoscaler-status', `${LEASE_NAME}-templates`, `${LEASE_NAME}-memory`],
    verbs: ['get', 'update'],
  },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-status'], verbs: ['delete'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-priority-expander'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [`${LEASE_NAME}${PAUSES_SUFFIX}`], verbs: ['list', 'watch'] },
];
