/** Which sizes that another process published are used, and which this process checks with Azure first. */
import { describe, expect, it } from 'vitest';
import { SizeKnowledge } from '../../../src/azure/sizes/size-knowledge.ts';
import { addSharedSizes, buildCatalog, type SkuCatalog } from '../../../src/azure/sizes/sku-catalog.ts';
import { readCatalog, writeCatalog } from '../../../src/azure/sizes/sku-text.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SCOPE = { subscriptionId: 's', location: 'westeurope' };
const KNOWN = 'Standard_D4s_v5';
const UNKNOWN = 'Standard_ND96isr_H100_v5';

interface Size {
  readonly name: string;
  readonly vcpus: number;
  readonly gib?: number;
  readonly isClosed?: boolean;
}

function catalogOf(...sizes: readonly Size[]): SkuCatalog {
  const raw = sizes.map(({ name, vcpus, gib = 4 * vcpus, isClosed = false }) => ({
    resourceType: 'virtualMachines',
    name,
    capabilities: [
      { name: 'vCPUs', value: String(vcpus) },
      { name: 'MemoryGB', value: String(gib) },
    ],
    restrictions: isClosed ? [{ type: 'Location' as const, reasonCode: 'NotAvailableForSubscription' as const }] : [],
  }));
  return buildCatalog(raw, 'westeurope', START_MS);
}

const shared = (...sizes: readonly Size[]): SkuCatalog => ({ ...catalogOf(...sizes), isShared: true });

function knowledge(): { readonly sizes: SizeKnowledge; readonly asked: () => number; readonly clock: FakeClock } {
  const clock = new FakeClock(START_MS);
  let asked = 0;
  return { sizes: new SizeKnowledge(clock, () => void (asked += 1)), asked: () => asked, clock };
}

describe('a size that another process published', () => {
  it('is used if its name shows the same', () => {
    const { sizes, asked } = knowledge();
    sizes.keep(shared({ name: KNOWN, vcpus: 4 }));
    expect(sizes.find(KNOWN)?.vcpus).toBe(4);
    expect([sizes.isDoubted, asked()]).toEqual([false, 0]);
  });

  it.each([
    ['its name shows other numbers', { name: KNOWN, vcpus: 400 }],
    ['its name shows another memory', { name: KNOWN, vcpus: 4, gib: 400 }],
    ['its name shows nothing', { name: UNKNOWN, vcpus: 96 }],
  ])('is not used before this process has read the list itself if %s', (_what, size) => {
    const { sizes, asked } = knowledge();
    sizes.keep(shared(size));
    expect(sizes.find(size.name)).toBeUndefined();
    expect([sizes.isDoubted, asked()]).toEqual([true, 1]);
    sizes.keep(catalogOf({ ...size, vcpus: 96 }));
    expect(sizes.find(size.name)?.vcpus).toBe(96);
    expect(sizes.isDoubted).toBe(false);
  });

  it('is used if Azure has shown the same to this process before', () => {
    const { sizes, asked } = knowledge();
    sizes.keep(catalogOf({ name: UNKNOWN, vcpus: 96 }));
    sizes.keep(shared({ name: UNKNOWN, vcpus: 96 }, { name: KNOWN, vcpus: 4 }));
    expect(sizes.find(UNKNOWN)?.vcpus).toBe(96);
    expect(asked()).toBe(0);
  });

  it('does not replace what Azure has shown to this process; the list is read again', () => {
    const { sizes, asked } = knowledge();
    sizes.keep(catalogOf({ name: UNKNOWN, vcpus: 96 }, { name: KNOWN, vcpus: 4, isClosed: true }));
    sizes.keep(shared({ name: UNKNOWN, vcpus: 9 }, { name: KNOWN, vcpus: 4 }));
    expect(sizes.find(UNKNOWN)?.vcpus).toBe(96);
    expect(sizes.unavailableReason(sizes.find(KNOWN), [], 'Regular')).toContain('Azure restricts Standard_D4s_v5');
    expect([sizes.isDoubted, asked()]).toEqual([true, 1]);
    sizes.keep(catalogOf({ name: UNKNOWN, vcpus: 9 }, { name: KNOWN, vcpus: 4 }));
    expect(sizes.find(UNKNOWN)?.vcpus).toBe(9);
    expect(sizes.unavailableReason(sizes.find(KNOWN), [], 'Regular')).toBeUndefined();
  });

  it('keeps no group from growing before Azure has said so to this process', () => {
    const { sizes, asked } = knowledge();
    sizes.keep(shared({ name: KNOWN, vcpus: 4, isClosed: true }));
    expect(sizes.unavailableReason(sizes.find(KNOWN), [], 'Regular')).toBeUndefined();
    expect(asked()).toBe(1);
    sizes.keep(catalogOf({ name: KNOWN, vcpus: 4, isClosed: true }));
    expect(sizes.unavailableReason(sizes.find(KNOWN), [], 'Regular')).toContain('Azure restricts Standard_D4s_v5');
  });

  it('is asked about once in ten minutes while Azure cannot be read', async () => {
    const { sizes, asked, clock } = knowledge();
    sizes.keep(shared({ name: UNKNOWN, vcpus: 96 }));
    for (let loop = 0; loop < 59; loop++) {
      sizes.find(UNKNOWN);
      await clock.advance(10_000);
    }
    expect(asked()).toBe(1);
  });
});

describe('a list that another process published', () => {
  it('adds and changes sizes, and removes none', () => {
    const merged = addSharedSizes(catalogOf({ name: 'a', vcpus: 1 }, { name: 'b', vcpus: 1 }), catalogOf({ name: 'b', vcpus: 2 }));
    expect([...merged.byName.values()].map(({ name, vcpus }) => `${name} ${vcpus}`).sort()).toEqual(['a 1', 'b 2']);
    expect(merged.isShared).toBe(true);
  });

  it.each([
    ['a time in the future', { ...catalogOf({ name: 'a', vcpus: 1 }), observedAtMs: START_MS + 3_600_000 }],
    ['no sizes', catalogOf()],
    ['more vCPUs than any size has', catalogOf({ name: 'a', vcpus: 100_000 })],
    ['more memory than any size has', catalogOf({ name: 'a', vcpus: 1, gib: 1_000_000 })],
  ])('is refused if it has %s', (_what, catalog) => {
    expect(readCatalog(writeCatalog(catalog, SCOPE), SCOPE, START_MS).ok).toBe(false);
  });
});
