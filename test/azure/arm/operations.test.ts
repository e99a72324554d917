/** How operations are followed: at what pace, for how long, and what an answer of any kind makes of them. */
import { createHttpHeaders, createPipelineRequest, type PipelineResponse } from '@azure/core-rest-pipeline';
import { describe, expect, it } from 'vitest';
import { ArmCalls } from '../../../src/azure/arm/arm-client.ts';
import { RateLimits } from '../../../src/azure/arm/rate-limits.ts';
import { OperationTracker, type OperationEnd, type ResourceState } from '../../../src/azure/arm/operations.ts';
import { defined } from '../../../src/lib/defined.ts';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Answer {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: ErrorKind;
  readonly retryAfterMs?: number;
}

const RUNS: Answer = { body: '{"status":"InProgress"}' };

interface FollowedOptions {
  readonly retryAfterMs?: number;
  readonly chance?: number;
  /** What the resource says of itself in turn, the last for ever. If absent, it is not read. */
  readonly states?: readonly (ResourceState | Error)[];
}

/** Follows one operation that answers in turn, the last answer for ever. Times are seconds since it was accepted. */
function followed(answers: readonly Answer[], { retryAfterMs, chance = 0, states }: FollowedOptions = {}) {
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics().arm;
  const calls = new ArmCalls({
    clock,
    metrics,
    rateLimits: new RateLimits(clock, metrics),
    endpoint: 'https://arm.local',
    timeoutMs: 30 * SECOND,
    maxConcurrent: 8,
    random: () => chance,
  });
  const asked: number[] = [];
  const ends: OperationEnd[] = [];
  const getRaw = (url: string): Promise<PipelineResponse> => {
    const {
      status = 200,
      body = '',
      headers = {},
      error,
      retryAfterMs: pauseMs,
    } = answers[Math.min(asked.length, answers.length - 1)] ?? RUNS;
    asked.push((clock.now() - START_MS) / SECOND);
    if (error !== undefined)
      return Promise.reject(new AutoscalerError(error, 'refused', { context: { status }, ...defined({ retryAfterMs: pauseMs }) }));
    return Promise.resolve({ status, bodyAsText: body, headers: createHttpHeaders(headers), request: createPipelineRequest({ url }) });
  };
  const log = createLog('silent', { write: () => undefined });
  const checked: number[] = [];
  const readState = (given: readonly (ResourceState | Error)[]): Promise<ResourceState> => {
    const state = given[Math.min(checked.length, given.length - 1)] ?? 'running';
    checked.push((clock.now() - START_MS) / SECOND);
    return state instanceof Error ? Promise.reject(state) : Promise.resolve(state);
  };
  const tracker = new OperationTracker({ calls, clients: { getRaw }, clock, random: () => chance, log });
  tracker.follow({
    resource: 'set',
    url: 'https://arm.local/operations/1',
    retryAfterMs,
    hints: {},
    onEnd: (end) => void ends.push(end),
    ...(states === undefined ? {} : { resourceState: () => readState(states) }),
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) await clock.advance(500);
  };
  return { asked, checked, ends, tracker, pass };
}

describe('the pace of following an operation', () => {
  it.each<[string, number | undefined, number]>([
    ['ten seconds by default', undefined, 10],
    ['as long as Azure says', 4_000, 4],
    ['never under two seconds', 0, 2],
    ['half a minute at most, whatever Azure says (97 s, recorded in 2023)', 97_000, 30],
  ])('is %s', async (_what, retryAfterMs, firstAfter) => {
    const { asked, pass, tracker } = followed([RUNS], retryAfterMs === undefined ? {} : { retryAfterMs });
    await pass(95 * SECOND);
    expect(asked[0]).toBe(firstAfter);
    await tracker.close();
  });

  it('varies by up to a fifth, so that operations begun together part', async () => {
    const { asked, pass, tracker } = followed([RUNS], { chance: 1 });
    await pass(13 * SECOND);
    expect(asked).toEqual([12]);
    await tracker.close();
  });

  it.each<[string, Answer, number]>([
    ['a refusal for too many requests', { error: { kind: 'throttled', retryAfterMs: 90_000 } }, 100],
    ['a refusal of a busy server', { status: 503, error: { kind: 'unavailable', effect: 'none' }, retryAfterMs: 90_000 }, 100],
    ['another server error', { status: 500, error: { kind: 'unavailable', effect: 'none' }, retryAfterMs: 90_000 }, 40],
    ['a server error of half a minute', { status: 502, error: { kind: 'unavailable', effect: 'none' }, retryAfterMs: 20_000 }, 30],
    ['the first read of an operation that runs', { ...RUNS, headers: { 'retry-after': '97' } }, 40],
  ])(
    'after %s it waits until it may read again, and only a refusal is waited for longer than half a minute',
    async (_what, answer, next) => {
      const { asked, pass, tracker } = followed([answer, RUNS]);
      await pass(2 * MINUTE);
      expect(asked.slice(0, 2)).toEqual([10, next]);
      await tracker.close();
    },
  );

  it('follows what each answer says, and slows to half a minute for what runs for long', async () => {
    const { asked, pass, tracker } = followed([{ ...RUNS, headers: { 'retry-after': '3' } }], { retryAfterMs: 3_000 });
    await pass(10 * MINUTE);
    const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(gaps[0]).toBe(3);
    expect(Math.max(...gaps)).toBe(30);
    expect(gaps.at(-1)).toBe(30);
    await tracker.close();
  });
});

describe('the end of following an operation', () => {
  it('is unknown, never success, after twenty minutes', async () => {
    const { ends, pass, tracker } = followed([RUNS]);
    await pass(19 * MINUTE);
    expect([ends, tracker.following]).toEqual([[], 1]);
    await pass(2 * MINUTE);
    expect(ends).toMatchObject([{ kind: 'unknown', reason: 'it did not end within 20 minutes' }]);
    expect(tracker.following).toBe(0);
  });

  it.each<[string, readonly Answer[], Partial<OperationEnd>]>([
    ['one that Azure forgot', [RUNS, { error: { kind: 'not-found' } }], { kind: 'unknown' }],
    ['an answer without a document, as a Location ends', [{ status: 202 }, { status: 200 }], { kind: 'succeeded' }],
    [
      'a word that nobody knows, then success',
      [{ body: '{"status":"Running"}' }, { body: '{"status":"SUCCEEDED"}' }],
      { kind: 'succeeded' },
    ],
    ['half a document, then success', [{ body: '{"status":"Succ' }, { body: '{"status":"Succeeded"}' }], { kind: 'succeeded' }],
    ['a page for people, then failure', [{ body: '<html>' }, { body: '{"status":"Failed"}' }], { kind: 'failed' }],
    ['cancellation in either spelling', [{ body: '{"status":"Cancelled"}' }], { kind: 'failed' }],
    [
      'answers that were lost and refused, then success',
      [{ error: { kind: 'unavailable', effect: 'none' } }, { error: { kind: 'auth' } }, { body: '{"status":"Succeeded"}' }],
      { kind: 'succeeded' },
    ],
    [
      'one that was throttled, then success',
      [{ error: { kind: 'throttled', retryAfterMs: 7_000 } }, { body: '{"status":"Succeeded"}' }],
      { kind: 'succeeded' },
    ],
  ])('%s', async (_what, answers, end) => {
    const { ends, pass } = followed(answers);
    await pass(3 * MINUTE);
    expect(ends).toMatchObject([end]);
  });

  it('is unknown after twenty minutes although Azure asks for a longer pause', async () => {
    const { asked, ends, pass } = followed([{ error: { kind: 'throttled', retryAfterMs: 60 * MINUTE } }]);
    await pass(20 * MINUTE);
    expect(asked).toEqual([10]);
    expect(ends).toMatchObject([{ kind: 'unknown' }]);
  });

  it('a failure without words is a failure with a code', async () => {
    const { ends, pass } = followed([{ body: '{"status":"Failed","error":null}' }]);
    await pass(MINUTE);
    expect(ends).toMatchObject([{ kind: 'failed', failure: { code: 'Failed', detail: { kind: 'unavailable' } } }]);
  });

  it('is not reported if the process stops first', async () => {
    const { ends, pass, tracker } = followed([RUNS]);
    await pass(15 * SECOND);
    await tracker.close();
    await pass(30 * MINUTE);
    expect([ends, tracker.following]).toEqual([[], 0]);
  });
});

describe('an operation whose document never ends', () => {
  it.each<[string, readonly (ResourceState | Error)[], number]>([
    ['has succeeded', ['succeeded'], 1],
    ['has succeeded after a while', ['running', 'running', 'succeeded'], 3],
    ['has failed, twice: the document may still follow with the reason', ['failed', 'failed'], 2],
    ['cannot be read at first', [new Error('no'), 'succeeded'], 2],
  ])('ends when its resource says that it %s', async (_what, states, reads) => {
    const { ends, checked, pass } = followed([RUNS], { states });
    await pass(115 * SECOND);
    expect(checked).toEqual([]);
    await pass(4 * MINUTE);
    expect(ends).toEqual([{ kind: 'unknown', reason: expect.stringContaining('its resource shows') }]);
    expect(checked).toHaveLength(reads);
  });

  it.each<[string, readonly ResourceState[]]>([
    ['that runs', ['running']],
    ['that runs again after a failure', ['failed', 'running']],
  ])('is followed for twenty minutes with a resource %s, which is read once a minute at most', async (_what, states) => {
    const { ends, checked, pass } = followed([RUNS], {
      states: states.length === 1 ? states : Array.from({ length: 40 }, (_, at) => states[at % 2] ?? 'running'),
    });
    await pass(25 * MINUTE);
    expect(ends).toEqual([{ kind: 'unknown', reason: 'it did not end within 20 minutes' }]);
    expect(checked.length).toBeLessThanOrEqual(19);
  });
});
