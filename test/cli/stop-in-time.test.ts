import { describe, expect, it } from 'vitest';
import type { Daemon } from '../../src/cli/daemon.ts';
import { ifStillAliveAfter } from '../../src/cli/process/process.ts';
import { stopInTime, type StopStep } from '../../src/cli/stop-in-time.ts';
import { aPool, deployment, MINUTE, SECOND, worldOf } from '../scenarios/support.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { silentLog } from '../support/silent-log.ts';
import { startedWorld } from '../support/virtual-world.ts';

const frozen = (): Promise<never> => new Promise(() => undefined);

describe('a stop of several parts', () => {
  const stopped = async (steps: readonly StopStep[], timeoutMs = 20_000) => {
    const clock = new FakeClock(START_MS);
    let cancelledAtMs: number | undefined;
    let endedAtMs: number | undefined;
    const cancel = (): void => void (cancelledAtMs = clock.now() - START_MS);
    const ended = stopInTime({ clock, log: silentLog(), timeoutMs, cancel }, steps).then(() => (endedAtMs = clock.now() - START_MS));
    await clock.advance(MINUTE);
    await ended;
    return { cancelledAtMs, endedAtMs, sleeping: clock.sleeping };
  };

  it('ends at once if all parts do, one after the other, and leaves no timer', async () => {
    const order: string[] = [];
    const step = (what: string): StopStep => [what, async () => order.push(what)];
    const outcome = await stopped([step('a'), step('b'), step('c')]);
    expect(outcome).toEqual({ cancelledAtMs: undefined, endedAtMs: 0, sleeping: 0 });
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it.each([0, 1, 2])('ends within the timeout if part %s is frozen, and still stops the others', async (index) => {
    const started: string[] = [];
    const steps = ['a', 'b', 'c'].map((what, at): StopStep => {
      const stop = async (): Promise<unknown> => {
        started.push(what);
        return at === index ? frozen() : undefined;
      };
      return [what, stop];
    });
    expect(await stopped(steps)).toEqual({ cancelledAtMs: 18_000, endedAtMs: 19_000, sleeping: 0 });
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('gives the part that comes last its time although the parts before it were abandoned', async () => {
    const signals: boolean[] = [];
    const last: StopStep = ['b', async (signal) => void signals.push(signal.aborted), 'last'];
    expect(await stopped([['a', frozen], last])).toMatchObject({ endedAtMs: 19_000 });
    expect(signals).toEqual([false]);
  });

  it('ends within the timeout if even that part is frozen', async () => {
    let abortedAt = false;
    const last: StopStep = ['b', (signal) => new Promise(() => signal.addEventListener('abort', () => (abortedAt = true))), 'last'];
    expect(await stopped([['a', frozen], last, ['c', async () => undefined]])).toMatchObject({ endedAtMs: 19_800, sleeping: 0 });
    expect(abortedAt).toBe(true);
  });

  it('goes on after a part that fails', async () => {
    const started: string[] = [];
    const fails: StopStep = ['a', () => Promise.reject(new Error('closed already'))];
    expect(await stopped([fails, ['b', async () => started.push('b')]])).toMatchObject({ endedAtMs: 0 });
    expect(started).toEqual(['b']);
  });
});

describe('a stop of the daemon ends within loop.shutdownTimeout', () => {
  it.each<[string, (daemon: Daemon) => void]>([
    ['an increase', ({ cloud }) => void Object.assign(cloud, { increase: frozen })],
    ['a read of a node group', ({ cloud }) => void Object.assign(cloud, { refresh: frozen })],
    ['the adapter of Azure', ({ cloud }) => void Object.assign(cloud, { close: frozen })],
    ['the adapter of Kubernetes', ({ kubernetes }) => void Object.assign(kubernetes, { close: frozen })],
    ['the lease', ({ kubernetes }) => void Object.assign(kubernetes.lease, { release: frozen })],
    ['the writes of events', ({ kubernetes }) => void Object.assign(kubernetes.events, { flush: frozen })],
  ])('although %s is frozen', async (_what, freeze) => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(MINUTE);
    freeze(world.daemon);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.advance(15 * SECOND);
    const sinceMs = world.clock.now();
    await world.stopDaemon();
    expect(world.clock.now() - sinceMs).toBeLessThanOrEqual(20 * SECOND);
  });
});

describe('the end of the process', () => {
  it('is forced if something else keeps it alive for that long', async () => {
    await new Promise<void>((resolve) => ifStillAliveAfter(1, resolve));
  });
});
