/** Whose events are sent first, and whose are dropped, when more are recorded than can be sent. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AutoscalerEvent } from '../../../src/domain/ports/records.ts';
import { QueuedEventRecorder } from '../../../src/kubernetes/writes/events.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;

let api: ScriptedApi;
let clock: FakeClock;

beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
  api.answer((_request, response) => json(response, 201, {}));
});
afterEach(() => api.stop());

function recorder(queued?: number): QueuedEventRecorder {
  return new QueuedEventRecorder({
    rest: api.rest,
    clock,
    retry: { clock, random: seededRandom(1), range: { firstMs: 50, maxMs: 1_000 }, attempts: 4 },
    log: silentLog(),
    metrics: api.metrics,
    source: 'test',
    identity: 'me',
    ...(queued === undefined ? {} : { limits: { queued } }),
  });
}

function podEvent(namespace: string, name: string, reason = 'NotTriggerScaleUp'): AutoscalerEvent {
  return { subject: { kind: 'Pod', namespace, name, uid: `${namespace}/${name}` }, type: 'Normal', reason, message: name };
}

function nodeEvent(name: string, reason: string): AutoscalerEvent {
  return { subject: { kind: 'Node', name, uid: name }, type: 'Normal', reason, message: name };
}

/** Everything that was sent, in its order, as `reason subject`. */
async function sent(events: QueuedEventRecorder): Promise<readonly string[]> {
  let over = false;
  const flushed = events.flush(signal).then(() => (over = true));
  await until(
    () => over,
    () => clock.advance(1_000),
  );
  await flushed;
  await events.close();
  return api.received.map(({ body }) => `${String(body['reason'])} ${String(body['message'])}`);
}

async function dropped(): Promise<number> {
  return (await api.metrics.cluster.eventsDropped.get()).values[0]?.value ?? 0;
}

describe('events that are more than can be sent', () => {
  it('of one namespace displace neither what was done elsewhere nor other verdicts', async () => {
    const events = recorder();
    for (let at = 0; at < 20_000; at++) events.record(podEvent('batch', `job-${at}`));
    const others = [
      podEvent('shop', 'web', 'TriggeredScaleUp'),
      podEvent('shop', 'cart'),
      nodeEvent('n1', 'ScaleDown'),
      nodeEvent('n2', 'NodePreempted'),
      podEvent('default', 'tool', 'TriggeredScaleUp'),
    ];
    for (const event of others) events.record(event);
    const order = await sent(events);
    for (const { reason, message } of others) expect(order).toContain(`${reason} ${message}`);
    expect(order).toHaveLength(1_001);
    expect(await dropped()).toBe(20_005 - 1_001);
    // What was done is sent before the verdicts, except for the one that was under way.
    const done = order.slice(1, 5);
    expect(done.toSorted()).toEqual(['NodePreempted n2', 'ScaleDown n1', 'TriggeredScaleUp tool', 'TriggeredScaleUp web']);
    expect(order.indexOf('NotTriggerScaleUp cart')).toBeLessThan(8);
  });

  it('are sent namespace by namespace in turns, the oldest of each first', async () => {
    const events = recorder(100);
    for (const name of ['a0', 'a1', 'a2', 'a3']) events.record(podEvent('a', name));
    for (const name of ['b1', 'b2']) events.record(podEvent('b', name));
    events.record(podEvent('c', 'c1'));
    expect((await sent(events)).map((text) => text.split(' ')[1])).toEqual(['a0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('are dropped from the namespace that has most of them, the newest first, and verdicts before what was done', async () => {
    const events = recorder(4);
    events.record(podEvent('a', 'under way'));
    for (const name of ['a1', 'a2', 'a3']) events.record(podEvent('a', name));
    events.record(podEvent('b', 'b1'));
    events.record(podEvent('c', 'c1'));
    events.record(podEvent('c', 'c2', 'TriggeredScaleUp'));
    expect((await sent(events)).map((text) => text.replace(/^\w+ /, ''))).toEqual(['under way', 'c2', 'a1', 'b1', 'c1']);
    expect(await dropped()).toBe(2);
  });

  it('about what was done are shared between namespaces, too', async () => {
    const events = recorder(4);
    for (let at = 0; at < 9; at++) events.record(podEvent('a', `a${at}`, 'TriggeredScaleUp'));
    events.record(nodeEvent('n1', 'ScaleDown'));
    events.record(podEvent('b', 'b1'));
    expect((await sent(events)).map((text) => text.split(' ')[1])).toEqual(['a0', 'a1', 'n1', 'a2', 'a3']);
  });
});
