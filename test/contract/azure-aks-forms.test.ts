/** What AKS shows and answers in forms that its reference does not have (recorded by Azure's CLI, July 2026), as the adapter takes them. */
import { describe, expect, it } from 'vitest';
import { clusterInProgress, scaleInProgress } from '../../world/simulator/arm/http/errors.ts';
import { answerPool, LARGE, SMALL, SMALL_GROUP, stage, vmsPool, vmsWorld } from './vms-pools-support.ts';

const TYPED = LARGE.toLowerCase();

describe('a pool of VMs without a count and a size of its own', () => {
  it('grows by one size, and both sizes keep the case in which they were written', async () => {
    const s = await stage(vmsWorld([vmsPool({ count: 2, sizes: [{ vmSize: TYPED, count: 1 }] })]));
    expect(await s.increase(`mixed/${TYPED}`, 1)).toMatchObject({ kind: 'accepted', target: 2 });
    await s.pass(5 * 60_000);
    expect(s.counts()).toEqual({ [SMALL]: 2, [TYPED]: 2 });
    expect(s.group(`mixed/${TYPED}`)).toMatchObject({ target: { value: 2, confirmed: true }, frozen: undefined });
    expect(s.group(`mixed/${TYPED}`).instances).toHaveLength(2);
    expect(s.violations.list()).toEqual([]);
  });

  it('is followed under an address of 4,000 characters and a word that is no end, and its moved tag is read before the next write', async () => {
    const s = await stage(vmsWorld([vmsPool({ count: 1 })]));
    for (const target of [2, 3]) {
      expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted', target });
      await s.pass(5 * 60_000);
    }
    expect(s.events.map(({ kind }) => kind)).toEqual(['increase-succeeded', 'increase-succeeded']);
    expect(s.writes().map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(s.writes().map(({ etagIn }) => etagIn)).size).toBe(2);
  });
});

describe('the list of agent pools', () => {
  it('is read to its empty second page, and each page is a call', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const pages = s.arm.control.journal().filter(({ route, principal }) => principal === 'autoscaler' && route.endsWith('/agentPools'));
    expect(pages.length).toBeGreaterThan(0);
    expect(pages.length % 2).toBe(0);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 3 } });
  });
});

describe('work of AKS itself, which the state of the pool does not show', () => {
  it.each([
    ['on the cluster', clusterInProgress('Updating')],
    ['on a pool', scaleInProgress('nodepool1', 'Creating')],
  ])('%s holds an increase without blaming the pool, until it ends', async (_what, body) => {
    const s = await stage(vmsWorld([vmsPool()]));
    answerPool(s, 'PUT', { kind: 'answer', status: 409, body }, 2);
    for (let left = 2; left > 0; left--) {
      expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({
        kind: 'refused',
        busy: true,
        reason: expect.stringContaining('is in progress'),
      });
      // At once again, it is not sent: the fault is there twice only.
      expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('next try') });
      await s.pass(60_000);
    }
    expect(s.counts()).toEqual({ [SMALL]: 3 });
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted', target: 4 });
  });
});
