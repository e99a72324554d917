/** Invariants of writes: a refused request changes nothing, an accepted one changes everything, and the response is true. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../../../test/support/property-runs.ts';
import { UNTHROTTLED, WORLD, clientAction, holds, perform, snapshot, type Action } from './random-actions.ts';
import { RG, VERSION, aPool, aWorld, poolPath, setPath, startRig, type Answer, type Rig } from './harness.ts';

const knobs = UNTHROTTLED;

function isConditionStale(action: Action): boolean {
  return 'condition' in action && (action.condition === 'stale' || action.condition === 'absent-only');
}

describe('invariants of writes', () => {
  holds(
    'a write that is refused, stale, wrong or wrong in part, changes nothing and begins nothing',
    { seed: 3, few: 25, most: 14 },
    () => ({
      after: (rig, { action, answer, before }) => {
        if (answer === undefined) return;
        if (isConditionStale(action)) expect([409, 412]).toContain(answer.status);
        if ('bad' in action && action.bad) expect(answer.status).toBeGreaterThanOrEqual(400);
        if (answer.status >= 400) expect(snapshot(rig)).toBe(before);
      },
    }),
  );

  it('a refusal uses tokens as a success does; what fails after or before the action says in the journal which', async () => {
    const misfortune = fc.constantFrom(
      { effect: { kind: 'answer', status: 500 } as const, done: false },
      { effect: { kind: 'answer', status: 429, retryAfterSeconds: 9 } as const, done: false },
      { effect: { kind: 'effect-then-answer', status: 502 } as const, done: true },
      { effect: { kind: 'reset', afterEffect: true } as const, done: true },
      { effect: { kind: 'reset', afterEffect: false } as const, done: false },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(clientAction, { maxLength: 4 }),
        misfortune,
        fc.integer({ min: 3, max: 6 }),
        async (actions, { effect, done }, to) => {
          const rig = await startRig({ ...WORLD, quota: {} });
          try {
            let left = 800;
            for (const action of [{ kind: 'put', pool: 'a', to: -1, condition: 'none', method: 'PUT' } as const, ...actions]) {
              const answer = await perform(rig, action);
              const remaining = answer?.headers['x-ms-ratelimit-remaining-subscription-writes'];
              if (answer === undefined || remaining === undefined) continue;
              expect(Number(remaining)).toBe(--left);
            }
            const before = snapshot(rig);
            rig.arm.control.addFault({ id: 'bad', match: { method: 'PATCH' }, effect });
            const last = await putCapacity(rig, to).catch(() => undefined);
            if (last !== undefined) expect(Number(last.headers['x-ms-ratelimit-remaining-subscription-writes'])).toBe(left - 1);
            const entry = rig.arm.control.journal().at(-1);
            expect(entry).toMatchObject({ faultId: 'bad' });
            expect(entry?.capacityAfter).toBe(done ? to : undefined);
            if (!done) expect(snapshot(rig)).toBe(before);
            else expect(rig.arm.control.state().sets.find(({ pool }) => pool === 'd')?.capacity).toBe(to);
          } finally {
            await rig.stop();
          }
        },
      ),
      casesOf(4, 12),
    );
  });

  holds('a capacity that was accepted is in the answer and in every read after it, under one tag', { seed: 10, few: 20, most: 10 }, () => {
    const capacities = new Map<string, number>();
    const newest = new Map<string, number>();
    return {
      after: async (rig, { action, answer }) => {
        if (action.kind === 'put' && answer?.status === 200) expect(answer.json).toMatchObject({ sku: { capacity: action.to } });
        const subject = 'pool' in action ? action.pool : 'a';
        for (const { pool, name, capacity, etag } of rig.arm.control.state().sets) {
          expect(capacities.get(`${pool} ${etag}`) ?? capacity).toBe(capacity);
          capacities.set(`${pool} ${etag}`, capacity);
          const number = Number(etag.replaceAll('"', ''));
          expect(number).toBeGreaterThanOrEqual(newest.get(pool) ?? 1);
          newest.set(pool, number);
          if (pool !== subject) continue;
          const read = await rig.call('GET', `${setsPath(rig)}/${name}?${VERSION}`);
          expect(read.json).toMatchObject({ sku: { capacity }, etag });
        }
      },
    };
  });

  it('what the emulator does not know is kept and given back; null takes it away; the rest is not touched', async () => {
    const value = fc.jsonValue({ maxDepth: 3 }).map(withoutNulls);
    const named = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString')), value, { maxKeys: 4 });
    const rig = await startRig(aWorld([aPool('a'), aPool('v', { kind: 'vms-pool' })]), { knobs });
    await fc.assert(
      fc.asyncProperty(named, named, async (future, further) => {
        const path = `${setPath(rig, 'a')}?${VERSION}`;
        const write = (properties: unknown): Promise<Answer> =>
          rig.call('PUT', path, { body: { location: 'westeurope', properties: { futureField: properties } } });
        const held = async (): Promise<unknown> => property((await rig.call('GET', path)).json, 'futureField');
        await write(null);
        const before = await bare(rig, path);
        await write(future);
        expect(await held()).toEqual(parsed(future));
        await write(further);
        expect(await held()).toEqual(parsed(merged(future, further)));
        await write(null);
        expect(await held()).toBeUndefined();
        expect(await bare(rig, path)).toEqual(before);
        await rig.call('PUT', poolPath(rig, 'v'), { body: { properties: { futureField: future } } });
        rig.clock.advance(600_000);
        expect(property((await rig.call('GET', poolPath(rig, 'v'))).json, 'futureField')).toEqual(parsed(future));
      }),
      casesOf(17, 20),
    );
  });

  it('paths and names are the same in any case, and what is stored is given back', async () => {
    const rig = await startRig(WORLD, { knobs });
    const vm = rig.arm.machines.list().find(({ pool }) => pool === 'f')?.id ?? '';
    const host = rig.arm.machines.list()[0]?.hostName ?? '';
    const paths = [
      `${setPath(rig, 'a')}?${VERSION}`,
      `${setsPath(rig)}?${VERSION}`,
      `${setPath(rig, 'a', '/virtualMachines')}?${VERSION}`,
      `${setPath(rig, 'a', '/virtualMachines/1/instanceView')}?${VERSION}`,
      `${setPath(rig, 'a', '/instanceView')}?${VERSION}`,
      `${vm}?${VERSION}`,
      poolPath(rig, 'a'),
      poolPath(rig, 'a', '/machines'),
      poolPath(rig, 'a', `/machines/${host}`),
      `/subscriptions/${rig.spec.subscriptionId}/providers/Microsoft.Compute/locations/westeurope/usages?${VERSION}`,
      `/subscriptions/${rig.spec.subscriptionId}/providers/Microsoft.Compute/locations/westeurope/virtualMachineScaleSets?${VERSION}`,
      `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/virtualMachines?${VERSION}`,
    ];
    const told = await Promise.all(paths.map(async (path) => (await rig.call('GET', path)).text));
    await fc.assert(
      fc.asyncProperty(fc.nat(paths.length - 1), fc.infiniteStream(fc.boolean()), async (index, upper) => {
        const [path = '', query = ''] = (paths[index] ?? '').split('?');
        const mixed = path
          .split('')
          .map((letter) => (upper.next().value === true ? letter.toUpperCase() : letter.toLowerCase()))
          .join('');
        const answer = await rig.call('GET', `${mixed}?${query}`);
        expect(answer.status).toBe(200);
        expect(answer.text).toBe(told[index]);
      }),
      casesOf(18, 36),
    );
    const shouted = setPath(rig, 'a').toUpperCase();
    expect((await rig.call('POST', `${shouted}/DELETE?${VERSION}`, { body: { instanceIds: ['1'] } })).status).toBe(202);
  });
});

/** Uses PATCH, so that a fault can match it alone. */
function putCapacity(rig: Rig, to: number): Promise<Answer> {
  return rig.call('PATCH', `${setPath(rig, 'd')}?${VERSION}`, { body: { sku: { capacity: to } } });
}

function setsPath(rig: Rig): string {
  return setPath(rig, 'a').replace(/\/[^/]+$/, '');
}

/** A resource without the fields that every write changes. */
async function bare(rig: Rig, path: string): Promise<unknown> {
  const { json } = await rig.call('GET', path);
  const properties = json['properties'] as unknown as Record<string, unknown>;
  return { ...json, etag: '', properties: { ...properties, provisioningState: '' } };
}

function property(document: Answer['json'], key: string): unknown {
  return (document['properties'] as unknown as Record<string, unknown>)[key];
}

function withoutNulls(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutNulls(item)]));
}

function merged(target: unknown, patch: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(patch)) return patch;
  const base = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) base.set(key, merged(base.get(key), value));
  return Object.fromEntries(base);
}

/** As in JSON: -0 is 0. */
function parsed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
