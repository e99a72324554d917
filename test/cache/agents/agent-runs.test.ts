/** What a run may commit: only with its token, and never after its agent was removed or its time was over. */
import { describe, expect, it } from 'vitest';
import type { CommitSummary, RunContext } from '../../../src/cache/agents/agent.ts';
import { Slots } from '../../../src/cache/concurrency.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { settle } from '../../support/fake-clock.ts';
import { list, machineRows, machines, NO_HOOKS } from '../support.ts';
import { DONE, MINUTE, never, SUMMARY, world, gate, failure } from '../scheduler-world.ts';

describe('tokens', () => {
  it('a run that timed out commits nothing when it ends after all', async () => {
    const at = world();
    const late = gate();
    let commits = 0;
    at.add('a', async () => {
      await late.load();
      return { ...DONE, commit: () => ((commits += 1), SUMMARY) };
    });
    at.scheduler.want('a');
    at.scheduler.tick();
    await at.clock.advance(45_000);
    expect(at.status('a')).toMatchObject({ state: 'idle', lastOutcome: 'timed-out', consecutiveFailures: 1 });
    await late.next();
    expect(commits).toBe(0);
    at.scheduler.want('a');
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
      at.scheduler.want('a');
      at.scheduler.tick();
      await at.clock.advance(45_000);
    }
    expect(runs.map((run) => run.signal.aborted)).toEqual([true, true]);
    expect(new Set(runs.map((run) => run.token.run)).size).toBe(2);
  });

  it('at whatever moment an agent is removed, it commits nothing after that', async () => {
    for (let moments = 0; moments < 20; moments++) {
      const at = world();
      let commits = 0;
      at.add('a', () => Promise.resolve({ ...DONE, commit: () => ((commits += 1), SUMMARY) }));
      at.scheduler.want('a');
      at.scheduler.tick();
      for (let moment = 0; moment < moments; moment++) await Promise.resolve();
      at.scheduler.remove('a');
      const before = commits;
      await settle();
      expect(commits).toBe(before);
    }
  });

  it('a removed agent is aborted, commits nothing, and its waiters are notified', async () => {
    const at = world();
    const door = gate();
    at.add('a', door.load);
    const running = at.scheduler.want('a').served(never);
    at.scheduler.tick();
    const queued = at.scheduler.want('a').served(never);
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
    at.scheduler.want('a');
    await settle();
    at.stop.abort();
    await running;
    expect(at.outcomes).toEqual(['a token-lost']);
    expect(at.clock.sleeping).toBe(0);
  });

  it('a list that throws is a failure and leaves every row', async () => {
    const at = world();
    const rows = machines();
    rows.table.commitList(list(rows, machineRows('a/1', 'a/2')));
    at.add('a', failure);
    at.scheduler.want('a');
    at.scheduler.tick();
    await settle();
    expect(at.outcomes).toEqual(['a failed']);
    expect(rows.table.snapshot().size).toBe(2);
  });

  it('what was read before a page broke may be committed, and the run still counts as failed', async () => {
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
    at.scheduler.want('a');
    at.scheduler.tick();
    await settle();
    expect(rows.table.snapshot().size).toBe(2);
    expect(at.status('a')).toMatchObject({ lastOutcome: 'failed', lastError: 'Page 3 of 5 failed.', lastSuccessMs: undefined });
  });

  it('a commit that throws is a failure, and the schedule goes on', async () => {
    const at = world();
    at.add('a', () =>
      Promise.resolve({
        ...DONE,
        commit: (): CommitSummary => {
          throw new Error('bad row');
        },
      }),
    );
    const running = at.run();
    at.scheduler.want('a');
    await at.clock.advance(MINUTE);
    expect(at.ids().length).toBeGreaterThan(1);
    expect(at.status('a').lastError).toBe('Unexpected failure: bad row');
    at.stop.abort();
    await running;
  });

  it('a hook that throws releases the agent and the schedule goes on', async () => {
    const threw: string[] = [];
    const at = world({
      slots: new Slots(1),
      hooks: {
        ...NO_HOOKS,
        agentRun: () => {
          throw new Error('no metrics');
        },
        threw: (where) => void threw.push(where),
      },
    });
    at.add('a');
    const running = at.run();
    at.scheduler.want('a');
    await at.clock.advance(2 * MINUTE);
    expect(at.ids()).toEqual(['a', 'a', 'a']);
    expect(threw).toEqual(['agentRun', 'agentRun', 'agentRun']);
    at.stop.abort();
    await running;
  });
});
