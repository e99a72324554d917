/**
 * How a change is carried out: where the limit lives, the command or the text to write there, and what to know before. Never advises a
 * change that works against the autoscaler: AKS's own autoscaler stays off (`--max-count` would turn it on), and a command that lets AKS
 * write its own count to the pool comes with a warning.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Pod } from '../../domain/pod.ts';
import { taintText } from '../../domain/taints.ts';
import { defined } from '../../lib/defined.ts';
import { type Change, type FixStep, LIMIT_SETTINGS } from './fix.ts';

interface StepsInput {
  readonly groups: ReadonlyMap<string, NodeGroup>;
  /** One pod of the class. */
  readonly pod: Pod | undefined;
}

export function stepsFor(changes: readonly Change[], input: StepsInput): readonly FixStep[] {
  return changes.flatMap((change) => stepsOf(change, input));
}

function stepsOf(change: Change, { groups, pod }: StepsInput): readonly FixStep[] {
  switch (change.kind) {
    case 'raise-maximum':
      return maximumSteps(change, groups.get(change.group));
    case 'raise-cluster-limit': {
      const [section = '', key = ''] = LIMIT_SETTINGS[change.limit].split('.');
      return [{ where: 'the configuration', patch: `${section}: {${key}: ${inSetting(change.limit, change.to)}}` }];
    }
    case 'raise-azure-quota':
      return [{ where: 'the quotas of the subscription in Azure, for the region of the cluster' }];
    case 'raise-capacity-quota': {
      const patch = JSON.stringify({ spec: { limits: { resources: { [change.resource]: String(change.to) } } } });
      return [
        { where: `CapacityQuota ${change.quota}`, command: `kubectl patch capacityquota ${change.quota} --type=merge -p '${patch}'` },
      ];
    }
    case 'tolerate': {
      const { key, value, effect } = change.taint;
      return [
        {
          where: templateOf(pod),
          patch: `tolerations: [{key: ${key}, operator: Equal, value: ${JSON.stringify(value)}, effect: ${effect}}]`,
        },
      ];
    }
    case 'lower-request':
      return [{ where: templateOf(pod), patch: `resources: {requests: {${change.resource}: ${quantityOf(change.resource, change.to)}}}` }];
    case 'label-pool':
      return [labelStep(change, groups.get(change.group))];
    case 'add-pool':
      return taintsToKnow(groups.get(change.like));
    default:
      return [];
  }
}

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;

function maximumSteps({ group: id, to }: ChangeOf<'raise-maximum'>, group: NodeGroup | undefined): readonly FixStep[] {
  const min = group?.minSize ?? 0;
  switch (group?.maxFrom) {
    case 'settings':
      return [
        { where: 'nodeGroups of the configuration, or the flag --nodes', patch: `nodeGroups: [{name: ${id}, min: ${min}, max: ${to}}]` },
      ];
    case 'discovery-rule':
      return [{ where: 'discovery of the configuration: the max of the rule that selects the pool' }];
    case 'tag':
      return tagSteps(id, to, group);
    case 'agent-pool': {
      const pool = group.agentPool?.name ?? 'POOL';
      const command = `az aks nodepool update -g CLUSTER_RESOURCE_GROUP --cluster-name CLUSTER -n ${pool} --update-cluster-autoscaler --min-count ${min} --max-count ${to}`;
      return [{ where: `the limits of AKS's own autoscaler in agent pool ${pool}`, command }];
    }
    case undefined:
      return [{ where: 'the place that sets the maximum: nodeGroups of the configuration, --nodes, or the tag max' }];
  }
}

/** A tag of the scale set applies at once, and AKS replaces it by that of the agent pool when it works on the pool. */
function tagSteps(id: string, to: number, group: NodeGroup): readonly FixStep[] {
  const pool = group.agentPool?.name;
  const where = `the tag max of agent pool ${pool ?? id}`;
  if (group.kind === 'vms-pool') return [{ where }];
  const command = `az tag update --operation merge --tags max=${to} --resource-id "$(az vmss show -g NODE_RESOURCE_GROUP -n ${id} --query id -o tsv)"`;
  const ofPool = pool === undefined ? [] : [{ where, ...defined({ warning: countWarning(group) }) }];
  return [{ where: `the tag max of scale set ${id}`, command }, ...ofPool];
}

function labelStep({ group: id, key, value }: ChangeOf<'label-pool'>, group: NodeGroup | undefined): FixStep {
  const where = `the labels of agent pool ${group?.agentPool?.name ?? id}: ${key}=${value}`;
  return { where, ...defined({ warning: group === undefined ? undefined : countWarning(group) }) };
}

/** AKS writes its own count whenever it works on a pool. */
function countWarning({ agentPool, target, kind }: NodeGroup): string | undefined {
  const { name, count } = agentPool ?? {};
  if (kind === 'vms-pool' || name === undefined || count === undefined || !target.known || target.value === count) return undefined;
  return `AKS has ${count} as the count of agent pool ${name}, whose size is ${target.value}: \`az aks nodepool update\` would set it to ${count}`;
}

function taintsToKnow(group: NodeGroup | undefined): readonly FixStep[] {
  const taints = (group?.template?.taints ?? []).map(taintText);
  return taints.length === 0 ? [] : [{ where: `a new agent pool with the taints ${taints.join(', ')}` }];
}

function templateOf(pod: Pod | undefined): string {
  const { controller, namespace = '', name = '' } = pod ?? {};
  return controller === undefined ? `pod ${namespace}/${name}` : `the pod template of ${controller.kind} ${namespace}/${controller.name}`;
}

function inSetting(limit: 'nodes' | 'cores' | 'memory', value: number): number {
  return limit === 'memory' ? Math.ceil((value / 2 ** 30) * 10) / 10 : value;
}

/** As a manifest writes it. */
function quantityOf(resource: string, value: number): string {
  if (resource === 'cpu') return `${value}m`;
  const gib = value / 2 ** 30;
  return gib >= 1 ? `${Math.round(gib * 10) / 10}Gi` : `${Math.floor(value / 2 ** 20)}Mi`;
}
