import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState, SavedMemory } from '../../../src/domain/loop-state.ts';
import { recallMemory } from '../../../src/planning/state/after-restart.ts';
import { emptyLoopState, reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCluster, aGroup, aNode, anObservation, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aBackoff, aState, type StateParts } from '../../support/state.ts';
import { inFlight } from '../../../src/planning/state/increases/increase-records.ts';

const MINUTE = 60_000;
const SECOND = 1_000;
const G = nodeGroupId('g');

function memoryOf(state: StateParts, savedAtMs = START_MS): SavedMemory {
  return { ...aState(state), savedAtMs };
}

/** The memory as the next process has it, `laterMs` after the save. */
function recalled(memory: SavedMemory, laterMs: number, candidateTtlMs = 2 * MINUTE, createdAtMs = 0): LoopState {
  const nowMs = START_MS + laterMs;
  const observation = { ...anObservation([], aCluster({ nodes: [aNode({ name: 'n', createdAtMs })] })), nowMs };
  return recallMemory(emptyLoopState(nowMs), memory, observation, aPolicy({ scaleDown: { candidateTtlMs } }).scaleDown);
}

describe('idle timers after a restart', () => {
  const memory = memoryOf({ unneededSince: new Map([['n', START_MS - 5 * MINUTE]]) });
  const idleMs = (laterMs: number, ttlMs?: number, createdAtMs?: number): number | undefined => {
    const sinceMs = recalled(memory, laterMs, ttlMs, createdAtMs).unneededSince.get('n');
    return sinceMs === undefined ? undefined : START_MS + laterMs - sinceMs;
  };

  it.each([
    { name: 'the time without a process does not count', laterMs: 30 * SECOND, expected: 5 * MINUTE },
    { name: 'they count up to the limit', laterMs: 2 * MINUTE, expected: 5 * MINUTE },
    { name: 'they do not count after it', laterMs: 2 * MINUTE + 1, expected: undefined },
    { name: 'a clock that is a little behind changes nothing', laterMs: -20 * SECOND, expected: 5 * MINUTE },
    { name: 'a clock that is far behind says nothing about the time since', laterMs: -60 * MINUTE, expected: undefined },
    { name: 'without a limit they never count', laterMs: 1, ttlMs: 0, expected: undefined },
    { name: 'a node that joined since under the same name is another node', laterMs: MINUTE, createdAtMs: START_MS, expected: undefined },
  ])('$name', ({ laterMs, ttlMs, createdAtMs, expected }) => {
    expect(idleMs(laterMs, ttlMs, createdAtMs)).toBe(expected);
  });
});

describe('back-offs and cooldowns after a restart', () => {
  const backoff = aBackoff({ untilMs: START_MS + 5 * MINUTE, durationMs: 5 * MINUTE, lastFailureMs: START_MS, cause: 'x' });
  const memory = memoryOf({
    backoffs: new Map([[G, backoff]]),
    lastScaleUpMs: START_MS - MINUTE,
    groupTimes: new Map([[G, { scaleUpMs: START_MS - MINUTE }]]),
  });

  it('go on, however long no process ran', () => {
    const { backoffs, lastScaleUpMs, groupTimes } = recalled(memory, MINUTE);
    expect([backoffs, lastScaleUpMs, groupTimes]).toEqual([memory.backoffs, memory.lastScaleUpMs, memory.groupTimes]);
  });

  it('do not last longer because the clock of the earlier process was ahead', () => {
    const { backoffs, lastScaleUpMs } = recalled(memory, -60 * MINUTE);
    expect(backoffs.get(G)?.untilMs).toBe(START_MS - 55 * MINUTE);
    expect(lastScaleUpMs).toBe(START_MS - 61 * MINUTE);
  });
});

describe('in-flight increases after a restart', () => {
  const policy = aPolicy();
  const requestedAtMs = START_MS - 10 * MINUTE;
  const increase = { group: G, nodes: 2, requestedAtMs, expectedByMs: requestedAtMs + 15 * MINUTE };
  const look = (target: number, laterMs: number) => ({
    ...anObservation([aGroup({ id: G, target })], aCluster()),
    nowMs: START_MS + laterMs,
  });
  const after = (target: number, laterMs: number, saved: StateParts): LoopState =>
    reduceObservation(recallMemory(aState(), memoryOf(saved), look(target, laterMs), policy.scaleDown), look(target, laterMs), policy);
  const saved = { awaited: new Map([[G, increase]]), targets: new Map([[G, 2]]) };

  it('keep their time limit, also when processes start again and again', () => {
    expect(inFlight(after(2, MINUTE, saved), G)).toMatchObject({ nodes: 2, expectedByMs: increase.expectedByMs });
    expect(after(2, 6 * MINUTE, saved).backoffs.get(G)?.cause).toBe('timeout');
  });

  it('what was requested after the save is added', () => {
    expect(inFlight(after(3, MINUTE, saved), G)).toMatchObject({ nodes: 3 });
  });

  it('without a memory the whole difference counts', () => {
    expect(inFlight(after(2, MINUTE, {}), G)).toMatchObject({ nodes: 2 });
  });
});
