/** Devices that several nodes reach, in the snapshot. */
import { describe, expect, it } from 'vitest';
import type { CommonPool, Device } from '../../src/domain/devices.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aNode, aPod, resourceNames } from '../support/builders.ts';
import { aDevice, aDevicePool, claiming } from '../support/devices.ts';

const SOME = [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In' as const, values: ['n-0', 'n-1'] }] }];

function snapshotWith(devices: readonly Device[]): ClusterSnapshot {
  const pool: CommonPool = { ...aDevicePool('net', devices), allocated: [], held: [] };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const nodes = ['n-0', 'n-1', 'n-2'].map((name) => aNode({ name }));
  snapshot.sync({ ...aCluster({ nodes }), commonDevices: [pool] });
  return snapshot;
}

const fitting = (snapshot: ClusterSnapshot, pod: ReturnType<typeof aPod>): readonly string[] =>
  snapshot.nodeNames().filter((name) => snapshot.check(pod, name).length === 0);

describe('devices that several nodes reach', () => {
  it('are had once for all nodes, until the pod or its node is gone', () => {
    const snapshot = snapshotWith([aDevice('a', { reach: SOME })]);
    const [first, second] = ['p', 'q'].map((name) => aPod({ name, shape: { key: 'one', ...claiming(1) } }));
    expect(fitting(snapshot, first!)).toEqual(['n-0', 'n-1']);
    snapshot.addPod(first!, 'n-0');
    expect(fitting(snapshot, second!)).toEqual([]);
    snapshot.fork();
    snapshot.removeNode('n-0');
    expect(fitting(snapshot, second!)).toEqual(['n-1']);
    snapshot.revert();
    expect(fitting(snapshot, second!)).toEqual([]);
    snapshot.removePod(first!, 'n-0');
    expect(fitting(snapshot, second!)).toEqual(['n-0', 'n-1']);
  });

  it('have parts and counters that are one for all nodes', () => {
    const memory = { isDivided: true as const, divided: { memory: { whole: 2, usual: 1 } } };
    const snapshot = snapshotWith([aDevice('a', memory)]);
    const pods = ['p', 'q', 'r'].map((name) => aPod({ name, shape: { key: 'one', ...claiming(1) } }));
    snapshot.addPod(pods[0]!, 'n-0');
    snapshot.addPod(pods[1]!, 'n-2');
    expect(fitting(snapshot, pods[2]!)).toEqual([]);
    snapshot.removePod(pods[0]!, 'n-0');
    expect(fitting(snapshot, pods[2]!)).toEqual(['n-0', 'n-1', 'n-2']);
  });

  it.each<[string, Partial<Device>, readonly string[]]>([
    ['on every node that reaches it', { reach: SOME }, ['n-0', 'n-1']],
    ['everywhere if all nodes reach it', {}, ['n-0', 'n-1', 'n-2']],
    ['on the first node if the device is bound to it', { isBound: true }, ['n-0']],
  ])('let pods that share a claim run %s', (_what, part, nodes) => {
    const snapshot = snapshotWith([aDevice('a', part)]);
    const [first, second] = ['p', 'q'].map((name) => aPod({ name, shape: { key: 'one', ...claiming(1, { shared: 'default/team' }) } }));
    snapshot.addPod(first!, 'n-0');
    expect(fitting(snapshot, second!)).toEqual(nodes);
    const at = nodes.at(-1) ?? '';
    snapshot.fork();
    snapshot.addPod(second!, at);
    expect(fitting(snapshot, second!)).toEqual(nodes);
    snapshot.revert();
    expect(fitting(snapshot, second!)).toEqual(nodes);
  });
});
