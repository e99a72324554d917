/** Disks that a pod's own spec names, which no two pods of a node may have unless both only read them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InlineDisk } from '../../../src/domain/volumes.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { disksConflict } from '../../../src/scheduling/predicates/volumes.ts';
import { aCluster, aGroup, aNode, aPod, aShape, aTemplate, resourceNames } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

const disk = (part: Partial<InlineDisk> = {}): InlineDisk => ({ kind: 'iscsi', ids: ['a'], readOnly: false, ...part });
function wanting(loneDisks: readonly InlineDisk[], rest: Parameters<typeof aPod>[0] = {}) {
  const plain = aShape({ cpu: '100m' });
  return aPod({ ...rest, shape: { ...plain, key: `${plain.key} ${JSON.stringify(loneDisks)}`, loneDisks } });
}
const there = { nodeName: 'n', phase: 'Running' as const, unschedulable: undefined };
const group = aGroup({ id: 'a', target: 0, maxSize: 9, template: aTemplate() });

describe('a disk that a node lets in once', () => {
  it.each<[string, InlineDisk, InlineDisk, boolean]>([
    ['the same', disk(), disk(), true],
    ['another', disk(), disk({ ids: ['b'] }), false],
    ['the same, read by one', disk(), disk({ readOnly: true }), true],
    ['the same, read by both', disk({ readOnly: true }), disk({ readOnly: true }), false],
    ['one monitor in common', disk({ kind: 'rbd', ids: ['a', 'b'] }), disk({ kind: 'rbd', ids: ['b', 'c'] }), true],
    ['no monitor at all', disk({ kind: 'rbd', ids: [] }), disk({ kind: 'rbd', ids: [] }), false],
    ['a disk of another kind', disk(), disk({ kind: 'gcePersistentDisk' }), false],
  ])('%s', (_what, left, right, quarrel) => {
    expect([disksConflict(left, right), disksConflict(right, left)]).toEqual([quarrel, quarrel]);
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(aCluster({ nodes: [aNode({ name: 'n' })], pods: [wanting([right], there)] }));
    const pod = wanting([left]);
    expect(snapshot.findNode(pod)).toBe(quarrel ? undefined : 'n');
    expect(snapshot.check(pod, 'n').map((reason) => ('message' in reason ? reason.message : reason.kind))).toEqual(
      quarrel ? ['node(s) had no available disk'] : [],
    );
  });

  it('asks for a node for each pod that writes, and for one for all that read', () => {
    const pods = (readOnly: boolean) => Array.from({ length: 3 }, (_, at) => wanting([disk({ readOnly })], { name: `p-${at}` }));
    expect(growth(planFor({ groups: [group], pods: pods(false) }))).toEqual(['a 0->3']);
    expect(growth(planFor({ groups: [group], pods: pods(true) }))).toEqual(['a 0->1']);
  });

  it('keeps pods off the node that has it, and is said to where no more nodes can be had', () => {
    const [first, second] = [wanting([disk()], { name: 'p-0' }), wanting([disk()], { name: 'p-1' })];
    const nodes = [aNode({ name: 'n' })];
    const one = aGroup({ id: 'a', target: 0, maxSize: 1, template: aTemplate() });
    const plan = planFor({ groups: [one], nodes, pods: [wanting([disk()], there), first, second] });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(verdictOf(plan, first)).toEqual({ kind: 'triggered', group: 'a' });
    expect(verdictOf(plan, second)).toMatchObject({ kind: 'helpless', byGroup: [{ skip: { kind: 'max-size' } }] });
    // What comes with every new node has it there, too.
    const daemonSets = [{ uid: 'd', namespace: 'kube-system', name: 'd', shape: wanting([disk()]).shape }];
    const never = planFor({ groups: [group], pods: [first], daemonSets });
    expect(verdictOf(never, first)).toMatchObject({
      kind: 'helpless',
      byGroup: [{ fit: [{ kind: 'volume', message: 'node(s) had no available disk' }] }],
    });
  });

  it('is free again when its pod goes, whatever came and went and was taken back', () => {
    const some = fc.record({
      kind: fc.constantFrom('iscsi', 'rbd'),
      ids: fc.subarray(['a', 'b'], { minLength: 1 }),
      readOnly: fc.boolean(),
    });
    const step = fc.record({ disks: fc.array(some, { maxLength: 2 }), how: fc.constantFrom('put', 'put', 'take', 'node') });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), fc.array(step, { maxLength: 8 }), some, (first, second, wanted) => {
        const snapshot = new ClusterSnapshot({ names: resourceNames });
        snapshot.sync(aCluster({ nodes: [aNode({ name: 'n' })], pods: [] }));
        const podsThere = () => snapshot.get('n')?.pods ?? [];
        const isFree = () => snapshot.check(wanting([wanted]), 'n').length === 0;
        const isFreeByHand = () => !podsThere().some(({ shape }) => shape.loneDisks.some((one) => disksConflict(one, wanted)));
        const walk = (steps: typeof first, prefix: string): void => {
          steps.forEach(({ disks, how }, at) => {
            const [leaving] = podsThere();
            const seat = snapshot.get('n');
            if (how === 'put') snapshot.addPod(wanting(disks, { name: `${prefix}-${at}` }), 'n');
            else if (how === 'take' && leaving !== undefined) snapshot.removePod(leaving, 'n');
            else if (how === 'node' && seat !== undefined) {
              snapshot.removeNode('n');
              snapshot.addNode(seat.node, seat.pods);
            }
            expect(isFree()).toBe(isFreeByHand());
          });
        };
        walk(first, 'one');
        const before = isFree();
        snapshot.fork();
        walk(second, 'two');
        snapshot.revert();
        expect([isFree(), isFree()]).toEqual([before, isFreeByHand()]);
      }),
      { numRuns: 100, seed: 11 },
    );
  });
});
