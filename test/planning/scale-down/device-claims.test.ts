import { describe, expect, it } from 'vitest';
import { claimUtilization, unknownDeviceUse } from '../../../src/planning/scale-down/utilization.ts';
import { simulateRemoval } from '../../../src/planning/scale-down/simulate-removal.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aNode, aPod, resourceNames } from '../../support/builders.ts';
import { aDevice, aDevicePool, claiming, DRIVER } from '../../support/devices.ts';

const holding = (pool: string, count: number, from = 0) =>
  aPod({ nodeName: 'n', heldDevices: Array.from({ length: count }, (_, at) => `${DRIVER}/${pool}/d-${at + from}`), shape: claiming(1) });
const slice = (name: string, memory: number, cores: number) =>
  aDevice(name, {
    consumes: [
      { set: 'first', counters: { memory, cores } },
      { set: 'second', counters: { memory: memory / 2 } },
    ],
  });
const divided = (name: string) => aDevice(name, { isDivided: true, divided: { memory: { whole: 50 }, cores: { whole: 100 } } });
/** Of the first device. */
const having = (...parts: readonly number[]) =>
  aPod({
    nodeName: 'n',
    heldDevices: parts.map((memory) => ({ device: `${DRIVER}/n/d-0`, parts: { memory, cores: 5 } })),
    shape: claiming(1),
  });
const COUNTERS = { first: { memory: 100, cores: 10 }, second: { memory: 100 } };

describe('utilization of claimed devices', () => {
  it.each([
    ['4 of 10 devices', [aDevicePool('n', 10)], [holding('n', 4)], [], 0.4],
    ['the fullest of several pools', [aDevicePool('n', 10), aDevicePool('m', 2)], [holding('n', 4), holding('m', 1)], [], 0.5],
    ['counter sets at 80 % and 60 %', [partitioned([80, 2], [60])], [holding('n', 2)], [], 0.7],
    [
      'of each set the counter that is used most',
      [aDevicePool('n', [slice('d-0', 20, 9)], { counters: COUNTERS })],
      [holding('n', 1)],
      [],
      0.5,
    ],
    ['what is held by claims of no pod here', [aDevicePool('n', 4)], [], [`${DRIVER}/n/d-0`], 0.25],
    ['what two share counts once', [aDevicePool('n', 4)], [holding('n', 1), holding('n', 1)], [`${DRIVER}/n/d-0`], 0.25],
    ['who only looks on', [aDevicePool('n', 4)], [aPod({ nodeName: 'n', heldDevices: [] })], [], 0],
    [
      'parts of a device',
      [aDevicePool('n', [divided('d-0'), divided('d-1')])],
      [having(10, 30)],
      [{ device: `${DRIVER}/n/d-1`, parts: { memory: 20 } }],
      0.6,
    ],
    ['a device of which claims have parts, and one claim all', [aDevicePool('n', [divided('d-0')])], [having(10)], [`${DRIVER}/n/d-0`], 1],
    ['a pool without devices', [aDevicePool('n', 0)], [], [], 0],
    ['no pools', [], [holding('n', 1)], [], undefined],
  ])('%s', (_, pools, pods, held, expected) => {
    const found = claimUtilization(aNode({ name: 'n', devices: { pools, incomplete: [], held } }), pods);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(expected, 10);
  });

  it('is not said of incomplete pools and of claims without devices', () => {
    const node = aNode({ name: 'n', devices: { pools: [], incomplete: ['gpu/n'], held: [] } });
    expect(unknownDeviceUse(node, [])).toBe('device pool gpu/n is incomplete');
    expect(unknownDeviceUse(aNode({ name: 'n' }), [aPod({ name: 'p', nodeName: 'n', shape: claiming(1) })])).toBe(
      'pod default/p has device claims without allocated devices',
    );
    expect(unknownDeviceUse(aNode({ name: 'n' }), [holding('n', 1)])).toBeUndefined();
  });
});

describe('a pod whose claims would have to be filled elsewhere', () => {
  const rare = { name: 'r', selectors: [`device.attributes["${DRIVER}"].rare`], count: 1, admin: false, tolerations: [] };
  const having = (name: string, rareness: readonly (boolean | undefined)[]) => {
    const devices = rareness.map((value, at) =>
      aDevice(`d-${at}`, { attributes: value === undefined ? {} : { [DRIVER]: { rare: value } } }),
    );
    return aNode({ name, devices: { pools: [aDevicePool(name, devices)], incomplete: [], held: [] } });
  };
  it.each([
    ['moves where they can be', [having('m', [true])], true],
    ['stays while kube-scheduler would fail on any node that it comes to', [having('m', [true]), having('o', [undefined])], false],
  ])('%s', (_what, others, moves) => {
    const leaving = having('n', [true]);
    const pod = aPod({ nodeName: 'n', shape: { key: 'rare', ...claiming(1, { requests: [{ name: 'r', asks: [rare] }] }) } });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(aCluster({ nodes: [leaving, ...others], pods: [pod] }));
    const found = simulateRemoval(leaving, [pod], snapshot, new Set(['m', 'o']));
    expect('unplaced' in found ? 'unplaced' : [...found.destinations]).toEqual(moves ? ['m'] : 'unplaced');
  });
});

/** Two devices, one for each set of counters. */
function partitioned(first: readonly [memory: number, cores: number], second: readonly [memory: number]) {
  const devices = [
    aDevice('d-0', { consumes: [{ set: 'first', counters: { memory: first[0], cores: first[1] } }] }),
    aDevice('d-1', { consumes: [{ set: 'second', counters: { memory: second[0] } }] }),
  ];
  return aDevicePool('n', devices, { counters: COUNTERS });
}
