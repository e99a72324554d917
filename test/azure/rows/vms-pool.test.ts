import { describeBlock } from '../../../src/domain/group-blocks.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockAgainstChange, inputOfRows } from '../../../src/azure/groups/group-rules.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { discoverSize, isOperationRunning } from '../../../src/azure/groups/vms-pool-groups.ts';
import { parseAgentPool } from '../../../src/azure/rows/agent-pool-list.ts';
import { poolKeyOf, poolSizeKey, readVmsPool, poolSizeRows, withSizeCount, type PoolSizeRow } from '../../../src/azure/rows/vms-pool.ts';

const SMALL = 'Standard_D4s_v5';
const LARGE = 'Standard_D8s_v5';

const PROPERTIES = {
  type: 'VirtualMachines',
  eTag: 'tag-1',
  mode: 'User',
  provisioningState: 'Succeeded',
  powerState: { code: 'Running' },
  enableAutoScaling: false,
  osType: 'Linux',
  osDiskType: 'Ephemeral',
  tags: { min: '1', max: '4', odd: null },
  virtualMachinesProfile: {
    scale: {
      manual: [
        { size: SMALL, count: 3 },
        { size: LARGE, count: 1 },
      ],
    },
  },
};

const read = (json: unknown) => readVmsPool(parseAgentPool(json));

function raw(change: Readonly<Record<string, unknown>> = {}) {
  return { id: 'i', name: 'mixed', properties: { ...PROPERTIES, ...change } };
}

function rowOf(change: Partial<PoolSizeRow> = {}): PoolSizeRow {
  const [row] = poolSizeRows(read(raw()) ?? { name: '', etag: undefined, shared: STANDING, sizes: [] }, []);
  return { ...(row?.value ?? { ...STANDING, pool: '', vmSize: '', count: 0, unreadable: undefined }), ...change };
}

const STANDING = {
  provisioningState: '',
  powerState: '',
  mode: '',
  managedAutoscaler: false,
  tags: {},
  os: 'linux',
  ephemeralDisk: false,
} as const;

describe('a pool of type VirtualMachines as it is read', () => {
  it('has what all of its sizes share, and its tag', () => {
    expect(read(raw())).toEqual({
      name: 'mixed',
      etag: 'tag-1',
      shared: {
        provisioningState: 'Succeeded',
        powerState: 'Running',
        mode: 'User',
        managedAutoscaler: false,
        tags: { min: '1', max: '4' },
        os: 'linux',
        ephemeralDisk: true,
      },
      sizes: [
        { vmSize: SMALL, count: 3 },
        { vmSize: LARGE, count: 1 },
      ],
    });
  });

  it.each<[string, Readonly<Record<string, unknown>>, object]>([
    [
      'one size with the limits of the pool',
      { enableAutoScaling: true, minCount: 1, maxCount: 6, ...manual({ size: SMALL, count: 2 }) },
      { vmSize: SMALL, count: 2, managedLimits: { min: 1, max: 6 } },
    ],
    [
      'a size with limits of its own',
      { ...autoscale({ size: SMALL, minCount: 0, maxCount: 3 }), virtualMachineNodesStatus: [{ size: SMALL.toLowerCase(), count: 2 }] },
      { vmSize: SMALL, count: 2, managedLimits: { min: 0, max: 3 } },
    ],
    [
      'a size with limits and without an instance',
      autoscale({ size: SMALL, minCount: 0, maxCount: 3 }),
      { vmSize: SMALL, count: 0, managedLimits: { min: 0, max: 3 } },
    ],
    ['a size whose limits contradict each other', autoscale({ size: SMALL, minCount: 4, maxCount: 3 }), { vmSize: SMALL, count: 0 }],
  ])("has AKS's own autoscaler over %s", (_what, change, size) => {
    const pool = read(raw(change));
    expect(pool).toMatchObject({ shared: { managedAutoscaler: true } });
    expect(pool?.sizes).toEqual([size]);
    expect(
      poolSizeRows(pool ?? raise(), []).map(({ value: { vmSize, count, managedLimits } }) => ({
        vmSize,
        count,
        ...(managedLimits === undefined ? {} : { managedLimits }),
      })),
    ).toEqual([size]);
  });

  it('leaves out what has another type than AKS documents', () => {
    const odd = read(raw({ eTag: 7, mode: 1, provisioningState: [], powerState: 'Running', osType: {}, osDiskType: 3 }));
    expect(odd).toMatchObject({
      etag: undefined,
      shared: { provisioningState: '', powerState: '', mode: '', os: 'linux', ephemeralDisk: false },
    });
  });

  it.each([
    ['of scale sets', { type: 'VirtualMachineScaleSets' }],
    ['of a kind yet to come', { type: 'Hosted' }],
    ['without a type', { type: null }],
  ])('ignores a pool %s', (_name, change) => {
    expect(read(raw(change))).toBeUndefined();
  });

  it('nor is half an answer', () => {
    for (const answer of [undefined, null, '', [], {}, { name: 'mixed' }, { properties: PROPERTIES }]) expect(read(answer)).toBeUndefined();
  });

  it.each([
    ['no profile', { virtualMachinesProfile: null }, []],
    ['no scale', { virtualMachinesProfile: {} }, []],
    ['no sizes', { virtualMachinesProfile: { scale: { manual: [] } } }, []],
    ['sizes that cannot be named', { virtualMachinesProfile: { scale: { manual: [null, { count: 2 }, { size: '' }] } } }, []],
    ['a size without a count', manual({ size: SMALL }), [[SMALL, 0, 'AKS returned no usable count for this size']]],
    ['an invalid count', manual({ size: SMALL, count: -1 }), [[SMALL, 0, 'AKS returned no usable count for this size']]],
    ['a count of 0', manual({ size: SMALL, count: 0 }), [[SMALL, 0, undefined]]],
    [
      'a size twice, in any letter case',
      manual({ size: SMALL.toUpperCase(), count: 2 }, { size: SMALL, count: 1 }),
      [[SMALL, 0, 'AKS returned no usable count for this size']],
    ],
  ] as const)('%s', (_name, change, expected) => {
    const pool = read(raw(change));
    const rows = pool === undefined ? [] : poolSizeRows(pool, []);
    expect(rows.map(({ value }) => [value.vmSize, value.count, value.unreadable])).toEqual(expected);
  });

  it('a configured size that AKS omits has no machines; one that AKS reports is not doubled', () => {
    const pool = read(raw());
    const rows = pool === undefined ? [] : poolSizeRows(pool, ['STANDARD_D4S_V5', 'Standard_E2s_v5']);
    expect(rows.map(({ key, value, etag }) => [key, value.count, etag])).toEqual([
      ['mixed/standard_d4s_v5', 3, 'tag-1'],
      ['mixed/standard_d8s_v5', 1, 'tag-1'],
      ['mixed/standard_e2s_v5', 0, 'tag-1'],
    ]);
  });

  it('keys fold case', () => {
    expect(poolSizeKey('Mixed', SMALL)).toBe('mixed/standard_d4s_v5');
    expect(poolKeyOf('mixed/standard_d4s_v5')).toBe('mixed');
  });
});

function autoscale(...sizes: readonly object[]) {
  return { virtualMachinesProfile: { scale: { autoscale: sizes } } };
}

function raise(): never {
  throw new Error('not a pool');
}

function manual(...entries: readonly unknown[]) {
  return { virtualMachinesProfile: { scale: { manual: entries } } };
}

describe('the count of one size, changed', () => {
  const size = fc.constantFrom(SMALL, LARGE, 'Standard_E2s_v5');
  const document = fc.record({
    name: fc.constant('mixed'),
    unknown: fc.jsonValue(),
    properties: fc.record({
      strange: fc.jsonValue(),
      virtualMachinesProfile: fc.record({
        more: fc.jsonValue(),
        scale: fc.record({
          autoscale: fc.constant([]),
          manual: fc.uniqueArray(fc.record({ size, count: fc.nat(1000), extra: fc.jsonValue() }), { selector: (entry) => entry.size }),
        }),
      }),
    }),
  });

  it('is the only difference, whatever else the document holds', () => {
    fc.assert(
      fc.property(document, size, fc.nat(1000), (before, vmSize, count) => {
        const pristine = structuredClone(before);
        const after = withSizeCount(before, vmSize.toUpperCase(), count);
        expect(before).toEqual(pristine);
        const { manual: entries } = before.properties.virtualMachinesProfile.scale;
        const known = entries.some((entry) => entry.size === vmSize);
        const expected = structuredClone<unknown>({
          ...before,
          properties: {
            ...before.properties,
            virtualMachinesProfile: {
              ...before.properties.virtualMachinesProfile,
              scale: {
                autoscale: [],
                manual: known
                  ? entries.map((entry) => (entry.size === vmSize ? { ...entry, count } : entry))
                  : [...entries, { size: vmSize.toUpperCase(), count }],
              },
            },
          },
        });
        expect(after).toEqual(expected);
      }),
      { seed: 11, numRuns: 200 },
    );
  });

  it('creates a missing profile', () => {
    const body = withSizeCount({ name: 'p', properties: { type: 'VirtualMachines' } }, SMALL, 2);
    expect(body).toEqual({
      name: 'p',
      properties: { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: SMALL, count: 2 }] } } },
    });
  });
});

describe('whether a size may be written', () => {
  const sizeFrozenReason = (id: string, size: PoolSizeRow | undefined, ours: boolean) =>
    blockAgainstChange(
      'view',
      inputOfRows({ id: nodeGroupId(id), key: id, kind: 'vms-pool', min: 0, max: 9, explicit: true }, { size, ours }),
    );

  it.each([
    ['Succeeded', undefined],
    ['Failed', undefined],
    ['Canceled', undefined],
    ['', undefined],
    ['Scaling', 'its agent pool is in state Scaling'],
    ['Upgrading', 'its agent pool is in state Upgrading'],
    ['Deleting', 'its agent pool is in state Deleting'],
    ['SomethingNew', 'its agent pool is in state SomethingNew'],
  ])('a pool in state "%s": %s', (provisioningState, reason) => {
    expect(describeBlock(sizeFrozenReason('g', rowOf({ provisioningState }), false))).toBe(reason);
    expect(isOperationRunning(rowOf({ provisioningState }))).toBe(reason !== undefined);
  });

  it('an operation of ours explains the state of the pool, and nothing else', () => {
    expect(sizeFrozenReason('g', rowOf({ provisioningState: 'Scaling' }), true)).toBeUndefined();
    expect(describeBlock(sizeFrozenReason('g', rowOf({ provisioningState: 'Scaling', powerState: 'Stopped' }), true))).toMatch(/stopped/);
  });

  it.each([
    [{ mode: 'HostedSystem' }, /hosted/],
    [{ managedAutoscaler: true }, /own autoscaler/],
    [{ powerState: 'Stopped' }, /stopped/],
    [{ unreadable: 'AKS returned no usable count for this size' }, /count/],
  ] as const)('%j freezes the size', (change, reason) => {
    expect(describeBlock(sizeFrozenReason('g', rowOf(change), false))).toMatch(reason);
  });

  it('a pool that is not there', () => {
    expect(describeBlock(sizeFrozenReason('mixed/x', undefined, false))).toMatch(/no agent pool .*"mixed\/x"/);
  });
});

describe('discovery of a size by the tags of its pool', () => {
  const rule = { selectors: [{ key: 'on', value: 'yes' }], min: undefined, max: undefined };
  it.each([
    [{}, undefined],
    [{ on: 'no', min: '1', max: '2' }, undefined],
    [
      { on: 'yes', min: '1', max: '2' },
      { id: `mixed/${SMALL}`, kind: 'vms-pool', min: 1, max: 2, explicit: false },
    ],
    [{ on: 'yes', min: '1' }, expect.stringContaining('max')],
    [{ on: 'yes', min: '3', max: '2' }, expect.stringContaining('below')],
  ])('%j', (tags, expected) => {
    const found = discoverSize('k', rowOf({ tags: Object.fromEntries(Object.entries(tags)) }), [rule]);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toEqual(typeof found === 'string' ? expected : { key: 'k', ...expected });
  });
});
