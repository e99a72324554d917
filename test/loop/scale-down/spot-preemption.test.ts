import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { Node } from '../../../src/domain/node.ts';
import { PREEMPTED_TAINT } from '../../../src/loop/scale-down/spot-preemption.ts';
import { aGroup, anInstance, aNode, aPod, START_MS, type NodeOptions } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { settle } from '../../support/fake-clock.ts';
import { aStage, valueOf } from '../support.ts';

const preemption = { noticedAtMs: START_MS, deadlineMs: START_MS + 30_000, notice: 'PreemptScheduled' };
const CONTROLLER = { kind: 'ReplicaSet', name: 'web', uid: 'rs' };
const mark = (value: string) => ({ key: PREEMPTED_TAINT, value, effect: 'NoSchedule' }) as const;

/** One Spot node that is full, and the node that is to go. */
function stageOf(options: NodeOptions, ours = true) {
  const going = aNode({ name: 's-0', ...options });
  const pods = [
    aPod({ name: 'web', nodeName: 's-0', cpu: '3', controller: CONTROLLER, terminationGraceMs: 60_000, unschedulable: undefined }),
    aPod({ name: 'agent', nodeName: 's-0', daemonSet: true, controller: { ...CONTROLLER, kind: 'DaemonSet' }, unschedulable: undefined }),
    aPod({ name: 'bare', nodeName: 's-0', controller: undefined, unschedulable: undefined }),
    aPod({ name: 'static', nodeName: 's-0', mirror: true, unschedulable: undefined }),
  ];
  const group = aGroup({ id: 's', target: 1, instances: ours ? [anInstance({ node: 's-0' })] : [] });
  const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { enabled: false } });
  return aStage({ groups: ours ? [group] : [], nodes: [going], pods, policy });
}

/** One loop, and what it began. */
async function loopOf(stage: ReturnType<typeof aStage>): Promise<ReturnType<typeof aStage>> {
  await stage.runOnce();
  await settle();
  return stage;
}

const nodeIn = (stage: ReturnType<typeof aStage>): Node | undefined => stage.cluster.nodes.get('s-0');

describe('a node that the platform takes back', () => {
  it('is cordoned and marked, its pods get what is left of the notice, and their room is ordered in the same loop', async () => {
    const stage = stageOf({ preemption });
    const report = await stage.runOnce();
    await settle();
    expect(report.rounds.flatMap(({ increases }) => increases.map(({ increase }) => [increase.from, increase.to]))).toEqual([[1, 2]]);
    expect(nodeIn(stage)).toMatchObject({ unschedulable: true, taints: [mark('cordoned')] });
    expect(stage.cluster.evicted).toEqual([{ pod: 'web', graceMs: 28_000 }]);
    expect(await valueOf(stage.metrics.cluster.preemptedNodes, { node_group: 's' })).toBe(1);
    expect(stage.cluster.events.map(({ reason }) => reason)).toContain('NodePreempted');
  });

  it('is answered once for each notice', async () => {
    const stage = await loopOf(stageOf({ preemption }));
    await loopOf(stage);
    expect(stage.cluster.evicted).toHaveLength(1);
    expect(await valueOf(stage.metrics.cluster.preemptedNodes, { node_group: 's' })).toBe(1);
  });

  it('is asked for again every second while a budget holds the pod, until the notice is over', async () => {
    const stage = stageOf({ preemption });
    let asked = 0;
    stage.cluster.onEvict = () => {
      asked += 1;
      return { kind: 'blocked', message: 'budget', retryAfterMs: undefined };
    };
    await stage.runOnce();
    await stage.clock.advance(60_000);
    expect(asked).toBe(31);
  });

  it('is tried again by the next loop when the mark could not be written', async () => {
    const stage = stageOf({ preemption });
    let fails = true;
    stage.cluster.onCall = (call) => {
      if (call === 'taint' && fails) throw new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, 'no answer');
    };
    await loopOf(stage);
    expect(stage.cluster.evicted).toEqual([]);
    fails = false;
    await loopOf(stage);
    expect(stage.cluster.evicted).toHaveLength(1);
  });

  it('that was cordoned before is marked so', async () => {
    const stage = await loopOf(stageOf({ preemption, unschedulable: true }));
    expect(nodeIn(stage)?.taints).toEqual([mark('cordoned-before')]);
  });

  it('that an earlier process marked is gone on with, and the mark is left as it is', async () => {
    const stage = await loopOf(stageOf({ preemption, unschedulable: true, taints: [mark('cordoned')] }));
    expect(nodeIn(stage)?.taints).toEqual([mark('cordoned')]);
    expect(stage.cluster.evicted).toHaveLength(1);
  });

  it('is counted once, although a later process goes on with it', async () => {
    const stage = await loopOf(stageOf({ preemption, unschedulable: true, taints: [mark('cordoned')] }));
    expect(await valueOf(stage.metrics.cluster.preemptedNodes)).toBe(0);
  });

  it('that belongs to no managed group is not touched', async () => {
    const stage = await loopOf(stageOf({ preemption }, false));
    expect([nodeIn(stage)?.unschedulable, stage.cluster.evicted]).toEqual([false, []]);
  });

  it.each([
    ['un-cordoned', 'cordoned', false],
    ['left cordoned for who had done it', 'cordoned-before', true],
  ])('and that is spared is given back: %s', async (_name, value, unschedulable) => {
    const stage = await loopOf(stageOf({ unschedulable: true, taints: [mark(value)] }));
    expect(nodeIn(stage)).toMatchObject({ unschedulable, taints: [] });
    expect(stage.cluster.evicted).toEqual([]);
  });

  it.each([
    [true, 'the instance was not preempted:'],
    [false, 'the instance was preempted and its node remains:'],
  ])('is given back when it has outlived its notice by minutes, and what is said is true (ready: %s)', async (ready, words) => {
    const outlived = { ...preemption, noticedAtMs: START_MS - 400_000, deadlineMs: START_MS - 300_000 };
    const readiness = { ready, sinceMs: START_MS - 300_000, reason: '' };
    const stage = await loopOf(stageOf({ preemption: outlived, unschedulable: true, readiness, taints: [mark('cordoned')] }));
    expect(nodeIn(stage)).toMatchObject({ unschedulable: false, taints: [] });
    expect(stage.cluster.events.map(({ message }) => message).join()).toContain(words);
  });

  it('is let go of in time when the process ends', async () => {
    const stage = stageOf({ preemption });
    stage.cluster.onEvict = () => ({ kind: 'blocked', message: 'budget', retryAfterMs: undefined });
    await stage.runOnce();
    await stage.loop.stop(new AbortController().signal);
    expect(nodeIn(stage)?.taints).toEqual([mark('cordoned')]);
  });
});

describe('a notice that a process sees late', () => {
  const late = (lateMs: number) => ({ noticedAtMs: START_MS - lateMs - 30_000, deadlineMs: START_MS - lateMs, notice: 'PreemptScheduled' });
  const lost = { ready: false, sinceMs: START_MS - 5_000, reason: 'Ready=Unknown' };

  it.each([
    ['5 s', 5_000],
    ['1 s', 1_000],
    ['1 ms', 1],
  ])('gives pods seconds to shut down when %s of it are left, since the clock may be ahead', async (_left, leftMs) => {
    const stage = await loopOf(stageOf({ preemption: late(-leftMs) }));
    expect(stage.cluster.evicted).toEqual([{ pod: 'web', graceMs: 5_000 }]);
  });

  it.each([
    ['at the deadline', 0],
    ['a second after it', 1_000],
    ['four minutes after it', 240_000],
  ])('starts nothing on a node that is still ready: %s', async (_when, lateMs) => {
    const stage = await loopOf(stageOf({ preemption: late(lateMs) }));
    expect(stage.cluster.evicted).toEqual([]);
    expect(nodeIn(stage)).toMatchObject({ unschedulable: false, taints: [] });
  });

  it('starts nothing on a ready node that an earlier process tainted, and leaves the taint until the node has outlived the notice', async () => {
    const stage = await loopOf(stageOf({ preemption: late(1_000), unschedulable: true, taints: [mark('cordoned')] }));
    expect(stage.cluster.evicted).toEqual([]);
    expect(nodeIn(stage)).toMatchObject({ unschedulable: true, taints: [mark('cordoned')] });
  });

  it('evicts with the grace periods of the pods themselves once the node is not ready, so that they are replaced', async () => {
    const stage = await loopOf(stageOf({ preemption: late(20_000), readiness: lost }));
    expect(stage.cluster.evicted).toEqual([{ pod: 'web', graceMs: 60_000 }]);
  });

  it('evicts once a node that outlived the deadline is not ready any more', async () => {
    const stage = stageOf({ preemption: late(1_000) });
    await stage.runOnce();
    const node = nodeIn(stage);
    if (node !== undefined) stage.cluster.nodes.set('s-0', { ...node, readiness: lost });
    await loopOf(stage);
    expect(stage.cluster.evicted).toHaveLength(1);
  });

  it('evicts nothing when the taint could be written only after the deadline', async () => {
    const stage = stageOf({ preemption });
    stage.cluster.onCall = (call) => (call === 'taint' ? stage.clock.sleep(40_000, stage.stop.signal) : undefined);
    await stage.runOnce();
    await stage.clock.advance(40_000);
    await settle();
    expect(nodeIn(stage)?.taints).toEqual([mark('cordoned')]);
    expect(stage.cluster.evicted).toEqual([]);
    const node = nodeIn(stage);
    if (node !== undefined) stage.cluster.nodes.set('s-0', { ...node, readiness: lost });
    await loopOf(stage);
    expect(stage.cluster.evicted).toEqual([{ pod: 'web', graceMs: 60_000 }]);
  });
});
