/** Devices that tags of a scale set declare for its nodes, and which declaration of several counts. */
import { describe, expect, it } from 'vitest';
import { nodeGroupOptionsOf, tagProblems } from '../../../src/azure/rows/tags.ts';
import { withDeclaredDevices } from '../../../src/azure/templates/declared-devices.ts';
import { aTemplate } from '../../support/builders.ts';
import { aDevicePool, DRIVER } from '../../support/devices.ts';

const TAG = `k8s.io_cluster-autoscaler_node-template_devices_${DRIVER}`;
const TAGS = { [TAG]: '{"count":2,"attributes":{"model":"A"}}', poolName: 'gpu' };
const counts = (pools: ReturnType<typeof nodeGroupOptionsOf>['devices']) => pools?.map(({ driver, devices }) => [driver, devices.length]);

describe('tags that declare devices', () => {
  it('name the driver, and are read once', () => {
    const { devices } = nodeGroupOptionsOf('set', TAGS);
    expect(counts(devices)).toEqual([[DRIVER, 2]]);
    expect(nodeGroupOptionsOf('set', TAGS).devices).toBe(devices);
    expect(nodeGroupOptionsOf('set', { [TAG.toUpperCase().replace(DRIVER.toUpperCase(), DRIVER)]: '{}' }).devices).toHaveLength(1);
    expect(nodeGroupOptionsOf('set', {}).devices).toBeUndefined();
  });

  it('go behind the configuration', () => {
    const stated = [{ name: 'gpu', options: { devices: [aDevicePool('declared', 8)] } }];
    expect(counts(nodeGroupOptionsOf('set', TAGS, stated).devices)).toEqual([[DRIVER, 8]]);
  });

  it.each([
    ['four', /it is not JSON; it must be such as/],
    ['{"count":0}', /count is 0/],
  ])('that cannot be read declare nothing and are reported: %s', (text, problem) => {
    expect(nodeGroupOptionsOf('set', { [TAG]: text }).devices).toBeUndefined();
    expect(tagProblems({ [TAG]: text })).toEqual([expect.stringMatching(problem)]);
  });
});

describe('a template with declared devices', () => {
  const declared = [aDevicePool('declared', 2)];

  it('has them while no node has shown any, and says so', () => {
    expect(withDeclaredDevices(aTemplate(), declared)).toMatchObject({ devicePools: declared, devicesDeclared: true });
    expect(withDeclaredDevices(aTemplate(), undefined)).toEqual(aTemplate());
  });

  it('has what a node published instead, and says where that differs', () => {
    const shown = { ...aTemplate(), devicePools: [aDevicePool('n', 3)] };
    const { devicePools, devicesDeclared, declaredDiffer } = withDeclaredDevices(shown, declared);
    expect([devicePools, devicesDeclared]).toEqual([shown.devicePools, false]);
    expect(declaredDiffer).toBe(
      `The devices that are declared for it do not count, since a node has shown others: 2 devices of ${DRIVER} are declared, and a node publishes 3`,
    );
    const same = { ...aTemplate(), devicePools: [aDevicePool('n', 2)] };
    expect(withDeclaredDevices(same, declared)).toBe(same);
  });
});
