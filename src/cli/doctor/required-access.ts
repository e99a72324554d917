/**
 * What the daemon reads and writes, by the words of the two authorizers. The manifests are made from the first two lists and
 * `doctor` asks for each row; a test compares them with the calls that the daemon makes.
 */

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};

/** What the daemon reads and writes of the whole cluster. A test compares both sets with the calls it makes. */
export const CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'update'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['aks-managed-resource-locker'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['list', 'watch'] },
  { apiGroups: ['apps'], resources: ['replicasets', 'statefulsets'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['list', 'watch'] },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['storageclasses', 'csinodes', 'csidrivers', 'csistoragecapacities'],
    verbs: ['list', 'watch'],
  },
  // Only where the cluster serves these kinds.
  {
    apiGroups: ['resource.k8s.io'],
    resources: ['resourceslices', 'deviceclasses', 'resourceclaims', 'resourceclaimtemplates'],
    verbs: ['list', 'watch'],
  },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch'] },
  // Only asked for where the features of these names are turned on; the kinds come with the Cluster Autoscaler's definitions.
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
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
];

/** What it keeps in its own namespace. The chart's Role and `doctor` put in the name that the status is given. */
export const NAMESPACE_RULES: readonly Rule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: ['cluster-autoscaler-status', 'aks-autoscaler-templates'],
    verbs: ['get', 'update'],
  },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-status'], verbs: ['delete'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-autoscaler-priority-expander'], verbs: ['list', 'watch'] },
];
