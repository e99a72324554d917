/** What pools declare of devices, against what their nodes publish. Who follows the fix has the same devices. */
import { describe, expect, it } from 'vitest';
import { readDeclaredDevices } from '../../../src/domain/declared-devices.ts';
import type { Device, DevicePool } from '../../../src/domain/devices.ts';
import { deviceChecks } from '../../../src/tools/doctor/cluster-checks.ts';
import { aDevice, aDevicePool, DRIVER } from '../../support/devices.ts';

const NEVER = new AbortController().signal;

function declared(written: unknown): readonly DevicePool[] {
  const read = readDeclaredDevices(written);
  if (!read.ok) throw new Error(read.problem);
  return read.pools;
}

const checked = (written: unknown, nodes: Readonly<Record<string, readonly DevicePool[]>>) =>
  deviceChecks(
    { publishedDevices: () => Promise.resolve(new Map([['gpu', new Map(Object.entries(nodes))]])) },
    [{ name: 'aks-gpu-vmss', agentPool: 'gpu', devices: declared(written) }],
    NEVER,
  );

const real = (count: number, rest: Partial<Device> = {}): readonly DevicePool[] => [
  aDevicePool(
    'n',
    Array.from({ length: count }, (_, at) => {
      const attributes = { [DRIVER]: { model: 'A100', uuid: `GPU-${at}` } };
      return aDevice(`d-${at}`, { attributes, capacity: { [DRIVER]: { memory: 80 * 2 ** 30 } }, ...rest });
    }),
  ),
];
const DECLARED = [{ driver: DRIVER, count: 4, attributes: { model: 'A100' }, capacity: { memory: '80Gi' } }];
const HALVES = { whole: 80 * 2 ** 30, usual: 2 ** 30, range: { min: 2 ** 30, step: 2 ** 30 } };

describe('doctor and devices that are declared', () => {
  it.each<[string, unknown, readonly DevicePool[], string]>([
    ['the count', DECLARED, real(2), `4 devices of ${DRIVER} are declared, and a node publishes 2`],
    [
      'an attribute',
      [{ ...DECLARED[0], attributes: { model: 'H100' } }],
      real(4),
      `the attribute ${DRIVER}/model="H100" of ${DRIVER} is declared, and no device of a node has it`,
    ],
    [
      'a capacity',
      [{ ...DECLARED[0], capacity: { memory: '40Gi' } }],
      real(4),
      `the capacity ${DRIVER}/memory=42949672960 of ${DRIVER} is declared, and no device of a node has it`,
    ],
    [
      'the driver',
      [{ ...DECLARED[0], driver: 'gpu.nvidia.com' }],
      real(4),
      '4 devices of gpu.nvidia.com are declared, and a node publishes 0',
    ],
    [
      'another driver beside it',
      DECLARED,
      [...real(4), aDevicePool('nic', [aDevice('eth', { driver: 'nic.example.com' })], { driver: 'nic.example.com' })],
      'no device of nic.example.com is declared, and a node publishes 1',
    ],
    [
      'whether claims share a device',
      DECLARED,
      real(4, { isDivided: true, divided: { memory: HALVES } }),
      `devices of ${DRIVER} are declared without allowMultipleAllocations, and a node publishes the opposite`,
    ],
    [
      'how claims share a device',
      [{ ...DECLARED[0], allowMultipleAllocations: true }],
      real(4, { isDivided: true, divided: { memory: HALVES } }),
      `the sharing ${DRIVER}/memory={"whole":85899345920} of ${DRIVER} is declared, and no device of a node has it`,
    ],
  ])('names the difference in %s, and its fix makes the line green', async (_what, written, pools, difference) => {
    const [found] = await checked(written, { 'gpu-0': [], 'gpu-1': pools });
    expect(found).toMatchObject({ area: 'config', status: 'warning', fix: expect.stringContaining('spec.nodeName=gpu-1') as string });
    expect(found?.message).toContain(`devices that are declared for gpu differ from those of node gpu-1: ${difference}. `);
    const fixed: unknown = JSON.parse(/devices: (\[.*\])$/.exec(found?.message ?? '')?.[1] ?? '');
    expect(await checked(fixed, { 'gpu-1': pools })).toEqual([
      { area: 'config', status: 'ok', message: 'the devices that are declared for gpu are those that its nodes publish' },
    ]);
    // What differs from device to device is no part of what the next node has.
    expect(JSON.stringify(fixed)).not.toContain('uuid');
  });

  it.each<[string, Readonly<Record<string, readonly DevicePool[]>>, string, string]>([
    ['no node', {}, 'ok', `devices of ${DRIVER} are declared for gpu, which has no node to compare them with`],
    [
      'nodes without devices',
      { 'gpu-0': [] },
      'warning',
      `devices of ${DRIVER} are declared for gpu, and none of its 1 nodes publishes any: once the newest has had its time to start, no further node is requested for them`,
    ],
    ['the same devices', { 'gpu-0': real(4) }, 'ok', 'the devices that are declared for gpu are those that its nodes publish'],
  ])('says of a pool with %s what it is', async (_what, nodes, status, message) => {
    expect(await checked(DECLARED, nodes)).toMatchObject([{ status, message }]);
  });

  it('takes a node of a pool with several sizes for one of any of them', async () => {
    const sizes = [DECLARED, [{ ...DECLARED[0], count: 2 }]].map((written, at) => ({
      name: `gpu/size-${at}`,
      agentPool: 'gpu',
      devices: declared(written),
    }));
    const published = (count: number) => ({
      publishedDevices: () => Promise.resolve(new Map([['gpu', new Map([['gpu-0', real(count)]])]])),
    });
    for (const count of [2, 4])
      expect(await deviceChecks(published(count), sizes, NEVER)).toMatchObject([
        { status: 'ok', message: expect.stringContaining('are those that') },
      ]);
    expect(await deviceChecks(published(3), sizes, NEVER)).toMatchObject([
      { status: 'warning', message: expect.stringContaining(`4 devices of ${DRIVER} are declared, and a node publishes 3`) },
    ]);
  });

  it('reads nothing where none are declared, and says why if the API server refuses', async () => {
    const refuses = { publishedDevices: () => Promise.reject(new Error('resourceslices is forbidden')) };
    expect(await deviceChecks(refuses, [{ name: 'gpu', agentPool: 'gpu' }], NEVER)).toEqual([]);
    expect(await deviceChecks(refuses, [{ name: 'gpu', agentPool: 'gpu', devices: declared(DECLARED) }], NEVER)).toMatchObject([
      { status: 'skipped', message: expect.stringContaining('resourceslices is forbidden') as string },
    ]);
  });
});
