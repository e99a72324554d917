/**
 * Static pods of a group's kubelets, as one node shows them: a new node has them too. The Cluster Autoscaler also keeps the
 * mirror pods of the node that it copies. Pure.
 * Idea: evidence.
 */
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { StaticPod } from '../../domain/node-template.ts';
import { compareBy } from '../../lib/comparison.ts';

/** Far more than any node has. */
const MOST_STATIC_PODS = 20;

/** As stored for the next process: amounts in the units of resource vectors. */
export type StaticPodRecord = Omit<StaticPod, 'requests'> & { readonly requests: Readonly<Record<string, number>> };

/** The static pods by namespace and name, without finished and terminating ones. The kubelet appends the node's name to theirs. */
export function staticPodsOf(pods: readonly Pod[], node: string): readonly StaticPod[] {
  return pods
    .filter(({ mirror, phase, deletionAtMs }) => mirror && deletionAtMs === undefined && phase !== 'Succeeded' && phase !== 'Failed')
    .map(({ namespace, name, shape }) => ({
      namespace,
      name: name.endsWith(`-${node}`) ? name.slice(0, -node.length - 1) : name,
      requests: shape.requests,
      hostPorts: shape.hostPorts,
    }))
    .sort(compareBy((item) => `${item.namespace}/${item.name}`))
    .slice(0, MOST_STATIC_PODS);
}

export function toStaticRecord({ requests, ...rest }: StaticPod, names: ResourceNames): StaticPodRecord {
  return { ...rest, requests: names.toRecord(requests) };
}

export function fromStaticRecord({ requests, ...rest }: StaticPodRecord, names: ResourceNames): StaticPod {
  return { ...rest, requests: names.fromRecord(requests) };
}
