/** The cluster as it would be once nodes are removed and their pods run elsewhere. */
import type { NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Removal } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { withFork, type Snapshot } from '../../../scheduling/snapshot/snapshot.ts';
import type { PlanScaleDownInput } from '../../scale-down/plan.ts';
import { placementOrder } from '../../scale-down/simulate-removal.ts';

/** What a plan of removals was made from. */
export type RemovalInput = Pick<PlanScaleDownInput, 'observation' | 'state' | 'policy' | 'names' | 'fullGroups'>;

/** `model` is as the cluster of the input is, and is left as found. A pod without a place is left out: it would be pending. */
export function withoutNodes(input: RemovalInput, removals: readonly Removal[], model: Snapshot): RemovalInput {
  const { observation } = input;
  const { cluster, cloud } = observation;
  const gone = new Set(removals.map(({ node }) => node));
  const podsByNode = new Map([...cluster.podsByNode].filter(([name]) => !gone.has(name)));
  for (const { pod, place } of placesOf(removals, input, model)) {
    podsByNode.set(place, [...(podsByNode.get(place) ?? []), { ...pod, nodeName: place }]);
  }
  const nodes = new Map([...cluster.nodes].filter(([name]) => !gone.has(name)));
  const groups = cloud.groups.map((group) => without(group, removals));
  return { ...input, observation: { ...observation, cluster: { ...cluster, nodes, podsByNode }, cloud: { ...cloud, groups } } };
}

interface PlacedPod {
  readonly pod: Pod;
  readonly place: NodeName;
}

function placesOf(removals: readonly Removal[], { observation: { cluster } }: RemovalInput, model: Snapshot): readonly PlacedPod[] {
  const isOpen = (name: NodeName): boolean =>
    cluster.nodes.get(name)?.unschedulable === false && cluster.nodes.get(name)?.readiness.ready === true;
  const moving = removals.flatMap(({ pods }) => pods).sort(placementOrder);
  return withFork(model, () => {
    for (const { node } of removals) model.removeNode(node);
    return moving.flatMap((pod) => {
      const place = model.findNode(pod, isOpen);
      if (place === undefined) return [];
      model.addPod({ ...pod, nodeName: place }, place);
      return [{ pod, place }];
    });
  });
}

function without(group: NodeGroup, removals: readonly Removal[]): NodeGroup {
  const { target, instances } = group;
  const gone = new Set(removals.flatMap((removal) => (removal.group === group.id ? [removal.instance] : [])));
  if (gone.size === 0 || !target.known) return group;
  return {
    ...group,
    target: { ...target, value: target.value - gone.size },
    instances: instances?.filter(({ key }) => !gone.has(key)),
  };
}
