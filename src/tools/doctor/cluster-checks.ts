/** Checks of the cluster: permissions (decided by its own authorizer), disruption budgets, and rules that match nothing. */
import type { DiagnosedPool, DiagnosedPools } from './azure/pool-diagnosis.ts';
import { ruleFindings } from '../../azure/groups/group-schedules.ts';
import type { KubernetesConfig, Config } from '../../config/types/config.ts';
import { declarationOf, describeUndeclared } from '../../domain/declared-devices.ts';
import type { DevicePool } from '../../domain/devices.ts';
import type { Access, KubernetesDiagnosis } from '../../kubernetes/diagnosis.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { shell } from '../../lib/shown-text.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import { tagScaleSetCommand } from './azure-checks.ts';
import { failed, ok, skipped, warning, type Check } from './check.ts';
import {
  AUTOSCALERS_RULE,
  CLUSTER_RULES,
  LEASE_NAME,
  NAMESPACE_RULES,
  NOMINATIONS_RULE,
  POD_DRY_RUN_RULE,
  SERVICES_RULE,
  type Rule,
} from './required-access.ts';

/** ConfigMaps of the daemon have names that begin with the lease's. */
const DEFAULT_PREFIX = new RegExp(`^${LEASE_NAME}-`);

/** Every access that the daemon needs, with the configured names and namespaces of leases and ConfigMaps. */
export function requiredAccesses(
  config: Pick<KubernetesConfig, 'namespace' | 'leaseName' | 'configMapPrefix' | 'leaseNamespace' | 'statusConfigMapName'>,
): readonly Access[] {
  const own = expand(NAMESPACE_RULES, config.namespace).map((access) => {
    if (access.name === STATUS_NAME) return { ...access, name: config.statusConfigMapName };
    if (access.resource !== 'leases') return { ...access, name: access.name.replace(DEFAULT_PREFIX, `${config.configMapPrefix}-`) };
    return { ...access, namespace: config.leaseNamespace, name: access.verb === 'create' ? '' : config.leaseName };
  });
  return [...expand(CLUSTER_RULES, ''), ...own];
}

function expand(rules: readonly Rule[], namespace: string): readonly Access[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((path) =>
        verbs.flatMap((verb) =>
          resourceNames.map((name) => {
            const [resource = '', subresource = ''] = path.split('/');
            return { verb, group, resource, subresource, namespace, name };
          }),
        ),
      ),
    ),
  );
}

/** One check per missing access, or one for all if none is missing. */
export async function accessChecks(
  diagnosis: KubernetesDiagnosis,
  { kubernetes, policy }: Pick<Config, 'kubernetes' | 'policy'>,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const more = [
    ...(policy.capacity.podDryRun ? [POD_DRY_RUN_RULE] : []),
    ...(kubernetes.spreadDefaults.size > 0 ? [SERVICES_RULE] : []),
    ...(policy.scaleUp.nominateNodes ? [NOMINATIONS_RULE] : []),
    ...(policy.cluster.verticalPodAutoscalers ? [AUTOSCALERS_RULE] : []),
  ];
  const accesses = [...requiredAccesses(kubernetes), ...expand(more, '')];
  try {
    const allowed: boolean[] = [];
    for (const access of accesses) allowed.push(await diagnosis.mayI(access, signal));
    const missing = accesses.filter((_, index) => allowed[index] !== true);
    if (missing.length === 0) return [ok('rbac', `all ${accesses.length} permissions that the autoscaler needs are granted`)];
    return missing.map((access) =>
      failed('rbac', `missing permission: ${describeAccess(access)}`, permissionFix(access, kubernetes.namespace)),
    );
  } catch (thrown) {
    return [failed('rbac', `permissions cannot be checked: ${asAutoscalerError(thrown).message}`)];
  }
}

function describeAccess({ verb, group, resource, subresource, namespace, name }: Access): string {
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` ${name}`}`;
  return `${verb} ${what}${namespace === '' ? '' : ` in ${namespace}`}`;
}

function permissionFix({ verb, group, resource, subresource, namespace, name }: Access, own: string): string {
  const what = `${resource}${group === '' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
  const kind = namespace === '' ? 'clusterrole' : shell`role -n ${namespace}`;
  const role = `aks-autoscaler-${verb}-${resource}${subresource === '' ? '' : `-${subresource}`}`;
  const only = name === '' ? '' : shell` --resource-name=${name}`;
  const binding =
    namespace === '' ? shell`clusterrolebinding ${role} --clusterrole=${role}` : shell`rolebinding -n ${namespace} ${role} --role=${role}`;
  const rights = shell`${role} --verb=${verb} --resource=${what}`;
  const account = shell`--serviceaccount=${own}:aks-autoscaler`;
  return ['kubectl create', kind, `${rights}${only}`, '&& kubectl create', binding, account].join(' ');
}

/** Warnings only: such a budget makes nodes unremovable, which may be intended. */
export async function budgetChecks(diagnosis: KubernetesDiagnosis, signal: AbortSignal): Promise<readonly Check[]> {
  try {
    const stuck = await diagnosis.stuckBudgets(signal);
    if (stuck.length === 0) return [ok('budget', 'every disruption budget can allow an eviction')];
    return stuck.map(({ namespace, name, reason }) =>
      warning(
        'budget',
        `the disruption budget ${namespace}/${name} never allows an eviction (${reason}); nodes with its pods are unremovable; with the fix, one of its pods may be unavailable at any time`,
        shell`kubectl -n ${namespace} patch pdb ${name} --type=merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'`,
      ),
    );
  } catch (thrown) {
    return [skipped('budget', `disruption budgets cannot be read: ${asAutoscalerError(thrown).message}`)];
  }
}

/** Rules about sick nodes whose conditions no node carries. Sends no call where there are no such rules. */
export async function sickNodeChecks(
  diagnosis: KubernetesDiagnosis,
  { nodeGroupOptions }: Pick<Config['azure'], 'nodeGroupOptions'>,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const ruled = nodeGroupOptions.filter(({ options }) => (options.sickNodes?.conditions ?? []).length > 0);
  if (ruled.length === 0) return [];
  try {
    const byPool = await diagnosis.conditionTypes(signal);
    return ruled.flatMap(({ name, options }) => {
      const present = byPool.get(name);
      if (present === undefined) return [];
      const named = [...new Set((options.sickNodes?.conditions ?? []).map(({ type }) => type))];
      const missing = named.filter((type) => !present.has(type));
      if (missing.length === 0) return [ok('config', `nodes of ${name} carry every condition of the rules about sick nodes`)];
      const who = 'The node problem detector writes a condition also while all is well; AKS runs it on its Linux nodes';
      const message = `no node of ${name} carries ${missing.join(', ')}, which rules about sick nodes name: they cannot find such a node. ${who}`;
      return [
        warning(
          'config',
          message,
          shell`kubectl get nodes -l kubernetes.azure.com/agentpool=${name} -o 'jsonpath={.items[*].status.conditions[*].type}'`,
        ),
      ];
    });
  } catch (thrown) {
    return [skipped('config', `conditions of nodes cannot be read: ${asAutoscalerError(thrown).message}`)];
  }
}

/** Devices that are declared for pools, against what nodes of the pool publish. Sends no call where none are declared. */
export async function deviceChecks(
  diagnosis: Pick<KubernetesDiagnosis, 'publishedDevices'>,
  pools: readonly Pick<DiagnosedPool, 'name' | 'agentPool' | 'devices'>[],
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const declaring = pools.flatMap(({ name, agentPool = name, devices }) => (devices === undefined ? [] : [{ agentPool, devices }]));
  if (declaring.length === 0) return [];
  try {
    const published = await diagnosis.publishedDevices(signal);
    return [...Map.groupBy(declaring, ({ agentPool }) => agentPool)].map(([pool, sizes]) =>
      deviceCheck(
        pool,
        sizes.map(({ devices }) => devices),
        published.get(pool) ?? new Map(),
      ),
    );
  } catch (thrown) {
    return [skipped('config', `devices of nodes cannot be read: ${asAutoscalerError(thrown).message}`)];
  }
}

/**
 * The first node that publishes others decides; a node without devices may be starting. `sizes` has what is declared for each size of the pool,
 * and a node may be of any.
 */
function deviceCheck(pool: string, sizes: readonly (readonly DevicePool[])[], nodes: ReadonlyMap<string, readonly DevicePool[]>): Check {
  const shown = [...nodes].filter(([, pools]) => pools.length > 0);
  const [declared = []] = sizes;
  const drivers = [...new Set(sizes.flat().map(({ driver }) => driver))].join(', ');
  const [silent] = nodes.keys();
  if (silent === undefined) return ok('config', `devices of ${drivers} are declared for ${pool}, which has no node to compare them with`);
  if (shown.length === 0) {
    const found = `devices of ${drivers} are declared for ${pool}, and none of its ${nodes.size} nodes publishes any`;
    return warning('config', `${found}: once the newest has had its time to start, no further node is requested for them`, lookAt(silent));
  }
  for (const [node, real] of shown) {
    const differences = sizes.map((size) => describeUndeclared(size, real));
    const [difference] = differences;
    if (difference === undefined || differences.includes(undefined)) continue;
    const devices = JSON.stringify(declarationOf(declared, real));
    const instead = `Write this under the pool's nodeGroupOptions, which wins over a tag: devices: ${devices}`;
    return warning(
      'config',
      `devices that are declared for ${pool} differ from those of node ${node}: ${difference}. ${instead}`,
      lookAt(node),
    );
  }
  return ok('config', `the devices that are declared for ${pool} are those that its nodes publish`);
}

function lookAt(node: string): string {
  return shell`kubectl get resourceslices --field-selector spec.nodeName=${node} -o yaml`;
}

/** Rules of the configuration that match nothing. Pure. */
export function configChecks(
  { azure, policy, warnings }: Config,
  { pools, idleRules, unusedOptionNames }: DiagnosedPools,
): readonly Check[] {
  const checks = [
    ...idleRules.map((index) => {
      const tags = (azure.discovery[index]?.selectors ?? []).map(({ key, value }) => `${key}=${value}`);
      const fix = tagScaleSetCommand(azure.nodeResourceGroup ?? 'NODE_RESOURCE_GROUP', tags);
      return warning('config', `discovery[${index}] (${tags.join(',')}) selects no scale set of ${azure.nodeResourceGroup}`, fix);
    }),
    ...unusedOptionNames.map((name) => warning('config', `nodeGroupOptions: node group ${name} not found; node groups: ${namesIn(pools)}`)),
    ...(policy.scaleUp.priorities ?? []).flatMap(({ priority, patterns }) =>
      patterns
        .filter((pattern) => !pools.some(({ name, agentPool }) => [name, agentPool ?? ''].some((text) => new RegExp(pattern).test(text))))
        .map((pattern) => warning('config', `scaleUp.priorities: the pattern "${pattern}" of level ${priority} matches no node group`)),
    ),
    ...Object.keys(policy.scaleUp.prices ?? {})
      .filter((size) => !pools.some(({ vmSize }) => vmSize.toLowerCase() === size.replace(/\/spot$/, '')))
      .map((size) => warning('config', `scaleUp.prices: no node group has the size ${size}`)),
    ...ruleFindings(azure.schedules.rules, pools.map(scheduledPool)).map((sentence) => warning('config', sentence.slice(0, -1))),
    ...warnings.map((sentence) => warning('config', sentence)),
  ];
  return [...(checks.length > 0 ? checks : [ok('config', 'every rule of the configuration has a match')]), ...skippedListChecks(azure)];
}

/** By all names that a rule of schedules may have for it. */
function scheduledPool({ name, agentPool, min, max }: DiagnosedPool) {
  return { id: name, min, max, names: agentPool === undefined ? [name] : [name, agentPool] };
}

/** What a setting that is off by default delays. */
function skippedListChecks({ readOnChange }: Config['azure']): readonly Check[] {
  const text =
    'azure.cache.readOnChange: lists that would show nothing new are skipped, so what shows no sign is seen up to 15 minutes later ' +
    "(an instance that fails under a ready node, AKS's own autoscaler turned on)";
  return readOnChange ? [ok('config', text)] : [];
}

/** The short names: a scale set of AKS by its agent pool. */
function namesIn(pools: DiagnosedPools['pools']): string {
  const names = pools.map(({ name, agentPool }) => agentPool ?? name);
  return names.length === 0 ? 'none' : names.join(', ');
}
