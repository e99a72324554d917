/** The table of `docs/how-decisions-are-made.md` that says how long a pool backs off: the times and turns of each row are checked here. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WriteBackoffs } from '../../../src/azure/groups/own-writes.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { reduceIncrease } from '../../../src/planning/state/loop-state.ts';
import { aGroup, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';

const MINUTE_MS = 60_000;
const NUMBERS: Readonly<Record<string, number>> = { one: 1, five: 5 };
const [A, B] = [nodeGroupId('a'), nodeGroupId('b')];

/** `five minutes`, `30 seconds`, `half an hour`. */
function durationOf(words: string): number {
  if (words === 'half an hour') return 30 * MINUTE_MS;
  const [count = '', unit = ''] = words.split(' ');
  return (NUMBERS[count] ?? Number(count)) * (unit.startsWith('minute') ? MINUTE_MS : 1_000);
}

const QUOTA = { kind: 'quota', quota: 'cores' } as const;
const SOLD_OUT = { kind: 'out-of-capacity', scope: {} } as const;

const AKS_AT_WORK = '409 since AKS does something else with the pool or the cluster';

/** The failures that each answer in the first column becomes. Any other effect than a failure changes no state. */
const FAILURES: Readonly<Record<string, readonly ErrorKind[]>> = {
  'no stock, no quota, a full subnet, a policy or lock': [
    SOLD_OUT,
    QUOTA,
    { ...QUOTA, local: true },
    { ...SOLD_OUT, lack: 'constraints' },
    { ...SOLD_OUT, lack: 'offer' },
  ],
  'a quota refusal with numbers': [{ ...QUOTA, counted: true }],
  '5xx, 409 without a changed size, 404': [{ kind: 'unavailable', effect: 'none' }, { kind: 'conflict' }, { kind: 'not-found' }],
  '400, 401, 403': [{ kind: 'bug' }, { kind: 'auth' }],
  '429': [{ kind: 'throttled', retryAfterMs: 7_000 }],
  'none (time-out, lost connection), or a 5xx': [{ kind: 'unavailable', effect: 'unknown' }],
  '412, or the size changed': [],
  // The adapter holds the pool, and the planner hears of no failure.
  [AKS_AT_WORK]: [],
};

interface Row {
  readonly answer: string;
  readonly time: string;
  readonly effect: string;
}

function documentedRows(): readonly Row[] {
  const lines = readFileSync(new URL('../../../docs/how-decisions-are-made.md', import.meta.url), 'utf8').split('\n');
  const begin = lines.findIndex((line) => line.startsWith("| Azure's answer | How long the pool backs off"));
  const rows = lines.slice(begin + 2);
  return rows.slice(0, rows.indexOf('')).map((line) => {
    const [answer = '', time = '', effect = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return { answer, time, effect };
  });
}

function refused(state: LoopState, group: typeof A, detail: ErrorKind, atMs: number): LoopState {
  const outcome = { kind: 'failed', group, error: new AutoscalerError(detail, 'Azure says why.') } as const;
  const increase = { group, from: 1, to: 2, version: '"1"', pods: [], cause: 'pods' } as const;
  return reduceIncrease(state, { increase, outcome, group: aGroup({ id: group, target: 1 }), followed: undefined }, atMs, aPolicy());
}

/** How long the group backs off after each of six refusals, each right after the end of the last backoff. */
function durationsAfter(detail: ErrorKind): readonly number[] {
  let [state, atMs] = [aState(), START_MS];
  return Array.from({ length: 6 }, () => {
    state = refused(state, A, detail, atMs);
    const untilMs = state.backoffs.get(A)?.untilMs ?? atMs;
    const duration = untilMs - atMs;
    atMs = untilMs;
    return duration;
  });
}

function documentedDurations(time: string, detail: ErrorKind): readonly number[] {
  if (time.startsWith('not ')) return [0, 0, 0, 0, 0, 0];
  if (time === 'as long as Azure says')
    return Array.from({ length: 6 }, () => (detail.kind === 'throttled' ? (detail.retryAfterMs ?? 0) : 0));
  const [, first = '', longest = ''] = /^(?:`[^`]+` \()?([\w ]+?)\)?, doubling to ([\w ]+)$/.exec(time) ?? [];
  return Array.from({ length: 6 }, (_none, at) => Math.min(durationOf(longest), durationOf(first) * 2 ** at));
}

describe('the documented backoffs', () => {
  it('are those that this test knows', () => {
    expect(new Set(documentedRows().map(({ answer }) => answer))).toEqual(new Set(Object.keys(FAILURES)));
  });

  const cases = documentedRows().flatMap((row) => (FAILURES[row.answer] ?? []).map((detail) => ({ ...row, detail })));
  it.each(cases)('$answer: $detail backs off $time', ({ time, detail }) => {
    expect(durationsAfter(detail)).toEqual(documentedDurations(time, detail));
  });

  it('work of AKS itself holds a pool for as long as the table says', () => {
    const backoffs = new WriteBackoffs();
    const error = new AutoscalerError({ kind: 'conflict' }, 'AKS says why.');
    let atMs = START_MS;
    const durations = Array.from({ length: 6 }, () => {
      const { untilMs } = backoffs.recordInProgress('a', error, atMs);
      const duration = untilMs - atMs;
      atMs = untilMs;
      return duration;
    });
    const row = documentedRows().find(({ answer }) => answer === AKS_AT_WORK);
    expect(durations).toEqual(documentedDurations(row?.time ?? '', { kind: 'conflict' }));
  });

  it.each(cases)('$answer: $detail, $effect', ({ effect, detail }) => {
    const both = refused(refused(aState(), A, detail, START_MS), B, detail, START_MS);
    const takesTurns = (both.backoffs.get(B)?.untilMs ?? 0) > (both.backoffs.get(A)?.untilMs ?? 0);
    expect(takesTurns).toBe(effect.includes('take turns'));
    const isOfOnePool = detail.kind === 'quota' ? detail.local === true : 'lack' in detail && detail.lack === 'constraints';
    expect(both.stockouts.length > 0).toBe(effect.includes('also stop other pools') && !isOfOnePool);
  });
});
