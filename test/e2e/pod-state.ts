/** What kube-scheduler has done with a pod, where it preempts no other. */
import type { PodObject } from '../../world/simulator/cluster/store/objects.ts';

export function stateOf({ spec, status }: Readonly<Record<string, unknown>>): 'bound' | 'refused' | 'untried' {
  const { conditions = [], nominatedNodeName } = status as PodObject['status'];
  // It names the node of a pod that it binds once the devices are prepared.
  if ((spec as PodObject['spec']).nodeName !== undefined || nominatedNodeName !== undefined) return 'bound';
  const refused = conditions.find(({ type }) => type === 'PodScheduled');
  return refused?.reason === 'Unschedulable' || refused?.reason === 'SchedulerError' ? 'refused' : 'untried';
}
