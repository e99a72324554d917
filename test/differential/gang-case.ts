/** A group of pods that starts together in a cluster of a parity case: how many of its pods the plan gives a place on the nodes that are there. */
import { projectPodGroup } from '../../src/kubernetes/projection/pod-groups.ts';
import { planScaleUp } from '../../src/planning/scale-up/plan.ts';
import { aPolicy } from '../planning/scale-up/world.ts';
import { anObservation } from '../support/builders.ts';
import { aState } from '../support/state.ts';
import { FIRST_PLAN } from '../../src/planning/scale-up/plan-input.ts';
import { clusterViewOf, type ParityCluster, type ParityObject } from './parity-case.ts';

export interface GangQuestion {
  readonly group: ParityObject;
  /** Copies of one pod. */
  readonly pods: readonly ParityObject[];
}

/** kube-scheduler has not reported on the pods before: a plan counts them as refused. */
const REFUSED = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };

export function placedByPlan(cluster: ParityCluster, { group, pods }: GangQuestion): number {
  const refused = pods.map((pod) => ({ ...pod, status: { ...(pod['status'] as object | undefined), ...REFUSED } }));
  const { view, names } = clusterViewOf([...cluster, ...refused]);
  const observation = anObservation([], { ...view, podGroups: { groups: new Map(projectPodGroup(group)), unread: false } });
  const { verdicts } = planScaleUp({
    ...FIRST_PLAN,
    observation,
    state: aState(),
    policy: aPolicy({ expendablePriorityCutoff: -10 }),
    names,
  });
  return view.pendingPods.filter((pod) => verdicts.get(pod)?.kind === 'fits-present-node').length;
}
