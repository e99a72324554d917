/** Which changes of a group's template make a finding about it void. */
import { describe, expect, it } from 'vitest';
import type { DevicePool } from '../../../src/domain/devices.ts';
import type { NodeTemplate } from '../../../src/domain/node-template.ts';
import { templateHash } from '../../../src/planning/promises/broken-promise.ts';
import { aTemplate } from '../../support/builders.ts';

describe('the hash of a template', () => {
  it('depends on what it offers, and not on the order of labels', () => {
    const template = aTemplate({ labels: { a: '1', b: '2' } });
    const hash = templateHash(template);
    expect(templateHash(aTemplate({ labels: { b: '2', a: '1' } }))).toBe(hash);
    expect(templateHash(aTemplate({ labels: { a: '1', b: '3' } }))).not.toBe(hash);
    expect(templateHash(aTemplate({ cpu: '2', labels: { a: '1', b: '2' } }))).not.toBe(hash);
  });

  const devices = (driver: string, pool: string, names: readonly string[]): DevicePool => ({
    driver,
    name: pool,
    devices: names.map((name) => ({ driver, pool, name, attributes: {}, capacity: {}, taints: [], consumes: [] })),
    counters: {},
  });
  const offering: NodeTemplate = {
    ...aTemplate(),
    attachLimits: { 'disk.csi.azure.com': 8, 'file.csi.azure.com': 4 },
    declaredFeatures: ['A', 'B'],
    devicePools: [devices('gpu.example.com', 'g-0', ['gpu-0', 'gpu-1'])],
  };

  it.each<{ name: string; change: Partial<NodeTemplate>; same: boolean }>([
    { name: 'another attach limit', change: { attachLimits: { 'disk.csi.azure.com': 4, 'file.csi.azure.com': 4 } }, same: false },
    { name: 'a limit of another driver', change: { attachLimits: { 'disk.csi.azure.com': 8, 'blob.csi.azure.com': 4 } }, same: false },
    {
      name: 'the same limits in another order',
      change: { attachLimits: { 'file.csi.azure.com': 4, 'disk.csi.azure.com': 8 } },
      same: true,
    },
    { name: 'another feature', change: { declaredFeatures: ['A', 'C'] }, same: false },
    { name: 'the same features in another order', change: { declaredFeatures: ['B', 'A'] }, same: true },
    { name: 'fewer devices', change: { devicePools: [devices('gpu.example.com', 'g-0', ['gpu-0'])] }, same: false },
    { name: 'devices of another driver', change: { devicePools: [devices('nic.example.com', 'g-0', ['gpu-0', 'gpu-1'])] }, same: false },
    {
      name: 'as many devices of another node of the group',
      change: { devicePools: [devices('gpu.example.com', 'g-1', ['x']), devices('gpu.example.com', 'g-1-b', ['y'])] },
      same: true,
    },
  ])('with $name: equal is $same', ({ change, same }) => {
    expect(templateHash({ ...offering, ...change }) === templateHash(offering)).toBe(same);
  });
});
