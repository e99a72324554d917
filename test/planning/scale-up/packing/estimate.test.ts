import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../../src/domain/pod.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { packNewNodes } from '../../../../src/planning/scale-up/packing/pack-new-nodes.ts';
import { estimate, packingOrder } from '../../../../src/planning/scale-up/packing/estimate.ts';
import { groupPods } from '../../../../src/planning/scale-up/pods/equivalence-groups.ts';
import { makeTemplate } from '../../../../src/planning/scale-up/groups/template-node.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, aPod, aShape, aTemplate, resourceNames } from '../../../support/builders.ts';

const template = (cpu: string, zones: readonly string[] = []) => {
  const group = aGroup({ id: 'a', template: aTemplate({ cpu, memory: '8Gi', pods: '12', zones }) });
  return makeTemplate(group, group.template!, { daemonSets: [] }, new Set());
};
const port = { port: 80, protocol: 'TCP', hostIp: '0.0.0.0' } as const;
const shapes = [
  aShape({ cpu: '100m', memory: '100Mi' }),
  aShape({ cpu: '700m', memory: '300Mi' }),
  aShape({ cpu: '1500m', memory: '3Gi' }),
  aShape({ cpu: '300m', memory: '5Gi' }),
  aShape({ cpu: '50m', memory: '10Mi', hostPorts: [port] }),
  aShape({ cpu: '200m', memory: '20Mi' }),
  aShape({ cpu: '9', memory: '1Gi' }),
];
const counts = fc.array(fc.nat(40), { minLength: shapes.length, maxLength: shapes.length });
const limits = fc.integer({ min: 0, max: 30 });

function podsOf(amounts: readonly number[]): readonly Pod[] {
  return amounts.flatMap((amount, index) =>
    Array.from({ length: amount }, (_, at) => aPod({ name: `p-${index}-${at}`, shape: shapes[index]! })),
  );
}
const total = (placed: ReadonlyMap<unknown, number>) => [...placed.values()].reduce((sum, count) => sum + count, 0);

/** First-fit-decreasing said the slow way: every pod for itself, every node for itself. */
function packOneByOne(groups: ReturnType<typeof groupPods>, target: ReturnType<typeof template>, limit: number) {
  const nodes: { free: number[]; port: boolean }[] = [];
  const placed = new Map<string, number>();
  for (const { group } of packingOrder(groups, target)) {
    const wantsPort = group.shape.hostPorts.length > 0;
    const fits = (node: (typeof nodes)[number]) =>
      !(wantsPort && node.port) && group.shape.requests.every((amount, index) => amount === 0 || amount <= (node.free[index] ?? 0));
    for (const _pod of group.pods) {
      let node = nodes.find(fits);
      if (node === undefined && nodes.length < limit) {
        node = { free: [...target.free], port: false };
        nodes.push(node);
      }
      if (node === undefined) continue;
      const chosen = node;
      group.shape.requests.forEach((amount, index) => (chosen.free[index] = (chosen.free[index] ?? 0) - amount));
      chosen.port ||= wantsPort;
      placed.set(group.key, (placed.get(group.key) ?? 0) + 1);
    }
  }
  return { nodes, placed };
}

describe('estimate', () => {
  it('runs of equal pods give what one pod at a time gives, over-commit nothing and keep the limit', () => {
    fc.assert(
      fc.property(counts, limits, fc.constantFrom([], ['we-1'], ['we-1', 'we-2', 'we-3']), (amounts, limit, zones) => {
        const target = template('4', zones);
        const groups = groupPods(podsOf(amounts), new Map());
        const found = finishAtOnce(estimate(groups, target, limit));
        const slow = packOneByOne(groups, target, limit);
        expect(found.nodes).toBe(slow.nodes.length);
        expect(new Map([...found.placed].map(([group, count]) => [group.key, count]))).toEqual(slow.placed);
        expect(found.nodes).toBeLessThanOrEqual(limit);
        expect(slow.nodes.every((node) => node.free.every((left) => left >= 0))).toBe(true);
        for (const [group, count] of found.placed) expect(count).toBeLessThanOrEqual(group.pods.length);
      }),
      { seed: 3, numRuns: 400 },
    );
  });

  it('without a limit every pod that fits an empty node is placed on exactly one', () => {
    fc.assert(
      fc.property(counts, (amounts) => {
        const groups = groupPods(podsOf(amounts), new Map());
        const found = finishAtOnce(estimate(groups, template('4', ['we-1', 'we-2']), Number.POSITIVE_INFINITY));
        const placeable = amounts.slice(0, -1).reduce((sum, amount) => sum + amount, 0);
        expect(total(found.placed)).toBe(placeable);
      }),
      { seed: 5, numRuns: 200 },
    );
  });

  it('is interrupted by the nodes that it visits, not by the kinds of pods: each interruption passes all steps of the plan', () => {
    const pods = Array.from({ length: 900 }, (_, at) => aPod({ shape: aShape({ cpu: `${2_000 + at}m`, memory: '1Mi' }) }));
    const work = estimate(groupPods(pods, new Map()), template('4'), 900);
    let interruptions = 0;
    for (let step = work.next(); step.done !== true; step = work.next()) interruptions += 1;
    expect(interruptions).toBeGreaterThan(1);
    expect(interruptions).toBeLessThan(pods.length / 3);
  });

  it('does not depend on the order of the pods', () => {
    fc.assert(
      fc.property(counts, limits, fc.nat(), (amounts, limit, turn) => {
        const pods = podsOf(amounts);
        const at = pods.length === 0 ? 0 : turn % pods.length;
        const sizes = (list: readonly Pod[]) => {
          const { nodes, placed } = finishAtOnce(estimate(groupPods(list, new Map()), template('4'), limit));
          return { nodes, placed: [...placed].map(([group, count]) => [group.key, group.pods.slice(0, count).map((pod) => pod.name)]) };
        };
        expect(sizes([...pods.slice(at), ...pods.slice(0, at)].reverse())).toEqual(sizes(pods));
      }),
      { seed: 9, numRuns: 200 },
    );
  });

  it('node by node in the snapshot, nothing is over-committed and every placed pod is on exactly one node', () => {
    const spread = {
      topologyKey: 'kubernetes.io/hostname',
      maxSkew: 2,
      minDomains: 1,
      selector: { requirements: [] },
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    } as const;
    const tiedShapes = shapes
      .slice(0, 4)
      .map((shape, index) =>
        aShape({ ...shape, cpu: `${(index + 1) * 300}m`, memory: '1Gi', topologySpread: index % 2 === 0 ? [spread] : [] }),
      );
    fc.assert(
      fc.property(fc.array(fc.nat(8), { minLength: 4, maxLength: 4 }), limits, (amounts, limit) => {
        const pods = amounts.flatMap((amount, index) =>
          Array.from({ length: amount }, (_, at) => aPod({ name: `t-${index}-${at}`, shape: tiedShapes[index]! })),
        );
        const snapshot = new ClusterSnapshot({ names: resourceNames });
        snapshot.sync(aCluster({ nodes: [aNode({ name: 'present', cpu: '1m' })] }));
        const groups = groupPods(pods, finishAtOnce(snapshot.interdependentShapes(tiedShapes)));
        const found = finishAtOnce(
          packNewNodes(
            groups,
            [{ template: template('4', ['we-1', 'we-2']), limit }],
            { nodes: limit, prefix: 'new', keep: true },
            snapshot,
          ),
        );
        const seated = snapshot.nodeNames().flatMap((name) => snapshot.get(name)!.pods);
        expect(new Set(seated).size).toBe(seated.length);
        expect(seated.length).toBe(total(found.placed));
        expect(snapshot.nodeNames()).toHaveLength(found.nodes + 1);
        expect(found.nodes).toBeLessThanOrEqual(limit);
        for (const name of snapshot.nodeNames()) {
          const { node, pods: there } = snapshot.get(name)!;
          if (name !== 'present') expect(there.length).toBeGreaterThan(0);
          const used = there.reduce((sum, pod) => sum + (pod.shape.requests[0] ?? 0), 0);
          expect(used).toBeLessThanOrEqual(node.allocatable[0] ?? 0);
        }
      }),
      { seed: 21, numRuns: 150 },
    );
  });
});
