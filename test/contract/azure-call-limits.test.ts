/** Limits and retries that a configuration asks for, with the real clients. */
import { describe, expect, it } from 'vitest';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';

async function prepared(rest: Partial<AzureOptions>): Promise<Rig> {
  const r = await rig(rest);
  r.arm.addSet(USER_POOL, 2);
  return r;
}

describe("a rate limit of one's own", () => {
  it('calls beyond it wait for their turn, and all of them pass', async () => {
    const rate = { perSecond: 1, burst: 1 };
    const rg = await prepared({ rateLimit: { read: rate, write: rate } });
    const started = rg.azure.start(rg.signal);
    await rg.quiet();
    expect(rg.arm.requests).toHaveLength(1);
    await rg.pass(10_000);
    await started;
    expect(rg.view().groups).toHaveLength(1);
    expect(rg.arm.requests.length).toBeLessThanOrEqual(11);
    const to = rg.increase(USER_POOL, 3);
    await rg.quiet();
    // Writes have a bucket of their own.
    expect(await to).toMatchObject({ kind: 'accepted' });
  });
});

describe('retries of reads', () => {
  const readRetries = { retries: 2, exponent: 2, firstMs: 1_000, jitter: 0 };

  it('a read without a usable answer is sent again after 1, 2 ... seconds, as often as was asked', async () => {
    const rg = await prepared({ readRetries });
    await rg.azure.start(rg.signal);
    rg.arm.requests.length = 0;
    rg.arm.intercept = () => ({ status: 503, body: {} });
    const read = rg.azure.refresh(rg.group(USER_POOL).id, rg.signal).then(
      () => 'read',
      () => 'failed',
    );
    const sets = (): number => rg.arm.sent('GET', USER_POOL).length;
    await rg.quiet();
    expect(sets()).toBe(1);
    await rg.pass(1_000);
    expect(sets()).toBe(2);
    await rg.pass(2_000);
    expect(sets()).toBe(3);
    await rg.pass(4_000);
    expect(await read).toBe('failed');
    expect(sets()).toBe(3);
    // After a pause the read as a whole is tried again.
    await rg.pass(1_000);
    expect(sets()).toBe(4);
  });

  it('what comes right in between is an answer like any other', async () => {
    const rg = await prepared({ readRetries });
    let failures = 1;
    rg.arm.intercept = (request) => (request.path.endsWith('/virtualmachinescalesets') && failures-- > 0 ? { hangUp: true } : undefined);
    const started = rg.azure.start(rg.signal);
    await rg.pass(2_000);
    await started;
    expect(rg.view().groups).toHaveLength(1);
  });

  it('no write is sent twice, and without the wish no read either', async () => {
    const rg = await prepared({ readRetries });
    await rg.azure.start(rg.signal);
    rg.arm.intercept = ({ method }) => (method === 'PUT' ? { status: 503, body: {} } : undefined);
    const wrote = rg.increase(USER_POOL, 3);
    await rg.pass(20_000);
    expect(await wrote).toMatchObject({ kind: 'failed' });
    expect(rg.arm.sent('PUT', USER_POOL)).toHaveLength(1);
  });
});
