import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId, type NodeGroupId } from '../../../src/domain/ids.ts';
import type { Backoff, LoopState, SavedMemory } from '../../../src/domain/loop-state.ts';
import { REMOVAL_CAUSES } from '../../../src/domain/plan.ts';
import { readMemory, writeMemory } from '../../../src/loop/memory/memory-text.ts';
import { recallMemory } from '../../../src/planning/state/after-restart.ts';
import { rememberAccepted } from '../../../src/planning/state/accepted-increases.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, START_MS } from '../../support/builders.ts';
import { FULL_STATE, timesIn } from '../../support/full-state.ts';
import { aPolicy } from '../../support/policy.ts';
import { planFor } from '../../planning/scale-up/world.ts';
import { totalBackoff, totalPromise } from '../../../src/planning/state/stored-state.ts';
import { aBackoff, aState } from '../../support/state.ts';

const MINUTE = 60_000;
const POLICY = aPolicy({ scaleDown: { candidateTtlMs: 2 * MINUTE } });

const atMs = fc.integer({ min: START_MS - 60 * MINUTE, max: START_MS });
const laterMs = fc.integer({ min: START_MS - 10 * MINUTE, max: START_MS + 60 * MINUTE });
const id = fc.constantFrom('a', 'b', 'c', 'd').map(nodeGroupId);
const text = fc.string({ maxLength: 40 });
const some = <Value>(value: fc.Arbitrary<Value>) => fc.array(fc.tuple(id, value), { maxLength: 4 }).map((entries) => new Map(entries));

const backoff = fc.record(
  {
    untilMs: laterMs,
    durationMs: fc.integer({ min: 0, max: 30 * MINUTE }),
    lastFailureMs: atMs,
    cause: text,
    kind: fc.constantFrom('out-of-capacity' as const, 'throttled' as const, 'unavailable' as const),
    message: text,
    refused: fc.constant(true as const),
  },
  { requiredKeys: ['untilMs', 'durationMs', 'lastFailureMs', 'cause'] },
);
const scope = fc.record(
  { vmSize: fc.constantFrom('Standard_D4s_v5', 'Standard_F8s_v2'), zone: fc.constantFrom('1', '2'), quota: text },
  { requiredKeys: [] },
);
const stockout = fc.record({ scope, code: text, sinceMs: atMs, untilMs: laterMs });
const times = fc.record({ scaleUpMs: atMs, scaleDownMs: atMs, scaleDownFailureMs: atMs, nodeCameMs: atMs }, { requiredKeys: [] });

const accepted = fc.record(
  {
    nodes: fc.integer({ min: 1, max: 9 }),
    acceptedAtMs: atMs,
    joinedAtMs: atMs,
    readyAtMs: atMs,
    incomplete: fc.constant(true as const),
    pods: fc.array(fc.record({ class: fc.constantFrom('x', 'y'), count: fc.integer({ min: 1, max: 9 }) }), { maxLength: 2 }),
  },
  { requiredKeys: ['nodes', 'acceptedAtMs', 'pods'] },
);

const broken = fc.record(
  {
    difference: fc.record({
      node: text,
      resources: fc.array(fc.record({ resource: text, promised: fc.nat(), offered: fc.nat() }), { maxLength: 2 }),
      labels: fc.array(fc.record({ key: text, promised: text, found: text }, { requiredKeys: ['key', 'promised'] }), { maxLength: 2 }),
      taints: fc.constant([{ key: 'k', value: 'v', effect: 'NoSchedule' as const }]),
      ports: fc.constant([{ port: 80, protocol: 'TCP' as const, hostIp: '0.0.0.0' }]),
    }),
    nodes: fc.array(text, { maxLength: 3 }),
    template: text,
    model: text,
    classes: fc.array(text, { maxLength: 3 }),
    sinceMs: atMs,
    untilMs: laterMs,
    reportedAtMs: atMs,
  },
  { requiredKeys: ['difference', 'nodes', 'template', 'model', 'classes', 'sinceMs', 'untilMs'] },
);

const remembered = fc
  .record({
    backoffs: some(backoff),
    stockouts: fc.array(stockout, { maxLength: 3 }),
    nodes: some(fc.record({ nodes: fc.integer({ min: 1, max: 9 }), requestedAtMs: atMs, expectedByMs: laterMs })),
    accepted: some(fc.array(accepted, { maxLength: 2 })),
    broken: some(broken),
    readyTimes: some(fc.array(fc.integer({ min: 0, max: 30 * MINUTE }), { maxLength: 3 })),
    asked: some(fc.array(fc.record({ atMs, nodes: fc.integer({ min: 1, max: 9 }) }), { maxLength: 2 })),
    lastScaleUpMs: atMs,
    lastScaleDownMs: atMs,
    lastScaleDownFailureMs: atMs,
    groupTimes: some(times),
    targets: some(fc.integer({ min: 0, max: 9 })),
    idle: fc.array(fc.tuple(fc.constantFrom('a-0', 'b-0', 'aks-general-12345678-vmss000001', 'x'), atMs), { maxLength: 4 }),
  })
  .map(({ nodes, idle, backoffs, accepted: made, broken: promises, ...rest }): LoopState => {
    const awaited = new Map([...nodes].map(([group, entry]) => [group, { group, ...entry }]));
    return aState({
      ...rest,
      backoffs: new Map([...backoffs].map(([group, entry]) => [group, totalBackoff(entry)])),
      accepted: made,
      broken: new Map([...promises].map(([group, entry]) => [group, totalPromise(entry)])),
      awaited,
      unneededSince: new Map(idle),
    });
  });

function loaded(state: LoopState): SavedMemory {
  const read = readMemory(writeMemory(state, START_MS).text);
  if (!read.ok) throw new Error(read.reason);
  return read.memory;
}

/** As the text has them. */
function increasesIn(state: LoopState): readonly unknown[] {
  const { increases, accepted, asked } = JSON.parse(writeMemory(state, START_MS).text) as Readonly<Record<string, unknown>>;
  return [increases, accepted, asked];
}

/** Order has no meaning. */
function sorted(state: LoopState): LoopState {
  return { ...state, stockouts: state.stockouts.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1)) };
}

const GROUPS = ['a', 'b', 'c', 'd'].map((name) => aGroup({ id: name, target: 1, maxSize: 9 }));
const NODES = ['a-0', 'b-0', 'aks-general-12345678-vmss000001', 'x'].map((name) => aNode({ name, createdAtMs: 0 }));

describe('a saved memory', () => {
  it('is the same after it was read, and so is the plan that is made with it', () => {
    const observation = anObservation(GROUPS, aCluster({ nodes: NODES }));
    const pods = [1, 2, 3].map((cpu) => aPod({ name: `p-${cpu}`, cpu: String(cpu) }));
    fc.assert(
      fc.property(remembered, (state) => {
        const recalled = recallMemory(aState(), loaded(state), observation, POLICY.scaleDown);
        expect(sorted(recalled)).toEqual(sorted(state));
        expect(increasesIn(recalled)).toEqual(increasesIn(state));
        expect(planFor({ groups: GROUPS, pods, state: recalled })).toEqual(planFor({ groups: GROUPS, pods, state }));
      }),
      { seed: 14, numRuns: 80 },
    );
  });

  it('has every field that outlives a process', () => {
    // Pods that exist only in plans are not stored, and others are found again by their class. Only its own process cancels an increase.
    const made = new Map(
      [...FULL_STATE.increases].map(([id, entries]) => [
        id,
        entries.map(({ pods, ...entry }) => ({
          ...entry,
          planned: [],
          followed: undefined,
          podsGoneSinceMs: undefined,
          pods: pods.map((some) => ({ ...some, uids: undefined })),
        })),
      ]),
    );
    // TypeScript demands a new field of the memory here, and then this row demands that it is stored.
    const { unneededSince, backoffs, stockouts, readyTimes, startTimes, broken, brokenZones, groupTimes, targets, budgetedRemovals } =
      FULL_STATE;
    const { knowsAccepted, lastScaleUpMs, lastScaleDownMs, lastScaleDownFailureMs } = FULL_STATE;
    const last = { lastScaleUpMs, lastScaleDownMs, lastScaleDownFailureMs };
    const maps = {
      unneededSince,
      backoffs,
      stockouts,
      increases: made,
      readyTimes,
      startTimes,
      broken,
      brokenZones,
      groupTimes,
      targets,
      budgetedRemovals,
    };
    // Each loop finds again why no room is made.
    const withoutWhy = new Map([...FULL_STATE.repacks.rooms].map(([node, room]) => [node, { ...room, failed: undefined, why: undefined }]));
    const repacks = { ...FULL_STATE.repacks, search: undefined, left: new Map(), rooms: withoutWhy };
    const expected: Record<keyof SavedMemory, unknown> = { ...maps, repacks, ...last, knowsAccepted, savedAtMs: START_MS };
    expect(loaded(FULL_STATE)).toEqual(expected);
  });

  it('of a version with other causes of removals is accepted, and earlier versions accept this one', () => {
    const causes = [...REMOVAL_CAUSES, undefined];
    const budgetedRemovals = causes.map((cause) => ({ group: nodeGroupId('a'), cause, startedAtMs: START_MS }));
    const { text } = writeMemory(aState({ budgetedRemovals }), START_MS);
    const written = JSON.parse(text) as { readonly budgetedRemovals: readonly { readonly cause?: string }[] };
    expect(written.budgetedRemovals.map(({ cause }) => cause)).toEqual([
      'empty',
      'underutilized',
      'unready',
      undefined,
      undefined,
      undefined,
    ]);
    const read = (saved: string) => {
      const result = readMemory(saved);
      return result.ok ? result.memory.budgetedRemovals.map(({ cause }) => cause) : result.reason;
    };
    expect(read(text)).toEqual(causes);
    // As this version's predecessor wrote it, and as a later one may.
    expect(read(text.replace('"why":"sick"', '"cause":"sick"'))).toEqual(causes);
    expect(read(text.replace('"why":"sick"', '"why":"of a later version"'))).toEqual(
      causes.map((cause) => (cause === 'sick' ? undefined : cause)),
    );
  });

  it('of a version that did not know ready times or missed zones is accepted', () => {
    const {
      readyTimes: _new,
      brokenZones: _newer,
      ...before
    } = JSON.parse(writeMemory(aState(), START_MS).text) as Record<string, unknown>;
    expect(readMemory(JSON.stringify(before)).ok).toBe(true);
  });

  it('finds the pods of an increase again by their class', () => {
    const pods = ['p', 'q', 'r'].map((name, at) => aPod({ name, cpu: '1', createdAtMs: START_MS - 9 * MINUTE + at }));
    const [group] = GROUPS;
    const expectedByMs = START_MS + 9 * MINUTE;
    const made = { group: nodeGroupId('a'), nodes: 1, started: 0, pods: pods.slice(0, 2), expectedByMs, followed: undefined };
    const increases = rememberAccepted(new Map(), made, START_MS - MINUTE);
    const state = aState({ increases, knowsAccepted: true, targets: new Map([[made.group, 1]]) });
    const observation = anObservation(group === undefined ? [] : [{ ...group, instances: [] }], aCluster({ pods }));
    expect(writeMemory(state, START_MS).text).not.toContain(pods[0]?.uid);
    const recalled = recallMemory(aState(), loaded(state), observation, POLICY.scaleDown);
    expect(recalled.increases).not.toEqual(increases);
    expect(reduceObservation(recalled, observation, POLICY).increases).toEqual(increases);
  });

  it('holds no credential', () => {
    const message = 'Refused: Bearer abcdefghijklmnop and https://x/?sig=verysecret';
    const entry = aBackoff({ message });
    const { text: written } = writeMemory(aState({ backoffs: new Map([[nodeGroupId('a'), entry]]) }), START_MS);
    expect(written).toContain('Refused');
    expect(written).not.toMatch(/abcdefgh|verysecret/);
  });
});

describe('a memory that is too large', () => {
  const many = (count: number): LoopState =>
    aState({
      stockouts: [{ scope: { vmSize: 's' }, code: 'x', sinceMs: START_MS, untilMs: START_MS }],
      unneededSince: new Map(
        Array.from({ length: count }, (_, at) => [
          `aks-pool${at % 50}-12345678-vmss${String(at).padStart(6, '0')}`,
          START_MS - (count - at),
        ]),
      ),
    });
  const withBackoffs = (state: LoopState, count: number): LoopState => ({
    ...state,
    backoffs: new Map(
      Array.from({ length: count }, (_, at): [NodeGroupId, Backoff] => [
        nodeGroupId(`group-${at}`),
        aBackoff({ untilMs: START_MS + at, durationMs: 1, message: 'm'.repeat(3_000) }),
      ]),
    ),
  });

  it('5,000 idle nodes of 50 scale sets fit', () => {
    const state = many(5_000);
    const { text: written, dropped } = writeMemory(state, START_MS);
    expect([Buffer.byteLength(written) < 256_000, dropped]).toEqual([true, {}]);
    expect(loaded(state).unneededSince).toEqual(state.unneededSince);
  });

  it('loses the shortest idle timers first', () => {
    const state = many(50_000);
    const { text: written, dropped } = writeMemory(state, START_MS);
    expect(Buffer.byteLength(written)).toBeLessThan(256_000);
    expect(Object.keys(dropped)).toEqual(['idle']);
    const kept = new Set(loaded(state).unneededSince.values());
    expect(kept.size).toBeGreaterThan(8_000);
    const lost = [...state.unneededSince.values()].filter((sinceMs) => !kept.has(sinceMs));
    expect(Math.min(...lost)).toBeGreaterThan(START_MS - 50_000 + 7_000);
  });

  it('loses sentences for people next, and the back-offs that end first last', () => {
    const some = writeMemory(withBackoffs(many(1_000), 700), START_MS);
    expect(Object.keys(some.dropped)).toEqual(['messages', 'idle']);
    const all = withBackoffs(many(1_000), 3_000);
    const { text: written, dropped } = writeMemory(all, START_MS);
    expect(Buffer.byteLength(written)).toBeLessThan(256_000);
    expect(Object.keys(dropped)).toEqual(['backoffs', 'messages', 'idle']);
    const kept = loaded(all);
    expect(kept.stockouts).toEqual(all.stockouts);
    expect(kept.backoffs.has(nodeGroupId('group-2999'))).toBe(true);
    expect(kept.backoffs.has(nodeGroupId('group-0'))).toBe(false);
  });
});

describe('a stored text with a time in the far future', () => {
  const good: unknown = JSON.parse(writeMemory(FULL_STATE, START_MS).text);
  const LATE_MS = START_MS + 400 * 24 * 60 * MINUTE;

  /** The value once for each of its times but the one of the save, with that time in the far future. */
  function withOneLate(value: unknown, path: string): readonly { readonly path: string; readonly value: unknown }[] {
    if (typeof value === 'number') return timesIn(value).length === 0 || path.endsWith('.savedAtMs') ? [] : [{ path, value: LATE_MS }];
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, entry]) =>
      withOneLate(entry, `${path}.${key}`).map((late) => ({
        path: late.path,
        value: Array.isArray(value) ? value.with(Number(key), late.value) : { ...value, [key]: late.value },
      })),
    );
  }
  const LATE = withOneLate(good, '');

  it.each(LATE)('at $path is refused, or read without it', ({ value }) => {
    const read = readMemory(JSON.stringify(value));
    expect(Math.max(...timesIn(read.ok ? read.memory : {}), START_MS)).toBeLessThanOrEqual(START_MS + MINUTE);
  });

  it('has such a row for each time of the memory', () => {
    const { unneededSince: _durations, savedAtMs: _own, ...memory } = loaded(FULL_STATE);
    // The time of an increase in flight is stored twice: with its nodes, and with its pods.
    expect(LATE).toHaveLength(timesIn(memory).length + 1);
  });

  it('is read if only an event lies after the save: that is then the time of the event', () => {
    const { lastScaleDownMs, groupTimes } = loaded({
      ...FULL_STATE,
      lastScaleDownMs: LATE_MS,
      groupTimes: new Map([[nodeGroupId('a'), { scaleDownMs: START_MS + 1 }]]),
    });
    expect([lastScaleDownMs, groupTimes?.get(nodeGroupId('a'))]).toEqual([START_MS, { scaleDownMs: START_MS }]);
  });
});

describe('a stored text is refused if it', () => {
  const good = JSON.parse(writeMemory(aState(), START_MS).text) as Readonly<Record<string, unknown>>;
  const entry = (change: object) => [['a', { untilMs: START_MS, durationMs: 1, lastFailureMs: START_MS, cause: 'x', ...change }]];

  it.each([
    ['is empty', '', 'it is not a JSON object'],
    ['is cut', JSON.stringify(good).slice(0, -5), 'it is not a JSON object'],
    ['is null', 'null', 'it is not a JSON object'],
    ['is a list', '[]', 'it was not written by aks-autoscaler'],
    ['is of another program', JSON.stringify({ ...good, program: 'x' }), 'it was not written by aks-autoscaler'],
    ['is newer', JSON.stringify({ ...good, version: 2 }), 'its version is not 1'],
    ['is huge', `${JSON.stringify(good)}${' '.repeat(300_000)}`, /^it has \d+ bytes; at most 250000 are read$/],
    ['is nested without end', '['.repeat(100_000), 'it is not a JSON object'],
    ['lacks a part', JSON.stringify({ ...good, backoffs: undefined }), 'its backoffs is not valid'],
    ['has an endless number', JSON.stringify(good).replace(/"savedAtMs":\d+/, '"savedAtMs":1e999'), 'its savedAtMs is not valid'],
    ['has a negative count', JSON.stringify({ ...good, targets: [['a', -1]] }), 'its targets.0.1 is not valid'],
    [
      'has a kind of error that does not exist',
      JSON.stringify({ ...good, backoffs: entry({ kind: 'toString' }) }),
      'its backoffs.0.1 is not valid',
    ],
    ['has a back-off for years', JSON.stringify({ ...good, backoffs: entry({ untilMs: 8e15 }) }), /too far in the future/],
    [
      'has a promise that stays broken for years',
      writeMemory(
        { ...FULL_STATE, broken: new Map([...FULL_STATE.broken].map(([id, promise]) => [id, { ...promise, untilMs: 8e15 }])) },
        START_MS,
      ).text,
      /too far in the future/,
    ],
    ['has an idle time before any other', JSON.stringify({ ...good, idle: [['a', [['b', -1]]]] }), 'its idle.0.1 is not valid'],
  ])('%s', (_what, stored, reason) => {
    const read = readMemory(stored);
    expect(read.ok ? 'accepted' : read.reason).toMatch(reason);
  });

  it('and is accepted otherwise, with parts that this version does not know', () => {
    expect(readMemory(JSON.stringify({ ...good, more: [1] })).ok).toBe(true);
    // Earlier versions stored the hash of a template with each increase.
    const accepted = [['a', [{ nodes: 1, acceptedAtMs: START_MS, template: 'x', pods: [] }]]];
    expect(readMemory(JSON.stringify({ ...good, accepted })).ok).toBe(true);
  });
});
