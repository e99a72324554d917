import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attachResource } from '../../../src/domain/resources.ts';
import { AZURE_DISK_DRIVER } from '../../../src/domain/volumes.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, aPod, aShape, aTemplate, resourceNames } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

const SLOT = attachResource(AZURE_DISK_DRIVER);
const slots = resourceNames.fromRecord({ [SLOT]: 1 });

/** A pod with so many disks of its own that shares some with others. */
function mounting(own: number, shared: readonly string[], name?: string) {
  const plain = aShape({ cpu: '100m' });
  const requests = resourceNames.fromRecord({ ...resourceNames.toRecord(plain.requests), ...(own === 0 ? {} : { [SLOT]: own }) });
  const sharedVolumes = shared.map((volume) => ({ volume, slots }));
  const key = `${plain.key} ${own} ${shared.join()}`;
  return aPod({ shape: { ...plain, key, requests, sharedVolumes }, ...(name === undefined ? {} : { name }) });
}

const limits = (most: number) => ({ attachLimits: { [AZURE_DISK_DRIVER]: most } });
const group = (most: number, maxSize = 9) => aGroup({ id: 'a', target: 0, maxSize, template: { ...aTemplate(), ...limits(most) } });

describe('new nodes for pods that share volumes', () => {
  it('attach a shared volume once, and room for the disks of others is what is left', () => {
    const sharing = Array.from({ length: 5 }, () => mounting(0, ['data']));
    expect(growth(planFor({ groups: [group(1)], pods: sharing }))).toEqual(['a 0->1']);
    const both = [...sharing, mounting(1, []), mounting(1, [])];
    expect(growth(planFor({ groups: [group(3)], pods: both }))).toEqual(['a 0->1']);
    expect(growth(planFor({ groups: [group(2)], pods: both }))).toEqual(['a 0->2']);
    expect(growth(planFor({ groups: [group(1)], pods: both }))).toEqual(['a 0->3']);
  });

  it('are not bought for more volumes than a node holds, and say so in numbers', () => {
    const pod = mounting(1, ['a', 'b']);
    const plan = planFor({ groups: [group(2)], pods: [pod] });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, pod)).toEqual({
      kind: 'helpless',
      byGroup: [expect.objectContaining({ fit: [{ kind: 'insufficient-resource', resource: SLOT, requested: 3, free: 2 }] })],
    });
  });

  it('are not bought where a node that is there has the volume', () => {
    const there = { ...mounting(0, ['data']), nodeName: 'n', phase: 'Running' as const, unschedulable: undefined };
    const [same, other] = [mounting(0, ['data']), mounting(0, ['other'])];
    const plan = planFor({ groups: [group(1)], nodes: [aNode({ name: 'n', ...limits(1) })], pods: [there, same, other] });
    expect(verdictOf(plan, same)).toEqual({ kind: 'fits-present-node', node: 'n' });
    expect(verdictOf(plan, other)).toEqual({ kind: 'triggered', group: 'a' });
    expect(growth(plan)).toEqual(['a 0->1']);
  });
});

describe('the snapshot of nodes whose pods share volumes', () => {
  const step = fc.record({
    own: fc.nat(1),
    shared: fc.subarray(['a', 'b', 'c']),
    node: fc.nat(1),
    kind: fc.constantFrom('put', 'put', 'take', 'node'),
  });

  it('counts each volume of a node once, whatever comes and goes, and takes everything back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), (first, second) => {
        const snapshot = new ClusterSnapshot({ names: resourceNames });
        const nodes = ['n-0', 'n-1'].map((name) => aNode({ name, ...limits(50) }));
        snapshot.sync(aCluster({ nodes, pods: [] }));
        const used = () => nodes.map(({ name }) => usedOn(snapshot, name));
        const honest = () => nodes.map(({ name }) => countedOn(snapshot, name));
        const walk = (steps: readonly (typeof first)[number][], prefix: string): void => {
          steps.forEach(({ own, shared, node, kind }, at) => {
            const name = `n-${node}`;
            const seat = snapshot.get(name);
            if (kind === 'put' && seat !== undefined) snapshot.addPod(mounting(own, shared, `${prefix}-${at}`), name);
            const leaving = seat?.pods[at % (seat.pods.length || 1)];
            if (kind === 'take' && leaving !== undefined) snapshot.removePod(leaving, name);
            if (kind === 'node' && seat !== undefined) {
              snapshot.removeNode(name);
              snapshot.addNode(seat.node, seat.pods);
            }
            expect(used()).toEqual(honest());
          });
        };
        walk(first, 'one');
        const before = used();
        snapshot.fork();
        walk(second, 'two');
        snapshot.revert();
        expect(used()).toEqual(before);
      }),
      { numRuns: 200, seed: 4 },
    );
  });
});

/** What the snapshot says: how far a pod that wants far too much falls short. */
function usedOn(snapshot: ClusterSnapshot, node: string): number {
  const [reason] = snapshot.check(mounting(100, []), node);
  return reason?.kind === 'insufficient-resource' ? 50 - reason.free : Number.NaN;
}

/** Counted by hand. */
function countedOn(snapshot: ClusterSnapshot, node: string): number {
  const pods = snapshot.get(node)?.pods ?? [];
  const own = pods.reduce((sum, { shape }) => sum + (shape.requests[resourceNames.indexOf(SLOT)] ?? 0), 0);
  return own + new Set(pods.flatMap(({ shape }) => shape.sharedVolumes.map(({ volume }) => volume))).size;
}
