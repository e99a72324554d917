import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { PodOptions } from '../../support/builders.ts';
import { aBudget, aGroup, anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { settle } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage } from '../support.ts';
import { lastOutcome, MINUTE, removalOf, setUp, drainFirst } from './removal-stage.ts';

const many = (count: number, rest: PodOptions = {}): readonly PodOptions[] =>
  Array.from({ length: count }, (_, at) => ({ name: `app-${at}`, ...rest }));
const nodeOf = (at: number): string => `g-${at % 3}`;
const labels = { app: 'web' };
const budget = aBudget({
  name: 'web',
  selector: { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] },
  disruptionsAllowed: 60,
});

/** Three nodes that are drained at once, and the evictions under way: each takes as long as a webhook does. */
function drainsOf(pods: readonly PodOptions[], answersAfterMs: number) {
  const world = setUp({ nodes: 3, pods: pods.map((pod, at) => ({ ...pod, nodeName: nodeOf(at) })) });
  const seen = { underWay: 0, most: 0, begun: 0 };
  world.cluster.onCall = async (call) => {
    if (call !== 'evict') return;
    seen.begun += 1;
    seen.underWay += 1;
    seen.most = Math.max(seen.most, seen.underWay);
    await world.clock.sleep(answersAfterMs);
    seen.underWay -= 1;
  };
  const start = (): void => {
    for (const node of ['g-0', 'g-1', 'g-2'])
      world.runner.start(
        removalOf(
          node,
          world.pods.filter((pod) => pod.nodeName === node),
        ),
      );
  };
  return { ...world, seen, start };
}

describe('evictions of several drains', () => {
  it('are twenty at once, and all of them come to their turn', async () => {
    const drains = drainsOf(many(150), 50);
    drains.start();
    await drains.clock.advance(MINUTE);
    expect(drains.seen).toEqual({ underWay: 0, most: 20, begun: 150 });
    expect(drains.runner.collect().filter(({ kind }) => kind === 'deleted')).toHaveLength(3);
  });

  it('are five at once of one budget, since each writes its status, and those of other pods do not wait for these', async () => {
    const drains = drainsOf([...many(60, { shape: { labels } }), { name: 'other' }], 50);
    drains.cluster.disruptionBudgets = [budget];
    const order: string[] = [];
    const { onCall } = drains.cluster;
    drains.cluster.onCall = (call, subject) => {
      if (call === 'evict') order.push(subject);
      return onCall(call, subject);
    };
    drains.start();
    await drains.clock.advance(MINUTE);
    expect(drains.seen).toEqual({ underWay: 0, most: 6, begun: 61 });
    expect(order.indexOf('other')).toBeLessThan(6);
    expect(drains.runner.collect().filter(({ kind }) => kind === 'deleted')).toHaveLength(3);
  });

  it('have all of their time when it is their turn, although a webhook takes ten seconds for each of those before', async () => {
    const drains = drainsOf(many(60, { shape: { labels } }), 10_000);
    drains.cluster.disruptionBudgets = [budget];
    drains.start();
    await drains.clock.advance(4 * MINUTE);
    expect(drains.seen.begun).toBe(60);
    expect(drains.runner.collect().filter(({ kind }) => kind === 'deleted')).toHaveLength(3);
  });

  it('that wait for their turn end with the drain and are not sent', async () => {
    const drains = drainsOf(many(60), 10_000);
    drains.start();
    await drains.clock.advance(8_000);
    const stopped = drains.runner.stop(new AbortController().signal);
    await drains.clock.advance(MINUTE);
    await stopped;
    expect(drains.seen.begun).toBe(20);
    expect(lastOutcome(drains)).toMatchObject({ kind: 'undone', step: 'stopped' });
  });

  it('are tried again after a conflict, as when the API server is busy', async () => {
    const world = setUp({ pods: [{ name: 'app' }], drain: { evictionRetryMs: 10_000 } });
    let conflicts = 2;
    world.cluster.onEvict = () =>
      conflicts-- > 0 ? { kind: 'failed', error: new AutoscalerError({ kind: 'conflict' }, 'the budget has been modified') } : undefined;
    await drainFirst(world, 2 * MINUTE);
    expect(world.cluster.evicted).toHaveLength(1);
    expect(lastOutcome(world)?.kind).toBe('deleted');
  });
});

describe('evictions from preempted nodes', () => {
  const SET = { kind: 'ReplicaSet', name: 'web', uid: 'rs' };
  /** A preempted node, in a world in which each eviction takes so long. */
  function preemptedStage(pods: number, answersAfterMs: number) {
    const preemption = { noticedAtMs: START_MS, deadlineMs: START_MS + 30_000, notice: 'PreemptScheduled' };
    const node = aNode({ name: 's-0', preemption });
    const group = aGroup({ id: 's', target: 1, instances: [anInstance({ node: 's-0' })] });
    const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { enabled: false } });
    const bound = { nodeName: 's-0', controller: SET, cpu: '1m', unschedulable: undefined, shape: { labels } };
    const stage = aStage({ groups: [group], nodes: [node], pods: many(pods, bound).map(aPod), disruptionBudgets: [budget], policy });
    stage.cluster.onCall = (call) => (call === 'evict' ? stage.clock.sleep(answersAfterMs) : undefined);
    return stage;
  }

  it.each([
    [60, 50],
    [60, 9_000],
  ])('all happen within the notice: %d pods of one budget, each after %d ms', async (pods, answersAfterMs) => {
    const stage = preemptedStage(pods, answersAfterMs);
    await stage.runOnce();
    await stage.clock.advance(30_000);
    expect(stage.cluster.evicted).toHaveLength(pods);
  });

  it('are not sent after the deadline when others took all of the notice', async () => {
    const stage = preemptedStage(60, 20_000);
    await stage.runOnce();
    await stage.clock.advance(120_000);
    await settle();
    expect(stage.cluster.evicted).toHaveLength(40);
    expect(stage.lines.find(({ msg }) => msg === 'Pods could not be evicted from a preempted node')).toMatchObject({
      pods: 20,
      first: expect.stringContaining('other evictions took all of the time'),
    });
  });
});
