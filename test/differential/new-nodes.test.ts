import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { podName } from '../../src/domain/ids.ts';
import type { NodeGroup, NodeTemplate } from '../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../src/domain/plan.ts';
import type { NodeObject, PodObject } from '../../src/simulator/cluster/objects.ts';
import { decide } from '../../src/simulator/cluster/scheduler/decide.ts';
import { planScaleUp } from '../../src/planning/scale-up/plan.ts';
import { aCloud, aCluster, aGroup, anObservation, resourceNames } from '../support/builders.ts';
import { aPolicy, NO_STATE } from '../planning/scale-up/world.ts';
import { plannersNode, plannersPod, roomWith } from './both-sides.ts';
import { HOSTNAME, NAMESPACES, nodeDraft, nodeObject, podDraft, podObject, ZONE, type NodeDraft, type PodDraft } from './random-cluster.ts';

interface Story {
  readonly nodes: readonly NodeDraft[];
  readonly pools: readonly { readonly draft: NodeDraft; readonly max: number }[];
  readonly pending: readonly { readonly draft: PodDraft; readonly count: number }[];
}

const uncordoned = nodeDraft.map((draft) => ({ ...draft, unschedulable: false }));

function stories(shapes: { readonly minLength: number; readonly maxLength: number }, most: number): fc.Arbitrary<Story> {
  return fc.record({
    nodes: fc.array(nodeDraft, { maxLength: 3 }),
    pools: fc.array(fc.record({ draft: uncordoned, max: fc.integer({ min: 1, max: 6 }) }), { minLength: 1, maxLength: 3 }),
    pending: fc.array(fc.record({ draft: podDraft, count: fc.integer({ min: 1, max: most }) }), shapes),
  });
}

/**
 * Without hard spread: several new domains that appear at once are filled evenly by the scheduler, while a plan fills one
 * pool after the other; how many find a place may differ then, and the second test says what must hold all the same.
 */
const equalPods = stories({ minLength: 1, maxLength: 1 }, 8).map((story) => ({
  ...story,
  pending: story.pending.map(({ draft, count }) => {
    const { topologySpreadConstraints: _spread, ...spec } = draft.spec;
    return { draft: { ...draft, spec }, count };
  }),
}));

/** The world as the two sides share it; nodes and bindings are only ever added. */
interface World {
  readonly pools: Story['pools'];
  nodes: readonly NodeObject[];
  pods: readonly PodObject[];
}

function worldOf(story: Story): World {
  return {
    pools: story.pools,
    nodes: story.nodes.map((draft, at) => nodeObject(`n-${at}`, draft)),
    pods: story.pending.flatMap(({ draft, count }, shape) =>
      Array.from({ length: count }, (_, at) => podObject(`p-${shape}-${at}`, draft)),
    ),
  };
}

const membersOf = (world: World, pool: number) => world.nodes.filter((node) => node.metadata.name.startsWith(`pool-${pool}-`));

function groupsOf(world: World): readonly NodeGroup[] {
  return world.pools.map(({ draft, max }, at) => {
    const node = plannersNode(nodeObject('template', draft));
    const { [HOSTNAME]: _name, ...labels } = node.labels;
    const { [ZONE]: zone } = labels;
    const template: NodeTemplate = {
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

function plan(world: World): ScaleUpPlan {
  const pods = world.pods.map(plannersPod);
  const cluster = { ...aCluster({ nodes: world.nodes.map(plannersNode), pods }), namespaces: NAMESPACES };
  const groups = groupsOf(world);
  const observation = anObservation(groups, cluster, { cloud: aCloud(groups, cluster) });
  return planScaleUp({ observation, state: NO_STATE, policy: aPolicy({ expendablePriorityCutoff: -10 }), names: resourceNames });
}

/** Creates the nodes that the plan asks for. */
function obey(world: World, { increases }: ScaleUpPlan): void {
  for (const { group, from, to } of increases) {
    const at = Number(group.slice('pool-'.length));
    const draft = world.pools[at]!.draft;
    const made = Array.from({ length: to - from }, (_, index) => nodeObject(`${group}-${from + index}`, draft));
    world.nodes = [...world.nodes, ...made];
  }
}

/** Lets the toy scheduler try until nothing moves any more. */
function schedule(world: World): void {
  for (let moved = true; moved;) {
    moved = false;
    for (const pod of world.pods.filter(({ spec }) => spec.nodeName === undefined)) {
      const decision = decide(
        pod,
        roomWith(
          world.nodes,
          world.pods.filter(({ spec }) => spec.nodeName !== undefined),
        ),
      );
      if (decision.kind !== 'bind') continue;
      const nodeName = decision.seat.node.metadata.name;
      world.pods = world.pods.map((other) => (other === pod ? { ...pod, spec: { ...pod.spec, nodeName } } : other));
      moved = true;
    }
  }
}

const unbound = (world: World) => world.pods.filter(({ spec }) => spec.nodeName === undefined).map((pod) => pod.metadata.name);

/** Names of the pods that the plan found a place for. */
function promised({ verdicts }: ScaleUpPlan): readonly string[] {
  return [...verdicts]
    .filter(([, { kind }]) => kind === 'triggered' || kind === 'fits-present-node' || kind === 'fits-upcoming-node')
    .map(([pod]) => podName(pod).replace(/^.*\//, ''));
}

describe('the plan and the toy scheduler about new nodes', () => {
  it('what is promised to equal pods is bound once the nodes are there', () => {
    let kept = 0;
    fc.assert(
      fc.property(equalPods, (story) => {
        const world = worldOf(story);
        schedule(world);
        const before = unbound(world).length;
        const first = plan(world);
        obey(world, first);
        schedule(world);
        const bound = promised(first).length;
        expect(unbound(world).length).toBeLessThanOrEqual(before - bound);
        kept += bound;
      }),
      { numRuns: 400, seed: 4 },
    );
    expect(kept).toBeGreaterThan(300);
  });

  it('mixed pods never wait for a place that the plan sees and the scheduler does not', () => {
    let asked = 0;
    fc.assert(
      fc.property(stories({ minLength: 2, maxLength: 5 }, 4), (story) => {
        const world = worldOf(story);
        for (let round = 0; round < 30; round++) {
          schedule(world);
          const next = plan(world);
          // What fits on nodes that are there would be bound already.
          expect([...next.verdicts.values()].filter(({ kind }) => kind === 'fits-present-node')).toEqual([]);
          if (next.increases.length === 0) break;
          const before = unbound(world).length;
          obey(world, next);
          schedule(world);
          expect(unbound(world).length).toBeLessThan(before);
          asked += 1;
        }
        expect(plan(world).increases).toEqual([]);
      }),
      { numRuns: 400, seed: 4 },
    );
    expect(asked).toBeGreaterThan(100);
  });
});
