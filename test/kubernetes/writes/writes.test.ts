import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNodeTainter } from '../../../src/kubernetes/writes/taints.ts';
import { createPodEvictor } from '../../../src/kubernetes/writes/evictions.ts';
import { LeaseLeadership } from '../../../src/kubernetes/leadership/leader-lease.ts';
import { QueuedEventRecorder } from '../../../src/kubernetes/writes/events.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, refusal, startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

const random = seededRandom(1);
const signal = new AbortController().signal;
let api: ScriptedApi;
let clock: FakeClock;
beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
});
afterEach(() => api.stop());
const retry = () => ({ clock, random, range: { firstMs: 50, maxMs: 1_000 }, attempts: 4 });

describe('tainter', () => {
  it('reads again after a conflict, keeps foreign fields and taints, and knows whose cordon it is', async () => {
    let reads = 0;
    api.answer((request, response) => {
      if (request.method === 'PUT') return reads === 1 ? refusal(response, 409, 'Conflict') : json(response, 200, {});
      reads += 1;
      const taints = [{ key: 'spot', effect: 'NoSchedule', timeAdded: 'x' }];
      json(response, 200, { metadata: { name: 'n', resourceVersion: String(reads) }, spec: { podCIDR: '10.0.0.0/24', taints }, extra: 1 });
    });
    const tainting = createNodeTainter({ rest: api.rest, retry: retry() }).taint(
      'n',
      { key: 'gone', value: '1', effect: 'NoSchedule' },
      { cordon: true },
      signal,
    );
    await until(
      () => reads === 2,
      () => clock.advance(100),
    );
    await expect(tainting).resolves.toEqual({ uncordonLater: true });
    expect(api.received.at(-1)?.body).toEqual({
      metadata: { name: 'n', resourceVersion: '2' },
      spec: {
        podCIDR: '10.0.0.0/24',
        unschedulable: true,
        taints: [
          { key: 'spot', effect: 'NoSchedule', timeAdded: 'x' },
          { key: 'gone', value: '1', effect: 'NoSchedule' },
        ],
      },
      extra: 1,
    });
  });

  it('does not claim a foreign cordon, and does not write what is set already', async () => {
    api.answer((_request, response) =>
      json(response, 200, { spec: { unschedulable: true, taints: [{ key: 'gone', value: '1', effect: 'NoSchedule' }] } }),
    );
    const tainter = createNodeTainter({ rest: api.rest, retry: retry() });
    await expect(tainter.taint('n', { key: 'gone', value: '1', effect: 'NoSchedule' }, { cordon: true }, signal)).resolves.toEqual({
      uncordonLater: false,
    });
    expect(api.received.map(({ method }) => method)).toEqual(['GET']);
    await tainter.untaint('n', 'gone', { uncordon: true }, signal);
    expect(api.received.at(-1)?.body).toEqual({ spec: { taints: [] } });
  });

  it('takes a node that is gone for untainted', async () => {
    api.answer((_request, response) => refusal(response, 404, 'NotFound'));
    await expect(createNodeTainter({ rest: api.rest, retry: retry() }).untaint('n', 'gone', { uncordon: true }, signal)).resolves.toBe(
      false,
    );
  });
});

describe('evictor', () => {
  it.each([
    [201, '', { kind: 'evicted' }],
    [404, 'NotFound', { kind: 'gone' }],
    [429, 'TooManyRequests', { kind: 'failed', error: { kind: 'throttled', detail: { retryAfterMs: 10_000 } } }],
    [500, 'InternalError', { kind: 'failed', error: { kind: 'unavailable' } }],
  ])('answers HTTP %d %s as an outcome', async (status, reason, outcome) => {
    api.answer((_request, response) =>
      status < 400 ? json(response, status, {}) : refusal(response, status, reason, { 'retry-after': '10' }),
    );
    expect(await createPodEvictor(api.rest).evict({ namespace: 'shop', name: 'web', uid: 'u1' }, 30_000, signal)).toMatchObject(outcome);
    expect(api.received[0]?.path).toBe('/api/v1/namespaces/shop/pods/web/eviction');
    expect(api.received[0]?.body).toMatchObject({ deleteOptions: { gracePeriodSeconds: 30, preconditions: { uid: 'u1' } } });
  });

  const CONFLICT = { kind: 'failed', error: { kind: 'conflict' } };
  it.each([
    { now: 'the pod is still there, as when evictions of one budget met each other', status: 200, pod: { uid: 'u1' }, outcome: CONFLICT },
    { now: 'another pod has its name', status: 200, pod: { uid: 'u2' }, outcome: { kind: 'gone' } },
    { now: 'no pod has its name', status: 404, pod: {}, outcome: { kind: 'gone' } },
    { now: 'it cannot be read', status: 500, pod: {}, outcome: { kind: 'failed', error: { kind: 'unavailable' } } },
    { now: 'the answer names no uid', status: 200, pod: {}, outcome: CONFLICT },
  ])('after a conflict, the pod itself shows whether it is gone: $now', async ({ status, pod, outcome }) => {
    api.answer(({ method }, response) =>
      method === 'POST' || status >= 400
        ? refusal(response, method === 'POST' ? 409 : status, 'Conflict')
        : json(response, status, { metadata: pod }),
    );
    expect(await createPodEvictor(api.rest).evict({ namespace: 'shop', name: 'web', uid: 'u1' }, 30_000, signal)).toMatchObject(outcome);
    expect(api.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/namespaces/shop/pods/web/eviction',
      'GET /api/v1/namespaces/shop/pods/web',
    ]);
  });

  it.each([0, 1, 999, -5_000])('never sends a grace period below a second, which would force the deletion: %d ms', async (graceMs) => {
    await createPodEvictor(api.rest).evict({ namespace: 'shop', name: 'web', uid: 'u1' }, graceMs, signal);
    expect(api.received[0]?.body).toMatchObject({ deleteOptions: { gracePeriodSeconds: 1 } });
  });

  it('distinguishes a budget from a busy API server by the cause, and names the budget', async () => {
    const needs = 'The disruption budget web needs 2 healthy pods and has 2 currently';
    const body = {
      kind: 'Status',
      code: 429,
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: { causes: [{ reason: 'DisruptionBudget', message: needs }], retryAfterSeconds: 10 },
    };
    api.answer((_request, response) => json(response, 429, body));
    const outcome = await createPodEvictor(api.rest).evict({ namespace: 'shop', name: 'web', uid: 'u1' }, 30_000, signal);
    expect(outcome).toMatchObject({ kind: 'blocked', retryAfterMs: 10_000, message: expect.stringContaining(needs) });
  });

  it('takes the plain-text 429 of an overloaded API server for no budget', async () => {
    api.answer((_request, response) => {
      response.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '1' });
      response.end('Too many requests, please try again later.\n');
    });
    expect(await createPodEvictor(api.rest).evict({ namespace: 'shop', name: 'web', uid: 'u1' }, 0, signal)).toMatchObject({
      kind: 'failed',
      error: { kind: 'throttled', detail: { retryAfterMs: 1_000 } },
    });
  });
});

describe('events', () => {
  const event = (message: string) =>
    ({ subject: { kind: 'Node', name: 'n', uid: 'u' }, type: 'Normal', reason: 'ScaleDown', message }) as const;
  const recorder = (queued: number) =>
    new QueuedEventRecorder({
      rest: api.rest,
      clock,
      retry: retry(),
      log: silentLog(),
      metrics: api.metrics,
      source: 'test',
      identity: 'me',
      limits: { queued },
    });

  it('folds repeats within ten minutes into a count', async () => {
    const events = recorder(10);
    events.record(event('a'));
    await events.flush(signal);
    await clock.advance(60_000);
    events.record(event('a'));
    await events.flush(signal);
    await clock.advance(600_001);
    events.record(event('a'));
    await events.flush(signal);
    expect(api.received.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(api.received[1]?.body).toMatchObject({ count: 2 });
    await events.close();
  });

  it('a pod that nothing helps is written about once a minute, however often the loop says so', async () => {
    const events = recorder(10);
    for (let loop = 0; loop < 18; loop++) {
      events.record(event('a'));
      await events.flush(signal);
      await clock.advance(10_000);
    }
    expect(api.received.map(({ method, body }) => `${method} ${String(body['count'])}`)).toEqual(['POST 1', 'PATCH 7', 'PATCH 13']);
    await events.close();
  });

  it('remembers events for ten minutes after their last repeat', async () => {
    const events = recorder(100);
    for (let cycle = 0; cycle < 30; cycle++) {
      for (let node = 0; node < 5; node++) events.record(event(`${cycle} ${node}`));
      events.record(event('in each cycle'));
      await clock.advance(60_000);
    }
    // Those of the last cycle, and of the ten minutes before it.
    expect(events.remembered).toBe(11 * 5 + 1);
    await clock.advance(600_000);
    events.record(event('later'));
    expect(events.remembered).toBe(1);
    await events.flush(signal);
    expect(api.received.filter(({ method, body }) => method === 'POST' && body['message'] === 'in each cycle')).toHaveLength(1);
    await events.close();
  });

  it('an event that was dropped takes no place among those remembered', async () => {
    const events = recorder(1);
    events.record(event('first'));
    await events.flush(signal);
    for (let other = 0; other < 20_000; other++) events.record(event(`other ${other}`));
    await clock.advance(60_000);
    await events.flush(signal);
    events.record(event('first'));
    await events.flush(signal);
    expect(api.received.at(-1)).toMatchObject({ method: 'PATCH', body: { count: 2 } });
    await events.close();
  });

  it('drops and counts what the queue cannot hold, and never throws', async () => {
    const events = recorder(2);
    for (const message of ['a', 'b', 'c', 'd', 'e']) events.record(event(message));
    await events.flush(signal);
    const dropped = (await api.metrics.cluster.eventsDropped.get()).values[0]?.value ?? 0;
    expect(dropped).toBeGreaterThan(0);
    expect(dropped + api.received.length).toBe(5);
    await events.close();
  });
});

describe('lease', () => {
  interface Stored {
    version: number;
    spec: Record<string, unknown>;
  }
  /** A lease in an API server that checks versions. */
  function leaseServer(): { stored: Stored | undefined; failing: boolean } {
    const state: { stored: Stored | undefined; failing: boolean } = { stored: undefined, failing: false };
    api.answer(({ method, body }, response) => {
      const { stored } = state;
      const show = (): void =>
        json(response, 200, { metadata: { name: 'l', resourceVersion: String(state.stored?.version) }, spec: state.stored?.spec });
      if (state.failing) return refusal(response, 500, 'InternalError');
      if (method === 'GET') return stored === undefined ? refusal(response, 404, 'NotFound') : show();
      const version = (body['metadata'] as { resourceVersion?: string }).resourceVersion;
      if (stored !== undefined && version !== String(stored.version)) return refusal(response, 409, 'Conflict');
      state.stored = { version: (stored?.version ?? 0) + 1, spec: body['spec'] as Record<string, unknown> };
      show();
    });
    return state;
  }
  const leaseOf = (identity: string) =>
    new LeaseLeadership({
      rest: api.rest,
      clock,
      random,
      log: silentLog(),
      metrics: api.metrics,
      namespace: 'kube-system',
      name: 'l',
      identity,
    });
  /** A second of fake time, then whatever the network brings. */
  const second = () => clock.advance(1_000);

  it('is renewed while held, handed over at once on release', async () => {
    const state = leaseServer();
    const first = leaseOf('a');
    await first.acquire(signal);
    await until(() => (state.stored?.version ?? 0) >= 4, second);
    expect(state.stored?.spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(state.stored?.spec['renewTime']).toMatch(/\.\d{6}Z$/);
    await first.release(signal);
    expect(first.lost.aborted).toBe(true);
    const second_ = leaseOf('b');
    await second_.acquire(signal);
    expect(state.stored?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await second_.release(signal);
  });

  it('waits for a silent holder by its own clock, however old the written time is', async () => {
    const state = leaseServer();
    state.stored = { version: 1, spec: { holderIdentity: 'dead', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' } };
    const lease = leaseOf('b');
    let since = 0;
    const acquiring = lease.acquire(signal).then(() => (since = clock.now() - START_MS));
    await until(() => since > 0, second);
    await acquiring;
    expect(since).toBeGreaterThan(15_000);
    await lease.release(signal);
  });

  it('is lost when it cannot be renewed for ten seconds, and at once when another holds it', async () => {
    const state = leaseServer();
    const lease = leaseOf('a');
    await lease.acquire(signal);
    state.failing = true;
    const failedAt = clock.now();
    await until(() => lease.lost.aborted, second);
    expect(clock.now() - failedAt).toBeGreaterThanOrEqual(10_000);
    expect(clock.now() - failedAt).toBeLessThan(15_000);
    state.failing = false;
    const other = leaseOf('a');
    await other.acquire(signal);
    state.stored = { version: 99, spec: { holderIdentity: 'thief' } };
    await until(() => other.lost.aborted, second);
    expect(state.stored.spec).toEqual({ holderIdentity: 'thief' });
  });
});
