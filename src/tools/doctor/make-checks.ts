/** Makes all checks in order. A check that cannot be made affects only itself and the checks that depend on it. */
import { diagnoseAzure, type AzureDiagnosis } from './azure/diagnosis.ts';
import { findSubscriptionAndRegion } from '../../azure/instance-metadata.ts';
import type { DiagnosedPools } from './azure/pool-diagnosis.ts';
import { diagnoseKubernetes } from '../../kubernetes/diagnosis.ts';
import type { Config } from '../../config/types/config.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { shell } from '../../lib/shown-text.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { identityCheck, poolChecks, quotaChecks, subnetCheck } from './azure-checks.ts';
import { failed, ok, type Check } from './check.ts';
import { accessChecks, budgetChecks, configChecks, deviceChecks, sickNodeChecks } from './cluster-checks.ts';
import {
  activityLogCheck,
  AGENT_POOL_READ,
  AGENT_POOL_WRITE,
  MAINTENANCE_READ,
  AKS_OPERATIONS_READ,
  reimageCheck,
  resultReadChecks,
  linkedCheck,
  linkedResources,
  NODE_GROUP_ACTIONS,
  START_MACHINE_ACTION,
  STOP_ACTIONS,
  OPERATIONS_READ,
  placementCheck,
  reservationCheck,
  subscriptionReadCheck,
  roleChecks,
  type RequiredActions,
} from './role-checks.ts';
import { priceChecks } from './price-check.ts';
import { storeChecks } from './store-check.ts';

/** Reads only. @throws AutoscalerError `cancelled`, and nothing else. */
export async function makeChecks(config: Config, clock: Clock, signal: AbortSignal): Promise<readonly Check[]> {
  const deps: CheckDeps = { clock, metrics: createMetrics() };
  const connected = await connectAzure(config, deps, signal);
  const azure: CheckedAzure =
    typeof connected === 'string' ? { checks: [failed('identity', connected)], pools: [] } : await checkAzure(connected, clock, signal);
  const found = typeof connected === 'string' ? config : connected.config;
  return [...azure.checks, ...(await storeChecks(found, clock, signal)), ...(await checkCluster(config, azure.pools, deps, signal))];
}

/** Completes subscription and region from instance metadata and creates the clients. @returns the reason if that fails. */
async function connectAzure(config: Config, { clock, metrics }: CheckDeps, signal: AbortSignal): Promise<ConnectedAzure | string> {
  const { metadataEndpoint: endpoint } = config.azure;
  try {
    const azure = { ...config.azure, ...(await findSubscriptionAndRegion(config.azure, { endpoint, clock, signal })) };
    return { config: { ...config, azure }, azure: diagnoseAzure({ options: azure, clock, metrics }) };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return error.message;
  }
}

interface ConnectedAzure {
  readonly config: Config;
  readonly azure: AzureDiagnosis;
}

interface CheckedAzure {
  readonly checks: readonly Check[];
  /** Empty if they could not be read. */
  readonly pools: DiagnosedPools['pools'];
}

async function checkAzure({ config, azure }: ConnectedAzure, clock: Clock, signal: AbortSignal): Promise<CheckedAzure> {
  const signedIn = await azure.signIn(signal);
  const identity = identityCheck(signedIn, config.azure, config.kubernetes.namespace);
  // Every other read would fail with the same error.
  if ('error' in signedIn) return { checks: [identity], pools: [] };
  const { objectId } = signedIn.value;
  const [pools, rules] = [await azure.pools(signal), await azure.autoscaleRules(signal)];
  const roles: Check[] = [];
  for (const required of requiredActions(config, 'value' in pools ? pools.value : undefined)) {
    const grants = await azure.grants(required.resourceGroup, signal);
    roles.push(...roleChecks(grants, required, config.azure, objectId), ...resultReadChecks(grants, required, config.azure, objectId));
    if (required.role === 'nodes') roles.push(...reimageCheck(grants, required, config.azure, objectId));
    // Writes of pools that are written through AKS are in the log of the cluster's group.
    if (required.role !== 'pools-read') roles.push(...activityLogCheck(grants, required, config.azure, objectId));
  }
  const [sizes, quotas] = [await azure.sizes(signal), await azure.quotas(signal)];
  const checks = [
    identity,
    ...roles,
    ...('value' in pools ? await linkedChecks(azure, pools.value, { config, objectId, signal }) : []),
    subscriptionReadCheck(sizes, 'Microsoft.Compute/skus/read', config.azure, objectId),
    subscriptionReadCheck(quotas, 'Microsoft.Compute/locations/usages/read', config.azure, objectId),
    ...('value' in pools ? await placementChecks(azure, pools.value, { config, objectId, signal }) : []),
    ...poolChecks(pools, { rules, sizes }, config),
    ...('value' in pools ? [...(await subnetChecks(azure, pools.value, signal)), ...configChecks(config, pools.value)] : []),
    ...quotaChecks(quotas, config.azure),
    ...('value' in pools ? await priceChecks(config.azure, pools.value, clock, signal) : []),
  ];
  return { checks, pools: 'value' in pools ? pools.value.pools : [] };
}

/** Whether documents of agent pools are written although every group is a scale set. */
function writesAgentPools({ azure }: Config): boolean {
  return azure.writePath === 'agentPool' || azure.syncAgentPoolCount;
}

/** Whether removals of a pool keep out of the hours of AKS or to them. */
function heedsMaintenance({ azure: { schedules, nodeGroupOptions } }: Config): boolean {
  const stated = nodeGroupOptions.map(({ options }) => options.maintenance);
  return [schedules.maintenance, ...stated].some((use) => use !== undefined && use !== 'ignore');
}

/** Tags of pools can turn it on, too: then Azure's refusal is all that shows a missing action. */
function mayDeallocate({ azure }: Config): boolean {
  return azure.deallocate || azure.nodeGroupOptions.some(({ options }) => options.deallocate === true);
}

function requiredActions(config: Config, pools: DiagnosedPools | undefined): readonly RequiredActions[] {
  const { azure } = config;
  const hasMachines = pools?.pools.some(({ kind }) => kind === 'VirtualMachines pool') ?? false;
  const stops = mayDeallocate(config) ? [...STOP_ACTIONS, ...(hasMachines ? [START_MACHINE_ACTION] : [])] : [];
  const nodes: RequiredActions = {
    role: 'nodes',
    resourceGroup: azure.nodeResourceGroup ?? '',
    actions: [...NODE_GROUP_ACTIONS, ...stops],
    resultReads: [OPERATIONS_READ],
  };
  if (azure.clusterResourceGroup === undefined) return [nodes];
  const throughAks = writesAgentPools(config) || hasMachines;
  const actions = [...AGENT_POOL_READ, ...(throughAks ? AGENT_POOL_WRITE : []), ...(heedsMaintenance(config) ? MAINTENANCE_READ : [])];
  const resultReads = throughAks ? [AKS_OPERATIONS_READ] : [];
  return [nodes, { role: throughAks ? 'pools' : 'pools-read', resourceGroup: azure.clusterResourceGroup, actions, resultReads }];
}

async function linkedChecks(
  azure: AzureDiagnosis,
  { pools }: DiagnosedPools,
  { config, objectId, signal }: { readonly config: Config; readonly objectId: string; readonly signal: AbortSignal },
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const resource of linkedResources(pools, writesAgentPools(config)))
    checks.push(linkedCheck(resource, await azure.grantsOn(resource.armId, signal), objectId));
  for (const id of new Set(pools.flatMap(({ reservationGroup }) => reservationGroup ?? [])))
    checks.push(reservationCheck(id, await azure.grantsOn(id, signal), config.azure, objectId));
  return checks;
}

async function placementChecks(
  azure: AzureDiagnosis,
  { pools }: DiagnosedPools,
  { config, objectId, signal }: { readonly config: Config; readonly objectId: string; readonly signal: AbortSignal },
): Promise<readonly Check[]> {
  const spot = config.azure.placementScores ? pools.find(({ found, priority }) => found && priority === 'Spot') : undefined;
  if (spot === undefined) return [];
  const { vmSize, zones } = spot;
  return [placementCheck(vmSize, await azure.placementScores({ vmSize, isZonal: zones.length > 0 }, signal), config.azure, objectId)];
}

async function subnetChecks(azure: AzureDiagnosis, { pools }: DiagnosedPools, signal: AbortSignal): Promise<readonly Check[]> {
  const ids = new Set(pools.flatMap(({ subnetId }) => subnetId ?? []));
  const checks: Check[] = [];
  for (const id of ids) checks.push(subnetCheck(id, await azure.subnet(id, signal), pools));
  return checks;
}

interface CheckDeps {
  readonly clock: Clock;
  readonly metrics: ReturnType<typeof createMetrics>;
}

async function checkCluster(
  { azure, kubernetes, policy }: Config,
  pools: DiagnosedPools['pools'],
  { clock, metrics }: CheckDeps,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const fix =
    kubernetes.kubeconfigPath === undefined
      ? 'kubectl cluster-info'
      : shell`kubectl --kubeconfig ${kubernetes.kubeconfigPath} cluster-info`;
  try {
    const cluster = await diagnoseKubernetes(kubernetes, clock, metrics);
    try {
      const version = await cluster.version(signal);
      return [
        ok('kubernetes', `connected to the API server ${cluster.server}, version ${version}`),
        ...(await accessChecks(cluster, { kubernetes, policy }, signal)),
        ...(await budgetChecks(cluster, signal)),
        ...(await sickNodeChecks(cluster, azure, signal)),
        ...(await deviceChecks(cluster, pools, signal)),
      ];
    } finally {
      await cluster.close();
    }
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return [failed('kubernetes', `cannot connect to the API server: ${error.message}`, fix)];
  }
}
