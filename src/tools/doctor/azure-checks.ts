/** Makes checks with fixes from what was read of Azure. Pure. */
import type { AutoscaleRule, QuotaUsage, SignedIn, SubnetUsage, ReadResult } from './azure/diagnosis.ts';
import type { DiagnosedPool, DiagnosedPools } from './azure/pool-diagnosis.ts';
import { findSku, retirementWarnings, unavailableReason, type SkuCatalog } from '../../azure/sizes/sku-catalog.ts';
import type { Config } from '../../config/types/config.ts';
import { describeExcessiveMaximum, MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import { shell } from '../../lib/shown-text.ts';
import { failed, ok, skipped, warning, type Check } from './check.ts';

type Azure = Config['azure'];

/** Stands in a command for what is not configured. */
const NODES = 'NODE_RESOURCE_GROUP';

/** @param namespace of the service account in the federated credential. */
export function identityCheck(result: ReadResult<SignedIn>, azure: Azure, namespace: string): Check {
  if ('value' in result) {
    const { clientId, objectId, tenantId } = result.value;
    const principal = clientId === '' ? '' : ` as application ${clientId}, object ${objectId}, tenant ${tenantId}`;
    return ok('identity', `signed in to Azure by ${azure.credential.method}${principal}`);
  }
  // An unreachable sign-in service says nothing about the identity, so a new secret would not help.
  const isUnreachable = result.error.kind === 'unavailable';
  const address = azure.credential.method === 'managed-identity' ? azure.metadataEndpoint : azure.authorityHost;
  return failed('identity', result.error.message, isUnreachable ? shell`curl -v ${address}` : signInFix(azure, namespace));
}

function signInFix(
  { credential, clusterName = 'CLUSTER', clusterResourceGroup = 'CLUSTER_GROUP', nodeResourceGroup = NODES }: Azure,
  namespace: string,
): string {
  switch (credential.method) {
    case 'client-secret':
      return shell`az ad sp credential reset --id ${credential.clientId} --append # and set ARM_CLIENT_SECRET to the password`;
    case 'client-certificate':
      return shell`az ad sp credential reset --id ${credential.clientId} --append --cert @${credential.certificatePath}`;
    case 'workload-identity':
      return (
        'az identity federated-credential create --name aks-autoscaler --identity-name IDENTITY --resource-group IDENTITY_GROUP ' +
        shell`--issuer "$(az aks show -g ${clusterResourceGroup} -n ${clusterName} --query oidcIssuerProfile.issuerUrl -o tsv)" ` +
        shell`--subject system:serviceaccount:${namespace}:aks-autoscaler --audience api://AzureADTokenExchange`
      );
    case 'managed-identity':
      return shell`az vmss identity assign --resource-group ${nodeResourceGroup} --name SCALE_SET --identities ${credential.clientId ?? '[system]'}`;
    case 'azure-cli':
      return 'az login';
  }
}

/** Facts of Azure beside the pools. */
interface PoolEnvironment {
  readonly rules: ReadResult<readonly AutoscaleRule[]>;
  readonly sizes: ReadResult<SkuCatalog>;
}

export function poolChecks(result: ReadResult<DiagnosedPools>, environment: PoolEnvironment, config: Config): readonly Check[] {
  const { azure } = config;
  const { rules } = environment;
  if ('error' in result) return [failed('pool', `the pools cannot be read: ${result.error.message}`)];
  const { pools, skipped: unfit, scaleSets } = result.value;
  const missing =
    pools.length === 0
      ? [failed('pool', `no node group found; scale sets of ${azure.nodeResourceGroup}: ${joinNames(scaleSets)}`, tagCommand(azure))]
      : [];
  return [
    ...missing,
    ...pools.flatMap((pool) => checkPool(pool, environment, azure, scaleSets)),
    ...unfit.map(({ name, reason }) => warning('pool', `scale set ${name} is selected by a rule, but cannot be a node group: ${reason}`)),
    ...(azure.clusterName === undefined ? [skipped('pool', COUNTS_UNKNOWN)] : []),
    ...('error' in rules ? [skipped('pool', `autoscale rules of Azure Monitor cannot be read: ${rules.error.message}`)] : []),
  ];
}

function checkPool(pool: DiagnosedPool, { rules, sizes }: PoolEnvironment, azure: Azure, scaleSets: readonly string[]): readonly Check[] {
  if (!pool.found) {
    return [
      failed(
        'pool',
        `${pool.name} is configured, but does not exist; scale sets of ${azure.nodeResourceGroup}: ${joinNames(scaleSets)}`,
        listFix(azure),
      ),
    ];
  }
  const warnings = [...sizeWarnings(pool, sizes), ...pool.warnings].map((text) => warning('pool', `${pool.name}: ${text}`));
  const checks = [...otherWriterChecks(pool, rules, azure), ...aksCountChecks(pool, azure), ...limitChecks(pool), ...warnings];
  const size = pool.capacity === undefined ? '' : `, now ${pool.capacity}`;
  return checks.length > 0
    ? checks
    : [ok('pool', `${pool.name} is a ${pool.kind} of ${pool.vmSize || 'several sizes'}, ${pool.min} to ${pool.max} nodes${size}`)];
}

/** Why the VM size cannot be bought now, and its retirement date. */
function sizeWarnings({ vmSize, zones, priority }: DiagnosedPool, sizes: ReadResult<SkuCatalog>): readonly string[] {
  const sku = 'value' in sizes ? findSku(sizes.value, vmSize) : undefined;
  const closed = unavailableReason(sku, zones, priority);
  return [...(closed === undefined ? [] : [`increases fail now: ${closed}`]), ...retirementWarnings(sku)];
}

/** Other writers of the pool's size, or a state that forbids changes. */
function otherWriterChecks(pool: DiagnosedPool, rules: ReadResult<readonly AutoscaleRule[]>, azure: Azure): readonly Check[] {
  const checks: Check[] = [];
  // A dry run decides beside it and writes nothing.
  if (pool.managedAutoscaler && !azure.adoptsManagedPools) {
    const { clusterResourceGroup = 'CLUSTER_GROUP', clusterName = 'CLUSTER' } = azure;
    const fix = shell`az aks nodepool update -g ${clusterResourceGroup} --cluster-name ${clusterName} -n ${pool.agentPool ?? 'POOL'} --disable-cluster-autoscaler`;
    checks.push(
      failed(
        'pool',
        `${pool.name}: the AKS cluster autoscaler is enabled on agent pool ${pool.agentPool ?? ''}; both would change its size`,
        fix,
      ),
    );
  } else if (pool.frozen !== undefined) {
    checks.push(warning('pool', `${pool.name} is frozen now, so its size does not change: ${pool.frozen}`));
  }
  for (const rule of 'value' in rules ? rules.value : []) {
    if (!rule.enabled || pool.armId === '' || rule.target.toLowerCase() !== pool.armId.toLowerCase()) continue;
    const fix = shell`az monitor autoscale update -g ${azure.nodeResourceGroup ?? NODES} -n ${rule.name} --enabled false`;
    checks.push(failed('pool', `${pool.name}: the Azure Monitor rule ${rule.name} changes its capacity as well`, fix));
  }
  return checks;
}

const COUNTS_UNKNOWN =
  "AKS's own counts are not compared with the sizes, since azure.clusterName and azure.clusterResourceGroup are not set; an AKS operation sets a pool to its count";

/** AKS's count does not follow writes to the scale set, and every operation of AKS on the pool sets the capacity to it. */
function aksCountChecks({ name, agentPool = 'POOL', aksCount, capacity }: DiagnosedPool, azure: Azure): readonly Check[] {
  if (aksCount === undefined || capacity === undefined || aksCount === capacity) return [];
  const { clusterResourceGroup = 'CLUSTER_GROUP', clusterName = 'CLUSTER' } = azure;
  const effect =
    aksCount < capacity ? `deletes ${capacity - aksCount} nodes without a drain` : `creates ${aksCount - capacity} nodes that no pod needs`;
  const message = `${name}: AKS counts ${aksCount}, the scale set has ${capacity}: the next AKS operation on agent pool ${agentPool} ${effect}`;
  const fix = shell`az aks nodepool scale -g ${clusterResourceGroup} --cluster-name ${clusterName} -n ${agentPool} --node-count ${capacity}`;
  return [warning('pool', message, fix)];
}

function limitChecks({ name, capacity, min, max }: DiagnosedPool): readonly Check[] {
  const checks: Check[] = [];
  if (capacity !== undefined && (capacity < min || capacity > max)) {
    checks.push(warning('pool', `${name} has ${capacity} instances, outside its limits of ${min} to ${max}`));
  }
  if (max > MAX_POOL_NODES) checks.push(warning('pool', `${name}: ${describeExcessiveMaximum(max)}`));
  if (min === max) checks.push(warning('pool', `${name} never changes its size: its minimum and maximum are both ${min}`));
  return checks;
}

function listFix({ nodeResourceGroup = NODES }: Azure): string {
  return shell`az vmss list -g ${nodeResourceGroup} --query "[].name" -o tsv`;
}

/** Azure refuses another range of a subnet with nodes in it as `InUseSubnetCannotBeUpdated` (terraform-provider-azurerm 7687). */
const SUBNET_FIX =
  'lower the maximum of its pools, or use a larger subnet for new ones: Azure does not change the addresses of a subnet in use';

/** Addresses for every pool of the subnet at its maximum. In a flat network, a node takes the addresses of its pods at once. */
export function subnetCheck(id: string, result: ReadResult<SubnetUsage>, pools: readonly DiagnosedPool[]): Check {
  const name = id.split('/').at(-1) ?? id;
  if ('error' in result) return skipped('subnet', `the free addresses of subnet ${name} are unknown: ${result.error.message}`);
  const { addresses, used } = result.value;
  if (addresses === 0) return skipped('subnet', `the free addresses of subnet ${name} are unknown: Azure returned no IPv4 prefix`);
  const here = pools.filter(({ subnetId }) => subnetId?.toLowerCase() === id.toLowerCase());
  const headroom = ({ max, capacity = 0 }: DiagnosedPool): number => Math.max(0, max - capacity);
  const nodes = here.reduce((sum, pool) => sum + headroom(pool), 0);
  const needed = here.reduce((sum, pool) => sum + headroom(pool) * pool.addressesPerNode, 0);
  const free = Math.max(0, addresses - used);
  const demand =
    needed === nodes ? `${nodes} more nodes` : `${nodes} more nodes, which take ${needed} addresses including those of their pods`;
  if (needed <= free) return ok('subnet', `subnet ${name} has ${free} free addresses; its pools may add ${demand}`);
  const message = `subnet ${name} has ${free} free addresses, but its pools may add ${demand}`;
  return warning('subnet', message, SUBNET_FIX);
}

/** From this share on, a quota is reported. */
const NEARLY_FULL = 0.9;

/** Quotas of the region that are full or nearly full. */
export function quotaChecks(result: ReadResult<readonly QuotaUsage[]>, azure: Azure): readonly Check[] {
  if ('error' in result) return [];
  const full = result.value.filter(({ used, limit, name }) => used > 0 && used >= limit * NEARLY_FULL && /cores$|family$/i.test(name));
  if (full.length === 0) return [ok('quota', `no vCPU quota in ${azure.location} is nearly full`)];
  return full.map(({ name, used, limit }) =>
    warning(
      'quota',
      `quota ${name} in ${azure.location}: ${used} of ${limit} vCPUs used`,
      shell`az quota update --resource-name ${name} --scope /subscriptions/${azure.subscriptionId ?? 'SUBSCRIPTION'}/providers/Microsoft.Compute/locations/${azure.location ?? 'LOCATION'} --limit-object value=${limit * 2}`,
    ),
  );
}

/** Adds tags to a scale set. `az vmss update --set` refuses a value that is a number or a boolean (az 2.91). */
export function tagScaleSetCommand(resourceGroup: string, tags: readonly string[]): string {
  return shell`az tag update --operation merge --tags ${tags} --resource-id "$(az vmss show -g ${resourceGroup} -n SCALE_SET --query id -o tsv)"`;
}

/** Tags a pool so that the first rule selects it. AKS copies a pool's tags to its scale set. undefined: there is no rule. */
function tagCommand({ discovery, clusterName, clusterResourceGroup, nodeResourceGroup = NODES }: Azure): string | undefined {
  const [rule] = discovery;
  if (rule === undefined) return undefined;
  const tags = [...rule.selectors.map(({ key, value }) => `${key}=${value}`), 'min=1', 'max=10'];
  return clusterName === undefined || clusterResourceGroup === undefined
    ? tagScaleSetCommand(nodeResourceGroup, tags)
    : shell`az aks nodepool update -g ${clusterResourceGroup} --cluster-name ${clusterName} -n POOL --tags ${tags} # and its present tags, which --tags replaces`;
}

function joinNames(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}
