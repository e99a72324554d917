import { describe, expect, it } from 'vitest';
import type { AgentPolicy, CachingAgent, CommitSummary, Loaded, RunContext } from '../../src/cache/agent.ts';
import { AgentScheduler, type SchedulerParts } from '../../src/cache/agent-scheduler.ts';
import { judgeFreshness } from '../../src/cache/read-mode.ts';
import { Slots } from '../../src/cache/slots.ts';
import { AutoscalerError } from '../../src/domain/errors.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { list, machineRows, machines } from './support.ts';

const START = 1_000_000;
const MINUTE = 60_000;
const never = new AbortController().signal;

const POLICY: AgentPolicy = {
  intervalMs: MINUTE,
  jitter: { kind: 'spread', fraction: 0 },
  errorIntervalMs: 10_000,
  maxErrorIntervalMs: 60_000,
  timeoutMs: 45_000,
};

const SUMMARY: CommitSummary = { rows: 1, added: 0, changed: 0, evicted: 0, rejected: 0, runAgain: false };
const DONE: Loaded = { commit: () => SUMMARY };

function agentOf(id: string, load: (context: RunContext) => Promise<Loaded>, over: Partial<CachingAgent> = {}): CachingAgent {
  return { id, kind: id.split('/')[0] ?? id, required: false, order: 0, policy: POLICY, load, ...over };
}

function world(over: Partial<SchedulerParts> = {}) {
  const clock = new FakeClock(START);
  const starts: { readonly id: string; readonly atMs: number }[] = [];
  const outcomes: string[] = [];
  const scheduler = new AgentScheduler({
    clock,
    random: () => 0.5,
    clusterId: 'c1',
    hooks: { agentRun: (run) => outcomes.push(`${run.id} ${run.outcome}`) },
    ...over,
  });
  const stop = new AbortController();
  const add = (
    id: string,
    load: (context: RunContext) => Promise<Loaded> = () => Promise.resolve(DONE),
    more: Partial<CachingAgent> = {},
  ) =>
    scheduler.add(
      agentOf(
        id,
        (context) => {
          starts.push({ id, atMs: clock.now() - START });
          return load(context);
        },
        more,
      ),
    );
  const status = (id: string) => {
    const found = scheduler.status().find((one) => one.id === id);
    if (found === undefined) throw new Error(`no ${id}`);
    return found;
  };
  const ids = (): readonly string[] => starts.map((one) => one.id);
  return { clock, scheduler, starts, outcomes, stop, add, status, ids, run: () => scheduler.run(stop.signal) };
}

/** A load that ends when told to. */
function gate() {
  const open: (() => void)[] = [];
  return {
    load: (): Promise<Loaded> => new Promise((resolve) => open.push(() => resolve(DONE))),
    async next(): Promise<void> {
      open.shift()?.();
      await settle();
    },
    get waiting(): number {
      return open.length;
    },
  };
}

const failure = (): Promise<Loaded> => Promise.reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'ARM is away.'));

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

  it('caching 14: the next due time counts from the start of the run', async () => {
    const at = world();
    at.add('sets', async ({ signal }) => {
      await at.clock.sleep(10_000, signal);
      return DONE;
    });
    const running = at.run();
    at.scheduler.dueNow('sets');
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
    at.scheduler.dueNow('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets').nextDueMs).toBe(START + due);
  });

  it('a run that took longer than its interval is followed by a tenth of it', async () => {
    const at = world();
    const slow = gate();
    at.add('slow', slow.load, { policy: { ...POLICY, intervalMs: 10_000 } });
    at.scheduler.dueNow('slow');
    at.scheduler.tick();
    await at.clock.advance(30_000);
    await slow.next();
    expect(at.status('slow').nextDueMs).toBe(START + 31_000);
  });

  it('caching 15: delays after failures grow to the cap, and one success resets them', async () => {
    let failing = true;
    const at = world({ random: () => 0.999_999 });
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)));
    const delays: number[] = [];
    for (let count = 0; count < 5; count++) {
      at.scheduler.dueNow('sets');
      at.scheduler.tick();
      await settle();
      delays.push(Math.round((at.status('sets').nextDueMs - at.clock.now()) / 1000));
    }
    expect(delays).toEqual([10, 20, 40, 60, 60]);
    expect(at.status('sets').consecutiveFailures).toBe(5);
    failing = false;
    at.scheduler.dueNow('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets')).toMatchObject({ consecutiveFailures: 0, lastError: undefined });
    failing = true;
    at.scheduler.dueNow('sets');
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
    for (const id of all) at.scheduler.dueNow(id);
    at.scheduler.tick();
    await settle();
    down = false;
    const running = at.run();
    await at.clock.advance(30_000);

    expect(at.status('machines')).toMatchObject({ consecutiveFailures: 0, lastError: undefined });
    const runs = (id: string) => at.ids().filter((one) => one === id).length;
    // The broken one was tried once more and goes on waiting; what fails for another reason is left alone.
    expect([runs('still-broken'), runs('forbidden')]).toEqual([2, 1]);
    at.stop.abort();
    await running;
  });

  it('draws the delay after a failure from all of it, but never under a second', async () => {
    const at = world({ random: () => 0 });
    at.add('sets', failure);
    at.scheduler.dueNow('sets');
    at.scheduler.tick();
    await settle();
    expect(at.status('sets').nextDueMs - at.clock.now()).toBe(1000);
  });

  it('caching 18: two slots for ten agents: the most overdue share goes first, and all run within five rounds', async () => {
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

  it('caching 19: with all slots busy, a read out of turn goes before periodic agents', async () => {
    const slots = new Slots(1);
    const at = world({ slots });
    const doors = gate();
    at.add('a', doors.load);
    at.add('b', doors.load);
    const running = at.run();
    at.scheduler.dueNow('a');
    await settle();
    at.scheduler.dueNow('b');
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
    for (const id of ['a', 'b', 'c']) at.scheduler.dueNow(id);
    expect(at.scheduler.tick()).toBe(2);
    await doors.next();
    expect(at.scheduler.tick()).toBe(1);
  });

  it('never runs an agent twice at once; asked for meanwhile, it runs once more', async () => {
    const at = world();
    const doors = gate();
    at.add('a', doors.load);
    const running = at.run();
    at.scheduler.dueNow('a');
    await settle();
    const first = at.scheduler.runNow('a', never);
    const second = at.scheduler.runNow('a', never);
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

  it('caching 5: a commit that asks for it is followed by another run at once, but only by one', async () => {
    const at = world();
    at.add('a', () => Promise.resolve({ commit: () => ({ ...SUMMARY, runAgain: true }) }));
    const running = at.run();
    at.scheduler.dueNow('a');
    await settle();
    expect(at.starts.map((one) => one.atMs)).toEqual([0, 0]);
    await at.clock.advance(MINUTE);
    expect(at.starts.map((one) => one.atMs)).toEqual([0, 0, MINUTE, MINUTE]);
    at.stop.abort();
    await running;
  });
});

describe('tokens', () => {
  it('a run that timed out commits nothing when it ends after all', async () => {
    const at = world();
    const late = gate();
    let commits = 0;
    at.add('a', async () => {
      await late.load();
      return { commit: () => ((commits += 1), SUMMARY) };
    });
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await at.clock.advance(45_000);
    expect(at.status('a')).toMatchObject({ state: 'idle', lastOutcome: 'timed-out', consecutiveFailures: 1 });
    await late.next();
    expect(commits).toBe(0);
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await late.next();
    expect(commits).toBe(1);
  });

  it('gives every run a token of its own, and its signal fires on timeout', async () => {
    const at = world();
    const runs: RunContext[] = [];
    at.add('a', (context) => {
      runs.push(context);
      return gate().load();
    });
    for (let count = 0; count < 2; count++) {
      at.scheduler.dueNow('a');
      at.scheduler.tick();
      await at.clock.advance(45_000);
    }
    expect(runs.map((run) => run.signal.aborted)).toEqual([true, true]);
    expect(new Set(runs.map((run) => run.token.run)).size).toBe(2);
  });

  it('caching 21: while not leading nothing runs, and a run that outlives the lead is refused', async () => {
    const at = world();
    const door = gate();
    let commits = 0;
    at.add('a', async () => {
      await door.load();
      return { commit: () => ((commits += 1), SUMMARY) };
    });
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    at.scheduler.setLeading(false);
    await door.next();
    expect(commits).toBe(0);
    expect(at.outcomes).toEqual(['a token-lost']);
    at.scheduler.dueNow('a');
    expect(at.scheduler.tick()).toBe(0);
    at.scheduler.setLeading(true);
    expect(at.scheduler.tick()).toBe(1);
    await door.next();
    expect(commits).toBe(1);
    expect(at.status('a').consecutiveFailures).toBe(0);
  });

  it('caching 21: at whatever moment the lead is lost, nothing is committed after it', async () => {
    for (let moments = 0; moments < 20; moments++) {
      const at = world();
      let commits = 0;
      at.add('a', () => Promise.resolve({ commit: () => ((commits += 1), SUMMARY) }));
      at.scheduler.dueNow('a');
      at.scheduler.tick();
      for (let moment = 0; moment < moments; moment++) await Promise.resolve();
      at.scheduler.setLeading(false);
      const before = commits;
      await settle();
      expect(commits).toBe(before);
    }
  });

  it('a removed agent is aborted, commits nothing, and whoever waited is told', async () => {
    const at = world();
    const door = gate();
    at.add('a', door.load);
    const running = at.scheduler.runNow('a', never);
    at.scheduler.tick();
    const queued = at.scheduler.runNow('a', never);
    const both = Promise.allSettled([running, queued]);
    at.scheduler.remove('a');
    expect((await both).map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(at.scheduler.status()).toEqual([]);
    expect(at.scheduler.tick()).toBe(0);
  });

  it('stopping ends the runs under way', async () => {
    const at = world();
    at.add('a', gate().load);
    const running = at.run();
    at.scheduler.dueNow('a');
    await settle();
    at.stop.abort();
    await running;
    expect(at.outcomes).toEqual(['a token-lost']);
    expect(at.clock.sleeping).toBe(0);
  });

  it('caching 4: a list that throws is a failure and leaves every row', async () => {
    const at = world();
    const rows = machines();
    rows.table.commitList(list(rows, machineRows('a/1', 'a/2')));
    at.add('a', failure);
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await settle();
    expect(at.outcomes).toEqual(['a failed']);
    expect(rows.table.snapshot().size).toBe(2);
  });

  it('caching 3: what was read before a page broke may be committed, and the run still counts as failed', async () => {
    const at = world();
    const rows = machines();
    rows.table.commitList(list(rows, machineRows('a/1')));
    const error = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Page 3 of 5 failed.');
    at.add('a', () =>
      Promise.resolve({
        error,
        commit: () => ({ ...SUMMARY, ...rows.table.commitList(list(rows, machineRows('a/2'), { complete: false })) }),
      }),
    );
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await settle();
    expect(rows.table.snapshot().size).toBe(2);
    expect(at.status('a')).toMatchObject({ lastOutcome: 'failed', lastError: 'Page 3 of 5 failed.', lastSuccessMs: undefined });
  });

  it('a commit that throws is a failure, and the schedule goes on', async () => {
    const at = world();
    at.add('a', () =>
      Promise.resolve({
        commit: (): CommitSummary => {
          throw new Error('bad row');
        },
      }),
    );
    const running = at.run();
    at.scheduler.dueNow('a');
    await at.clock.advance(MINUTE);
    expect(at.ids().length).toBeGreaterThan(1);
    expect(at.status('a').lastError).toBe('Unexpected failure: bad row');
    at.stop.abort();
    await running;
  });

  it('caching 22: a hook that throws releases the agent and the schedule goes on', async () => {
    const threw: string[] = [];
    const at = world({
      slots: new Slots(1),
      hooks: {
        agentRun: () => {
          throw new Error('no metrics');
        },
        threw: (where) => threw.push(where),
      },
    });
    at.add('a');
    const running = at.run();
    at.scheduler.dueNow('a');
    await at.clock.advance(2 * MINUTE);
    expect(at.ids()).toEqual(['a', 'a', 'a']);
    expect(threw).toEqual(['agentRun', 'agentRun', 'agentRun']);
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
    at.scheduler.dueNow('a');
    await settle();
    at.scheduler.dueNow('b');
    at.scheduler.dueNow('c');
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

  it('caching 24: with few calls left periodic intervals double, what is asked for still runs', async () => {
    const at = world();
    at.add('a', undefined, { bucket: 'vmss' });
    at.scheduler.stretch('vmss', true);
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await settle();
    expect(at.status('a').nextDueMs).toBe(START + 2 * MINUTE);
    at.scheduler.dueNow('a');
    expect(at.scheduler.tick()).toBe(1);
    await settle();
    at.scheduler.stretch('vmss', false);
    at.scheduler.dueNow('a');
    at.scheduler.tick();
    await settle();
    expect(at.status('a').nextDueMs).toBe(START + MINUTE);
  });
});

describe('selection', () => {
  it('caching 20: an agent enabled again is due within one tick', async () => {
    const at = world();
    at.add('prices');
    at.scheduler.select({ disabled: ['pri*'] });
    const running = at.run();
    at.scheduler.dueNow('prices');
    await at.clock.advance(5 * MINUTE);
    expect(at.ids()).toEqual([]);
    expect(at.status('prices')).toMatchObject({ state: 'disabled', enabled: false });
    at.scheduler.select({});
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
  ])('caching 20: refuses $selection and changes nothing', ({ selection, message }) => {
    const at = world();
    at.add('prices');
    at.add('sets', undefined, { required: true });
    expect(() => at.scheduler.select(selection)).toThrow(message);
    expect(at.scheduler.status().every((one) => one.enabled)).toBe(true);
  });

  it('a required agent may be disabled when degradation is allowed, and the selection holds for agents added later', () => {
    const at = world();
    at.add('sets', undefined, { required: true });
    at.scheduler.select({ disabled: ['sets', 'instances/?'], allowDegraded: true });
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
    expect(() => at.add('sets')).toThrow(/"sets" exists already/);
  });
});

describe('cold start', () => {
  it('runs required agents by order, at most four at once, those added on the way too', async () => {
    const at = world();
    const doors = gate();
    at.add(
      'sets',
      () => {
        for (let index = 0; index < 6; index++) at.add(`instances/${index}`, doors.load, { required: true, order: 2 });
        return Promise.resolve(DONE);
      },
      { required: true, order: 0 },
    );
    at.add('pools', undefined, { required: true, order: 1 });
    at.add('prices');
    const cold = at.scheduler.coldStart(never);
    await settle();
    expect(at.ids()).toEqual(['sets', 'pools', 'instances/0', 'instances/1', 'instances/2', 'instances/3']);
    for (let count = 0; count < 6; count++) await doors.next();
    expect((await cold).map((one) => [one.agentId, one.error])).toHaveLength(8);
    expect(at.ids()).not.toContain('prices');
  });

  it('one agent that fails is reported and stops none of the others', async () => {
    const at = world();
    at.add('instances/bad', failure, { required: true });
    at.add('instances/good', undefined, { required: true });
    const results = await at.scheduler.coldStart(never);
    expect(results.map((one) => [one.agentId, one.error?.kind])).toEqual([
      ['instances/bad', 'unavailable'],
      ['instances/good', undefined],
    ]);
  });

  it('is followed by a run within the second half of the interval, by phase', async () => {
    const dueOf = async (clusterId: string): Promise<number> => {
      const at = world({ clusterId });
      at.add('sets', undefined, { required: true });
      await at.scheduler.coldStart(never);
      return at.status('sets').nextDueMs - START;
    };
    const dues = await Promise.all(['c1', 'c2', 'c3', 'c4'].map(dueOf));
    for (const due of dues) expect(due >= MINUTE / 2 && due < MINUTE).toBe(true);
    expect(new Set(dues).size).toBe(4);
  });

  it('ends with its signal, and aborts what it began', async () => {
    const at = world();
    let signal: AbortSignal | undefined;
    at.add(
      'sets',
      (context) => {
        signal = context.signal;
        return gate().load();
      },
      { required: true },
    );
    const stop = new AbortController();
    const cold = at.scheduler.coldStart(stop.signal);
    const refused = expect(cold).rejects.toMatchObject({ kind: 'cancelled' });
    await settle();
    stop.abort();
    await refused;
    expect(signal?.aborted).toBe(true);
  });
});

describe('status and freshness', () => {
  it('caching 59: a failing agent shows last success, last error, failures in a row and the next due time', async () => {
    let failing = false;
    const at = world();
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)), { required: true });
    at.scheduler.dueNow('sets');
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

  it('caching 25 and 60: a required agent that lags stops removals at 2, degrades at 3, stops additions at 6 intervals', async () => {
    const at = world();
    let failing = false;
    at.add('sets', () => (failing ? failure() : Promise.resolve(DONE)), { required: true });
    at.add('prices', failure);
    at.scheduler.dueNow('sets');
    at.scheduler.tick();
    await settle();
    failing = true;
    const running = at.run();
    const seen: string[] = [];
    for (const minutes of [2, 1, 1, 3]) {
      await at.clock.advance(minutes * MINUTE);
      const verdict = judgeFreshness(at.scheduler.status(), at.clock.now());
      seen.push(
        [verdict.scaleDownBlocked, verdict.degraded[0], verdict.scaleUpBlocked].map((one) => (one === undefined ? '-' : 'x')).join(''),
      );
    }
    expect(seen).toEqual(['---', 'x--', 'xx-', 'xxx']);
    expect(judgeFreshness(at.scheduler.status(), at.clock.now()).scaleDownBlocked).toBe('sets last succeeded 420 s ago (ARM is away.)');
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
