/**
 * Where limits, tags and labels of a pool are changed, and by which command. Never advises a change that works against the autoscaler: AKS's
 * own autoscaler stays off (`--max-count` would turn it on), and a command that lets AKS write its own count to the pool comes with a warning.
 */
import { type NodeGroup, withTags } from '../../../domain/node-group.ts';
import type { ManagedClusterName } from '../../../domain/observation.ts';
import { defined } from '../../../lib/defined.ts';
import { shell, yamlText } from '../../../lib/shown-text.ts';
import type { FixStep } from './change.ts';

/** undefined: a person fills in the names. */
type ClusterName = ManagedClusterName | undefined;

/** The pool that a command is for, and its cluster. */
export interface PoolOfCommand {
  readonly group: NodeGroup | undefined;
  readonly cluster: ClusterName;
}

/** Where a limit of the group's size is set. Both limits have the same origin as a rule. */
export function limitSteps(id: string, limit: 'min' | 'max', to: number, { group, cluster }: PoolOfCommand): readonly FixStep[] {
  const [min, max] = limit === 'min' ? [to, group?.maxSize ?? to] : [group?.minSize ?? 0, to];
  switch (group?.maxFrom) {
    case 'settings':
      return [
        {
          where: 'nodeGroups of the configuration, or the flag --nodes',
          patch: `nodeGroups: [{name: ${yamlText(id)}, min: ${min}, max: ${max}}]`,
        },
      ];
    case 'discovery-rule':
      return [{ where: `discovery of the configuration: the ${limit} of the rule that selects the pool` }];
    case 'tag':
      return tagSteps(id, `${limit}=${to}`, group, cluster);
    case 'agent-pool': {
      const pool = group.agentPool?.name ?? 'POOL';
      const command = updateCommand(cluster, shell`-n ${pool} --update-cluster-autoscaler --min-count ${min} --max-count ${max}`);
      return [{ where: `the limits of AKS's own autoscaler in agent pool ${pool}`, command }];
    }
    case undefined:
      return [
        {
          where: `the place that sets the ${limit === 'max' ? 'maximum' : 'minimum'}: nodeGroups of the configuration, --nodes, or the tag ${limit}`,
        },
      ];
  }
}

/** A tag of the scale set applies at once, and AKS replaces it by that of the agent pool when it works on the pool. */
function tagSteps(id: string, tag: string, group: NodeGroup, cluster: ClusterName): readonly FixStep[] {
  const pool = group.agentPool?.name;
  const [name = ''] = tag.split('=');
  const where = `the tag ${name} of agent pool ${pool ?? id}`;
  const ofPool = poolTagStep(tag, where, group, cluster);
  if (group.kind === 'vms-pool') return [ofPool];
  const command = shell`az tag update --operation merge --tags ${tag} --resource-id "$(az vmss show -g ${resourceGroupOf(group)} -n ${id} --query id -o tsv)"`;
  // The other step lets the autoscaler change the size, and AKS would then set it back to its own count.
  // guard: a command of AKS comes before the one that lets the size change
  return [...(pool === undefined ? [] : [ofPool]), { where: `the tag ${name} of scale set ${id}`, command }];
}

/** The command replaces all tags of the pool: without them it is not known. */
function poolTagStep(tag: string, where: string, group: NodeGroup, cluster: ClusterName): FixStep {
  const { agentPool } = group;
  if (agentPool?.tags === undefined) return { where, ...defined({ warning: countWarning(group) }) };
  const [key = '', value = ''] = tag.split('=');
  const command = updateCommand(cluster, shell`-n ${agentPool.name} --tags ${listOf(withTags(agentPool.tags, { [key]: value }))}`);
  return { where, command, warning: joined(replacementWarning('tags'), countWarning(group)) };
}

function joined(...warnings: readonly (string | undefined)[]): string {
  return warnings.filter((each) => each !== undefined).join('; ');
}

function replacementWarning(what: 'tags' | 'labels'): string {
  return `\`--${what}\` replaces all ${what} of the pool: one that was added since they were read is lost`;
}

/** An instance's key has its resource group, in lower case, which Azure accepts. */
export function resourceGroupOf({ instances = [] }: NodeGroup): string {
  const [, name = ''] = instances[0]?.key.split('|') ?? [];
  return name === '' ? 'NODE_RESOURCE_GROUP' : name;
}

/** The command replaces all labels of the pool. */
export function labelStep(
  id: string,
  { key, value }: { readonly key: string; readonly value: string },
  { group, cluster }: PoolOfCommand,
): FixStep {
  const pool = group?.agentPool?.name;
  if (group === undefined || pool === undefined) return { where: `the labels of agent pool ${id}: ${key}=${value}` };
  const { labels } = group.agentPool ?? {};
  const all = labels === undefined ? [`${key}=${value}`, 'EVERY_OTHER_LABEL_OF_THE_POOL'] : listOf({ ...labels, [key]: value });
  const command = updateCommand(cluster, shell`-n ${pool} --labels ${all}`);
  const unknown = '`--labels` replaces all labels of the pool, and its present labels are unknown: those that the command lacks are lost';
  const warning = joined(labels === undefined ? unknown : replacementWarning('labels'), countWarning(group));
  return { where: `the labels of agent pool ${pool}`, command, warning };
}

export function clusterFlags(
  { resourceGroup, name }: ManagedClusterName = { resourceGroup: 'CLUSTER_RESOURCE_GROUP', name: 'CLUSTER' },
): string {
  return shell`-g ${resourceGroup} --cluster-name ${name}`;
}

/** `flags` are words of a shell. */
function updateCommand(cluster: ClusterName, flags: string): string {
  return ['az aks nodepool update', clusterFlags(cluster), flags].join(' ');
}

export function listOf(entries: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(entries).map(([key, value]) => `${key}=${value}`);
}

/** AKS writes its own count whenever it works on a pool. If one of the two numbers is unknown, they may differ. */
function countWarning({ agentPool, target, kind }: NodeGroup): string | undefined {
  const { name, count } = agentPool ?? {};
  if (kind === 'vms-pool' || name === undefined) return undefined;
  // guard: a command of AKS warns of a count that is unknown
  if (count === undefined || !target.known) {
    const unknown = count === undefined ? 'the count that AKS has' : `its size (AKS has ${count} as the count)`;
    return `of agent pool ${name}, ${unknown} is unknown: \`az aks nodepool update\` would set the size to the count`;
  }
  if (target.value === count) return undefined;
  return `AKS has ${count} as the count of agent pool ${name}, whose size is ${target.value}: \`az aks nodepool update\` would set it to ${count}`;
}

/** No words without values. */
export function flagOf(flag: string, values: string | readonly string[]): readonly string[] {
  return values.length === 0 ? [] : [shell`${flag} ${values}`];
}
