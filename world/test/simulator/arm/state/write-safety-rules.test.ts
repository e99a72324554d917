/** What the write-safety rules report as a violation, and what they allow. */
import { describe, expect, it } from 'vitest';
import { MINUTE, VERSION, aPool, aWorld, scale, setPath, startRig, type Rig } from '../harness.ts';

async function rulesAfter(
  pool: Parameters<typeof aPool>[1],
  act: (rig: Rig) => Promise<void>,
  { stock = {}, unlisted = false }: { readonly stock?: Readonly<Record<string, number>>; readonly unlisted?: boolean } = {},
): Promise<readonly string[]> {
  const rig = await startRig(aWorld([aPool('a', pool)], { stock }), { knobs: { listFailedInstances: !unlisted } });
  await act(rig);
  return rig.violations.list().map((violation) => violation.rule);
}

const remove = async (rig: Rig, ids: readonly string[]): Promise<void> => {
  await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ids } });
};
const stop = async (rig: Rig, ids: readonly string[]): Promise<void> => {
  await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { vmInstanceIDs: ids, instanceIds: ids } });
};
const read = async (rig: Rig): Promise<void> => {
  await rig.call('GET', `${setPath(rig, 'a')}?${VERSION}`);
};
/** A PUT with the current etag. */
const scaleIfSame = async (rig: Rig, to: number): Promise<void> => {
  await scale(rig, 'a', to, { 'if-match': rig.arm.control.state().sets[0]?.etag ?? '' });
};
const NOTHING_LEFT = { 'Standard_D4s_v5/0': 0 };
const foreign = (rig: Rig, to: number): unknown => rig.arm.control.raise({ foreignScale: { pool: 'a', to } });

describe('write judge', () => {
  it.each<{
    readonly what: string;
    readonly pool?: Parameters<typeof aPool>[1];
    readonly stock?: Readonly<Record<string, number>>;
    /** VMs that could not be allocated are not in any list. */
    readonly unlisted?: boolean;
    readonly act: (rig: Rig) => Promise<void>;
    readonly rules: readonly string[];
  }>([
    { what: 'a raise within the maximum', act: async (rig) => void (await scale(rig, 'a', 10)), rules: [] },
    { what: 'a raise above the maximum', act: async (rig) => void (await scale(rig, 'a', 11)), rules: ['above-max'] },
    {
      what: 'a capacity lowered by PUT, and the machine that the platform chose',
      act: async (rig) => void (await scale(rig, 'a', 1)),
      rules: ['capacity-lowered-by-put', 'instance-deleted-that-was-never-named'],
    },
    {
      what: 'a raise that could not be filled, taken back down to what was there before',
      unlisted: true,
      stock: NOTHING_LEFT,
      act: async (rig) => {
        await scaleIfSame(rig, 4);
        rig.clock.advance(10 * MINUTE);
        await scaleIfSame(rig, 2);
      },
      rules: [],
    },
    {
      what: 'two raises in a row that could not be filled, taken back together',
      unlisted: true,
      stock: NOTHING_LEFT,
      act: async (rig) => {
        await scaleIfSame(rig, 4);
        await scaleIfSame(rig, 5);
        rig.clock.advance(10 * MINUTE);
        await scaleIfSame(rig, 2);
      },
      rules: [],
    },
    {
      what: 'the same taken back without a condition',
      unlisted: true,
      stock: NOTHING_LEFT,
      act: async (rig) => {
        await scaleIfSame(rig, 4);
        rig.clock.advance(10 * MINUTE);
        await scale(rig, 'a', 2);
      },
      rules: ['capacity-lowered-by-put'],
    },
    {
      what: 'the same taken back while its operation still runs',
      unlisted: true,
      stock: NOTHING_LEFT,
      act: async (rig) => {
        await scaleIfSame(rig, 4);
        await scaleIfSame(rig, 2);
      },
      rules: ['capacity-lowered-by-put', 'instance-deleted-that-was-never-named', 'instance-deleted-that-was-never-named'],
    },
    {
      what: 'more taken back than was raised',
      unlisted: true,
      pool: { count: 2, min: 1 },
      stock: NOTHING_LEFT,
      act: async (rig) => {
        foreign(rig, 3);
        rig.clock.advance(10 * MINUTE);
        await read(rig);
        await scaleIfSame(rig, 4);
        rig.clock.advance(10 * MINUTE);
        await scaleIfSame(rig, 2);
      },
      rules: ['capacity-lowered-by-put'],
    },
    {
      what: 'a raise taken back that another writer has raised since, even when the sum would fit',
      unlisted: true,
      stock: NOTHING_LEFT,
      act: async (rig) => {
        await scaleIfSame(rig, 4);
        rig.clock.advance(10 * MINUTE);
        foreign(rig, 5);
        rig.clock.advance(10 * MINUTE);
        await read(rig);
        await scaleIfSame(rig, 3);
      },
      rules: ['capacity-lowered-by-put'],
    },
    {
      what: 'a raise that came, taken back: its machine goes',
      unlisted: true,
      act: async (rig) => {
        await scaleIfSame(rig, 3);
        rig.clock.advance(10 * MINUTE);
        await scaleIfSame(rig, 2);
      },
      rules: ['capacity-lowered-by-put', 'instance-deleted-that-was-never-named'],
    },
    {
      what: 'a raise that came in part, taken back by more than what did not',
      unlisted: true,
      stock: { 'Standard_D4s_v5/0': 1 },
      act: async (rig) => {
        await scaleIfSame(rig, 5);
        rig.clock.advance(10 * MINUTE);
        await scaleIfSame(rig, 2);
      },
      rules: ['capacity-lowered-by-put', 'instance-deleted-that-was-never-named'],
    },
    { what: 'a delete down to the minimum', act: (rig) => remove(rig, ['0']), rules: [] },
    { what: 'a delete below the minimum', act: (rig) => remove(rig, ['0', '1']), rules: ['below-min'] },
    { what: 'a stop down to the minimum', act: (rig) => stop(rig, ['0']), rules: [] },
    { what: 'a stop below the minimum', act: (rig) => stop(rig, ['0', '1']), rules: ['below-min'] },
    {
      what: 'a stop of what is stopped already, and a person who stops the rest',
      act: async (rig) => {
        await stop(rig, ['0']);
        await stop(rig, ['0']);
        rig.arm.control.raise({ foreignPower: { pool: 'a', action: 'deallocate' } });
      },
      rules: [],
    },
    {
      what: 'a delete for whose minimum a stopped machine would have to stand in',
      pool: { count: 3, min: 2, scaleDownMode: 'Deallocate' },
      act: async (rig) => {
        await stop(rig, ['0']);
        await remove(rig, ['1']);
      },
      rules: ['below-min'],
    },
    {
      what: 'a delete of a stopped machine at the minimum',
      pool: { count: 3, min: 2, scaleDownMode: 'Deallocate' },
      act: async (rig) => {
        await stop(rig, ['0']);
        await remove(rig, ['0']);
      },
      rules: [],
    },
    {
      what: 'a delete that meets a scale-in which the client could not have read: ARM takes no condition on a delete',
      pool: { count: 3, min: 1 },
      act: async (rig) => {
        await read(rig);
        foreign(rig, 2);
        await remove(rig, ['0', '1']);
      },
      rules: [],
    },
    {
      what: 'the same when the client had read it',
      pool: { count: 3, min: 1 },
      act: async (rig) => {
        foreign(rig, 2);
        await read(rig);
        await remove(rig, ['0', '1']);
      },
      rules: ['below-min'],
    },
    {
      what: 'two deletes in flight that together go below the minimum',
      act: async (rig) => {
        await remove(rig, ['0']);
        await remove(rig, ['1']);
      },
      rules: ['below-min'],
    },
    {
      what: 'the same machine deleted twice',
      act: async (rig) => {
        await remove(rig, ['0']);
        await remove(rig, ['0']);
      },
      rules: [],
    },
    {
      what: 'a failed machine removed below the minimum',
      pool: { count: 0, min: 2 },
      stock: { 'Standard_D4s_v5/0': 1 },
      act: async (rig) => {
        await scale(rig, 'a', 2);
        rig.clock.advance(10 * MINUTE);
        await remove(rig, ['1']);
      },
      rules: [],
    },
    {
      what: 'a blind PUT over another writer',
      act: async (rig) => {
        await read(rig);
        foreign(rig, 3);
        await scale(rig, 'a', 5);
      },
      rules: ['lost-update'],
    },
    {
      what: 'a PUT after reading what the other wrote',
      act: async (rig) => {
        foreign(rig, 3);
        await read(rig);
        await scale(rig, 'a', 5);
      },
      rules: [],
    },
    {
      what: 'a PUT that names the present tag, learned from a list of the past that still was true',
      act: async (rig) => {
        foreign(rig, 3);
        const [set] = rig.arm.control.state().sets;
        const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 5 } };
        await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body, headers: { 'if-match': set?.etag ?? '' } });
        expect(rig.arm.control.state().sets[0]?.capacity).toBe(5);
      },
      rules: [],
    },
    {
      what: 'a PUT after a read of the other that a fault swallowed',
      act: async (rig) => {
        await read(rig);
        foreign(rig, 3);
        rig.arm.control.addFault({ id: 'hidden', match: { method: 'GET', times: 1 }, effect: { kind: 'empty-body' } });
        await read(rig);
        await scale(rig, 'a', 5);
      },
      rules: ['lost-update'],
    },
    {
      what: 'a set deleted whole',
      act: async (rig) => void (await rig.call('DELETE', `${setPath(rig, 'a')}?${VERSION}`)),
      rules: ['instance-deleted-that-was-never-named', 'instance-deleted-that-was-never-named', 'below-min'],
    },
    {
      what: 'a refused PUT over another writer',
      act: async (rig) => {
        await read(rig);
        foreign(rig, 3);
        await scale(rig, 'a', 5, { 'if-match': '"1"' });
      },
      rules: [],
    },
    { what: 'a foreign writer, whatever it does', act: async (rig) => void foreign(rig, 0), rules: [] },
  ])('$what', async ({ pool, stock, unlisted, act, rules }) => {
    expect(await rulesAfter(pool, act, { ...(stock === undefined ? {} : { stock }), unlisted: unlisted === true })).toEqual(rules);
  });
});
