/** Invariants of rate limits and of the journal. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../../../test/support/property-runs.ts';
import { WORLD, holds, settle } from './random-actions.ts';
import { VERSION, aPool, aWorld, setPath, startRig, type Answer, type Rig } from './harness.ts';

type Call = { readonly kind: 'put' | 'patch' | 'get' | 'list' | 'instances' | 'delete'; readonly times: number };

async function ask(rig: Rig, kind: Call['kind'], serial: number): Promise<Answer> {
  const path = `${setPath(rig, 'a')}?${VERSION}`;
  switch (kind) {
    case 'put':
      return rig.call('PUT', path, { body: { location: 'westeurope', sku: { capacity: serial % 5 } } });
    case 'patch':
      return rig.call('PATCH', path, { body: { tags: { serial: String(serial) } } });
    case 'get':
      return rig.call('GET', path);
    case 'list':
      return rig.call('GET', `${setPath(rig, 'a').replace(/\/[^/]+$/, '')}?${VERSION}`);
    case 'instances':
      return rig.call('GET', `${setPath(rig, 'a', '/virtualMachines')}?${VERSION}`);
    case 'delete':
      return rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['9999'] } });
  }
}

/** The remaining tokens in the headers, by policy. */
function left(answer: Answer): ReadonlyMap<string, number> {
  const text = (name: string): string => String(answer.headers[name] ?? '');
  const compute = text('x-ms-ratelimit-remaining-resource')
    .split(',')
    .filter((part) => part !== '');
  const gateway = Object.keys(answer.headers).filter((name) => name.startsWith('x-ms-ratelimit-remaining-subscription'));
  return new Map([
    // The queue is a length, not a rate limit.
    ...compute.filter((part) => !part.includes('Queued')).map((part) => [part.split(';')[0] ?? '', Number(part.split(';')[1])] as const),
    ...gateway.map((name) => [name, Number(text(name))] as const),
  ]);
}

describe('invariants of budgets', () => {
  it('budgets are never negative, agree with the refusals that follow, and Retry-After is long enough', async () => {
    const call = fc.record({
      kind: fc.constantFrom<Call['kind']>('put', 'put', 'patch', 'get', 'list', 'instances', 'delete'),
      times: fc.integer({ min: 1, max: 40 }),
      waitSeconds: fc.constantFrom(0, 0, 1, 7, 45),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 5 }), async (calls) => {
        const rig = await startRig(aWorld([aPool('a', { max: 100 })]), { knobs: { tokenLifetimeSeconds: 100_000_000 } });
        try {
          let serial = 0;
          for (const { kind, times, waitSeconds } of calls) {
            let before: ReadonlyMap<string, number> | undefined;
            for (let count = 0; count < times; count++) {
              const answer = await ask(rig, kind, serial++);
              const now = left(answer);
              expect(now.size).toBeGreaterThanOrEqual(3);
              for (const value of now.values()) expect(Number.isInteger(value) && value >= 0).toBe(true);
              const isThrottled = answer.status === 429;
              if (before !== undefined) expect(isThrottled).toBe([...before.values()].some((value) => value === 0));
              before = now;
              if (!isThrottled) continue;
              rig.clock.advance(Number(answer.headers['retry-after']) * 1_000);
              expect((await ask(rig, kind, serial++)).status).not.toBe(429);
              before = undefined;
              break;
            }
            rig.clock.advance(waitSeconds * 1_000);
          }
        } finally {
          await rig.stop();
        }
      }),
      casesOf(14, 8),
    );
  });

  it('Retry-After covers the emptiest of all budgets that a request draws on', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
    const rig = await startRig(aWorld(names.map((name) => aPool(name, { count: 0, min: 0 }))), { knobs: { pageSize: 1_000 } });
    const put = (pool: string, tag: number): Promise<Answer> =>
      rig.call('PUT', `${setPath(rig, pool)}?${VERSION}`, { body: { location: 'westeurope', tags: { tag: String(tag) } } });
    // 12 writes on each of 32 sets: the subscription's 375 write tokens are used up while a set's own twelve are, too.
    let index = 0;
    while ((await put(`p${Math.floor(index / 12)}`, index)).status !== 429) index++;
    const refused = await put('p0', 999);
    expect(refused).toMatchObject({ status: 429, json: { error: { code: 'OperationNotAllowed' } } });
    rig.clock.advance(Number(refused.headers['retry-after']) * 1_000);
    expect((await put('p0', 1_000)).status).toBe(200);
  });
});

describe('invariants of the journal', () => {
  holds(
    'every request is recorded once and in order, and the journal alone shows capacities, tags and operations',
    { seed: 25, few: 20, most: 14 },
    () => {
      let asked = 0;
      return {
        after: (_rig, { answer, action }) => {
          if (answer !== undefined) asked += action.kind === 'pool-put' ? 2 : 1;
        },
        atEnd: (rig) => {
          settle(rig);
          const journal = rig.arm.control.journal();
          const requests = journal.filter(({ method, path }) => method !== 'EVENT' && path.includes('/providers/'));
          expect(requests).toHaveLength(asked);
          expect(journal.every(({ seq }, index) => index === 0 || seq > (journal[index - 1]?.seq ?? 0))).toBe(true);
          const { sets, agentPools, operations } = rig.arm.control.state();
          const capacities = new Map(WORLD.pools.map(({ name, count }) => [name, count]));
          const counts = new Map(capacities);
          const etags = new Map(WORLD.pools.map(({ name }) => [name, '"1"']));
          const begun = new Set<string>();
          for (const { path, pool = '', capacityAfter, etagOut, opId, status } of journal) {
            if (opId !== undefined && status < 300) begun.add(opId);
            const ofAks = /\/agentPools\//i.test(path);
            if (capacityAfter !== undefined) (ofAks ? counts : capacities).set(pool, capacityAfter);
            if (etagOut !== undefined && !ofAks) etags.set(pool, etagOut);
          }
          for (const { pool, capacity, etag } of sets) {
            expect(capacities.get(pool)).toBe(capacity);
            expect(etags.get(pool)).toBe(etag);
          }
          for (const { name, size } of agentPools) expect(counts.get(name)).toBe(size);
          for (const { id, principal } of operations) if (!principal.startsWith('aks-')) expect(begun).toContain(id);
        },
      };
    },
  );
});
