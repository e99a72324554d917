/** What the snapshot remembers of shapes that come and go. */
import { describe, expect, it } from 'vitest';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { NodeSlots } from '../../../src/scheduling/snapshot/node-slots.ts';
import { ShapeTable } from '../../../src/scheduling/snapshot/shape-table.ts';
import { TopologyIndex } from '../../../src/scheduling/snapshot/topology-index.ts';
import { aCluster, aNode, aPod, aShape, resourceNames } from '../../support/builders.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

function aTable(): ShapeTable {
  return new ShapeTable(new TopologyIndex(new NodeSlots(resourceNames), () => ({})));
}

const jobShape = (index: number) => aShape({ cpu: '1', labels: { job: `job-${index}` } });

describe('compiled shapes', () => {
  it('end with the pods that have the shapes, at the next sync', async () => {
    const table = aTable();
    const present = jobShape(0);
    for (let index = 0; index < 10_000; index++) {
      table.of(jobShape(index));
      if (index % 1_000 !== 0) continue;
      table.beginEpoch();
      table.of(present);
      await collectGarbage();
    }
    expect(table.size).toBeLessThan(3_000);
  });

  it('keep the end of the last search until the next sync, whatever is collected: a plan is always the same', async () => {
    const table = aTable();
    table.of(jobShape(1)).cursor = 5;
    await collectGarbage();
    expect(table.of(jobShape(1)).cursor).toBe(5);
    table.beginEpoch();
    // Used again, but not compiled again; then nothing else holds it.
    const holders = [jobShape(1)];
    for (const shape of holders.splice(0)) table.of(shape).cursor = 7;
    await collectGarbage();
    expect(table.of(jobShape(1)).cursor).toBe(7);
  });
});

describe('a snapshot', () => {
  /** Syncs a cluster of three nodes with a pod each. Returns references that hold nothing. */
  function syncOnce(snapshot: ClusterSnapshot): readonly WeakRef<object>[] {
    const nodes = ['a', 'b', 'c'].map((name) => aNode({ name }));
    const pods = nodes.map(({ name }, index) => aPod({ name, nodeName: name, shape: jobShape(index) }));
    snapshot.sync(aCluster({ nodes, pods }));
    return [...nodes, ...pods, ...pods.map(({ shape }) => shape)].map((each) => new WeakRef<object>(each));
  }

  it('retains nothing of nodes and pods that are gone, whether their slots are used again or not', async () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    const gone = syncOnce(snapshot);
    snapshot.sync(aCluster({ nodes: [aNode({ name: 'd' })] }));
    await collectGarbage();
    expect(gone.map((reference) => reference.deref()).filter((each) => each !== undefined)).toEqual([]);
  });
});
