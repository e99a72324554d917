/** Every value of the Cluster Autoscaler's chart 9.x of 2026 with its default, but its image. */
export const UPSTREAM = `
{affinity: {}, additionalLabels: {}, autoscalingGroups: [], autoscalingGroupsnamePrefix: [], awsAccessKeyID: "", awsRegion: "", awsSecretAccessKey: "",
azureClientID: "", azureClientSecret: "", azureResourceGroup: "", azureSubscriptionID: "", azureTenantID: "", azureUseManagedIdentityExtension: false,
azureUserAssignedIdentityID: "", azureUseWorkloadIdentityExtension: false, azureVMType: vmss, azureEnableForceDelete: false, azureEnableVMSSEtag: false,
civoApiUrl: "https://api.civo.com", civoApiKey: "", civoClusterID: "", civoRegion: "", cloudConfigPath: "", containerSecurityContext: {},
autoDiscovery: {clusterName: null, namespace: null, tags: [k8s.io/cluster-autoscaler/enabled, a], roles: [worker], labels: []},
clusterAPICloudConfigPath: /etc/kubernetes/mgmt-kubeconfig, clusterAPIConfigMapsNamespace: "", clusterAPIKubeconfigSecret: "",
clusterAPIMode: incluster-incluster, clusterAPIWorkloadKubeconfigPath: /etc/kubernetes/value, deployment: {annotations: {}, selector: {}},
dnsConfig: {}, dnsPolicy: ClusterFirst, envFromConfigMap: "", envFromSecret: "", expanderPriorities: {}, customArgs: [], extraEnv: {},
extraArgs: {logtostderr: true, stderrthreshold: info, v: 4}, extraEnvConfigMaps: {}, extraEnvSecrets: {}, extraObjects: [], extraVolumeMounts: [],
extraVolumes: [], extraVolumeSecrets: {}, initContainers: [], fullnameOverride: "", hostNetwork: false, kubeTargetVersionOverride: "",
kwokConfigMapName: kwok-provider-config, magnumCABundlePath: /etc/kubernetes/ca-bundle.crt, magnumClusterName: "", nameOverride: "", nodeSelector: {},
podAnnotations: {}, podDisruptionBudget: {annotations: {}, selector: {}, maxUnavailable: 1}, podLabels: {}, priorityClassName: system-cluster-critical,
priorityConfigMapAnnotations: {}, prometheusRule: {enabled: false, additionalLabels: {}, namespace: monitoring, interval: null, rules: []},
rbac: {create: true, pspEnabled: false, clusterScoped: true, annotations: {}, additionalRules: [],
  serviceAccount: {annotations: {}, create: true, name: "", automountServiceAccountToken: true}},
replicaCount: 1, resources: {}, revisionHistoryLimit: 10, securityContext: {}, tolerations: [], topologySpreadConstraints: [], updateStrategy: {},
service: {create: true, annotations: {}, labels: {}, externalIPs: [], selector: {}, clusterIP: "", loadBalancerIP: "", loadBalancerSourceRanges: [],
  servicePort: 8085, portName: http, type: ClusterIP},
serviceMonitor: {enabled: false, interval: 10s, namespace: monitoring, selector: {release: prometheus-operator}, path: /metrics, annotations: {}},
vpa: {enabled: false, updateMode: Auto, containerPolicy: {}, recommender: default}, secretKeyRefNameOverride: ""}`;
/** What a user of Azure sets in that file. */
export const OF_AN_AZURE_USER = {
  cloudProvider: 'azure',
  azureSubscriptionID: '11111111-1111-1111-1111-111111111111',
  azureResourceGroup: 'MC_shop_shop_westeurope',
  azureUseManagedIdentityExtension: true,
  autoDiscovery: { clusterName: 'shop' },
};
