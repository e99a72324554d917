/**
 * What an installation in one cluster needs: the chart's values, custom roles with what its kinds of pools need and nothing else, and the
 * commands in order. Pure. Must not know how the cluster is read.
 */
import type { AksCluster, ClusterPool } from '../doctor/azure/cluster-description.ts';
import { withTags } from '../../domain/node-group.ts';
import { shell } from '../../lib/shown-text.ts';
import { AZURE_ROLES, definitionCommand, roleDefinition, type RoleKey } from '../doctor/azure-roles.ts';

export interface InstallationInput {
  readonly facts: AksCluster;
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly clusterName: string;
}

interface CustomRole {
  /** As `az role definition create` takes it. */
  readonly definition: ReturnType<typeof roleDefinition>;
  /** Where it is assigned. */
  readonly scope: string;
}

export interface Installation {
  readonly roles: readonly CustomRole[];
  /** Of the chart, as YAML. The client id is unknown until the identity exists. */
  readonly values: string;
  /** Those of a dry run, which changes no pool; then those that let the daemon write. */
  readonly steps: readonly InstallationStep[];
}

export interface InstallationStep {
  /** What it is for, as a comment. */
  readonly title: string;
  /** Present: not before the dry run has shown what would change. */
  readonly toWrite?: true;
  readonly commands: readonly string[];
}

/** The most nodes of a pool without limits of its own. */
const DEFAULT_MAX = 10;

export function planInstallation(input: InstallationInput): Installation {
  const roles = customRoles(input);
  return {
    roles,
    values: chartValues(input),
    steps: [
      ...identitySteps(input),
      { title: 'Custom roles, with what these pools need', commands: roles.flatMap(roleCommands) },
      {
        title: 'The chart as a dry run, also beside the autoscaler of AKS, and whether all is in place',
        commands: [`${CHART} --set 'extraArgs[0]=--dry-run'`, DOCTOR],
      },
      ...poolSteps(input),
      {
        title: 'The chart without the dry run',
        toWrite: true,
        commands: [`CLIENT="$(${clientIdOf(input)})"`, CHART, DOCTOR],
      },
    ],
  };
}

/** Pools of type VirtualMachines are written through AKS, all others as scale sets. */
function customRoles({ facts, subscriptionId, resourceGroup }: InstallationInput): readonly CustomRole[] {
  const hasVmsPools = facts.pools.some(({ kind }) => kind === 'vms-pool');
  const subscription = `/subscriptions/${subscriptionId}`;
  const scopes: Partial<Record<RoleKey, string>> = {
    nodes: `${subscription}/resourceGroups/${facts.nodeResourceGroup}`,
    [hasVmsPools ? 'pools' : 'pools-read']: `${subscription}/resourceGroups/${resourceGroup}`,
    subscription,
  };
  return AZURE_ROLES.flatMap((role) => {
    const scope = scopes[role.key];
    return scope === undefined ? [] : [{ definition: roleDefinition(role, subscriptionId), scope }];
  });
}

function roleCommands({ definition, scope }: CustomRole): readonly string[] {
  return [
    definitionCommand(definition),
    shell`az role assignment create --assignee-object-id "$PRINCIPAL" --assignee-principal-type ServicePrincipal --role ${definition.Name} --scope ${scope}`,
  ];
}

function chartValues({ facts, subscriptionId, resourceGroup, clusterName }: InstallationInput): string {
  const tenant = facts.tenantId === undefined ? [] : [`azureTenantID: ${JSON.stringify(facts.tenantId)}`];
  return [
    '# Written by aks-autoscaler init. Add azureClientID, the client id of the identity.',
    `azureClusterName: ${JSON.stringify(clusterName)}`,
    `azureResourceGroup: ${JSON.stringify(resourceGroup)}`,
    `azureNodeResourceGroup: ${JSON.stringify(facts.nodeResourceGroup)}`,
    `azureSubscriptionID: ${JSON.stringify(subscriptionId)}`,
    `azureLocation: ${JSON.stringify(facts.location)}`,
    ...tenant,
    'autoDiscovery:',
    `  clusterName: ${JSON.stringify(clusterName)}`,
    '',
  ].join('\n');
}

function identitySteps({ facts, resourceGroup: group, clusterName: name }: InstallationInput): readonly InstallationStep[] {
  const flags = [
    ...(facts.oidcIssuer === undefined ? ['--enable-oidc-issuer'] : []),
    ...(facts.hasWorkloadIdentity ? [] : ['--enable-workload-identity']),
  ];
  return [
    ...(flags.length === 0
      ? []
      : [{ title: 'Workload identity is not on yet', commands: [shell`az aks update -g ${group} -n ${name} ${flags}`] }]),
    {
      title: 'An identity for the service account kube-system/aks-autoscaler',
      commands: [
        shell`az identity create -g ${group} -n aks-autoscaler`,
        shell`ISSUER="$(az aks show -g ${group} -n ${name} --query oidcIssuerProfile.issuerUrl -o tsv)"`,
        `CLIENT="$(${clientIdOf({ resourceGroup: group })})"`,
        shell`PRINCIPAL="$(az identity show -g ${group} -n aks-autoscaler --query principalId -o tsv)"`,
        shell`az identity federated-credential create -g ${group} --identity-name aks-autoscaler --name aks-autoscaler --issuer "$ISSUER" --subject system:serviceaccount:kube-system:aks-autoscaler --audiences api://AzureADTokenExchange`,
      ],
    },
  ];
}

function poolSteps({ facts, resourceGroup, clusterName }: InstallationInput): readonly InstallationStep[] {
  const pool = shell`az aks nodepool update -g ${resourceGroup} --cluster-name ${clusterName}`;
  const commandsOf = (each: ClusterPool): readonly string[] => [
    ...(each.managed ? [`${pool} ${shell`-n ${each.name}`} --disable-cluster-autoscaler`] : []),
    `${pool} ${shell`-n ${each.name} --tags ${tagsOf(each, clusterName)}`}`,
  ];
  const own = facts.pools.filter(({ isSystem }) => !isSystem);
  const systems = facts.pools.filter(({ isSystem }) => isSystem).map(({ name }) => name);
  const kept = systems.length === 0 ? '' : ` System pools stay as they are: ${systems.join(', ')}.`;
  const title = `The pools that it scales: edit the limits, or leave a line out.${kept}`;
  return [{ title, toWrite: true, commands: own.flatMap(commandsOf) }];
}

/** AKS replaces all tags, so the present ones are repeated. */
function tagsOf({ tags, limits, count }: ClusterPool, clusterName: string): readonly string[] {
  // guard: a pool of fixed size does not become smaller by being tagged
  const { min, max } = limits ?? { min: count, max: Math.max(count, DEFAULT_MAX) };
  const own = { 'cluster-autoscaler-enabled': 'true', 'cluster-autoscaler-name': clusterName, min: `${min}`, max: `${max}` };
  return Object.entries(withTags(tags, own)).map(([key, value]) => `${key}=${value}`);
}

const clientIdOf = ({ resourceGroup }: Pick<InstallationInput, 'resourceGroup'>): string =>
  shell`az identity show -g ${resourceGroup} -n aks-autoscaler --query clientId -o tsv`;

const CHART =
  'helm upgrade --install aks-autoscaler helm/aks-autoscaler --namespace kube-system --values values.yaml --set image.repository="$IMAGE" --set azureClientID="$CLIENT"';
const DOCTOR =
  'kubectl -n kube-system rollout status deploy/aks-autoscaler && kubectl -n kube-system exec deploy/aks-autoscaler -- /nodejs/bin/node /app/main.mjs doctor --config /etc/aks-autoscaler/config.yaml';
