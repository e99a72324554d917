/** How a loop ends before its time, begins after a crash, and what it leaves alone when it cannot know. */
import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { Node } from '../../src/domain/node.ts';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT } from '../../src/domain/taints.ts';
import { aGroup, aNode, aPod, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage, valueOf } from './support.ts';

const MINUTE = 60_000;
const A = nodeGroupId('a');
const quick = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: MINUTE, delayAfterAddMs: 0 } });

/** One idle node that has been unneeded for long, and a group that can grow. */
function idleStage(options: { readonly pods?: readonly ReturnType<typeof aPod>[] } = {}) {
  return aStage({ groups: [aGroup({ id: 'a', target: 1 })], nodes: [aNode({ name: 'a-0' })], policy: quick, ...options });
}

describe('a loop that is asked to end', () => {
  it.each(['the process is given up', 'a stop is asked for'] as const)('while it plans, %s: no call, no failure', async (how) => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxPlanningMs: 0 } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ cpu: '2' }), aPod({ cpu: '3' })], policy });
    const calls: string[] = [];
    stage.cloud.onCall = (call) => void calls.push(call);
    const stopped: Promise<void>[] = [];
    stage.metrics.loop.plansCutShort.inc = () => {
      if (how === 'the process is given up') stage.stop.abort();
      else stopped.push(stage.loop.stop(new AbortController().signal));
    };
    const report = await stage.runOnce();
    await Promise.all(stopped);
    expect(report).toMatchObject({ outcome: 'cancelled', failures: [], rounds: [], scaleDown: undefined });
    expect(calls).toEqual([]);
    expect(stage.cluster.events).toEqual([]);
    expect(stage.lines).toEqual([]);
    expect(await valueOf(stage.metrics.loop.completed, { outcome: 'cancelled' })).toBe(1);
  });

  it.each([
    [0, 1],
    [3_000, 0],
  ])('--scale-down-simulation-timeout: with %i ms %i plans are cut short', async (maxSimulationMs, cut) => {
    const policy = aPolicy({
      scaleUp: { enforceMinSize: false },
      scaleDown: { unneededForMs: MINUTE, delayAfterAddMs: 0, maxSimulationMs },
    });
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 3 })],
      nodes: [0, 1, 2].map((index) => aNode({ name: `a-${index}` })),
      policy,
    });
    await stage.runOnce();
    expect(await valueOf(stage.metrics.loop.plansCutShort)).toBe(cut);
  });

  it('while removals are planned: none is begun, and what was decided before counts', async () => {
    const stage = idleStage();
    await stage.runOnce();
    await stage.clock.advance(2 * MINUTE);
    stage.deps.journal.record = ({ scaleDown }) => {
      if (scaleDown !== undefined) stage.stop.abort();
    };
    const report = await stage.runOnce();
    expect(report).toMatchObject({ outcome: 'completed', failures: [], scaleDown: undefined });
    await stage.clock.advance(MINUTE);
    expect(stage.cloud.deletes).toEqual([]);
    expect(stage.cluster.nodes.get('a-0')?.taints.map(({ key }) => key)).toEqual([DELETION_CANDIDATE_TAINT]);
  });
});

describe('the first loop after a start', () => {
  const left = (name: string): Node =>
    aNode({ name, unschedulable: true, taints: [{ key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' }] });

  it.each([
    { name: 'un-cordons', cordon: true, unschedulable: false },
    { name: 'leaves the cordon where removals do not cordon', cordon: false, unschedulable: true },
  ])('takes off what an earlier run left, $name, says so, and touches no stranger', async ({ cordon, unschedulable }) => {
    const policy = { ...quick, drain: { ...quick.drain, cordon } };
    const busy = aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' });
    const nodes = [left('a-0'), left('foreign')];
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 1 })], nodes, pods: [busy], policy });
    await stage.runOnce();
    expect(stage.cluster.nodes.get('a-0')).toMatchObject({ taints: [], unschedulable });
    expect(stage.cluster.nodes.get('foreign')).toEqual(nodes[1]);
    expect(stage.cluster.events.map(({ subject, type, reason }) => [subject.name, type, reason])).toEqual([
      ['a-0', 'Normal', 'ClusterAutoscalerCleanup'],
    ]);
  });

  it.each([
    { name: 'counts on a node that it has just freed', other: false, requested: 0, told: ['ClusterAutoscalerCleanup'] },
    { name: 'counts on none that another process has marked by then', other: true, requested: 1, told: [] },
  ])('$name', async ({ other, requested, told }) => {
    const waiting = aPod({ name: 'waiting', cpu: '3' });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 1 })], nodes: [left('a-0')], pods: [waiting], policy: quick });
    stage.cluster.onCall = (call, name) => {
      const node = stage.cluster.nodes.get(name);
      if (other && call === 'untaint' && node !== undefined) stage.cluster.nodes.set(name, { ...node, deletionOwner: 'other/1' });
    };
    const report = await stage.runOnce();
    expect(report.rounds.flatMap(({ plan }) => plan.increases.map(({ from, to }) => to - from))).toEqual(
      requested === 0 ? [] : [requested],
    );
    const cleanups = stage.cluster.events.map(({ reason }) => reason).filter((reason) => reason === 'ClusterAutoscalerCleanup');
    expect(cleanups).toEqual(told);
  });

  it('what could not be read or freed at first is freed in a later loop', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 1, instances: undefined })], nodes: [left('a-0')], policy: quick });
    await stage.runOnce();
    expect(stage.cluster.nodes.get('a-0')?.taints).toHaveLength(1);
    stage.cloud.groups.set(A, aGroup({ id: 'a', target: 1 }));
    await stage.runOnce();
    expect(stage.cluster.nodes.get('a-0')?.taints.map(({ key }) => key)).not.toContain(TO_BE_DELETED_TAINT);
  });
});

describe('a mark that comes up while we run', () => {
  const mark = async (stage: ReturnType<typeof aStage>, value: string) => {
    const taint = { key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' } as const;
    await stage.cluster.taint('a-0', taint, { cordon: true }, new AbortController().signal);
  };
  const isMarked = (stage: ReturnType<typeof aStage>) =>
    stage.cluster.nodes.get('a-0')?.taints.some(({ key }) => key === TO_BE_DELETED_TAINT) === true;
  const aBusyStage = () => {
    const busy = aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' });
    return aStage({ groups: [aGroup({ id: 'a', target: 1 })], nodes: [aNode({ name: 'a-0' })], pods: [busy], policy: quick });
  };

  it.each([
    { name: 'of now', value: String(START_MS / 1000 + 10), rests: 10 * MINUTE },
    { name: 'that says nothing', value: 'soon', rests: 10 * MINUTE },
    { name: 'of the future', value: '999999999999', rests: 10 * MINUTE },
    { name: 'of hours ago', value: '1', rests: 0 },
  ])('is foreign: one $name stays for ten minutes from then, and is reported once', async ({ value, rests }) => {
    const stage = aBusyStage();
    await stage.runOnce();
    await stage.clock.advance(10_000);
    await mark(stage, value);
    const first = await stage.runOnce();
    expect(isMarked(stage)).toBe(rests > 0);
    expect(first.scaleDown?.kept).toMatchObject([{ reason: rests > 0 ? 'CurrentlyBeingDeleted' : 'NotUnderutilized' }]);
    await stage.clock.advance(Math.max(0, rests - 1_000));
    await stage.runOnce();
    expect(isMarked(stage)).toBe(rests > 0);
    await stage.clock.advance(1_000);
    await stage.runOnce();
    expect(stage.cluster.nodes.get('a-0')).toMatchObject({ taints: [], unschedulable: false });
    const reports = stage.lines.filter(({ msg }) => msg.startsWith('Node is being deleted by another component'));
    expect(reports).toMatchObject(rests > 0 ? [{ node: 'a-0', level: 'warn' }] : []);
  });

  it('is ours when we wrote it: what could not be taken off at once is taken off by the next loop', async () => {
    const stage = idleStage();
    await stage.runOnce();
    await stage.clock.advance(2 * MINUTE);
    stage.cloud.onDelete = ({ group }) => ({ kind: 'refused', group, reason: 'no' });
    const untaint = stage.cluster.untaint.bind(stage.cluster);
    let refusals = 3;
    stage.cluster.untaint = async (...call) => {
      if (refusals-- > 0) throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'no');
      return await untaint(...call);
    };
    await stage.runOnce();
    await stage.clock.advance(MINUTE);
    expect([refusals, isMarked(stage)]).toEqual([0, true]);
    await stage.runOnce();
    expect(isMarked(stage)).toBe(false);
  });
});

describe('what cannot be known', () => {
  it('pods that cannot be judged: no scale-up; removals are judged, and none is begun', async () => {
    const stage = idleStage();
    await stage.runOnce();
    await stage.clock.advance(2 * MINUTE);
    const broken = aPod({ name: 'broken' });
    Object.defineProperty(broken, 'shape', {
      get: () => {
        throw new TypeError('not a shape');
      },
    });
    stage.cluster.addPending(broken);
    const report = await stage.runOnce();
    expect(report.failures.map(({ step, error }) => `${step} ${error.kind}`)).toEqual(['scale-up bug']);
    expect(stage.cloud.increases).toEqual([]);
    expect(report.scaleDown).toMatchObject({ removals: [], inhibited: expect.stringContaining('planning the scale-up failed') });
    expect(report.state.unneededSince.get('a-0')).toBe(START_MS);
    expect(report.outcome).toBe('failed');

    stage.cluster.pods.delete(broken.uid);
    expect((await stage.runOnce()).scaleDown?.removals.map(({ node }) => node)).toEqual(['a-0']);
  });

  it('an unfilled size is not lowered: its group backs off, another serves, nothing is removed in that loop', async () => {
    const groups = [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0, vmSize: 'Standard_D8s_v5' })];
    const idle = aGroup({ id: 'idle', target: 1, template: undefined });
    const stage = aStage({ groups: [...groups, idle], nodes: [aNode({ name: 'idle-0', cpu: '1' })], policy: quick });
    stage.cluster.addPending(aPod({ name: 'web', cpu: '3' }));
    // Azure takes the size and never makes a machine of it.
    stage.cloud.onIncrease = ({ group, to }) => {
      if (group !== 'a') return undefined;
      stage.cloud.groups.set(group, aGroup({ id: 'a', target: to, instances: [] }));
      return { kind: 'accepted', group, target: to };
    };
    await stage.runOnce();
    await stage.clock.advance(15 * MINUTE + 1_000);
    const report = await stage.runOnce();
    expect(report.state.backoffs.get(A)?.cause).toBe('timeout');
    expect(stage.cloud.groups.get(A)?.target).toMatchObject({ value: 1 });
    expect(stage.cloud.increases.map(({ group, to }) => `${group} ${to}`)).toEqual(['a 1', 'b 1']);
    expect(report.scaleDown).toMatchObject({ removals: [], inhibited: 'nodes are being added in this loop' });
    expect(stage.cloud.deletes).toEqual([]);
  });
});
