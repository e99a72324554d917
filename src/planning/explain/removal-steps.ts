/** How a change that frees a node is carried out: the object to change, the command to run or the text to write, and what to know before. */
import { podName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { defined } from '../../lib/defined.ts';
import { shell, yamlText } from '../../lib/shown-text.ts';
import type { Change, FixStep } from './fix.ts';
import { limitSteps, resourceGroupOf, SHARED_FATE, stepsFor, templateOf } from './fix-steps.ts';
import { type BudgetCoverage, isOf, isRemovalChange, type RemovalChange, type RemovalSetting, type Workload } from './removal-changes.ts';

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
      const unknown = change.from === undefined ? { minAvailable: null } : {};
      const patch = JSON.stringify({ spec: { ...unknown, [change.to.kind]: change.to.value } });
      const command = shell`patch poddisruptionbudget ${change.budget} --type=merge -p ${patch}`;
      return [onBudget(change, command, `${describeCoverage(change.covers)}; one of them may be unavailable at any time from then on`)];
    }
    case 'delete-budget':
      return [onBudget(change, shell`delete poddisruptionbudget ${change.budget}`, deletionWarning(change.covers))];
    case 'add-budget': {
      const command = shell`create poddisruptionbudget ${change.name} --selector=${selectorOf(change.labels)} --max-unavailable=1`;
      return [onBudget({ ...change, budget: change.name }, command, 'the pods that it selects may be evicted from then on, one at a time')];
    }
    case 'annotate-workload':
      return annotationSteps(change, input);
    case 'own-pod':
      return [
        { where: `a new Deployment, StatefulSet or Job with the spec of pod ${podName(change.workload)}` },
        {
          where: `pod ${podName(change.workload)}, once the other runs`,
          command: deletionOf(change.workload),
          warning: 'what the pod holds in memory and on its node is lost',
        },
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
      return [{ where: `podAntiAffinity in ${templateOf(change.workload)}`, warning: SHARED_FATE }];
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
          ...defined({ warning: SETTING_WARNINGS[change.setting] }),
        },
      ];
    case 'remove-node-annotation':
      return [
        {
          where: `node ${change.node}`,
          command: shell`kubectl annotate node ${change.node} ${change.key}-`,
          warning: 'the annotation protects the node and its pods from being interrupted',
        },
      ];
    case 'uncordon-node':
      return [
        {
          where: `node ${change.node}`,
          command: shell`kubectl uncordon ${change.node}`,
          warning: 'new pods are placed on the node from then on; it may be cordoned for maintenance',
        },
      ];
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

/** What is lost beside the intended effect. A setting that is not listed has no effect beside it. */
const SETTING_WARNINGS: Readonly<Partial<Record<RemovalSetting, string>>> = {
  'scaleDown.enabled': 'it applies to the whole cluster: every unneeded node may be removed from then on',
  'scaleDown.unreadyEnabled': 'it applies to the whole cluster: what pods keep on a node that is not ready for long is lost with it',
  'scaleDown.minReplicaCount': 'it applies to the whole cluster: other workloads with as few replicas may be interrupted, too',
};

function scaleStep({ workload: { kind, namespace, name }, to }: ChangeOf<'scale-workload'>): FixStep {
  return {
    where: `${kind} ${namespace}/${name}`,
    command: shell`kubectl -n ${namespace} scale ${kind.toLowerCase()} ${name} --replicas=${to}`,
    warning: `if a HorizontalPodAutoscaler scales it, set its minReplicas to ${to} instead`,
  };
}

function onBudget(
  { namespace, budget }: { readonly namespace: string; readonly budget: string },
  command: string,
  warning: string,
): FixStep {
  return { where: `PodDisruptionBudget ${namespace}/${budget}`, command: `${shell`kubectl -n ${namespace}`} ${command}`, warning };
}

/** The pods of the workload keep the other budget. */
function deletionWarning(covers: BudgetCoverage): string {
  const loss =
    covers.others === 0
      ? 'only the demand of the other budget remains'
      : 'the others lose this protection; to keep it, narrow the selector until it leaves out this workload';
  return `${describeCoverage(covers)}; ${loss}`;
}

function describeCoverage({ pods, others, wholeNamespace }: BudgetCoverage): string {
  const extent = wholeNamespace === true ? 'every pod of its namespace, now ' : '';
  return `the budget covers ${extent}${counted(pods)}, ${others === 0 ? 'all of this workload' : `${others} of them of other workloads`}`;
}

function counted(pods: number): string {
  return `${pods} ${pods === 1 ? 'pod' : 'pods'}`;
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
function annotationSteps(change: ChangeOf<'annotate-workload'>, { observation }: RemovalStepsInput): readonly FixStep[] {
  const { workload, key, value } = change;
  const all = [...observation.cluster.podsByNode.values()].flat();
  const pods = all.filter((pod) => isOf(pod, workload));
  // guard: advice that loses what is on a node says so before
  const warning = annotationWarning(change, pods);
  const edit = value === undefined ? shell`${key}-` : shell`${`${key}=${value}`} --overwrite`;
  const now =
    pods.length === 0
      ? []
      : [
          {
            where: 'its running pods',
            command: `${shell`kubectl -n ${workload.namespace} annotate pods`} ${namesOf(pods, all)} ${edit}`,
            warning,
          },
        ];
  if (workload.kind === 'Job' || workload.kind === 'Pod') return now;
  const later = {
    where: `${templateOf(workload)}, for later pods`,
    patch: `metadata: {annotations: {${yamlText(key)}: ${value === undefined ? 'null' : JSON.stringify(value)}}}`,
    warning: `${now.length === 0 ? `${warning}; ` : ''}a change of the pod template replaces the running pods`,
  };
  return [...now, later];
}

/** What the consent to lose data, or the end of a protection from interruption, means. */
function annotationWarning({ key, value }: ChangeOf<'annotate-workload'>, pods: readonly Pod[]): string {
  const volumes = new Map(pods.flatMap(({ localVolumes }) => localVolumes.map(({ name, kind }) => [name, `${name} (${kind})`] as const)));
  const isOne = pods.length === 1;
  const of = pods.length === 0 ? 'its pods' : counted(pods.length);
  if (key.endsWith('/safe-to-evict-local-volumes')) {
    const names = (value ?? '').split(',').map((name) => volumes.get(name) ?? name);
    return `the content of ${names.join(', ')} of ${of} is lost when ${isOne ? 'its node is' : 'their nodes are'} removed, which may be within minutes`;
  }
  const lost =
    volumes.size === 0
      ? `what ${isOne ? 'it keeps on its node' : 'they keep on their nodes'}`
      : `the content of ${[...volumes.values()].join(', ')}`;
  const effect = `${of} may be evicted at any time from then on, and ${lost} is lost`;
  return value === undefined ? `the annotation protects from interruption; without it, ${effect}` : effect;
}

/** Pods of one ReplicaSet share a hash. If other pods of the namespace have it, too, the names alone are exact. */
function namesOf(pods: readonly Pod[], all: readonly Pod[]): string {
  const [hash, ...more] = new Set(pods.map(({ shape }) => shape.labels['pod-template-hash']));
  const withHash = all.filter(({ namespace, shape }) => namespace === pods[0]?.namespace && shape.labels['pod-template-hash'] === hash);
  return hash !== undefined && more.length === 0 && withHash.length === pods.length
    ? shell`-l ${`pod-template-hash=${hash}`}`
    : shell`${pods.map(({ name }) => name).sort()}`;
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
    warning: 'the protection keeps the instance, and what is stored on it, from being deleted',
  };
}
