import { describe, expect, it } from 'vitest';
import { scaleUpStages } from '../../../src/observers/metrics/scale-up-stages.ts';
import type { IncreaseRecord, LoopReport } from '../../../src/domain/loop-report.ts';
import type { IncreaseOutcome } from '../../../src/domain/outcome.ts';
import type { Instance } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { emptyLoopState } from '../../../src/planning/state/loop-state.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, aPod, START_MS } from '../../support/builders.ts';
import { aLoopReport, aScaleUpPlan, inSequence } from '../../support/loop-report.ts';

const SECOND = 1_000;

interface Look {
  readonly atMs: number;
  readonly instances?: readonly Instance[];
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly records?: readonly IncreaseRecord[];
}

function aReport({ atMs, instances = [], nodes = [], pods = [], records = [] }: Look): LoopReport {
  const group = aGroup({ id: 'a', target: 1, instances });
  return aLoopReport({
    startedAtMs: atMs,
    observation: anObservation([group], aCluster({ nodes, pods }), { nowMs: atMs }),
    rounds: [{ plan: aScaleUpPlan(), increases: records }],
    state: emptyLoopState(atMs),
  });
}

function aRecord(pods: readonly Pod[], atMs: number, outcome?: IncreaseOutcome): IncreaseRecord {
  const group = aGroup({ id: 'a' }).id;
  return {
    increase: { group, from: 0, to: 1, version: '"1"', pods, cause: 'pods' },
    outcome: outcome ?? { kind: 'accepted', group, target: 1 },
    atMs,
  };
}

/** Sum and count of every stage that was seen. */
async function stages(metrics: ReturnType<typeof createMetrics>): Promise<Readonly<Record<string, readonly [sum: number, count: number]>>> {
  const { values } = await metrics.scaleUp.groupStages.get();
  const of = (name: string, stage: unknown): number =>
    values.find(({ metricName, labels }) => metricName?.endsWith(name) === true && labels['stage'] === stage)?.value ?? 0;
  return Object.fromEntries(
    [...new Set(values.map(({ labels }) => String(labels['stage'])))].map((stage) => [stage, [of('_sum', stage), of('_count', stage)]]),
  );
}

const pending = aPod({ name: 'web' });
const node = (readyMs: number, ready = true) =>
  aNode({ name: 'a-0', createdAtMs: START_MS + 50 * SECOND, readiness: { ready, sinceMs: readyMs, reason: '' } });
const bound = { ...pending, nodeName: 'a-0', unschedulable: undefined };

/** Looks at one report after the other. */
function lookWith(metrics: ReturnType<typeof createMetrics>): (report: LoopReport) => void {
  const next = inSequence();
  const look = scaleUpStages(metrics.scaleUp);
  return (report) => look(next(report));
}

describe('the stages of a scale-up', () => {
  it('are seen one by one, each from the end of the one before', async () => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    const created = [anInstance({ node: 'a-0', state: 'creating', firstSeenMs: START_MS + 42 * SECOND })];
    look(aReport({ atMs: START_MS, pods: [pending], records: [aRecord([pending], START_MS + 2 * SECOND)] }));
    look(aReport({ atMs: START_MS + 45 * SECOND, pods: [pending], instances: created }));
    look(aReport({ atMs: START_MS + 60 * SECOND, pods: [pending], instances: created, nodes: [node(START_MS + 50 * SECOND, false)] }));
    look(aReport({ atMs: START_MS + 90 * SECOND, pods: [bound], instances: created, nodes: [node(START_MS + 82 * SECOND)] }));
    look(aReport({ atMs: START_MS + 100 * SECOND, pods: [bound], instances: created, nodes: [node(START_MS + 82 * SECOND)] }));
    // The pod has been unschedulable since thirty seconds before the loop.
    expect(await stages(metrics)).toEqual({ planned: [30, 1], written: [2, 1], created: [40, 1], ready: [40, 1], bound: [8, 1] });
    const { values } = await metrics.scaleUp.podsToBound.get();
    expect(values.find(({ metricName }) => metricName?.endsWith('_sum') === true)?.value).toBe(120);
  });

  it('a list that comes after the node does not make the machine younger than its node', async () => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    look(aReport({ atMs: START_MS, pods: [pending], records: [aRecord([pending], START_MS)] }));
    const late = [anInstance({ node: 'a-0', firstSeenMs: START_MS + 200 * SECOND })];
    look(aReport({ atMs: START_MS + 210 * SECOND, pods: [pending], instances: late, nodes: [node(START_MS + 60 * SECOND)] }));
    expect(await stages(metrics)).toMatchObject({ created: [50, 1], ready: [10, 1] });
  });

  it.each([
    ['a write that failed', { kind: 'refused', group: aGroup({ id: 'a' }).id, reason: 'no' } as const, START_MS + 10 * SECOND],
    ['a machine that was there before', undefined, START_MS - 60 * SECOND],
  ])('%s has none beyond the order', async (_, outcome, firstSeenMs) => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    look(aReport({ atMs: START_MS, records: [aRecord([pending], START_MS, outcome)] }));
    look(aReport({ atMs: START_MS + 20 * SECOND, instances: [anInstance({ node: 'a-9', firstSeenMs })] }));
    expect(Object.keys(await stages(metrics)).filter((stage) => stage !== 'planned' && stage !== 'written')).toEqual([]);
  });

  it('a pod that finds room on an old node counts as bound, without a last stage', async () => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    const old = [anInstance({ node: 'a-0', firstSeenMs: START_MS - 3_600_000 })];
    look(aReport({ atMs: START_MS, records: [aRecord([pending], START_MS)] }));
    look(aReport({ atMs: START_MS + 20 * SECOND, pods: [bound], instances: old, nodes: [node(START_MS - 60 * SECOND)] }));
    expect(Object.keys(await stages(metrics))).not.toContain('bound');
    expect((await metrics.scaleUp.podsToBound.get()).values.find(({ metricName }) => metricName?.endsWith('_count') === true)?.value).toBe(
      1,
    );
  });

  it('an increase that failed takes no time of the next one of its group', async () => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    const error = { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: '' } as const;
    const group = aGroup({ id: 'a' }).id;
    const failed = { kind: 'increase-failed', group, requested: 1, error, atMs: START_MS + 20 * SECOND } as const;
    look(aReport({ atMs: START_MS, records: [aRecord([], START_MS)] }));
    const second = aReport({ atMs: START_MS + 30 * SECOND, records: [aRecord([], START_MS + 30 * SECOND)] });
    const { observation } = second;
    if (observation === undefined) throw new Error('the loop saw nothing');
    look({ ...second, observation: { ...observation, cloud: { ...observation.cloud, events: [failed] } } });
    look(aReport({ atMs: START_MS + 50 * SECOND, instances: [anInstance({ node: 'a-0', firstSeenMs: START_MS + 40 * SECOND })] }));
    expect(await stages(metrics)).toMatchObject({ created: [10, 1] });
  });

  it('what has not come within an hour is forgotten', async () => {
    const metrics = createMetrics();
    const look = lookWith(metrics);
    look(aReport({ atMs: START_MS, records: [aRecord([pending], START_MS)] }));
    const atMs = START_MS + 3_601 * SECOND;
    const machine = [anInstance({ node: 'a-0', firstSeenMs: atMs })];
    look(aReport({ atMs, pods: [bound], instances: machine, nodes: [node(atMs)] }));
    expect(Object.keys(await stages(metrics)).sort()).toEqual(['planned', 'written']);
  });
});
