/** What every node refuses by itself is remembered until another node comes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aNode, aPod, resourceNames } from '../../support/builders.ts';

const small = Array.from({ length: 50 }, (_, at) => aNode({ name: `n-${at}`, cpu: '4', labels: { pool: `p${at % 5}` } }));
const large = aNode({ name: 'x-large', cpu: '64', labels: { pool: 'p9' } });
const wanting = { label: aPod({ shape: { nodeSelector: { pool: 'p9' } } }), size: aPod({ shape: { cpu: '32' } }) };

describe.each(Object.entries(wanting))('a pod that no node could hold by its %s, whatever ran there', (_name, pod) => {
  let snapshot: ClusterSnapshot;
  beforeEach(() => {
    snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(aCluster({ nodes: small }));
    expect(snapshot.findNode(pod)).toBeUndefined();
  });

  it('is searched on no node, also in later loops', () => {
    snapshot.sync(aCluster({ nodes: small }));
    expect([snapshot.findNode(pod), snapshot.operations.nodesVisited]).toEqual([undefined, 0]);
  });

  it('finds a node that comes later', () => {
    snapshot.sync(aCluster({ nodes: [...small, large] }));
    expect(snapshot.findNode(pod)).toBe('x-large');
    snapshot.sync(aCluster({ nodes: small }));
    expect(snapshot.findNode(pod)).toBeUndefined();
  });

  it('finds a node that changed', () => {
    snapshot.sync(aCluster({ nodes: [...small.slice(1), { ...large, name: 'n-0' }] }));
    expect(snapshot.findNode(pod)).toBe('n-0');
  });

  it('finds a node of a fork, and none after the fork', () => {
    snapshot.fork();
    snapshot.addNode(large, []);
    expect(snapshot.findNode(pod)).toBe('x-large');
    snapshot.revert();
    expect(snapshot.findNode(pod)).toBeUndefined();
    snapshot.fork();
    snapshot.addNode({ ...large, name: 'y-large' }, []);
    expect(snapshot.findNode(pod)).toBe('y-large');
  });

  it('finds a node again that a fork had taken out', () => {
    snapshot.sync(aCluster({ nodes: [...small, large] }));
    snapshot.fork();
    snapshot.removeNode('x-large');
    expect(snapshot.findNode(pod)).toBeUndefined();
    snapshot.revert();
    expect(snapshot.findNode(pod)).toBe('x-large');
  });
});

it('a pod that only other pods keep off is searched in every loop', () => {
  const filler = aPod({ cpu: '3', nodeName: 'n-0' });
  const pod = aPod({ cpu: '2' });
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(aCluster({ nodes: small.slice(0, 1), pods: [filler] }));
  expect(snapshot.findNode(pod)).toBeUndefined();
  snapshot.sync(aCluster({ nodes: small.slice(0, 1) }));
  expect(snapshot.findNode(pod)).toBe('n-0');
});
