/** A small world in which the plan is made, obeyed, and put to the toy scheduler. */
import { podName } from '../../src/domain/ids.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../src/domain/plan.ts';
import type { ScaleUpPolicy } from '../../src/domain/policy.ts';
import type { NodeObject, PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { scheduleOne } from '../../world/simulator/cluster/scheduler/placement.ts';
import { queueOrder } from '../../world/simulator/cluster/scheduler/scheduler.ts';
import { planScaleUp } from '../../src/planning/scale-up/plan.ts';
import { aCloud, aCluster, aGroup, anObservation, resourceNames } from '../support/builders.ts';
import { aPolicy } from '../planning/scale-up/world.ts';
import { plannersNode, plannersPod, roomWith } from './both-sides.ts';
import { HOSTNAME, NAMESPACES, nodeObject, ZONE, type NodeDraft } from './random-cluster.ts';
import { type NodeTemplate, NOTHING_SHOWN } from '../../src/domain/node-template.ts';
import { FIRST_PLAN } from '../../src/planning/scale-up/plan-input.ts';
import { aState } from '../support/state.ts';

/** A pool by what its nodes are like. */
export interface Pool {
  readonly draft: NodeDraft;
  readonly max: number;
}

/** The world as the two sides share it; nodes and bindings are only ever added. */
export interface World {
  readonly pools: readonly Pool[];
  nodes: readonly NodeObject[];
  pods: readonly PodObject[];
}

const membersOf = (world: World, pool: number) => world.nodes.filter((node) => node.metadata.name.startsWith(`pool-${pool}-`));

function groupsOf(world: World): readonly NodeGroup[] {
  return world.pools.map(({ draft, max }, at) => {
    const node = plannersNode(nodeObject('template', draft));
    const { [HOSTNAME]: _name, ...labels } = node.labels;
    const { [ZONE]: zone } = labels;
    const template: NodeTemplate = {
      ...NOTHING_SHOWN,
      labels,
      taints: node.taints,
      capacity: node.capacity,
      allocatable: node.allocatable,
      zones: zone === undefined ? [] : [zone],
      source: 'cloud',
    };
    return { ...aGroup({ id: `pool-${at}`, template, target: membersOf(world, at).length, maxSize: max }) };
  });
}

/** `scaleUp`: what else the policy says. */
export function plan(world: World, scaleUp: Partial<ScaleUpPolicy> = {}): ScaleUpPlan {
  const pods = world.pods.map(plannersPod);
  const cluster = { ...aCluster({ nodes: world.nodes.map(plannersNode), pods }), namespaces: NAMESPACES };
  const groups = groupsOf(world);
  const observation = anObservation(groups, cluster, { cloud: aCloud(groups, cluster) });
  return planScaleUp({
    ...FIRST_PLAN,
    observation,
    state: aState(),
    policy: aPolicy({ expendablePriorityCutoff: -10, ...scaleUp }),
    names: resourceNames,
  });
}

/** Creates the nodes that the plan asks for. */
export function obey(world: World, { increases }: ScaleUpPlan): void {
  for (const { group, from, to } of increases) {
    const at = Number(group.slice('pool-'.length));
    const draft = world.pools[at]!.draft;
    const made = Array.from({ length: to - from }, (_, index) => nodeObject(`${group}-${from + index}`, draft));
    world.nodes = [...world.nodes, ...made];
  }
}

/** Lets the toy scheduler try, in its own order, until nothing moves any more. */
export function schedule(world: World): void {
  for (let moved = true; moved;) {
    moved = false;
    for (const pod of world.pods.filter(({ spec }) => spec.nodeName === undefined).sort(queueOrder)) {
      const decision = scheduleOne(
        pod,
        roomWith(
          world.nodes,
          world.pods.filter(({ spec }) => spec.nodeName !== undefined),
        ),
      );
      if (decision.kind !== 'bind') continue;
      const nodeName = decision.usage.node.metadata.name;
      world.pods = world.pods.map((other) => (other === pod ? { ...pod, spec: { ...pod.spec, nodeName } } : other));
      moved = true;
    }
  }
}

export const unbound = (world: World) => world.pods.filter(({ spec }) => spec.nodeName === undefined).map((pod) => pod.metadata.name);

/** Names of the pods that the plan found a place for. */
export function promised({ verdicts }: ScaleUpPlan): readonly string[] {
  return [...verdicts]
    .filter(([, { kind }]) => kind === 'triggered' || kind === 'fits-present-node' || kind === 'fits-upcoming-node')
    .map(([pod]) => podName(pod).replace(/^.*\//, ''));
}
