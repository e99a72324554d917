/** Changes of PodDisruptionBudgets, and what a budget allows after a change. */
import type { Labels } from '../../../domain/labels.ts';
import { matchesSelector } from '../../../domain/labels.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { BudgetDemand, DisruptionBudget } from '../../../domain/workloads.ts';
import { shell } from '../../../lib/shown-text.ts';
import { type FixStep, kind, type World } from './change.ts';
import { withCluster } from './edits.ts';
import { counted } from './workload.ts';

/** The pods that a budget selects now. */
export interface BudgetCoverage {
  readonly pods: number;
  /** Those that are not of the workload whose pod the budget keeps in place. */
  readonly others: number;
  /** The selector is empty, so every pod of the namespace is selected, also those that come later. */
  readonly wholeNamespace?: true;
}

interface NamedBudget {
  readonly namespace: string;
  readonly budget: string;
}

interface CoveringBudget extends NamedBudget {
  readonly covers: BudgetCoverage;
}

interface AddedBudget {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
}

export const BUDGET_CHANGES = {
  /** The budget allows one pod at a time to be unavailable: `to` takes the place of `from`. Without `from`, its demand is unknown. */
  'relax-budget': kind<{ readonly from?: BudgetDemand; readonly to: BudgetDemand } & CoveringBudget>({
    describe: ({ namespace, budget, covers }) =>
      `let PodDisruptionBudget ${namespace}/${budget}${describeOthers(covers, ',')} allow 1 unavailable pod`,
    steps: ({ from, to, covers, ...named }) => {
      const unknown = from === undefined ? { minAvailable: null } : {};
      const patch = JSON.stringify({ spec: { ...unknown, [to.kind]: to.value } });
      const command = shell`patch poddisruptionbudget ${named.budget} --type=merge -p ${patch}`;
      return [onBudget(named, command, `${describeCoverage(covers)}; one of them may be unavailable at any time from then on`)];
    },
    apply: (world, { to, ...named }) => withBudgets(world, (budget) => (isNamed(budget, named) ? demanding(budget, to) : budget)),
  }),
  'delete-budget': kind<CoveringBudget>({
    describe: ({ namespace, budget, covers }) => `delete PodDisruptionBudget ${namespace}/${budget}${describeOthers(covers, '')}`,
    steps: ({ covers, ...named }) => [onBudget(named, shell`delete poddisruptionbudget ${named.budget}`, deletionWarning(covers))],
    apply: (world, named) =>
      withCluster(world, ({ disruptionBudgets }) => ({
        disruptionBudgets: disruptionBudgets.filter((budget) => !isNamed(budget, named)),
      })),
  }),
  'add-budget': kind<AddedBudget>({
    describe: ({ namespace, name }) => `add a PodDisruptionBudget that allows 1 unavailable pod of ${namespace}/${name}`,
    steps: ({ namespace, name, labels }) => {
      const command = shell`create poddisruptionbudget ${name} --selector=${selectorOf(labels)} --max-unavailable=1`;
      return [onBudget({ namespace, budget: name }, command, 'the pods that it selects may be evicted from then on, one at a time')];
    },
    apply: (world, change) =>
      withCluster(world, ({ disruptionBudgets }) => ({ disruptionBudgets: [...disruptionBudgets, newBudget(world, change)] })),
  }),
};

function describeOthers({ others }: BudgetCoverage, end: ',' | ''): string {
  return others === 0 ? '' : `, which covers ${others} other ${others === 1 ? 'pod' : 'pods'}${end}`;
}

function onBudget({ namespace, budget }: NamedBudget, command: string, warning: string): FixStep {
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

function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The budgets of the cluster, edited one by one. */
export function withBudgets(world: World, edit: (budget: DisruptionBudget) => DisruptionBudget): World {
  return withCluster(world, ({ disruptionBudgets }) => ({ disruptionBudgets: disruptionBudgets.map(edit) }));
}

function isNamed({ namespace, name }: DisruptionBudget, change: NamedBudget): boolean {
  return namespace === change.namespace && name === change.budget;
}

export function selects({ namespace, selector }: DisruptionBudget, pod: Pod): boolean {
  return namespace === pod.namespace && selector !== undefined && matchesSelector(selector, pod.shape.labels);
}

const ONE_UNAVAILABLE: BudgetDemand = { kind: 'maxUnavailable', value: 1 };

/** The demand that lets one pod be unavailable, in the form that the budget has: a number stays a number, a percentage a percentage. */
export function relaxed({ demand, expectedPods }: Pick<DisruptionBudget, 'demand' | 'expectedPods'>): BudgetDemand {
  if (demand?.kind !== 'minAvailable') return ONE_UNAVAILABLE;
  const required = Math.max(0, expectedPods - 1);
  const isShare = typeof demand.value === 'string' && demand.value.endsWith('%');
  return { kind: 'minAvailable', value: isShare ? `${Math.floor((100 * required) / Math.max(1, expectedPods))}%` : required };
}

/** The budget with so many more pods, all of them healthy. */
export function grown(budget: DisruptionBudget, more: number): DisruptionBudget {
  const expectedPods = budget.expectedPods + more;
  const wider = { ...budget, expectedPods, currentHealthy: budget.currentHealthy + more };
  return demanding(wider, budget.demand ?? { kind: 'minAvailable', value: budget.desiredHealthy });
}

/** As the disruption controller computes it: percentages are rounded up. */
function demanding(budget: DisruptionBudget, demand: BudgetDemand): DisruptionBudget {
  const { expectedPods, currentHealthy } = budget;
  const pods = typeof demand.value === 'number' ? demand.value : countOf(demand.value, expectedPods);
  const desiredHealthy = Math.max(0, demand.kind === 'minAvailable' ? pods : expectedPods - pods);
  return { ...budget, neverAllows: undefined, demand, desiredHealthy, disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy) };
}

function countOf(written: string, expectedPods: number): number {
  const value = Number.parseInt(written, 10);
  return written.endsWith('%') ? Math.ceil((value * expectedPods) / 100) : value;
}

function newBudget({ observation }: World, { namespace, name, labels }: AddedBudget): DisruptionBudget {
  const requirements = Object.entries(labels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] }));
  const empty = {
    namespace,
    name,
    selector: { requirements },
    disruptionsAllowed: 0,
    expectedPods: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
    neverAllows: undefined,
    demand: ONE_UNAVAILABLE,
  };
  const selected = [...observation.cluster.podsByNode.values()].flat().filter((pod) => selects(empty, pod));
  return demanding(
    { ...empty, expectedPods: selected.length, currentHealthy: selected.filter(({ ready }) => ready).length },
    ONE_UNAVAILABLE,
  );
}
