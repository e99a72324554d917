/** Worlds with one part replaced. Lists without a changed part keep their identity: the model of a cluster reads only the others again. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { ClusterView, CloudView } from '../../../domain/observation.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { World } from './change.ts';
import { isOf, type Workload } from './workload.ts';

export function withCluster(world: World, edit: (cluster: ClusterView) => Partial<ClusterView>): World {
  const { observation } = world;
  return { ...world, observation: { ...observation, cluster: { ...observation.cluster, ...edit(observation.cluster) } } };
}

export function withCloud(world: World, edit: (cloud: CloudView) => Partial<CloudView>): World {
  const { observation } = world;
  return { ...world, observation: { ...observation, cloud: { ...observation.cloud, ...edit(observation.cloud) } } };
}

export function withGroup(world: World, id: NodeGroupId, edit: (group: NodeGroup) => NodeGroup): World {
  return withCloud(world, ({ groups }) => ({ groups: groups.map((group) => (group.id === id ? edit(group) : group)) }));
}

export function withTemplate(world: World, id: NodeGroupId, edit: (template: NodeTemplate) => NodeTemplate): World {
  return withGroup(world, id, (group) => (group.template === undefined ? group : { ...group, template: edit(group.template) }));
}

/** The running pods of the workload, edited. */
export function withWorkload(world: World, workload: Workload, edit: (pod: Pod) => Pod): World {
  return withCluster(world, ({ podsByNode }) => {
    const changed = [...podsByNode].flatMap(([name, pods]) =>
      pods.some((pod) => isOf(pod, workload)) ? [[name, pods.map((pod) => (isOf(pod, workload) ? edit(pod) : pod))] as const] : [],
    );
    return { podsByNode: new Map([...podsByNode, ...changed]) };
  });
}

/** `shapes`: those that were edited for other pods of the same shape. */
export function reshaped(pod: Pod, edit: (shape: PodShape) => PodShape, shapes: Map<PodShape, PodShape>): Pod {
  const shape = shapes.get(pod.shape) ?? edit(pod.shape);
  shapes.set(pod.shape, shape);
  return { ...pod, shape };
}

export function groupNamed({ observation }: Pick<World, 'observation'>, id: NodeGroupId): NodeGroup | undefined {
  return observation.cloud.groups.find((group) => group.id === id);
}
