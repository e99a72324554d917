/** All checks in order. What cannot be asked costs its own line and those that follow from it, and nothing else. */
import { diagnoseAzure, type AzureDiagnosis } from '../../azure/doctor/diagnosis.ts';
import { placeOf } from '../../azure/arm/instance-metadata.ts';
import type { PoolsFacts } from '../../azure/doctor/pool-diagnosis.ts';
import { diagnoseKubernetes } from '../../kubernetes/diagnosis.ts';
import type { Config } from '../../config/types/config.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import {
  AGENT_POOL_READ,
  AGENT_POOL_WRITE,
  AKS_OPERATIONS_READ,
  endChecks,
  identityCheck,
  NODE_GROUP_ACTIONS,
  OPERATIONS_READ,
  poolChecks,
  quotaChecks,
  readCheck,
  roleChecks,
  subnetCheck,
  type RoleQuestion,
} from './azure-checks.ts';
import { failed, ok, type Check } from './check.ts';
import { accessChecks, budgetChecks } from './cluster-checks.ts';
import { configChecks } from './cluster-checks.ts';
import { linkedCheck, linkedResources } from './azure-checks.ts';

/** Reads only. Throws nothing but `cancelled`. */
export async function examine(config: Config, clock: Clock, signal: AbortSignal): Promise<readonly Check[]> {
  const tools: Tools = { clock, metrics: createMetrics() };
  const opened = await openAzure(config, tools, signal);
  const azure = typeof opened === 'string' ? [failed('identity', opened)] : await examineAzure(opened, signal);
  return [...azure, ...(await examineCluster(config, tools, signal))];
}

/** The configuration with its subscription and region asked of the machine where nobody named them, and the way to ask Azure; or why not. */
async function openAzure(config: Config, { clock, metrics }: Tools, signal: AbortSignal): Promise<OpenAzure | string> {
  const { metadataEndpoint: endpoint } = config.azure;
  try {
    const azure = { ...config.azure, ...(await placeOf(config.azure, { endpoint, clock, signal })) };
    return { config: { ...config, azure }, ask: diagnoseAzure({ options: azure, clock, metrics }) };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return error.message;
  }
}

interface OpenAzure {
  readonly config: Config;
  readonly ask: AzureDiagnosis;
}

async function examineAzure({ config, ask: azure }: OpenAzure, signal: AbortSignal): Promise<readonly Check[]> {
  const signedIn = await azure.signIn(signal);
  const identity = identityCheck(signedIn, config.azure, config.kubernetes.namespace);
  // Every other question would be answered by the same refusal.
  if ('error' in signedIn) return [identity];
  const who = signedIn.value.objectId;
  const [pools, rules] = [await azure.pools(signal), await azure.autoscaleRules(signal)];
  const roles: Check[] = [];
  for (const question of roleQuestions(config, 'value' in pools ? pools.value : undefined)) {
    const grants = await azure.grants(question.resourceGroup, signal);
    roles.push(...roleChecks(grants, question, config.azure, who), ...endChecks(grants, question, config.azure, who));
  }
  const [sizes, quotas] = [await azure.sizes(signal), await azure.quotas(signal)];
  return [
    identity,
    ...roles,
    ...('value' in pools ? await linked(azure, pools.value, { config, who, signal }) : []),
    readCheck(sizes, 'Microsoft.Compute/skus/read', config.azure, who),
    readCheck(quotas, 'Microsoft.Compute/locations/usages/read', config.azure, who),
    ...poolChecks(pools, { rules, sizes }, config),
    ...('value' in pools ? [...(await subnets(azure, pools.value, signal)), ...configChecks(config, pools.value)] : []),
    ...quotaChecks(quotas, config.azure),
  ];
}

function roleQuestions({ azure }: Config, pools: PoolsFacts | undefined): readonly RoleQuestion[] {
  const nodes: RoleQuestion = {
    role: 'aks-autoscaler-nodes',
    resourceGroup: azure.nodeResourceGroup,
    actions: NODE_GROUP_ACTIONS,
    ends: [OPERATIONS_READ],
  };
  if (azure.clusterResourceGroup === undefined) return [nodes];
  const throughAks = azure.writePath === 'agentPool' || (pools?.pools.some(({ kind }) => kind === 'VirtualMachines pool') ?? false);
  const actions = throughAks ? [...AGENT_POOL_READ, ...AGENT_POOL_WRITE] : AGENT_POOL_READ;
  const ends = throughAks ? [AKS_OPERATIONS_READ] : [];
  return [nodes, { role: 'aks-autoscaler-pools', resourceGroup: azure.clusterResourceGroup, actions, ends }];
}

async function linked(
  azure: AzureDiagnosis,
  { pools }: PoolsFacts,
  { config, who, signal }: { readonly config: Config; readonly who: string; readonly signal: AbortSignal },
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const resource of linkedResources(pools, config.azure.writePath))
    checks.push(linkedCheck(resource, await azure.grantsOn(resource.armId, signal), who));
  return checks;
}

async function subnets(azure: AzureDiagnosis, { pools }: PoolsFacts, signal: AbortSignal): Promise<readonly Check[]> {
  const ids = new Set(pools.flatMap(({ subnetId }) => subnetId ?? []));
  const checks: Check[] = [];
  for (const id of ids) checks.push(subnetCheck(id, await azure.subnet(id, signal), pools));
  return checks;
}

interface Tools {
  readonly clock: Clock;
  readonly metrics: ReturnType<typeof createMetrics>;
}

async function examineCluster({ kubernetes }: Config, { clock, metrics }: Tools, signal: AbortSignal): Promise<readonly Check[]> {
  const way =
    kubernetes.kubeconfigPath === undefined ? 'kubectl cluster-info' : `kubectl --kubeconfig ${kubernetes.kubeconfigPath} cluster-info`;
  try {
    const cluster = await diagnoseKubernetes(kubernetes, clock, metrics);
    try {
      const version = await cluster.version(signal);
      return [
        ok('kubernetes', `the API server ${cluster.server} answers, version ${version}`),
        ...(await accessChecks(cluster, kubernetes, signal)),
        ...(await budgetChecks(cluster, signal)),
      ];
    } finally {
      await cluster.close();
    }
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return [failed('kubernetes', `the API server does not let us in: ${error.message}`, way)];
  }
}
