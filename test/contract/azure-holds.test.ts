/** Holds that Azure asks for: none is longer than an hour without one request, and an operator can end them. */
import { describe, expect, it } from 'vitest';
import { refusal } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

const MINUTE = 60_000;

/** After the start, every read is answered with 429 and a wait of a day. */
async function throttled(): Promise<Rig> {
  const r = await rig();
  r.arm.addSet(USER_POOL, 2);
  await r.azure.start(r.signal);
  r.arm.intercept = ({ method }) =>
    method === 'GET'
      ? { ...refusal(429, 'SubscriptionRequestsThrottled', 'Too many reads.'), headers: { 'retry-after': '86400' } }
      : undefined;
  await r.pass(2 * MINUTE);
  r.arm.requests.length = 0;
  return r;
}

describe('a wait of a day', () => {
  it('is an hour for us, with one request at its end', async () => {
    const rg = await throttled();
    const { arm } = rg;
    await rg.pass(55 * MINUTE);
    expect(arm.requests).toHaveLength(0);
    await rg.pass(10 * MINUTE);
    expect(arm.requests).toHaveLength(1);
    await rg.pass(50 * MINUTE);
    expect(arm.requests).toHaveLength(1);
    arm.intercept = () => undefined;
    await rg.pass(15 * MINUTE);
    expect(arm.requests.length).toBeGreaterThan(2);
  });

  it('is ended by a manual refresh, with one request; if that is answered, the others follow', async () => {
    const rg = await throttled();
    const { arm, azure } = rg;
    azure.invalidate();
    await rg.pass(30_000);
    expect(arm.requests).toHaveLength(1);
    arm.intercept = () => undefined;
    azure.invalidate();
    await rg.pass(30_000);
    expect(arm.requests.length).toBeGreaterThan(2);
  });
});
