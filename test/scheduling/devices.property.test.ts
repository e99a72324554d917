/** Devices in the snapshot: what is allocated is right, and whatever is tried and dropped leaves no trace. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommonPool, Device, DeviceClaim, DevicePool } from '../../src/domain/devices.ts';
import type { Pod } from '../../src/domain/pod.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';
import { allocateDevices, noDevicesInUse } from '../../src/scheduling/devices/device-allocator.ts';
import { DeviceIndex } from '../../src/scheduling/devices/device-list.ts';
import { aCluster, aNode, aPod, resourceNames } from '../support/builders.ts';

const DRIVER = 'gpu.example.com';

function poolOf(node: string, colors: readonly string[]): DevicePool {
  const devices = colors.map((color, at): Device => ({
    driver: DRIVER,
    pool: node,
    name: `d-${at}`,
    attributes: { [DRIVER]: { color, serial: `${node}-${at}` } },
    capacity: {},
    taints: [],
    consumes: [],
  }));
  return { driver: DRIVER, name: node, devices, counters: {} };
}

function claimOf(
  wants: readonly { readonly color: string | undefined; readonly count: number | 'all' }[],
  part: Partial<DeviceClaim> = {},
): DeviceClaim {
  const requests = wants.map(({ color, count }, at) => {
    const selectors = color === undefined ? [] : [`device.attributes["${DRIVER}"].color == "${color}"`];
    return { name: `r-${at}`, asks: [{ name: `r-${at}`, selectors, count, admin: false, tolerations: [] }] };
  });
  return { name: 'gpu', requests, rules: [], ...part };
}

/** Devices that some of the nodes reach. */
const COMMON: readonly CommonPool[] = [
  {
    ...poolOf('common', ['red', 'blue']),
    devices: poolOf('common', ['red', 'blue']).devices.map((device, at) =>
      at === 0
        ? device
        : { ...device, reach: [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: ['n-0', 'n-1'] }] }] },
    ),
    allocated: [],
    held: [],
  },
];

const COLORS = ['red', 'blue'] as const;
const colors = fc.array(fc.constantFrom(...COLORS), { maxLength: 5 });
const wants = fc.array(
  fc.record({ color: fc.constantFrom(undefined, ...COLORS), count: fc.constantFrom<number | 'all'>(1, 1, 2, 3, 'all') }),
  { minLength: 1, maxLength: 3 },
);

/** Every way to hand the devices out, one by one. */
function canBeFilled(
  devices: readonly string[],
  requests: readonly { readonly color: string | undefined; readonly count: number | 'all' }[],
): boolean {
  const slots = requests.map(({ color, count }) => {
    const all = devices.flatMap((own, at) => (color === undefined || own === color ? [at] : []));
    return { all, count: count === 'all' ? all.length : count };
  });
  if (slots.some(({ count }) => count === 0)) return false;
  const open = slots.flatMap(({ all, count }) => Array.from({ length: count }, () => all));
  const fill = (at: number, taken: ReadonlySet<number>): boolean =>
    at === open.length || (open[at] ?? []).some((device) => !taken.has(device) && fill(at + 1, new Set([...taken, device])));
  return fill(0, new Set());
}

describe('devices', () => {
  it('are found whenever there is a way to find them, and never twice', () => {
    fc.assert(
      fc.property(colors, wants, (devices, requests) => {
        const index = new DeviceIndex();
        const list = index.listDevices([poolOf('n', devices)]);
        const found = allocateDevices({ index, claims: [claimOf(requests)], list, inUse: noDevicesInUse(list), incomplete: [] });
        expect(found !== undefined).toBe(canBeFilled(devices, requests));
        expect(new Set(found?.flat()).size).toBe(found?.flat().length ?? 0);
      }),
      { seed: 11, numRuns: 500 },
    );
  });

  it('are as free after a fork that was dropped as before', () => {
    const pods = wants.map((requests) => [claimOf(requests)] as const);
    const step = fc.record({ kind: fc.constantFrom('add', 'remove', 'node', 'gone', 'fork', 'revert'), which: fc.nat(5), on: fc.nat(2) });
    fc.assert(
      fc.property(
        fc.array(colors, { minLength: 3, maxLength: 3 }),
        fc.array(pods, { minLength: 6, maxLength: 6 }),
        fc.array(step, { maxLength: 25 }),
        (nodes, claims, steps) => {
          const made = nodes.map((own, at) =>
            aNode({ name: `n-${at}`, devices: { pools: [poolOf(`n-${at}`, own)], incomplete: [], held: [] } }),
          );
          const each = claims.map((own, at) =>
            withClaims(`p-${at}`, at % 3 === 0 ? own.map((claim) => ({ ...claim, shared: `default/${at % 2}` })) : own),
          );
          const snapshot = new ClusterSnapshot({ names: resourceNames });
          snapshot.sync({ ...aCluster({ nodes: made }), commonDevices: COMMON });
          const placed = new Map<Pod, string>();
          for (const pod of each.slice(0, 3)) {
            const node = snapshot.findNode(pod);
            if (node === undefined) continue;
            snapshot.addPod(pod, node);
            placed.set(pod, node);
          }
          const look = (): unknown => each.map((pod) => made.map(({ name }) => snapshot.check(pod, name)));
          const before = look();
          snapshot.fork();
          play(snapshot, { steps, each, nodes: made.map(({ name }) => name), placed });
          snapshot.revert();
          expect(look()).toEqual(before);
        },
      ),
      { seed: 12, numRuns: 300 },
    );
  });
});

function withClaims(name: string, claims: readonly DeviceClaim[]): Pod {
  return aPod({ name, shape: { key: name, devices: { claims, pins: [], blockers: [] } } });
}

interface Game {
  readonly steps: readonly { readonly kind: string; readonly which: number; readonly on: number }[];
  readonly each: readonly Pod[];
  readonly nodes: readonly string[];
  readonly placed: ReadonlyMap<Pod, string>;
}

/** Adds and removes what it may, with forks of its own, and ends with none open. */
function play(snapshot: ClusterSnapshot, { steps, each, nodes, placed }: Game): void {
  const stack: Map<Pod, string>[] = [];
  let now = new Map(placed);
  for (const { kind, which, on } of steps) {
    const pod = each[which];
    const name = nodes[on];
    if (pod === undefined || name === undefined) continue;
    const node = now.get(pod);
    const isThere = snapshot.get(name) !== undefined;
    if (kind === 'add' && node === undefined && isThere && snapshot.check(pod, name).length === 0) {
      snapshot.addPod(pod, name);
      now.set(pod, name);
    } else if (kind === 'remove' && node !== undefined) {
      snapshot.removePod(pod, node);
      now.delete(pod);
    } else if (kind === 'gone' && isThere) {
      snapshot.removeNode(name);
      now = new Map([...now].filter(([, other]) => other !== name));
    } else if (kind === 'node' && !isThere) {
      snapshot.addNode(aNode({ name, devices: { pools: [poolOf(name, ['red', 'blue'])], incomplete: [], held: [] } }), []);
    } else if (kind === 'fork') {
      snapshot.fork();
      stack.push(new Map(now));
    } else if (kind === 'revert' && stack.length > 0) {
      snapshot.revert();
      now = stack.pop() ?? now;
    }
  }
  for (; stack.length > 0; stack.pop()) snapshot.revert();
}
