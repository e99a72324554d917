import { describe, expect, it } from 'vitest';
import { blockTexts, describeBlock, keepsNodesAlone, NO_BLOCKS, recordedBlocks } from '../../../src/domain/group-blocks.ts';
import { scheduledPauses } from '../../../src/azure/groups/group-schedules.ts';
import { entriesWithoutGroup, pauseBlocks } from '../../../src/azure/groups/pauses.ts';
import { NO_PAUSES, type Pause, type Pauses, type PauseDirection } from '../../../src/domain/ports/pauses.ts';
import { scheduleOf } from '../../../src/domain/schedules/schedules.ts';
import { schedulesOf } from '../../support/schedules.ts';

const NAMES = ['aks-gpu-12345678-vmss', 'gpu'];
const paused = (direction: PauseDirection, more: Partial<Pause> = {}): Pause => ({
  pool: 'gpu',
  direction,
  untilMs: 1_000,
  by: 'ann',
  reason: 'upgrade',
  problem: undefined,
  ...more,
});
const codes = (pauses: readonly Pause[], nowMs = 0, names: readonly string[] = NAMES) => {
  const { change, increase, removal } = pauseBlocks({ pauses, unreadable: [] }, names, nowMs);
  return [change, increase, removal].map((block) => (block?.code === 'paused' ? `${block.direction} ${block.untilMs}` : block?.code));
};

describe('the blocks of pauses', () => {
  it.each([
    ['both directions', [paused('both')], ['both 1000', undefined, undefined]],
    ['increases', [paused('scale-up')], [undefined, 'scale-up 1000', undefined]],
    ['removals', [paused('scale-down')], [undefined, undefined, 'scale-down 1000']],
    [
      'both by two entries',
      [paused('scale-up'), paused('scale-down', { pool: undefined })],
      [undefined, 'scale-up 1000', 'scale-down 1000'],
    ],
    ['every pool', [paused('both', { pool: undefined })], ['both 1000', undefined, undefined]],
    [
      'the one that ends last',
      [paused('both'), paused('scale-up', { pool: undefined, untilMs: 2_000 })],
      [undefined, 'scale-up 2000', 'both 1000'],
    ],
    ['both rather than one until the same time', [paused('scale-up'), paused('both')], ['both 1000', undefined, undefined]],
    ['another pool', [paused('both', { pool: 'cpu' })], [undefined, undefined, undefined]],
    ['the part of a name', [paused('both', { pool: 'gp' })], [undefined, undefined, undefined]],
    ['the scale set, in another letter case', [paused('both', { pool: 'AKS-gpu-12345678-vmss' })], ['both 1000', undefined, undefined]],
  ] as const)('are against %s', (_, pauses, expected) => {
    expect(codes(pauses)).toEqual(expected);
  });

  it.each([
    ['a millisecond before its end', 999, 'both 1000'],
    ['at its end', 1_000, undefined],
    ['long after its end', 9_999_999, undefined],
  ])('%s: %s', (_, nowMs, expected) => {
    expect(codes([paused('both')], nowMs)[0]).toBe(expected);
  });

  it('of one size of a pool are those of the pool, and of the size with a full stop', () => {
    const names = ['mixed/Standard_D4s_v5', 'mixed/standard_d4s_v5', 'mixed'];
    expect(codes([paused('both', { pool: 'mixed' })], 0, names)[0]).toBe('both 1000');
    expect(codes([paused('both', { pool: 'mixed.Standard_D4s_v5' })], 0, names)[0]).toBe('both 1000');
    expect(codes([paused('both', { pool: 'mixed.Standard_D8s_v5' })], 0, names)[0]).toBeUndefined();
  });

  it('of an entry whose end is unknown are against removals alone, beside what other entries say', () => {
    const unreadable = [{ pool: 'gpu', problem: 'it has no "until="' }];
    const alone = pauseBlocks({ pauses: [], unreadable }, NAMES, 0);
    expect([alone.change, alone.increase]).toEqual([undefined, undefined]);
    expect(describeBlock(alone.removal)).toBe('removals wait, since the pause "gpu" cannot be read: it has no "until="');
    expect(pauseBlocks({ pauses: [], unreadable }, ['cpu'], 0).removal).toBeUndefined();
    const both = pauseBlocks({ pauses: [paused('scale-down', { pool: undefined })], unreadable }, NAMES, 0);
    expect(both.removal?.code).toBe('paused');
    const all = pauseBlocks({ pauses: [], unreadable: [{ pool: undefined, problem: 'x' }] }, NAMES, 0);
    expect(describeBlock(all.removal)).toBe('removals wait, since the pause "_cluster" cannot be read: x');
  });

  it('of a rule without an end say that it may last longer', () => {
    const group = { names: NAMES, min: 0, max: 9, bootMs: 0, maintenance: undefined };
    const off = scheduledPauses(scheduleOf(schedulesOf('rules: [{scaleDown: off}]'), group, 0));
    expect(describeBlock(pauseBlocks(off, NAMES, 0).removal)).toBe(
      'removals are paused until 1970-01-11T00:00:00Z by schedule rule 1: it may last longer',
    );
  });

  it.each([
    ['a rule of a schedule', {}, 'nodes'],
    ['the hours of AKS, which are not known', { unreadable: [{ pool: undefined, problem: 'x', of: 'maintenance' as const }] }, 'nodes'],
    ['a person, too', { pauses: [paused('scale-down', { untilMs: 1 })] }, undefined],
    ['a person alone against increases', { pauses: [paused('scale-up')] }, 'nodes'],
    ['an entry of a person that cannot be read, too', { unreadable: [{ pool: 'gpu', problem: 'x' }] }, undefined],
  ])('of removals keep nodes alone where only a schedule says so: %s', (_, { pauses = [], unreadable = [] }: Partial<Pauses>, keeps) => {
    const rule = paused('scale-down', { keeps: 'nodes', untilMs: 2_000 });
    const { removal } = pauseBlocks({ pauses: [...pauses, rule], unreadable }, NAMES, 0);
    expect(removal).toMatchObject({ code: 'paused', untilMs: 2_000 });
    expect(removal !== undefined && keepsNodesAlone(removal)).toBe(keeps === 'nodes');
    const texts = blockTexts({ ...NO_BLOCKS, removal });
    expect(blockTexts(recordedBlocks(texts))).toEqual(texts);
  });

  it.each([
    ['who and why', {}, 'paused until 1970-01-01T00:00:01Z by ann: upgrade'],
    ['who', { reason: undefined }, 'paused until 1970-01-01T00:00:01Z by ann'],
    ['why', { by: undefined }, 'paused until 1970-01-01T00:00:01Z: upgrade'],
    ['neither', { by: undefined, reason: undefined, untilMs: 1_500 }, 'paused until 1970-01-01T00:00:01.500Z'],
  ])('say %s', (_, more, sentence) => {
    expect(describeBlock(pauseBlocks({ pauses: [paused('both', more)], unreadable: [] }, NAMES, 0).change)).toBe(sentence);
  });
});

it('entries that name no group are found while they last', () => {
  const pauses = [
    paused('both'),
    paused('both', { pool: 'cpu' }),
    paused('both', { pool: undefined }),
    paused('both', { pool: 'old', untilMs: 5 }),
  ];
  const found = entriesWithoutGroup({ pauses, unreadable: [{ pool: 'gone', problem: 'x' }] }, [NAMES], 10);
  expect(found).toEqual(['cpu', 'gone']);
  expect(entriesWithoutGroup(NO_PAUSES, [], 0)).toEqual([]);
});
