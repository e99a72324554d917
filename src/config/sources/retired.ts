/**
 * Keys and variables of the Cluster Autoscaler's Azure provider that mean nothing here, or something that is not done here.
 * None is passed over in silence: one whose wish cannot be granted is an error that says what to use instead, one whose
 * wish is granted anyway, or that only tuned what is built otherwise here, is a warning.
 */
import { EMPTY_LAYER, type Layer } from '../layer.ts';

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
