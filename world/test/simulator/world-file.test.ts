import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { readDocuments } from '../../../src/config/sources/documents.ts';
import type { Json } from '../../simulator/arm/http/json.ts';
import { parseWorldFile } from '../../simulator/world-file.ts';

const POOL = { name: 'a', vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 3 };

describe('a world file', () => {
  it('changes nothing when it is empty', () => {
    expect(parseWorldFile({})).toEqual({ spec: {}, knobs: {}, ambient: {} });
    expect(parseWorldFile(undefined)).toEqual({ spec: {}, knobs: {}, ambient: {} });
  });

  it('may have a small subnet, and more than one address of it per node', () => {
    const given = { subnetPrefix: '10.224.0.0/27', addressesPerNode: 31 };
    expect(parseWorldFile(given).spec).toEqual(given);
  });

  it('is what the documentation shows', () => {
    const text = readFileSync('world/docs/on-a-laptop.md', 'utf8');
    const example = /--world-file FILE[^]*?```yaml\n([^]*?)```/.exec(text)?.[1] ?? '';
    const { spec, knobs, ambient } = parseWorldFile(readDocuments('example', example, 1)[0] as Json);
    expect(spec.pools?.map(({ name }) => name)).toEqual(['general', 'spot']);
    expect(spec.stock).toEqual({ 'Standard_D4s_v5/0': 12 });
    expect(knobs).toEqual({ listStalenessMs: 10_000 });
    expect(ambient.evictions).toEqual({ everyMs: 1_800_000, fraction: 0.5 });
  });

  it.each([
    [{ pool: [] }, 'the world file has no setting "pool"'],
    [[], 'the world file must be an object'],
    [{ pools: {} }, 'pools must be a list'],
    [{ pools: [{ ...POOL, size: 1 }] }, 'pools[0] has no setting "size"'],
    [{ pools: [{ ...POOL, count: '1' }] }, 'pools[0].count must be a whole number'],
    [{ pools: [{ ...POOL, vmSize: 4 }] }, 'pools[0].vmSize must be a string'],
    [{ pools: [{ ...POOL, kind: 'vmss' }] }, 'pools[0].kind is "vmss"'],
    [{ pools: [{ ...POOL, zones: '1' }] }, 'pools[0].zones is "1"'],
    [{ pools: [{ ...POOL, labels: { a: 1 } }] }, 'pools[0].labels'],
    [{ stock: { x: -1 } }, 'stock.x must be a whole number'],
    [{ quota: 3 }, 'quota must be an object'],
    [{ subnetPrefix: '10.0.0.0/31' }, 'subnetPrefix must be like 10.224.0.0/16'],
    [{ subnetPrefix: 24 }, 'subnetPrefix must be like 10.224.0.0/16'],
    [{ addressesPerNode: 0 }, 'addressesPerNode must be a whole number from 1'],
    [{ knobs: { speed: 1 } }, 'knobs has no setting "speed"'],
    [{ knobs: { throttling: 1 } }, 'knobs.throttling must be true or false'],
    [{ knobs: { pageSize: true } }, 'knobs.pageSize must be a number'],
    [{ knobs: { osUp: { p50: 1 } } }, 'knobs.osUp.p95 must be a number'],
    [{ ambient: { evictions: {} } }, 'ambient: evictions.everyMs'],
  ])('%j is refused with its place', (document, words) => {
    expect(() => parseWorldFile(document)).toThrow(words);
  });
});
