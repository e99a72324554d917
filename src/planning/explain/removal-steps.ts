/** How a change that frees a node is carried out: the object to change, the command to run or the text to write, and what to know before. */
import { podName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { shell, yamlText } from '../../lib/shown-text.ts';
import type { Change, FixStep } from './fix.ts';
import { limitSteps, resourceGroupOf, stepsFor, templateOf } from './fix-steps.ts';
import { isOf, isRemovalChange, type RemovalChange, type RemovalSetting, type Workload } from './removal-changes.ts';

interface RemovalStepsInput {
  readonly groups: ReadonlyMap<string, NodeGroup>;
  readonly observation: Observation;
  /** Whose pod template the changes are about, for those that do not name it. */
  readonly workload?: Workload;
}

export function removalStepsFor(changes: readonly Change[], input: RemovalStepsInput): readonly FixStep[] {
  return changes.flatMap((change) => (isRemovalChange(change) ? stepsOf(change, input) : stepsFor([change], input)));
}

type ChangeOf<Kind extends RemovalChange['kind']> = Extract<RemovalChange, { readonly kind: Kind }>;

function stepsOf(change: RemovalChange, input: RemovalStepsInput): readonly FixStep[] {
  switch (change.kind) {
    case 'scale-workload':
      return [scaleStep(change)];
    case 'relax-budget': {
      const patch = JSON.stringify({ spec: { minAvailable: null, maxUnavailable: 1 } });
      return [onBudget(change, shell`patch poddisruptionbudget ${change.budget} --type=merge -p ${patch}`)];
    }
    case 'delete-budget':
      return [onBudget(change, shell`delete poddisruptionbudget ${change.budget}`)];
    case 'add-budget':
      return [
        onBudget(
          { ...change, budget: change.name },
          shell`create poddisruptionbudget ${change.name} --selector=${selectorOf(change.labels)} --max-unavailable=1`,
        ),
      ];
    case 'annotate-workload':
      return annotationSteps(change, input);
    case 'own-pod':
      return [
        { where: `a new Deployment, StatefulSet or Job with the spec of pod ${podName(change.workload)}` },
        { where: `pod ${podName(change.workload)}, once the other runs`, command: deletionOf(change.workload) },
      ];
    case 'delete-pod':
      return [
        {
          where: `pod ${podName(change)}`,
          command: deletionOf(change),
          warning: 'nothing creates this pod again, and what it holds is lost',
        },
      ];
    case 'drop-repulsion':
      return [{ where: `podAntiAffinity in ${templateOf(change.workload)}` }];
    case 'lower-minimum':
      return limitSteps(change.group, 'min', { to: change.to, group: input.groups.get(change.group) });
    case 'raise-threshold':
      return [
        optionStep(change.group, `${change.devices ? 'scaleDownGpuUtilizationThreshold' : 'scaleDownUtilizationThreshold'}: ${change.to}`),
      ];
    case 'ignore-daemon-sets':
      return [optionStep(change.group, 'ignoreDaemonSetsUtilization: true')];
    case 'set-removal-setting':
      return [
        {
          where: `the configuration, or the flag ${FLAGS[change.setting]}`,
          patch: `scaleDown: {${change.setting.replace('scaleDown.', '')}: ${change.to}}`,
        },
      ];
    case 'remove-node-annotation':
      return [{ where: `node ${change.node}`, command: shell`kubectl annotate node ${change.node} ${change.key}-` }];
    case 'uncordon-node':
      return [{ where: `node ${change.node}`, command: shell`kubectl uncordon ${change.node}` }];
    case 'unprotect-instance':
      return [protectionStep(change, input.groups.get(change.group))];
  }
}

/** As in docs/configuration.md. */
const FLAGS: Readonly<Record<RemovalSetting, string>> = {
  'scaleDown.enabled': '--scale-down-enabled',
  'scaleDown.unreadyEnabled': '--scale-down-unready-enabled',
  'scaleDown.minCoresTotal': '--cores-total',
  'scaleDown.minMemoryTotalGib': '--memory-total',
  'scaleDown.minReplicaCount': '--min-replica-count',
};

function scaleStep({ workload: { kind, namespace, name }, to }: ChangeOf<'scale-workload'>): FixStep {
  return {
    where: `${kind} ${namespace}/${name}`,
    command: shell`kubectl -n ${namespace} scale ${kind.toLowerCase()} ${name} --replicas=${to}`,
    warning: `if a HorizontalPodAutoscaler scales it, set its minReplicas to ${to} instead`,
  };
}

function onBudget({ namespace, budget }: { readonly namespace: string; readonly budget: string }, command: string): FixStep {
  return { where: `PodDisruptionBudget ${namespace}/${budget}`, command: `${shell`kubectl -n ${namespace}`} ${command}` };
}

function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

function deletionOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return shell`kubectl -n ${namespace} delete pod ${name}`;
}

/** The running pods need it at once, and their template for all later pods. The template of a Job cannot be changed. */
function annotationSteps({ workload, key, value }: ChangeOf<'annotate-workload'>, { observation }: RemovalStepsInput): readonly FixStep[] {
  const pods = [...observation.cluster.podsByNode.values()].flat().filter((pod) => isOf(pod, workload));
  const edit = value === undefined ? shell`${key}-` : shell`${`${key}=${value}`} --overwrite`;
  const now =
    pods.length === 0
      ? []
      : [{ where: 'its running pods', command: `${shell`kubectl -n ${workload.namespace} annotate pods`} ${namesOf(pods)} ${edit}` }];
  if (workload.kind === 'Job' || workload.kind === 'Pod') return now;
  const later = {
    where: `${templateOf(workload)}, for later pods`,
    patch: `metadata: {annotations: {${yamlText(key)}: ${value === undefined ? 'null' : JSON.stringify(value)}}}`,
  };
  return [...now, later];
}

/** Pods of one ReplicaSet share a hash that no other pods have. */
function namesOf(pods: readonly Pod[]): string {
  const [hash, ...more] = new Set(pods.map(({ shape }) => shape.labels['pod-template-hash']));
  return hash !== undefined && more.length === 0 ? shell`-l ${`pod-template-hash=${hash}`}` : shell`${pods.map(({ name }) => name).sort()}`;
}

function optionStep(group: string, option: string): FixStep {
  return { where: 'nodeGroupOptions of the configuration', patch: `nodeGroupOptions: [{name: ${yamlText(group)}, ${option}}]` };
}

function protectionStep({ group: id, instance, from }: ChangeOf<'unprotect-instance'>, group: NodeGroup | undefined): FixStep {
  const { instanceId = 'INSTANCE' } = group?.instances?.find(({ key }) => key === instance) ?? {};
  const flag = from === 'scale-in' ? '--protect-from-scale-in' : '--protect-from-scale-set-actions';
  const resourceGroup = group === undefined ? 'NODE_RESOURCE_GROUP' : resourceGroupOf(group);
  return {
    where: `instance ${instanceId} of scale set ${id}`,
    command: shell`az vmss update -g ${resourceGroup} -n ${id} --instance-id ${instanceId} ${flag} false`,
  };
}
