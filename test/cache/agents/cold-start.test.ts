import { describe, expect, it } from 'vitest';
import { settle } from '../../support/fake-clock.ts';
import { START, MINUTE, never, DONE, world, gate, failure } from '../scheduler-world.ts';

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
