/** VM sizes that processes share: over a real folder, on a clock that moves when told. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { skusAgent } from '../../../src/azure/agents/sku-agent.ts';
import type { SharedText } from '../../../src/domain/ports/shared-text.ts';
import { buildCatalog, findSku, type SkuCatalog } from '../../../src/azure/sizes/sku-catalog.ts';
import { readCatalog, writeCatalog } from '../../../src/azure/sizes/sku-text.ts';
import { skuFolder } from '../../../src/cli/connect/shared-files.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const HOUR = 3_600_000;
const SCOPE = { subscriptionId: 'Sub-1', location: 'westeurope' };

function catalogAt(observedAtMs: number, cpu = '4'): SkuCatalog {
  const capabilities = [
    { name: 'vCPUs', value: cpu },
    { name: 'MemoryGB', value: '16' },
  ];
  return buildCatalog([{ resourceType: 'virtualMachines', name: 'Standard_D4s_v5', capabilities }], 'westeurope', observedAtMs);
}

let folder = '';
let clock = new FakeClock(START_MS);
const lines: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skus-'));
  clock = new FakeClock(START_MS);
  lines.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function shareOf(identity: string, scope = SCOPE): SharedText {
  return skuFolder({ folder, scope, identity });
}

interface Reader {
  readonly kept: () => SkuCatalog | undefined;
  /** One run of the agent, committed. */
  readonly run: () => Promise<AutoscalerError | undefined>;
}

function reader(list: () => Promise<SkuCatalog>, share: SharedText): Reader {
  let kept: SkuCatalog | undefined;
  const agent = skusAgent({
    scope: SCOPE,
    clock,
    log: createLog('debug', { write: (line) => void lines.push(line) }),
    ttlMs: 24 * HOUR,
    list,
    share,
    keep: (catalog) => void (kept = catalog),
    current: () => kept,
  });
  return {
    kept: () => kept,
    run: async () => {
      const result = await agent.load({ signal: new AbortController().signal, token: { agentId: agent.id, run: 1 } });
      result.commit();
      return result.error;
    },
  };
}

/** Lets waiting readers look again until the work is done. Files are read at their own pace, so there is no count of turns. */
async function driven<T>(work: Promise<T>): Promise<T> {
  const state = { done: false };
  const ended = work.finally(() => (state.done = true));
  ended.catch(() => undefined);
  while (!state.done) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.sleeping > 0) await clock.advance(1_000);
  }
  return ended;
}

const fails = (): Promise<SkuCatalog> => Promise.reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure is away.'));

describe('a snapshot of VM sizes', () => {
  it('is the same after it was written and read', () => {
    const catalog = catalogAt(5);
    expect(readCatalog(writeCatalog(catalog, SCOPE), { subscriptionId: 'SUB-1', location: 'West Europe' }, START_MS)).toEqual({
      ok: true,
      value: catalog,
    });
  });

  it.each([
    ['another region', (text: string) => text.replace('westeurope', 'eastus'), /region "eastus", not westeurope/],
    ['another schema', (text: string) => text.replace('"schema":1', '"schema":9'), /schema is 9, not 1/],
    ['another subscription', (text: string) => text.replace('sub-1', 'sub-2'), /another subscription/],
    ['a changed number', (text: string) => text.replace('"vcpus":8', '"vcpus":80'), /does not match its hash/],
    ['half a file', (text: string) => text.slice(0, -9), /not a JSON object/],
    ['no sizes', (text: string) => text.replace('"skus"', '"sizes"'), /missing/],
  ])('of %s is ignored, with one line in the log', async (_what, change, reason) => {
    const text = change(writeCatalog(catalogAt(START_MS, '8'), SCOPE));
    expect(readCatalog(text, SCOPE, START_MS)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    await shareOf('a').publish(1, text);
    const one = reader(() => Promise.resolve(catalogAt(START_MS)), shareOf('b'));
    await driven(one.run());
    expect(findSku(one.kept(), 'standard_d4s_v5')?.vcpus).toBe(4);
    expect(lines.filter((line) => line.includes('Shared VM sizes ignored'))).toHaveLength(1);
  });

  it('does not read fast-changing data from a snapshot, whatever its origin', () => {
    const text = writeCatalog(catalogAt(5), SCOPE).replace('{', '{"scaleSets":[{"name":"a","capacity":9}],"instances":[],');
    const read = readCatalog(text, SCOPE, START_MS);
    expect(read.ok && Object.keys(read.value).sort()).toEqual(['byName', 'observedAtMs', 'version']);
    expect(JSON.stringify(read)).not.toContain('capacity');
  });
});

describe('VM sizes shared by processes', () => {
  it('twenty processes in twelve hours cause one list', async () => {
    let lists = 0;
    const list = (): Promise<SkuCatalog> => {
      lists += 1;
      return Promise.resolve(catalogAt(clock.now()));
    };
    const readers = Array.from({ length: 20 }, (_, index) => reader(list, shareOf(`p${index}`)));
    for (const hour of [0, 6, 12]) {
      await clock.advance(Math.max(0, START_MS + hour * HOUR - clock.now()));
      await driven(Promise.all(readers.map((each) => each.run())));
    }
    expect(lists).toBe(1);
    expect(readers.every((each) => findSku(each.kept(), 'Standard_D4s_v5')?.vcpus === 4)).toBe(true);
    // How long the first of them waited for each other depends on how fast files are read.
    await clock.advance(13 * HOUR);
    await driven(Promise.all(readers.map((each) => each.run())));
    expect(lists).toBe(2);
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('other regions and subscriptions have files of their own', async () => {
    await shareOf('a').publish(1, 'here');
    expect(await shareOf('b', { ...SCOPE, location: 'eastus' }).latest()).toBeUndefined();
    expect(await shareOf('b', { ...SCOPE, subscriptionId: 'sub-2' }).latest()).toBeUndefined();
    expect(await shareOf('b').latest()).toEqual({ epoch: 1, text: 'here' });
  });

  it('after epoch 7 was written, a process with epoch 6 is refused', async () => {
    const [late, early] = [shareOf('late'), shareOf('early')];
    expect(await late.claim(6)).toBe(true);
    expect(await early.claim(6)).toBe(false);
    expect(await early.claim(7)).toBe(true);
    expect(await early.publish(7, 'seven')).toBe(true);
    expect(await late.publish(6, 'six')).toBe(false);
    expect(await late.latest()).toEqual({ epoch: 7, text: 'seven' });
    // A write that was under way when the newer one landed is not the one that counts.
    await writeFile(join(folder, 'skus-sub-1-westeurope.6.json'), 'six');
    expect(await late.latest()).toEqual({ epoch: 7, text: 'seven' });
  });

  it('a process that died with the turn holds the others up for half a minute, and no longer', async () => {
    expect(await shareOf('dead').claim(1)).toBe(true);
    const one = reader(() => Promise.resolve(catalogAt(clock.now())), shareOf('b'));
    await driven(one.run());
    expect(clock.now() - START_MS).toBeLessThanOrEqual(30_000);
    expect(one.kept()).toBeDefined();
    expect(await shareOf('c').latest()).toMatchObject({ epoch: 2 });
  });

  it('when Azure lists nothing or cannot be read, sizes of before are used, and it is tried again', async () => {
    await shareOf('before').publish(3, writeCatalog(catalogAt(START_MS - 90 * 24 * HOUR, '2'), SCOPE));
    for (const list of [fails, () => Promise.resolve(buildCatalog([], 'westeurope', START_MS))]) {
      const one = reader(list, shareOf('b'));
      expect(await driven(one.run())).toMatchObject({ kind: 'unavailable' });
      expect(findSku(one.kept(), 'Standard_D4s_v5')?.vcpus).toBe(2);
    }
  });

  it('when Azure can be read, its numbers are used and not those of before', async () => {
    await shareOf('before').publish(3, writeCatalog(catalogAt(START_MS - 90 * 24 * HOUR, '2'), SCOPE));
    const one = reader(() => Promise.resolve(catalogAt(clock.now())), shareOf('b'));
    expect(await driven(one.run())).toBeUndefined();
    expect(findSku(one.kept(), 'Standard_D4s_v5')?.vcpus).toBe(4);
    expect(await shareOf('c').latest()).toMatchObject({ epoch: 4 });
  });

  it('a failed list gives its turn back, and sizes in use are not exchanged for older ones', async () => {
    let list = (): Promise<SkuCatalog> => Promise.resolve(catalogAt(clock.now()));
    const one = reader(() => list(), shareOf('a'));
    await driven(one.run());
    const first = one.kept();
    list = fails;
    await clock.advance(25 * HOUR);
    await expect(driven(one.run())).rejects.toMatchObject({ kind: 'unavailable' });
    expect(one.kept()).toBe(first);
    expect(await shareOf('b').claim(2)).toBe(true);
  });

  it('a folder that cannot be used costs one call to Azure, not the sizes', async () => {
    await writeFile(join(folder, 'file'), '');
    const share = skuFolder({ folder: join(folder, 'file'), scope: SCOPE, identity: 'a' });
    const one = reader(() => Promise.resolve(catalogAt(clock.now())), share);
    expect(await driven(one.run())).toBeUndefined();
    expect(one.kept()).toBeDefined();
    expect(lines.some((line) => line.includes('Could not use the shared VM sizes'))).toBe(true);
  });
});
