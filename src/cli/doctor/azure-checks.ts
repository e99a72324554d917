/** From what Azure told to checks with their fixes. Pure. */
import type { AutoscaleRule, QuotaFacts, RoleGrant, SignedIn, SubnetFacts, Told } from '../../azure/doctor/diagnosis.ts';
import type { PoolFacts, PoolsFacts } from '../../azure/doctor/pool-diagnosis.ts';
import { findSku, retirementOf, unavailableBecause, type SkuCatalog } from '../../azure/sizes/sku-catalog.ts';
import type { Config } from '../../config/types/config.ts';
import { failed, ok, skipped, warning, type Check } from './check.ts';

type Azure = Config['azure'];

/** `namespace` is where the service account of the federated credential is. */
export function identityCheck(told: Told<SignedIn>, azure: Azure, namespace: string): Check {
  if ('value' in told) {
    const { clientId, objectId, tenantId } = told.value;
    const who = clientId === '' ? '' : ` as application ${clientId}, object ${objectId}, tenant ${tenantId}`;
    return ok('identity', `signed in to Azure by ${azure.credential.method}${who}`);
  }
  // Nobody said that the identity is wrong: a new secret would help nobody.
  const isUnreachable = told.error.kind === 'unavailable';
  const address = azure.credential.method === 'managed-identity' ? azure.metadataEndpoint : azure.authorityHost;
  return failed('identity', told.error.message, isUnreachable ? `curl -v ${address}` : signInFix(azure, namespace));
}

function signInFix(
  { credential, clusterName = 'CLUSTER', clusterResourceGroup = 'CLUSTER_GROUP', nodeResourceGroup }: Azure,
  namespace: string,
): string {
  switch (credential.method) {
    case 'client-secret':
      return `az ad sp credential reset --id ${credential.clientId} --append, then give the password as ARM_CLIENT_SECRET`;
    case 'client-certificate':
      return `az ad sp credential reset --id ${credential.clientId} --append --cert @${credential.certificatePath}`;
    case 'workload-identity':
      return (
        `az identity federated-credential create --name aks-autoscaler --identity-name IDENTITY --resource-group IDENTITY_GROUP ` +
        `--issuer "$(az aks show -g ${clusterResourceGroup} -n ${clusterName} --query oidcIssuerProfile.issuerUrl -o tsv)" ` +
        `--subject system:serviceaccount:${namespace}:aks-autoscaler --audience api://AzureADTokenExchange`
      );
    case 'managed-identity':
      return `az vmss identity assign --resource-group ${nodeResourceGroup} --name SCALE_SET --identities ${credential.clientId ?? '[system]'}`;
    case 'azure-cli':
      return 'az login';
  }
}

const COMPUTE = 'Microsoft.Compute';
const SETS = `${COMPUTE}/virtualMachineScaleSets`;
/** What is done to scale sets and their machines. */
export const NODE_GROUP_ACTIONS: readonly string[] = [
  `${SETS}/read`,
  `${SETS}/instanceView/read`,
  `${SETS}/write`,
  `${SETS}/delete/action`,
  `${SETS}/virtualMachines/read`,
  `${COMPUTE}/virtualMachines/read`,
];
const AGENT_POOLS = 'Microsoft.ContainerService/managedClusters/agentPools';
export const AGENT_POOL_READ: readonly string[] = [`${AGENT_POOLS}/read`];
/** For pools that are changed through AKS. */
export const AGENT_POOL_WRITE: readonly string[] = [`${AGENT_POOLS}/write`, `${AGENT_POOLS}/deleteMachines/action`];

/** Operations are documents of the subscription. */
export const OPERATIONS_READ = `${COMPUTE}/locations/operations/read`;
export const AKS_OPERATIONS_READ = 'Microsoft.ContainerService/locations/operations/read';

/** The custom roles that deploy/azure-role-*.json define, by the scope that each is assigned on. */
export type RoleName = 'aks-autoscaler-nodes' | 'aks-autoscaler-pools' | 'aks-autoscaler-subscription';

export interface RoleQuestion {
  readonly role: RoleName;
  readonly resourceGroup: string;
  readonly actions: readonly string[];
  /** To read how writes ended; of the subscription. */
  readonly ends: readonly string[];
}

/** One line per action. `who` is the object id, as `az` wants it. */
export function roleChecks(
  told: Told<readonly RoleGrant[]>,
  { role, resourceGroup, actions }: RoleQuestion,
  azure: Azure,
  who: string,
): readonly Check[] {
  const scope = `/subscriptions/${azure.subscriptionId}/resourceGroups/${resourceGroup}`;
  if ('error' in told) {
    return [
      failed(
        'role',
        `the permissions on resource group ${resourceGroup} cannot be read: ${told.error.message}`,
        assignment(role, who, scope),
      ),
    ];
  }
  return actions.map((action) =>
    isGranted(told.value, action)
      ? ok('role', `${action} is allowed on resource group ${resourceGroup}`)
      : failed('role', `${action} is not allowed on resource group ${resourceGroup}`, assignment(role, who, scope)),
  );
}

function assignment(role: RoleName, who: string, scope: string): string {
  return `az role assignment create --assignee-object-id ${who === '' ? 'OBJECT_ID' : who} --role ${role} --scope ${scope}`;
}

/** Reads of the whole subscription: asked for by doing them. */
export function readCheck(told: Told<unknown>, action: string, azure: Azure, who: string): Check {
  if ('value' in told) return ok('role', `${action} is allowed on the subscription`);
  const message = `${action} failed on the subscription, so that sizes and quotas are not known: ${told.error.message}`;
  return warning('role', message, assignment('aks-autoscaler-subscription', who, `/subscriptions/${azure.subscriptionId}`));
}

/**
 * How a write ended is read at the subscription. What a resource group inherits tells whether a role grants it anywhere above;
 * one that is assigned on the group alone looks the same, and is not enough.
 */
export function endChecks(told: Told<readonly RoleGrant[]>, { ends }: RoleQuestion, azure: Azure, who: string): readonly Check[] {
  // That they cannot be read is said already.
  if ('error' in told) return [];
  const fix = assignment('aks-autoscaler-subscription', who, `/subscriptions/${azure.subscriptionId}`);
  return ends.map((action) =>
    isGranted(told.value, action)
      ? ok('role', `${action} is allowed`)
      : warning('role', `${action} is not allowed, so that how a write ended is not known and a shortage is seen late`, fix),
  );
}

/** Patterns are compared without case; what one grant takes back, another may still give. */
export function isGranted(grants: readonly RoleGrant[], action: string): boolean {
  const covers = (pattern: string): boolean => {
    const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
  };
  return grants.some(({ actions, notActions }) => actions.some(covers) && !notActions.some(covers));
}

/** What stands around the pools. */
export interface Surroundings {
  readonly rules: Told<readonly AutoscaleRule[]>;
  readonly sizes: Told<SkuCatalog>;
}

export function poolChecks(told: Told<PoolsFacts>, around: Surroundings, config: Config): readonly Check[] {
  const { azure } = config;
  const { rules } = around;
  if ('error' in told) return [failed('pool', `the pools cannot be read: ${told.error.message}`)];
  const { pools, skipped: unfit, scaleSets } = told.value;
  const none =
    pools.length === 0 ? [failed('pool', `there is no node group; scale sets of ${azure.nodeResourceGroup}: ${listed(scaleSets)}`)] : [];
  return [
    ...none,
    ...pools.flatMap((pool) => onePool(pool, around, azure, scaleSets)),
    ...unfit.map(({ name, reason }) => warning('pool', `scale set ${name} is selected by a rule and cannot be a node group: ${reason}`)),
    ...('error' in rules ? [skipped('pool', `autoscale rules of Azure Monitor cannot be read: ${rules.error.message}`)] : []),
  ];
}

function onePool(pool: PoolFacts, { rules, sizes }: Surroundings, azure: Azure, scaleSets: readonly string[]): readonly Check[] {
  if (!pool.found) {
    return [
      failed(
        'pool',
        `${pool.name} is configured and not there; scale sets of ${azure.nodeResourceGroup}: ${listed(scaleSets)}`,
        listFix(azure),
      ),
    ];
  }
  const cautions = [...ofTheSize(pool, sizes), ...pool.cautions].map((caution) => warning('pool', `${pool.name}: ${caution}`));
  const checks = [...whoElse(pool, rules, azure), ...limits(pool), ...cautions];
  const size = pool.capacity === undefined ? '' : `, now ${pool.capacity}`;
  return checks.length > 0
    ? checks
    : [ok('pool', `${pool.name} is a ${pool.kind} of ${pool.vmSize || 'several sizes'}, ${pool.min} to ${pool.max}${size}`)];
}

/** Why it cannot grow, and until when its size is sold. */
function ofTheSize({ vmSize, zones, priority }: PoolFacts, sizes: Told<SkuCatalog>): readonly string[] {
  const sku = 'value' in sizes ? findSku(sizes.value, vmSize) : undefined;
  const closed = unavailableBecause(sku, zones, priority);
  return [...(closed === undefined ? [] : [`it cannot grow now: ${closed}`]), ...retirementOf(sku)];
}

/** Others that change the pool's size, or a state in which nobody may. */
function whoElse(pool: PoolFacts, rules: Told<readonly AutoscaleRule[]>, azure: Azure): readonly Check[] {
  const checks: Check[] = [];
  if (pool.managedAutoscaler) {
    const { clusterResourceGroup = 'CLUSTER_GROUP', clusterName = 'CLUSTER' } = azure;
    const fix = `az aks nodepool update -g ${clusterResourceGroup} --cluster-name ${clusterName} -n ${pool.agentPool ?? 'POOL'} --disable-cluster-autoscaler`;
    checks.push(
      failed('pool', `${pool.name}: AKS runs its own autoscaler over agent pool ${pool.agentPool ?? ''}, and two would fight`, fix),
    );
  } else if (pool.frozen !== undefined) {
    checks.push(warning('pool', `${pool.name} is neither grown nor shrunk now: ${pool.frozen}`));
  }
  for (const rule of 'value' in rules ? rules.value : []) {
    if (!rule.enabled || pool.armId === '' || rule.target.toLowerCase() !== pool.armId.toLowerCase()) continue;
    const fix = `az monitor autoscale update -g ${azure.nodeResourceGroup} -n ${rule.name} --enabled false`;
    checks.push(failed('pool', `${pool.name}: the autoscale rule ${rule.name} of Azure Monitor changes its capacity too`, fix));
  }
  return checks;
}

function limits({ name, capacity, min, max }: PoolFacts): readonly Check[] {
  const checks: Check[] = [];
  if (capacity !== undefined && (capacity < min || capacity > max)) {
    checks.push(warning('pool', `${name} has ${capacity} machines, outside its limits of ${min} to ${max}`));
  }
  if (min === max) checks.push(warning('pool', `${name} can never change: its minimum and maximum are both ${min}`));
  return checks;
}

function listFix({ nodeResourceGroup }: Azure): string {
  return `az vmss list -g ${nodeResourceGroup} --query "[].name" -o tsv`;
}

/** Room for every pool of the subnet at its maximum, with the addresses that pods get beforehand where the network is flat. */
export function subnetCheck(id: string, told: Told<SubnetFacts>, pools: readonly PoolFacts[]): Check {
  const name = id.split('/').at(-1) ?? id;
  if ('error' in told) return skipped('subnet', `the room of subnet ${name} is not known: ${told.error.message}`);
  const { addresses, used } = told.value;
  if (addresses === 0) return skipped('subnet', `the room of subnet ${name} is not known: Azure told no IPv4 prefix`);
  const here = pools.filter(({ subnetId }) => subnetId?.toLowerCase() === id.toLowerCase());
  const more = ({ max, capacity = 0 }: PoolFacts): number => Math.max(0, max - capacity);
  const nodes = here.reduce((sum, pool) => sum + more(pool), 0);
  const wanted = here.reduce((sum, pool) => sum + more(pool) * pool.addressesPerNode, 0);
  const free = Math.max(0, addresses - used);
  const asked = wanted === nodes ? `${nodes} more nodes` : `${nodes} more nodes, which take ${wanted} addresses with those of their pods`;
  if (wanted <= free) return ok('subnet', `subnet ${name} has ${free} free addresses; its pools may ask for ${asked}`);
  const message = `subnet ${name} has ${free} free addresses, and its pools may ask for ${asked}`;
  return warning('subnet', message, `az network vnet subnet update --ids ${id} --address-prefixes WIDER_PREFIX`);
}

const NEARLY = 0.9;

/** Quotas of the region that are used up, or nearly. Which pool draws on which is the daemon's business. */
export function quotaChecks(told: Told<readonly QuotaFacts[]>, azure: Azure): readonly Check[] {
  if ('error' in told) return [];
  const tight = told.value.filter(({ used, limit, name }) => used > 0 && used >= limit * NEARLY && /cores$|family$/i.test(name));
  if (tight.length === 0) return [ok('quota', `no quota of cores in ${azure.location} is used up`)];
  return tight.map(({ name, used, limit }) =>
    warning(
      'quota',
      `quota ${name} in ${azure.location} is at ${used} of ${limit} cores`,
      `az quota update --resource-name ${name} --scope /subscriptions/${azure.subscriptionId}/providers/Microsoft.Compute/locations/${azure.location} --limit-object value=${limit * 2}`,
    ),
  );
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

// Rights on what scale sets stand on. Azure asks for them where a write names a subnet or an identity, and refuses with
// `LinkedAuthorizationFailed`. A write of the capacity alone names neither; that of an agent pool names its subnet.

export interface LinkedResource {
  readonly armId: string;
  readonly action: string;
  /** A built-in role that has the action. */
  readonly role: string;
  /** Writes of the daemon name it. */
  readonly isNamed: boolean;
}

/** Subnets and identities of these pools, each once. */
export function linkedResources(pools: readonly PoolFacts[], writePath: Config['azure']['writePath']): readonly LinkedResource[] {
  const subnets = unique(pools.flatMap(({ subnetId }) => subnetId ?? []));
  const identities = unique(pools.flatMap(({ identityIds }) => identityIds));
  return [
    ...subnets.map((armId) => ({
      armId,
      action: 'Microsoft.Network/virtualNetworks/subnets/join/action',
      role: 'Network Contributor',
      isNamed: writePath === 'agentPool',
    })),
    ...identities.map((armId) => ({
      armId,
      action: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
      role: 'Managed Identity Operator',
      isNamed: false,
    })),
  ];
}

/** Ids are compared without case. */
function unique(ids: readonly string[]): readonly string[] {
  return [...new Map(ids.map((id) => [id.toLowerCase(), id])).values()];
}

/** `who` is the object id, as `az` wants it. */
export function linkedCheck({ armId, action, role, isNamed }: LinkedResource, told: Told<readonly RoleGrant[]>, who: string): Check {
  const name = armId.split('/').slice(-2).join('/');
  if ('error' in told) return skipped('role', `whether ${action} is allowed on ${name} is not known: ${told.error.message}`);
  if (isGranted(told.value, action)) return ok('role', `${action} is allowed on ${name}`);
  const assignee = who === '' ? 'OBJECT_ID' : who;
  const fix = `az role assignment create --assignee-object-id ${assignee} --role "${role}" --scope ${armId}`;
  const refusal = `${action} is not allowed on ${name}`;
  if (isNamed) return warning('role', `${refusal}, and writes of agent pools name it: Azure may answer LinkedAuthorizationFailed`, fix);
  return skipped('role', `${refusal}: not needed, unless Azure answers a write with LinkedAuthorizationFailed; then: ${fix}`);
}
