import { describe, expect, it } from 'vitest';
import type { Loaded } from '../../../src/cache/agents/agent.ts';
import { EVERY_AGENT } from '../../../src/cache/agents/agent-selection.ts';
import { checkFreshness } from '../../../src/cache/table/freshness.ts';
import { Slots } from '../../../src/cache/concurrency.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { settle } from '../../support/fake-clock.ts';
import { START, MINUTE, never, POLICY, SUMMARY, DONE, world, gate, failure } from '../scheduler-world.ts';

describe('when agents run', () => {
  it('first due by a phase of cluster and agent, the same after every restart', async () => {
    const first = async (clusterId: string): Promise<number | undefined> => {
      const at = world({ clusterId });
      at.add('sets');
      const running = at.run();
      await at.clock.advance(MINUTE);
      at.stop.abort();
      await running;
      return at.starts[0]?.atMs;
    };
    const one = await first('c1');
    expect(one).toBeLessThan(MINUTE);
    expect(await first('c1')).toBe(one);
    expect(await first('c2')).not.toBe(one);
  });

  it('the next due time counts from the start of the run', async () => {
    const at = world();
    at.add('sets', async ({ signal }) => {
      await at.clock.sleep(10_000, signal);
      return DONE;
    });
    const running = at.run();
    at.scheduler.want('sets');
    await at.clock.advance(130_000);
    expect(at.starts.map((one) => one.atMs)).toEqual([0, 60_000, 120_000]);
    at.stop.abort();
    await running;
  });

  it.each([
    { jitter: { kind: 'spread', fraction: 0.1 }, random: 0, due: 54_000 },
    { jitter: { kind: 'spread', fraction: 0.1 }, random: 1, due: 66_000 },
    { jitter: { kind: 'shorten', maxMs: 20_000 }, random: 0.5, due: 50_000 },
    { jitter: { kind: 'shorten', maxMs: 90_000 }, random: 0, due: 60_000 },
  ] as const)('scatters by $jitter.kind with $random', async ({ jitter, random, due }) => {
    const at = world({ random: () => random });
    at.add('sets', undefined, { policy: { ...POLICY, jitter } });
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets').nextDueMs).toBe(START + due);
  });

  it('requested runs keep to their rate, also those that a caller waits for', async () => {
    const at = world();
    at.add('list', undefined, { policy: { ...POLICY, intervalMs: 300_000, requestedRate: { count: 2, withinMs: MINUTE } } });
    const running = at.run();
    for (let second = 0; second < 130; second += 5) {
      at.scheduler.want('list');
      await at.clock.advance(5_000);
    }
    expect(at.starts.map(({ atMs }) => atMs / 1000)).toEqual([0, 5, 60, 65, 120, 125]);
    const before = at.starts.length;
    // 130 s have passed, and the runs at 120 and 125 s were the last.
    expect(at.scheduler.requestWaitMs('list')).toBe(50_000);
    const waiting = [at.scheduler.want('list').served(never), at.scheduler.want('list').served(never)];
    await at.clock.advance(49_999);
    expect(at.starts).toHaveLength(before);
    await at.clock.advance(1);
    await Promise.all(waiting);
    expect(at.starts).toHaveLength(before + 1);
    at.scheduler.want('list', { rate: 'renew' });
    await at.clock.advance(0);
    expect(at.starts).toHaveLength(before + 2);
    for (let run = 0; run < 3; run++) await Promise.all([at.scheduler.want('list', { rate: 'pass' }).served(never), at.clock.advance(0)]);
    expect(at.starts).toHaveLength(before + 5);
    at.stop.abort();
    await running;
  });

  it('a run that took longer than its interval is followed by a tenth of it', async () => {
    const at = world();
    const slow = gate();
    at.add('slow', slow.load, { policy: { ...POLICY, intervalMs: 10_000 } });
    at.scheduler.want('slow');
    at.scheduler.tick();
    await at.clock.advance(30_000);
    await slow.next();
    expect(at.status('slow').nextDueMs).toBe(START + 31_000);
  });

  it('delays after failures grow to the cap, and one success resets them', async () => {
    let failing = true;
    const at = world({ random: () => 0.999_999 });
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)));
    const delays: number[] = [];
    for (let count = 0; count < 5; count++) {
      at.scheduler.want('sets');
      at.scheduler.tick();
      await settle();
      delays.push(Math.round((at.status('sets').nextDueMs - at.clock.now()) / 1000));
    }
    expect(delays).toEqual([10, 20, 40, 60, 60]);
    expect(at.status('sets').consecutiveFailures).toBe(5);
    failing = false;
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets')).toMatchObject({ consecutiveFailures: 0, lastError: undefined });
    failing = true;
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    expect(Math.round((at.status('sets').nextDueMs - at.clock.now()) / 1000)).toBe(10);
  });

  it('one agent that reads again after a common failure is news for those that wait: they try at once', async () => {
    const bad = (kind: 'unavailable' | 'auth'): Promise<Loaded> =>
      Promise.reject(new AutoscalerError(kind === 'auth' ? { kind } : { kind, effect: 'none' }, kind));
    let down = true;
    const at = world({ random: () => 0.999_999 });
    const patient = { policy: { ...POLICY, errorIntervalMs: 10 * MINUTE, maxErrorIntervalMs: 10 * MINUTE } };
    at.add('sets', () => (down ? bad('unavailable') : Promise.resolve(DONE)));
    at.add('machines', () => (down ? bad('unavailable') : Promise.resolve(DONE)), patient);
    at.add('still-broken', () => bad('unavailable'), patient);
    at.add('forbidden', () => bad('auth'), patient);
    const all = ['sets', 'machines', 'still-broken', 'forbidden'];
    for (const id of all) at.scheduler.want(id);
    at.scheduler.tick();
    await settle();
    down = false;
    const running = at.run();
    await at.clock.advance(30_000);

    expect(at.status('machines')).toMatchObject({ consecutiveFailures: 0, lastError: undefined });
    const runs = (id: string) => at.ids().filter((one) => one === id).length;
    // The broken one was tried once more and goes on waiting; what fails for another reason is not retried.
    expect([runs('still-broken'), runs('forbidden')]).toEqual([2, 1]);
    at.stop.abort();
    await running;
  });

  it('draws the delay after a failure from all of it, but never under a second', async () => {
    const at = world({ random: () => 0 });
    at.add('sets', failure);
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets').nextDueMs - at.clock.now()).toBe(1000);
  });

  it('two slots for ten agents: the most overdue share goes first, and all run within five rounds', async () => {
    const at = world({ slots: new Slots(2) });
    const doors = gate();
    for (let index = 0; index < 10; index++) {
      at.add(`agent/${index}`, doors.load, { policy: { ...POLICY, intervalMs: MINUTE * (10 - index) } });
    }
    await at.clock.advance(20 * MINUTE);
    const order = at.scheduler
      .status()
      .toSorted(
        (left, right) => (at.clock.now() - right.nextDueMs) / right.intervalMs - (at.clock.now() - left.nextDueMs) / left.intervalMs,
      )
      .map((one) => one.id);
    for (let round = 1; round <= 5; round++) {
      expect(at.scheduler.tick()).toBe(2);
      expect(at.scheduler.tick()).toBe(0);
      await doors.next();
      await doors.next();
    }
    expect(at.ids()).toEqual(order);
  });

  it('with all slots busy, a read out of turn goes before periodic agents', async () => {
    const slots = new Slots(1);
    const at = world({ slots });
    const doors = gate();
    at.add('a', doors.load);
    at.add('b', doors.load);
    const running = at.run();
    at.scheduler.want('a');
    await settle();
    at.scheduler.want('b');
    const order: string[] = [];
    const outOfTurn = slots.take().then((release) => {
      order.push(...at.ids());
      release();
    });
    await doors.next();
    await outOfTurn;
    await settle();
    expect(order).toEqual(['a']);
    expect(at.ids()).toEqual(['a', 'b']);
    at.stop.abort();
    await running;
  });

  it('at most two of one bucket run at once', async () => {
    const at = world();
    const doors = gate();
    for (const id of ['a', 'b', 'c']) at.add(id, doors.load, { bucket: 'vmss' });
    for (const id of ['a', 'b', 'c']) at.scheduler.want(id);
    expect(at.scheduler.tick()).toBe(2);
    await doors.next();
    expect(at.scheduler.tick()).toBe(1);
  });

  it('never runs an agent twice at once; asked for meanwhile, it runs once more', async () => {
    const at = world();
    const doors = gate();
    at.add('a', doors.load);
    const running = at.run();
    at.scheduler.want('a');
    await settle();
    const first = at.scheduler.want('a').served(never);
    const second = at.scheduler.want('a').served(never);
    await settle();
    expect(doors.waiting).toBe(1);
    await doors.next();
    expect(at.ids()).toEqual(['a', 'a']);
    await doors.next();
    await Promise.all([first, second]);
    expect(at.ids()).toEqual(['a', 'a']);
    at.stop.abort();
    await running;
  });

  it('a commit that asks for it is followed by another run at once, but only by one', async () => {
    const at = world();
    at.add('a', () => Promise.resolve({ ...DONE, commit: () => ({ ...SUMMARY, runAgain: true }) }));
    const running = at.run();
    at.scheduler.want('a');
    await settle();
    expect(at.starts.map((one) => one.atMs)).toEqual([0, 0]);
    await at.clock.advance(MINUTE);
    expect(at.starts.map((one) => one.atMs)).toEqual([0, 0, MINUTE, MINUTE]);
    at.stop.abort();
    await running;
  });
});

describe('throttling', () => {
  it('a 429 holds the whole bucket as long as it says, others go on', async () => {
    const at = world();
    at.add('a', () => Promise.reject(new AutoscalerError({ kind: 'throttled', retryAfterMs: 90_000 }, 'Too many.')), { bucket: 'vmss' });
    at.add('b', undefined, { bucket: 'vmss' });
    at.add('c', undefined, { bucket: 'compute' });
    const running = at.run();
    at.scheduler.want('a');
    await settle();
    at.scheduler.want('b');
    at.scheduler.want('c');
    await settle();
    expect(at.ids()).toEqual(['a', 'c']);
    expect(at.status('b')).toMatchObject({ state: 'held', heldUntilMs: START + 90_000 });
    at.scheduler.hold('vmss', START + 10_000);
    await at.clock.advance(89_999);
    expect(at.ids().filter((id) => id !== 'c')).toEqual(['a']);
    await at.clock.advance(1);
    expect(
      at
        .ids()
        .filter((id) => id !== 'c')
        .slice(1)
        .sort(),
    ).toEqual(['a', 'b']);
    at.stop.abort();
    await running;
  });

  it('with few calls left periodic intervals double, what is asked for still runs', async () => {
    const at = world();
    at.add('a', undefined, { bucket: 'vmss' });
    at.scheduler.stretch('vmss', true);
    at.scheduler.want('a');
    at.scheduler.tick();
    await settle();
    expect(at.status('a').nextDueMs).toBe(START + 2 * MINUTE);
    at.scheduler.want('a');
    expect(at.scheduler.tick()).toBe(1);
    await settle();
    at.scheduler.stretch('vmss', false);
    at.scheduler.want('a');
    at.scheduler.tick();
    await settle();
    expect(at.status('a').nextDueMs).toBe(START + MINUTE);
  });
});

describe('selection', () => {
  it('an agent enabled again is due within one tick', async () => {
    const at = world();
    at.add('prices');
    at.scheduler.select({ ...EVERY_AGENT, disabled: ['pri*'] });
    const running = at.run();
    at.scheduler.want('prices');
    await at.clock.advance(5 * MINUTE);
    expect(at.ids()).toEqual([]);
    expect(at.status('prices')).toMatchObject({ state: 'disabled', enabled: false });
    at.scheduler.select(EVERY_AGENT);
    await settle();
    expect(at.ids()).toEqual(['prices']);
    at.stop.abort();
    await running;
  });

  it.each([
    { selection: { disabled: ['prizes'] }, message: /"prizes".*prices, sets/ },
    { selection: { enabled: ['nothing'] }, message: /"nothing"/ },
    { selection: { disabled: ['sets'] }, message: /"sets" is required/ },
    { selection: { disabled: ['s*'] }, message: /"sets" is required/ },
    { selection: { enabled: ['prices'] }, message: /"sets" is required/ },
  ])('refuses $selection and changes nothing', ({ selection, message }) => {
    const at = world();
    at.add('prices');
    at.add('sets', undefined, { required: true });
    expect(() => at.scheduler.select({ ...EVERY_AGENT, ...selection })).toThrow(message);
    expect(at.scheduler.status().every((one) => one.enabled)).toBe(true);
  });

  it('a required agent may be disabled when degradation is allowed, and the selection holds for agents added later', () => {
    const at = world();
    at.add('sets', undefined, { required: true });
    at.scheduler.select({ ...EVERY_AGENT, disabled: ['sets', 'instances/?'], allowDegraded: true });
    at.add('instances/1', undefined, { required: true });
    at.add('instances/10', undefined, { required: true });
    expect(at.scheduler.status().map((one) => [one.id, one.enabled])).toEqual([
      ['instances/1', false],
      ['instances/10', true],
      ['sets', false],
    ]);
  });

  it('an id cannot be taken twice', () => {
    const at = world();
    at.add('sets');
    expect(() => at.add('sets')).toThrow(/"sets" already exists/);
  });
});

describe('status and freshness', () => {
  it('a failing agent shows last success, last error, failures in a row and the next due time', async () => {
    let failing = false;
    const at = world();
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)), { required: true });
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    failing = true;
    await at.clock.advance(MINUTE);
    at.scheduler.tick();
    await settle();
    expect(at.status('sets')).toMatchObject({
      lastSuccessMs: START,
      lastError: 'ARM is away.',
      consecutiveFailures: 1,
      lastStartMs: START + MINUTE,
      nextDueMs: START + MINUTE + 5000,
      lastCommit: SUMMARY,
      state: 'idle',
    });
  });

  it('a required agent that lags stops removals at 2, degrades at 3, stops additions at 6 intervals', async () => {
    const at = world();
    let failing = false;
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)), { required: true });
    at.add('prices', failure);
    at.scheduler.want('sets');
    at.scheduler.tick();
    await settle();
    failing = true;
    const running = at.run();
    const seen: string[] = [];
    for (const minutes of [2, 1, 1, 3]) {
      await at.clock.advance(minutes * MINUTE);
      const verdict = checkFreshness(at.scheduler.status(), at.clock.now());
      seen.push(
        [verdict.scaleDownBlocked, verdict.degraded[0], verdict.scaleUpBlocked].map((one) => (one === undefined ? '-' : 'x')).join(''),
      );
    }
    expect(seen).toEqual(['---', 'x--', 'xx-', 'xxx']);
    expect(checkFreshness(at.scheduler.status(), at.clock.now()).scaleDownBlocked).toBe('sets last succeeded 7 min ago (ARM is away.)');
    at.stop.abort();
    await running;
  });

  it('a required agent is asked first when it starves, however overdue the others are', async () => {
    const at = world({ slots: new Slots(1) });
    at.add('z', undefined, { required: true, policy: { ...POLICY, intervalMs: 10 * MINUTE } });
    at.add('a', undefined, { policy: { ...POLICY, intervalMs: 1000 } });
    await at.clock.advance(20 * MINUTE);
    at.scheduler.tick();
    expect(at.ids()).toEqual(['z']);
  });
});
