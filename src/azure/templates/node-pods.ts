/**
 * Pods that come with each node of a group, as its nodes show them and as they are stored for the next process. Static pods of the kubelets
 * are on a new node, too; the Cluster Autoscaler also keeps the mirror pods of the node that it copies.
 * Idea: evidence.
 */
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames, Resources } from '../../domain/resources.ts';
import type { StaticPod } from '../../domain/node-template.ts';
import { compareBy } from '../../lib/comparison.ts';

/** Far more than any node has. */
const MOST_STATIC_PODS = 20;

/** The same with amounts in the units of resource vectors, by name: their indexes differ in each process. */
export type Stored<Item> = Omit<Item, 'requests'> & { readonly requests: Readonly<Record<string, number>> };

export function toStored<Item extends { readonly requests: Resources }>({ requests, ...rest }: Item, names: ResourceNames): Stored<Item> {
  return { ...rest, requests: names.toRecord(requests) };
}

export function fromStored<Item extends Stored<StaticPod>>(
  { requests, ...rest }: Item,
  names: ResourceNames,
): Omit<Item, 'requests'> & Pick<StaticPod, 'requests'> {
  return { ...rest, requests: names.fromRecord(requests) };
}

/** The kubelet appends the node's name to the names of its static pods, and so do controllers of daemon pods. */
export function nameWithoutNode({ name }: Pod, node: string): string {
  return name.endsWith(`-${node}`) ? name.slice(0, -node.length - 1) : name;
}

/** The static pods by namespace and name, without finished and terminating ones. */
export function staticPodsOf(pods: readonly Pod[], node: string): readonly StaticPod[] {
  return pods
    .filter(({ mirror, phase, deletionAtMs }) => mirror && deletionAtMs === undefined && phase !== 'Succeeded' && phase !== 'Failed')
    .map((pod) => {
      const { requests, hostPorts } = pod.shape;
      return { namespace: pod.namespace, name: nameWithoutNode(pod, node), requests, hostPorts };
    })
    .sort(compareBy((item) => `${item.namespace}/${item.name}`))
    .slice(0, MOST_STATIC_PODS);
}
