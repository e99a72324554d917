import { describe, expect, it } from 'vitest';
import { parseSelector } from '../../src/domain/cel-selector.ts';
import type { Device } from '../../src/domain/devices.ts';

const DEVICE: Device = {
  driver: 'gpu.example.com',
  pool: 'n-1',
  name: 'gpu-0',
  attributes: {
    'gpu.example.com': { model: 'A100', index: 3, mig: false, driverVersion: { version: '550.54.15' } },
    'resource.kubernetes.io': { pcieRoot: 'pci0000:00' },
  },
  capacity: { 'gpu.example.com': { memory: 80 * 2 ** 30 } },
  taints: [],
  consumes: [],
};

function judged(expression: string): unknown {
  const selector = parseSelector(expression);
  return 'refused' in selector ? selector : selector.matches(DEVICE);
}

describe('a selector of devices', () => {
  it.each<[string, boolean]>([
    ['device.driver == "gpu.example.com"', true],
    ["device.driver == 'other.example.com'", false],
    ['device.driver != "other.example.com"', true],
    ['device.attributes["gpu.example.com"].model == "A100"', true],
    ['device.attributes["gpu.example.com"]["model"] in ["H100", "A100"]', true],
    ['device.attributes["gpu.example.com"].model in ["H100"]', false],
    ['device.attributes["gpu.example.com"].index >= 3 && device.attributes["gpu.example.com"].index < 4', true],
    ['!device.attributes["gpu.example.com"].mig', true],
    ['device.attributes["gpu.example.com"].model.startsWith("A") || false', true],
    ['device.attributes["gpu.example.com"].model.lowerAscii() == "a100"', true],
    ['device.attributes["resource.kubernetes.io"].pcieRoot.contains("0000")', true],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', true],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) == 0', true],
    ['device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("80Gi"))', false],
    ['quantity("79Gi").isLessThan(device.capacity["gpu.example.com"].memory)', true],
    ['device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.9.0"))', true],
    ['device.attributes["gpu.example.com"].driverVersion.compareTo(semver("550.54.15")) == 0', true],
    ['device.attributes["gpu.example.com"].driverVersion.major() == 550', true],
    ['semver("1.0.0-rc.2").isLessThan(semver("1.0.0")) && semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10"))', true],
    ['"model" in device.attributes["gpu.example.com"]', true],
    ['has(device.attributes["gpu.example.com"].color)', false],
    ['"x" in device.attributes["nobody.example.com"]', false],
    ['device.attributes["gpu.example.com"].?color.orValue("red") == "red"', true],
    ['device.attributes["gpu.example.com"][?"index"].hasValue()', true],
    ['cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model == "A100" && gpu.index == 3)', true],
    ['has(device.attributes["gpu.example.com"].mig) ? device.attributes["gpu.example.com"].model == "A100" : false', true],
    ['-1 < 0 // a remark', true],
    ['// first\n3 in [1, 3]', true],
    // Another kind of value is another value.
    ['device.attributes["gpu.example.com"].index == "3"', false],
  ])('%s is %s', (expression, expected) => {
    expect(judged(expression)).toBe(expected);
  });

  it.each([
    ['device.attributes["gpu.example.com"].color == "red"', 'no such key: color'],
    ['device.attributes["gpu.example.com"].model', 'it does not return true or false'],
    ['device.attributes["gpu.example.com"].model < 3', 'values of these types do not support <'],
    ['device.capacity["gpu.example.com"].memory.compareTo(40) > 0', 'values of these types cannot be compared'],
  ])('%s is an error and not a no: %s', (expression, error) => {
    expect(judged(expression)).toEqual({ error });
  });

  it('lets either side of && and || decide if the other is unknown', () => {
    const unknown = 'device.attributes["gpu.example.com"].color == "red"';
    expect(judged(`${unknown} && device.driver == "other"`)).toBe(false);
    expect(judged(`${unknown} || device.driver == "gpu.example.com"`)).toBe(true);
    expect(judged(`${unknown} && device.driver == "gpu.example.com"`)).toEqual({ error: 'no such key: color' });
  });

  it.each([
    ['device.attributes["a"].exists(x, x == 1)', 'x'],
    ['device.attributes["gpu.example.com"].model.matches("A.*")', 'matches'],
    ['1 + 1 == 2', '+'],
    ['1.5 > 1', '1.5 > 1'],
    ['device.attributes["a"].n == 3u', '3u'],
    ['device.name == "gpu-0"', 'device.name'],
    ['"gpu.example.com" in device.attributes', 'device.attributes'],
    ['request.count == 1', 'request'],
    ['device.driver ==', 'ends too early'],
    ['', 'ends too early'],
    ['true)', ')'],
    [`${'('.repeat(60)}true${')'.repeat(60)}`, 'deeply'],
    [`${'!'.repeat(200)}true`, 'deeply'],
    [`"${'x'.repeat(11_000)}" == ""`, 'longer'],
  ])('%.60s is refused by name', (expression, part) => {
    const answer = judged(expression);
    expect(answer).toHaveProperty('refused');
    expect(JSON.stringify(answer)).toContain(part);
  });
});
