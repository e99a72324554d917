/** The same objects, once for the planner and once for the toy scheduler of the simulated cluster. */
import { createPodProjection, projectPod } from '../../src/kubernetes/projection/pod.ts';
import { createNodeProjection, projectNode } from '../../src/kubernetes/projection/node.ts';
import type { NodeJson, PodJson } from '../../src/kubernetes/api/core-json.ts';
import type { Node } from '../../src/domain/node.ts';
import type { Pod } from '../../src/domain/pod.ts';
import type { KubeObject, NodeObject, PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { nodeReasons, usageOf, type NodeUsage } from '../../world/simulator/cluster/scheduler/node-filters.ts';
import { topologyRule, type TopologyView } from '../../world/simulator/cluster/scheduler/topology.ts';
import { volumeReason } from '../../world/simulator/cluster/scheduler/volumes.ts';
import { resourceNames } from '../support/builders.ts';
import { NAMESPACES } from './random-cluster.ts';

const projection = createPodProjection(resourceNames);
const nodes = createNodeProjection(resourceNames);

/** What the watch would have handed over. */
export function plannersPod(pod: PodObject): Pod {
  return projectPod(throughTheWire(pod) as PodJson, projection);
}

export function plannersNode(node: NodeObject): Node {
  return projectNode(throughTheWire(node) as NodeJson, nodes);
}

function throughTheWire(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object));
}

/** The toy scheduler's view. */
export function roomWith(
  objects: readonly NodeObject[],
  bound: readonly PodObject[],
  stored: ReadonlyMap<string, KubeObject> = new Map(),
): TopologyView {
  return {
    nodes: objects.map((node) =>
      usageOf(
        node,
        bound.filter((pod) => pod.spec.nodeName === node.metadata.name),
      ),
    ),
    namespaceLabels: (namespace) => NAMESPACES.get(namespace) ?? {},
    stored: {
      get: (storage, key) => stored.get(`${storage} ${key}`),
      list: (storage) => [...stored].filter(([key]) => key.startsWith(`${storage} `)).map(([, object]) => object),
    },
  };
}

/** Why the toy scheduler refuses this very node; empty: it would bind there. */
export function toyReasons(pod: PodObject, seat: NodeUsage, room: TopologyView): readonly string[] {
  const reasons = nodeReasons(pod, seat);
  if (reasons.length > 0) return reasons;
  const other = volumeReason(pod, seat, room.nodes, room.stored) ?? topologyRule(pod, room)(seat);
  return other === undefined ? [] : [other];
}
