import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byName, PodIndex } from '../../../src/kubernetes/views/pod-index.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { aPod, START_MS } from '../../support/builders.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const NODES = ['n1', 'n2', 'n3'];

/** What may happen to one pod: another state of it, or its end. `look`: the views are read first. */
const step = fc.record({
  name: fc.constantFrom(...NAMES),
  namespace: fc.constantFrom('x', 'y'),
  nodeName: fc.option(fc.constantFrom(...NODES), { nil: undefined }),
  phase: fc.constantFrom<Pod['phase']>('Pending', 'Running', 'Succeeded', 'Failed'),
  terminating: fc.boolean(),
  ends: fc.boolean(),
  look: fc.boolean(),
});

type Views = ReturnType<typeof viewsOf>;
const viewsOf = (index: PodIndex) => ({ byNode: index.podsByNode(), pending: index.pendingPods() });
const copyOf = ({ byNode, pending }: Views) => ({
  byNode: new Map([...byNode].map(([node, pods]) => [node, [...pods]])),
  pending: [...pending],
});

/** The same by brute force. */
function expected(pods: readonly Pod[]): { readonly byNode: ReadonlyMap<string, readonly Pod[]>; readonly pending: readonly Pod[] } {
  const alive = pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed').sort(byName);
  const nodes = [...new Set(alive.flatMap(({ nodeName }) => nodeName ?? []))].sort();
  return {
    byNode: new Map(nodes.map((node) => [node, alive.filter(({ nodeName }) => nodeName === node)])),
    pending: alive.filter(({ nodeName, deletionAtMs }) => nodeName === undefined && deletionAtMs === undefined),
  };
}

describe('pod index', () => {
  it('holds what brute force finds, in order of name, and never edits what it has shown', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const index = new PodIndex();
        const known = new Map<string, Pod>();
        const shown: { readonly views: Views; readonly copy: ReturnType<typeof copyOf> }[] = [];
        for (const { name, namespace, nodeName, phase, terminating, ends, look } of steps) {
          if (look) {
            const views = viewsOf(index);
            shown.push({ views, copy: copyOf(views) });
          }
          const key = `${namespace}/${name}`;
          const before = known.get(key);
          const after = ends ? undefined : aPod({ name, namespace, nodeName, phase, deletionAtMs: terminating ? START_MS : undefined });
          index.replace(before, after);
          if (after === undefined) known.delete(key);
          else known.set(key, after);
        }
        expect(viewsOf(index)).toEqual(expected([...known.values()]));
        expect([...index.podsByNode().keys()]).toEqual([...expected([...known.values()]).byNode.keys()]);
        for (const { views, copy } of shown) expect(copyOf(views)).toEqual(copy);
      }),
      { seed: 20261121, numRuns: 300 },
    );
  });

  it('keeps the lists of nodes that nothing happened to, and the views themselves when nothing did at all', () => {
    const index = new PodIndex();
    const [here, there, waiting] = [aPod({ nodeName: 'n1' }), aPod({ nodeName: 'n2' }), aPod()];
    for (const pod of [here, there, waiting]) index.replace(undefined, pod);
    const [byNode, pending] = [index.podsByNode(), index.pendingPods()];
    expect(index.podsByNode()).toBe(byNode);
    expect(index.pendingPods()).toBe(pending);
    index.replace(here, { ...here, ready: false });
    expect(index.podsByNode()).not.toBe(byNode);
    expect(index.podsByNode().get('n2')).toBe(byNode.get('n2'));
    expect(index.podsByNode().get('n1')).not.toBe(byNode.get('n1'));
    expect(index.pendingPods()).toBe(pending);
  });

  it('copies a list once between two views, however much happens', () => {
    const index = new PodIndex();
    index.replace(undefined, aPod({ nodeName: 'n1' }));
    index.podsByNode();
    index.replace(undefined, aPod({ nodeName: 'n1' }));
    index.replace(undefined, aPod({ nodeName: 'n1' }));
    const list = index.podsByNode().get('n1');
    expect(list).toHaveLength(3);
    expect(index.podsByNode().get('n1')).toBe(list);
  });

  it('moves a pod from waiting to its node, and drops a node with its last pod', () => {
    const index = new PodIndex();
    const waiting = aPod({ name: 'one' });
    const bound = aPod({ name: 'one', nodeName: 'n1' });
    index.replace(undefined, waiting);
    expect(index.pendingPods()).toEqual([waiting]);
    index.replace(waiting, bound);
    expect(viewsOf(index)).toEqual({ byNode: new Map([['n1', [bound]]]), pending: [] });
    index.replace(bound, { ...bound, phase: 'Succeeded' });
    expect(viewsOf(index)).toEqual({ byNode: new Map(), pending: [] });
  });
});
