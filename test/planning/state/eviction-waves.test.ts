/** Waves of evictions close a size in a zone for Spot nodes, like a refusal of Azure. */
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { closedReason } from '../../../src/planning/state/closures.ts';
import { probingReason } from '../../../src/planning/state/stockouts.ts';
import { aGroup, aNode, aTemplate, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { observationOf } from '../scale-up/world.ts';

const MINUTE = 60_000;
const ZONE = 'topology.kubernetes.io/zone';

function spot(id: string, change: Partial<NodeGroup> = {}): NodeGroup {
  return {
    ...aGroup({ id, target: 4, maxSize: 20, template: aTemplate({ zones: change.zones?.map((zone) => `r-${zone}`) ?? [] }) }),
    priority: 'Spot',
    ...change,
  };
}
const wave = (size: number): Policy => aPolicy({ scaleUp: { spotEvictionWave: size } });

/** At each minute, so many further nodes of the group are announced. */
function after(
  announced: Readonly<Record<number, number>>,
  { policy = wave(3), group = spot('s'), minutes = 0, zone = '0' } = {},
): LoopState {
  let state = aState();
  const announcedAtMs: number[] = [];
  for (let minute = 0; minute <= Math.max(minutes, ...Object.keys(announced).map(Number)); minute++) {
    const nowMs = START_MS + minute * MINUTE;
    for (let more = announced[minute] ?? 0; more > 0; more--) announcedAtMs.push(nowMs);
    const count = announcedAtMs.length;
    const nodes = announcedAtMs.map((atMs, at) =>
      aNode({
        name: `${group.id}-${at}`,
        labels: { [ZONE]: group.zones.length === 0 ? '0' : `r-${zone}` },
        preemption: { noticedAtMs: atMs, deadlineMs: atMs + 30_000, notice: 'PreemptScheduled' },
      }),
    );
    state = reduceObservation(
      state,
      observationOf({ groups: [{ ...group, instances: undefined }], nodes, nowMs, cloud: ownership(group, count) }),
      policy,
    );
  }
  return state;
}
function ownership(group: NodeGroup, count: number) {
  return { groupOfNode: new Map(Array.from({ length: count }, (_, at) => [`${group.id}-${at}`, group.id] as const)) };
}
const closedFor = (state: LoopState, group: NodeGroup, minute: number): number | undefined => {
  const reason = closedReason(group, state, START_MS + minute * MINUTE);
  return reason === undefined ? undefined : (reason.untilMs - START_MS) / MINUTE;
};

describe('a wave of evictions', () => {
  it.each([
    { name: 'closes the size for five minutes', announced: { 0: 3 }, closed: 5 },
    { name: 'may come one after the other within ten minutes', announced: { 0: 1, 4: 1, 9: 1 }, closed: 14 },
    { name: 'that goes on closes it from its last eviction', announced: { 0: 3, 2: 1 }, closed: 7 },
    { name: 'of fewer nodes closes nothing', announced: { 0: 2 }, closed: undefined },
    { name: 'over a longer time is none', announced: { 0: 2, 11: 1 }, closed: undefined },
    { name: 'is not heeded unless configured', announced: { 0: 9 }, policy: wave(0), closed: undefined },
    { name: 'while the last one is probed closes it for twice as long', announced: { 0: 3, 7: 3 }, closed: 17 },
  ])('$name', ({ announced, closed, policy }) => {
    const state = after(announced, policy === undefined ? {} : { policy });
    const last = Math.max(...Object.keys(announced).map(Number));
    expect(closedFor(state, spot('other'), last)).toBe(closed);
    expect(closedFor(state, spot('regular', { priority: 'Regular' }), last)).toBeUndefined();
    expect(closedFor(state, spot('bigger', { vmSize: 'Standard_D8s_v5' }), last)).toBeUndefined();
  });

  it('closes the zone of its nodes alone, if they are in one', () => {
    const group = spot('s', { zones: ['1', '2'] });
    const state = after({ 0: 3 }, { group, zone: '2' });
    expect(state.stockouts[0]?.scope).toEqual({ vmSize: 'Standard_D4s_v5', zone: '2', priority: 'Spot' });
    expect(closedFor(state, group, 0)).toBeUndefined();
    expect(closedFor(state, spot('two', { zones: ['2'] }), 0)).toBe(5);
  });

  it('is not counted twice, is followed by a probe, and leaves nothing but its closure', () => {
    const state = after({ 0: 2 }, { minutes: 3 });
    expect(state.stockouts).toEqual([]);
    expect(state.evictions.size).toBe(2);
    expect(probingReason(spot('s'), after({ 0: 3 }), START_MS + 6 * MINUTE)).toEqual({ kind: 'probing', code: 'SpotEvictions' });
    expect(after({ 0: 2 }, { minutes: 12 }).evictions.size).toBe(0);
  });
});
