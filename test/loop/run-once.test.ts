import { describe, expect, it } from 'vitest';
import { AutoscalerError, type ErrorKind } from '../../src/lib/errors.ts';
import type { AnsweredIncrease } from '../../src/domain/outcome.ts';
import { nodeGroupId, type NodeGroupId } from '../../src/domain/ids.ts';
import { settle } from '../support/fake-clock.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage, valueOf } from './support.ts';

/** Pods of which one template node (4 cores) takes exactly three. */
function pods(count: number, prefix = 'web') {
  return Array.from({ length: count }, (_, index) => aPod({ name: `${prefix}-${index}`, cpu: '1200m', memory: '1Gi' }));
}

type Stage = ReturnType<typeof aStage>;

/** Two groups and two pods, each of which fits one of them. */
function aZonedStage(sizeOf: (id: string) => Parameters<typeof aGroup>[0] = () => ({})): Stage {
  const ids = ['a', 'b'];
  return aStage({
    groups: ids.map((id) => aGroup({ id, target: 0, template: aTemplate({ labels: { pool: id } }), ...sizeOf(id) })),
    pods: ids.map((id) => aPod({ name: `wants-${id}`, shape: { nodeSelector: { pool: id } } })),
  });
}

const failed = (group: NodeGroupId, detail: ErrorKind, code?: string): AnsweredIncrease => ({
  kind: 'failed',
  group,
  error: new AutoscalerError(detail, `No ${group}.`, code === undefined ? {} : { code }),
});
const NO_STOCK: ErrorKind = { kind: 'out-of-capacity', scope: {} };

/** The loop runs for that time, and no other begins. */
async function runFor(stage: Stage, durationMs: number): Promise<void> {
  void stage.loop.start(stage.stop.signal);
  await stage.clock.advance(durationMs);
  stage.stop.abort();
  await settle();
}

/** Another writer is faster, each time. */
function contested(stage: Stage): () => number {
  let writers = 0;
  stage.cloud.onIncrease = ({ group }) => {
    writers += 1;
    stage.cloud.groups.set(group, { ...aGroup({ id: 'a', target: 0 }), target: { ...known(0), version: `"other-${writers}"` } });
    return { kind: 'conflict', group, observed: 0 };
  };
  return () => writers;
}

const targetOf = (stage: Stage, id: string): number => {
  const target = stage.cloud.groups.get(nodeGroupId(id))?.target;
  return target?.known === true ? target.value : Number.NaN;
};

describe('a loop that grows', () => {
  it('writes what the pods need, logs it once, and records events on the pods', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(6) });
    const report = await stage.runOnce();
    expect(report.outcome).toBe('completed');
    expect(targetOf(stage, 'a')).toBe(2);
    const told = stage.cluster.events.map((event) => `${event.subject.kind} ${event.reason}`);
    expect(told.filter((line) => line === 'Pod TriggeredScaleUp')).toHaveLength(6);
    expect(told.filter((line) => line === 'ConfigMap ScaledUpGroup')).toHaveLength(1);
    expect(stage.lines.map((line) => [line.level, line.msg])).toEqual([['info', 'Scale-up accepted']]);
    expect(stage.lines[0]).toMatchObject({ loopId: 1, nodeGroup: 'a', from: 0, to: 2, pods: 6 });
    expect(await valueOf(stage.metrics.cluster.pods, { verdict: 'helped' })).toBe(6);
  });

  it('does not buy again what is on its way', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(6) });
    await stage.runOnce();
    const second = await stage.runOnce();
    expect(second.rounds.map((round) => round.increases.length)).toEqual([0]);
    expect(targetOf(stage, 'a')).toBe(2);
  });

  it('412: plans again in the same loop, and what the other writer added counts', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(6) });
    let raised = false;
    stage.cloud.onIncrease = (request) => {
      if (raised) return undefined;
      raised = true;
      // Somebody raises the set between our read and our write.
      const coming = anInstance({ node: 'a-theirs', state: 'creating', firstSeenMs: START_MS });
      stage.cloud.groups.set(request.group, {
        ...aGroup({ id: 'a', target: 1 }),
        target: { ...known(1), version: '"other"' },
        instances: [coming],
      });
      return undefined;
    };
    const report = await stage.runOnce();
    expect(report.rounds.map((round) => round.increases.map(({ outcome }) => outcome.kind))).toEqual([['conflict'], ['accepted']]);
    expect(report.rounds[1]?.increases[0]?.increase).toMatchObject({ from: 1, to: 2, version: '"other"' });
    expect(targetOf(stage, 'a')).toBe(2);
    expect(report.state.backoffs.size).toBe(0);
    expect(await valueOf(stage.metrics.scaleUp.replans, { cause: 'conflict' })).toBe(1);
  });

  it('gives up after three plans, without backoff, and asks for another loop', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    contested(stage);
    const report = await stage.runOnce();
    expect(report.rounds).toHaveLength(3);
    expect(report).toMatchObject({ replanSoon: true, outcome: 'completed' });
    expect(report.state.backoffs.size).toBe(0);
  });

  it('a 409 that changed nothing is not asked again in the same loop, and hurries no other', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    stage.cloud.onIncrease = ({ group }) => ({ kind: 'conflict', group, observed: 0 });
    const report = await stage.runOnce();
    expect(report.rounds).toHaveLength(1);
    expect(report).toMatchObject({ replanSoon: false, outcome: 'completed' });
    expect(report.state.backoffs.size).toBe(0);
  });

  it('a group that is fought over is asked for at the pace of the scan interval', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    const writers = contested(stage);
    await runFor(stage, 60_000);
    // Two loops of three plans per scan interval, and not one every quarter of a second.
    expect(writers()).toBeLessThanOrEqual(2 * 3 * 7);
    expect(writers()).toBeGreaterThanOrEqual(3 * 6);
  });

  it('goes on at once with a plan that reached its limit of new nodes, and is at rest when no pod waits for that', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxNodesPerScaleUp: 2 } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0, maxSize: 7 })], pods: pods(30), policy });
    const starts: number[] = [];
    stage.loop.onLoop(({ startedAtMs }) => starts.push(startedAtMs - START_MS));
    await runFor(stage, 9_000);
    // Four loops of two nodes; the last is stopped by the maximum, which another loop would not change.
    expect(targetOf(stage, 'a')).toBe(7);
    expect(starts).toHaveLength(4);
    expect(starts[3]).toBeLessThan(4_000);
  });

  it('a plan whose time was up before it found anything is followed by one early loop in each scan interval', async () => {
    const taints = [{ key: 'other', value: '', effect: 'NoSchedule' as const }];
    const groups = Array.from({ length: 6 }, (_, index) =>
      aGroup({ id: `g${index}`, target: 0, ...(index === 0 ? {} : { template: aTemplate({ taints }) }) }),
    );
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxPlanningMs: 0 } });
    const stage = aStage({ groups, pods: pods(3), policy });
    const starts: number[] = [];
    stage.loop.onLoop(({ startedAtMs }) => starts.push(startedAtMs - START_MS));
    await runFor(stage, 29_000);
    expect(starts).toEqual([0, 250, 10_250, 10_500, 20_500, 20_750]);
    // Each loop begins with another group, so the one that helps is found.
    expect(targetOf(stage, 'g0')).toBe(1);
  });

  it.each([
    ['refused', { kind: 'refused', reason: 'not now' }],
    ['withheld', { kind: 'withheld' }],
  ] as const)('does not go on with a plan that ended early if its write was %s', async (_name, outcome) => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxNodesPerScaleUp: 2 } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(30), policy });
    stage.cloud.onIncrease = ({ group }) => ({ ...outcome, group });
    await runFor(stage, 9_000);
    expect(stage.cloud.increases).toHaveLength(1);
  });

  it('a group that is out of stock rests, and another takes its pods in the same loop', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0, vmSize: 'Standard_D8s_v5' })],
      pods: pods(3),
    });
    stage.cloud.onIncrease = ({ group }) => (group === 'a' ? failed(group, NO_STOCK, 'AllocationFailed') : undefined);
    const report = await stage.runOnce();
    expect(targetOf(stage, 'b')).toBe(1);
    expect(report.state.backoffs.has(nodeGroupId('a'))).toBe(true);
    expect(stage.cluster.events.map((event) => event.reason)).toContain('FailedToScaleUpGroup');
    expect(await valueOf(stage.metrics.scaleUp.replans, { cause: 'no-capacity' })).toBe(1);
  });

  it('a group that takes no write at the moment is no failure, and another takes its pods in the same loop', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })], pods: pods(3) });
    stage.cloud.onIncrease = ({ group }) =>
      group === 'a' ? { kind: 'refused', group, reason: 'an operation runs', busy: true } : undefined;
    const report = await stage.runOnce();
    expect(report.rounds.map(({ increases }) => increases.map(({ increase }) => increase.group))).toEqual([['a'], ['b']]);
    expect(report.state.backoffs.size).toBe(0);
    expect(stage.cluster.events.map(({ reason }) => reason)).not.toContain('FailedToScaleUpGroup');
    expect(stage.lines.map(({ msg }) => msg)).toContain('Node group takes no write at the moment; planning again without it');
  });

  it('a quota that refuses one group is not asked through another of the same size', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })], pods: pods(3) });
    stage.cloud.onIncrease = ({ group }) => failed(group, { kind: 'quota', quota: 'standardDSv5Family' }, 'QuotaExceeded');
    const report = await stage.runOnce();
    expect(report.state.stockouts).toMatchObject([{ code: 'QuotaExceeded', scope: { vmSize: aGroup({ id: 'a' }).vmSize } }]);
    expect(report.rounds.flatMap(({ increases }) => increases.map(({ increase }) => increase.group))).toEqual(['a']);
    expect(report.rounds.at(-1)?.plan.skipped).toContainEqual({ group: 'b', reason: expect.objectContaining({ kind: 'stockout' }) });
  });

  it('a group that fails does not stop the others', async () => {
    // One loop grows one option at a time, so the second group grows in the loop after at the latest.
    const stage = aZonedStage();
    stage.cloud.onCall = (call, subject) => {
      if (call === 'increase' && subject === 'a')
        throw new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, 'The connection broke.');
    };
    const first = await stage.runOnce();
    const second = await stage.runOnce();
    expect([first.outcome, second.outcome]).toEqual(['completed', 'completed']);
    expect(targetOf(stage, 'b')).toBe(1);
    expect(stage.lines.filter((line) => line.msg === 'Scale-up failed').map((line) => line['nodeGroup'])).toContain('a');
  });

  it.each(['the first fails, the second is tried all the same', 'both fail, both rest'])('two groups at once: %s', async (name) => {
    const both = name.startsWith('both');
    const stage = aZonedStage((id) => ({ vmSize: `Standard_${id}` }));
    stage.cloud.onIncrease = ({ group }) => (group === 'a' || both ? failed(group, NO_STOCK, 'AllocationFailed') : undefined);
    const report = await stage.runOnce();
    const outcomes = report.rounds[0]?.increases.map(({ increase, outcome }) => `${increase.group} ${outcome.kind}`);
    expect(outcomes).toEqual(['a failed', `b ${both ? 'failed' : 'accepted'}`]);
    expect([...report.state.backoffs.keys()]).toEqual(both ? ['a', 'b'] : ['a']);
    const failures = stage.cluster.events.filter(({ reason }) => reason === 'FailedToScaleUpGroup').map(({ message }) => message);
    expect(failures).toHaveLength(both ? 2 : 1);
  });

  it('a scale-up that fails does not keep the loop from looking at what could go', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    stage.cloud.onIncrease = ({ group }) => failed(group, { kind: 'throttled', retryAfterMs: 1000 });
    const report = await stage.runOnce();
    expect(report.scaleDown?.inhibited).toBeDefined();
    expect(stage.cluster.events.some((event) => event.reason === 'TriggeredScaleUp')).toBe(false);
  });

  it('a pod that nothing can help gets an event that names the pools and both numbers', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })],
      pods: [aPod({ name: 'huge', cpu: '64' })],
    });
    await stage.runOnce();
    const events = stage.cluster.events.filter((event) => event.reason === 'NotTriggerScaleUp');
    expect(events).toHaveLength(1);
    expect(events[0]?.message).toContain('2 of 2 pools cannot take this pod now. a, b: needs 64 CPU, the node offers 4');
    expect(await valueOf(stage.metrics.cluster.pods, { verdict: 'impossible' })).toBe(1);
    expect(stage.lines).toEqual([]);
  });
});

function known(value: number) {
  return { known: true, value, version: '"1"', confirmed: true, observedAtMs: 0 } as const;
}

describe('a loop that goes wrong', () => {
  it('a cloud that cannot be observed fails the loop, is counted, and nothing is done', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    stage.cloud.observe = () => {
      throw new AutoscalerError({ kind: 'auth' }, 'The token was refused.');
    };
    const report = await stage.runOnce();
    expect(report).toMatchObject({ outcome: 'failed', rounds: [], scaleDown: undefined });
    expect(stage.cloud.increases).toEqual([]);
    expect(await valueOf(stage.metrics.loop.stepFailures, { step: 'observe', kind: 'auth' })).toBe(1);
    expect(stage.lines.map((line) => line.level)).toEqual(['error']);
  });

  it('ends with the error that says exit, whatever fails after it', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    stage.deps.journal.record = () => {
      throw new AutoscalerError({ kind: 'config' }, 'This can never work.');
    };
    stage.metrics.cluster.nodes.set = () => {
      throw new TypeError('a later step');
    };
    const ended = stage.loop.start(stage.stop.signal);
    await stage.clock.advance(10_000);
    stage.stop.abort();
    expect(await ended).toMatchObject({ kind: 'config' });
  });

  it.each([
    { stalenessMs: 599_000, outcome: 'completed' },
    { stalenessMs: 601_000, outcome: 'failed' },
  ])('a loop over a cluster last heard $stalenessMs ms ago has $outcome: a blind daemon is not a healthy one', async (row) => {
    const policy = aPolicy({ scaleUp: { maxClusterStalenessMs: 600_000 } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], policy });
    const observe = stage.cluster.observe.bind(stage.cluster);
    stage.cluster.observe = (nowMs) => ({ ...observe(nowMs), stalenessMs: row.stalenessMs });
    expect((await stage.runOnce()).outcome).toBe(row.outcome);
  });

  it('a step that crashes is counted as a bug, and the next loop works', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    const observe = stage.cluster.observe.bind(stage.cluster);
    stage.cluster.observe = () => {
      throw new TypeError('x is not a function');
    };
    expect((await stage.runOnce()).failures.map(({ step, error }) => `${step} ${error.kind}`)).toEqual(['observe bug']);
    stage.cluster.observe = observe;
    expect((await stage.runOnce()).outcome).toBe('completed');
    expect(targetOf(stage, 'a')).toBe(1);
    expect(await valueOf(stage.metrics.loop.stepFailures, { step: 'observe', kind: 'bug' })).toBe(1);
  });

  it('what a round wrote is remembered although a later round crashes', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })], pods: pods(3) });
    stage.cloud.onIncrease = ({ group }) => failed(group, { kind: 'quota', quota: 'cores' });
    const observe = stage.cloud.observe.bind(stage.cloud);
    let views = 0;
    stage.cloud.observe = (cluster, nowMs) => {
      views += 1;
      if (views > 1) throw new Error('broken view');
      return observe(cluster, nowMs);
    };
    const report = await stage.runOnce();
    expect(report.failures.map(({ step }) => step)).toEqual(['scale-up']);
    expect(report.rounds).toHaveLength(1);
    expect(report.state.backoffs.size).toBe(1);
  });

  it('an error of configuration ends the daemon, any other does not', async () => {
    const stage = aStage({ groups: [] });
    stage.cluster.observe = () => {
      throw new AutoscalerError({ kind: 'config' }, 'No such namespace.');
    };
    const ended = stage.loop.start(stage.stop.signal);
    await stage.clock.advance(0);
    expect(await ended).toMatchObject({ kind: 'config' });
  });

  it('a listener that throws does not affect others', async () => {
    const stage = aStage({ groups: [] });
    const seen: number[] = [];
    stage.loop.onLoop(() => {
      throw new Error('mine');
    });
    stage.loop.onLoop((report) => seen.push(report.loopId));
    await stage.runOnce();
    expect(seen).toEqual([1]);
  });
});

describe('the loop as a whole', () => {
  it('is silent and writes nothing when there is nothing to do', async () => {
    const node = aNode({ name: 'a-0' });
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 1, minSize: 1 })],
      nodes: [node],
      pods: [aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' })],
    });
    void stage.loop.start(stage.stop.signal);
    await stage.clock.advance(60_000);
    expect(await valueOf(stage.metrics.loop.completed, { outcome: 'completed' })).toBe(7);
    expect(stage.lines).toEqual([]);
    expect(stage.cluster.events).toEqual([]);
    expect(stage.cloud.increases).toEqual([]);
    await stop(stage);
  });

  it('a pod that turns unschedulable leads to a write within a second, in one loop for the whole burst', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })] });
    void stage.loop.start(stage.stop.signal);
    await stage.clock.advance(1000);
    for (const pod of pods(6)) stage.cluster.addPending(pod);
    await stage.clock.advance(300);
    expect(stage.cloud.increases).toHaveLength(1);
    expect(targetOf(stage, 'a')).toBe(2);
    expect(await valueOf(stage.metrics.loop.trigger, { trigger: 'pods' })).toBe(1);
    await stop(stage);
  });

  it('news of the cloud makes a loop before the scan', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })] });
    void stage.loop.start(stage.stop.signal);
    await stage.clock.advance(1000);
    stage.cloud.emit({ kind: 'increase-succeeded', group: nodeGroupId('a'), atMs: stage.clock.now() });
    await stage.clock.advance(300);
    expect(await valueOf(stage.metrics.loop.trigger, { trigger: 'cloud' })).toBe(1);
    await stop(stage);
  });

  it('never runs two loops at once', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    const answer = Promise.withResolvers<void>();
    stage.cloud.onCall = (call) => (call === 'increase' ? answer.promise : undefined);
    const first = stage.runOnce();
    await settle();
    let secondEnded = false;
    const second = stage.runOnce().then((report) => {
      secondEnded = true;
      return report;
    });
    await settle();
    expect(secondEnded).toBe(false);
    answer.resolve();
    expect([(await first).loopId, (await second).loopId]).toEqual([1, 2]);
    expect(stage.cloud.increases).toHaveLength(1);
  });

  it('a stop lets the loop under way end, begins no other, and leaves no sleeper', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(3) });
    const answer = Promise.withResolvers<void>();
    stage.cloud.onCall = (call) => (call === 'increase' ? answer.promise : undefined);
    const ended = stage.loop.start(stage.stop.signal);
    await stage.clock.advance(0);
    const stopped = stage.loop.stop(new AbortController().signal);
    await settle();
    answer.resolve();
    await stopped;
    expect(await ended).toBeUndefined();
    expect(targetOf(stage, 'a')).toBe(1);
    await stage.clock.advance(60_000);
    expect(await valueOf(stage.metrics.loop.completed, { outcome: 'completed' })).toBe(1);
    expect(stage.clock.sleeping).toBe(0);
  });

  it('an unneeded node is drained and deleted in the background, over several loops', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: 20_000, delayAfterAddMs: 0 } });
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })];
    const busy = aPod({ name: 'busy', cpu: '3', nodeName: 'a-0' });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 2 })], nodes, pods: [busy], policy });
    void stage.loop.start(stage.stop.signal);
    await stage.clock.advance(60_000);
    expect(stage.cloud.deletes.map((request) => request.instances)).toEqual([[expect.stringContaining('a-1')]]);
    expect(targetOf(stage, 'a')).toBe(1);
    await stop(stage);
  });
});

async function stop(stage: Stage): Promise<void> {
  await stage.loop.stop(new AbortController().signal);
}
