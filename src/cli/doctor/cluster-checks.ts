/** What the cluster allows, asked of its own authorizer, and what stands in the way of removals. */
import type { Access, KubernetesDiagnosis } from '../../adapters/kubernetes/diagnosis.ts';
import type { KubernetesConfig } from '../../config/config.ts';
import { asAutoscalerError } from '../../domain/errors.ts';
import { STATUS_NAME } from '../../loop/scale-up-events.ts';
import { CLUSTER_RULES, NAMESPACE_RULES, type Rule } from './access-rules.ts';
import { failed, ok, skipped, warning, type Check } from './check.ts';

/** Every question that the rules make, the leases and ConfigMaps by their configured places. */
export function questionsOf(
  config: Pick<KubernetesConfig, 'namespace' | 'leaseName' | 'leaseNamespace' | 'statusConfigMapName'>,
): readonly Access[] {
  const own = expand(NAMESPACE_RULES, config.namespace).map((access) => {
    if (access.name === STATUS_NAME) return { ...access, name: config.statusConfigMapName };
    if (access.resource !== 'leases') return access;
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

/** One line per access that is missing; one for all that are there. */
export async function accessChecks(
  diagnosis: KubernetesDiagnosis,
  kubernetes: KubernetesConfig,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const questions = questionsOf(kubernetes);
  try {
    const answers: boolean[] = [];
    for (const access of questions) answers.push(await diagnosis.mayI(access, signal));
    const missing = questions.filter((_, index) => answers[index] !== true);
    if (missing.length === 0) return [ok('rbac', `all ${questions.length} accesses that the autoscaler needs are allowed`)];
    return missing.map((access) => failed('rbac', `the cluster does not allow: ${sentence(access)}`, fixOf(access, kubernetes.namespace)));
  } catch (thrown) {
    return [failed('rbac', `the accesses cannot be asked for: ${asAutoscalerError(thrown).message}`)];
  }
}

function sentence({ verb, group, resource, subresource, namespace, name }: Access): string {
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` ${name}`}`;
  return `${verb} ${what}${namespace === '' ? '' : ` in ${namespace}`}`;
}

function fixOf({ verb, group, resource, subresource, namespace, name }: Access, own: string): string {
  const what = `${resource}${group === '' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
  const kind = namespace === '' ? 'clusterrole' : `role -n ${namespace}`;
  const role = `aks-autoscaler-${verb}-${resource}${subresource === '' ? '' : `-${subresource}`}`;
  const only = name === '' ? '' : ` --resource-name=${name}`;
  const binding =
    namespace === '' ? `clusterrolebinding ${role} --clusterrole=${role}` : `rolebinding -n ${namespace} ${role} --role=${role}`;
  return `kubectl create ${kind} ${role} --verb=${verb} --resource=${what}${only} && kubectl create ${binding} --serviceaccount=${own}:aks-autoscaler`;
}

/** Warnings: such a budget keeps nodes, and may be meant to. */
export async function budgetChecks(diagnosis: KubernetesDiagnosis, signal: AbortSignal): Promise<readonly Check[]> {
  try {
    const stuck = await diagnosis.stuckBudgets(signal);
    if (stuck.length === 0) return [ok('budget', 'every disruption budget can let a pod go')];
    return stuck.map(({ namespace, name, reason }) =>
      warning(
        'budget',
        `the disruption budget ${namespace}/${name} never lets a pod go (${reason}); nodes with its pods stay`,
        `kubectl -n ${namespace} patch pdb ${name} --type=merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'`,
      ),
    );
  } catch (thrown) {
    return [skipped('budget', `the disruption budgets cannot be read: ${asAutoscalerError(thrown).message}`)];
  }
}
