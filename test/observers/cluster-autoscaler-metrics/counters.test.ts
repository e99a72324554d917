import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Instance } from '../../../src/domain/node-group.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import type { RemovalOutcome } from '../../../src/domain/outcome.ts';
import type { UnremovableNode } from '../../../src/domain/plan.ts';
import { removalLatency } from '../../../src/observers/cluster-autoscaler-metrics/removal-latency.ts';
import { failedNodeCreations, unregisteredRemovals } from '../../../src/observers/cluster-autoscaler-metrics/counters.ts';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { createCompatibleMetrics } from '../../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, keyOf, START_MS } from '../../support/builders.ts';
import { aLoopReport, aScaleDownPlan, aScaleUpPlan } from '../../support/loop-report.ts';
import { aPolicy } from '../../support/policy.ts';
import { aBackoff, aState } from '../../support/state.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const A = nodeGroupId('a');

interface Look {
  readonly atMs: number;
  readonly instances?: readonly Instance[];
  readonly events?: Observation['cloud']['events'];
  readonly awaited?: number;
  readonly backoffs?: LoopState['backoffs'];
  readonly unneeded?: Readonly<Record<string, number>>;
  readonly kept?: readonly UnremovableNode[];
  readonly removed?: readonly RemovalOutcome[];
  readonly rounds?: LoopReport['rounds'];
}

/** A daemon's listeners, and what they have counted. */
function counting() {
  const metrics = createMetrics();
  const compatible = createCompatibleMetrics(metrics);
  const listeners = [failedNodeCreations(compatible), removalLatency(compatible, () => aPolicy()), unregisteredRemovals(compatible)];
  const look = (given: Look): void => {
    for (const listener of listeners) listener(aReport(given));
  };
  const value = async (series: string): Promise<number | undefined> => {
    const line = (await metrics.registry.metrics()).split('\n').find((candidate) => candidate.startsWith(`cluster_autoscaler_${series} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  return { look, value };
}

function aReport({ atMs, instances = [], events = [], awaited = 0, backoffs = new Map(), unneeded = {}, ...rest }: Look): LoopReport {
  const group = aGroup({ id: 'a', target: 5, instances });
  const cluster = aCluster({ nodes: ['a-0', 'a-1'].map((name) => aNode({ name })) });
  const observation = anObservation([group], cluster, { nowMs: atMs });
  const inFlight = { group: A, nodes: awaited, requestedAtMs: START_MS, expectedByMs: START_MS + 15 * MINUTE };
  return aLoopReport({
    startedAtMs: atMs,
    observation: { ...observation, cloud: { ...observation.cloud, events } },
    rounds: rest.rounds ?? [],
    scaleDown: aScaleDownPlan({ unneeded: new Map(Object.entries(unneeded)), kept: rest.kept ?? [] }),
    removed: rest.removed ?? [],
    state: aState({ backoffs, awaited: awaited === 0 ? new Map() : new Map([[A, inFlight]]) }),
  });
}

const detail = { kind: 'out-of-capacity', scope: {} } as const;
const broken = (index: number): Instance =>
  anInstance({ node: `new-${index}`, state: 'failed', error: { detail, code: 'AllocationFailed', message: '' } });
const lateFailure = { kind: 'increase-failed', group: A, requested: 3, error: { detail, code: 'AllocationFailed', message: '' } } as const;
const timeout = (atMs: number): LoopState['backoffs'] =>
  new Map([[A, aBackoff({ untilMs: atMs + MINUTE, durationMs: MINUTE, lastFailureMs: atMs, cause: 'timeout' })]]);

describe('nodes that were asked for and did not come', () => {
  const failed = async (value: (series: string) => Promise<number | undefined>) => [
    await value('failed_node_creations_total{reason="cloudProviderError"}'),
    await value('failed_node_creations_total{reason="timeout"}'),
  ];

  it.each<[string, readonly Look[], readonly [number, number]]>([
    ['begin at zero', [], [0, 0]],
    [
      'a write that Azure refused, by its nodes',
      [
        {
          atMs: START_MS,
          rounds: [
            {
              plan: aScaleUpPlan(),
              increases: [
                {
                  increase: { group: A, from: 2, to: 7, version: '', pods: [], cause: 'pods' },
                  outcome: { kind: 'failed', group: A, error: new AutoscalerError(detail, 'no') },
                  atMs: START_MS,
                },
              ],
            },
          ],
        },
      ],
      [5, 0],
    ],
    ['machines that had failed before we looked are old news', [{ atMs: START_MS, instances: [broken(1)] }], [0, 0]],
    [
      'machines that failed, each once',
      [
        { atMs: START_MS },
        { atMs: START_MS, instances: [broken(1), broken(2)] },
        { atMs: START_MS, instances: [broken(1), broken(2)] },
        { atMs: START_MS, instances: [broken(2), broken(3)] },
      ],
      [3, 0],
    ],
    [
      'an operation that failed, by the machines that are not there',
      [
        { atMs: START_MS, awaited: 3 },
        {
          atMs: START_MS,
          instances: [anInstance({ node: 'a-3', state: 'creating' })],
          events: [{ ...lateFailure, atMs: START_MS }],
        },
      ],
      [2, 0],
    ],
    [
      'an operation that failed in part, in a pool of many nodes, by the part that is awaited and not there',
      [
        { atMs: START_MS, awaited: 2 },
        {
          atMs: START_MS,
          instances: [0, 1, 2].map((index) => anInstance({ node: `a-${index}` })),
          events: [{ ...lateFailure, atMs: START_MS }],
        },
      ],
      [1, 0],
    ],
    [
      'an operation and its machines tell of the same failure',
      [
        { atMs: START_MS, awaited: 3 },
        { atMs: START_MS, instances: [broken(1), broken(2), broken(3)], events: [{ ...lateFailure, atMs: START_MS }] },
      ],
      [3, 0],
    ],
    [
      'nodes that did not join in time',
      [
        { atMs: START_MS, awaited: 4 },
        { atMs: START_MS + MINUTE, backoffs: timeout(START_MS + MINUTE) },
        { atMs: START_MS + 2 * MINUTE, backoffs: timeout(START_MS + MINUTE) },
      ],
      [0, 4],
    ],
  ])('%s', async (_name, looks, expected) => {
    const { look, value } = counting();
    for (const one of looks) look(one);
    expect(await failed(value)).toEqual(expected);
  });

  it('machines that never became nodes, when their deletion was accepted', async () => {
    const { look, value } = counting();
    const outcome = { kind: 'instances', group: A, instances: [keyOf('a-1'), keyOf('a-2')], message: '', atMs: START_MS } as const;
    look({
      atMs: START_MS,
      removed: [
        { ...outcome, accepted: true, cause: 'never-registered' },
        { ...outcome, accepted: false, cause: 'never-registered' },
        { ...outcome, accepted: true, cause: 'failed' },
      ],
    });
    expect(await value('old_unregistered_nodes_removed_count')).toBe(2);
  });
});

describe('how long removals take', () => {
  const since = { 'a-0': START_MS };
  const deleted = (atMs: number): RemovalOutcome => ({
    kind: 'deleted',
    group: A,
    node: 'a-0',
    instance: keyOf('a-0'),
    drained: false,
    reimaged: false,
    atMs,
  });
  const latency = (value: (series: string) => Promise<number | undefined>, isDeleted: boolean, reason: string) =>
    value(`node_removal_latency_seconds_sum{deleted="${isDeleted}",delay_reason="${reason}"}`);

  it('counts from when the unneeded time was over until the node was deleted', async () => {
    const { look, value } = counting();
    look({ atMs: START_MS + 9 * MINUTE, unneeded: since, kept: [{ node: 'a-0', reason: 'NotUnneededLongEnough' }] });
    look({ atMs: START_MS + 11 * MINUTE, unneeded: since });
    look({ atMs: START_MS + 12 * MINUTE, removed: [deleted(START_MS + 12 * MINUTE)] });
    expect(await latency(value, true, 'none')).toBe(120);
  });

  it('shows the last cause of delay', async () => {
    const { look, value } = counting();
    look({ atMs: START_MS + 11 * MINUTE, unneeded: since, kept: [{ node: 'a-0', reason: 'GroupCoolingDown' }] });
    look({ atMs: START_MS + 15 * MINUTE, removed: [deleted(START_MS + 15 * MINUTE)] });
    expect(await latency(value, true, 'GroupCoolingDown')).toBe(300);
  });

  it('a node that is needed again was not deleted; one that was not due is not counted', async () => {
    const { look, value } = counting();
    look({ atMs: START_MS + 11 * MINUTE, unneeded: { ...since, 'a-1': START_MS + 5 * MINUTE } });
    look({ atMs: START_MS + 13 * MINUTE, kept: [{ node: 'a-0', reason: 'NotUnderutilized' }] });
    expect(await latency(value, false, 'NotUnderutilized')).toBe(180);
    expect(await value('node_removal_latency_seconds_count{deleted="false",delay_reason="none"}')).toBeUndefined();
  });

  it('shows how long a node has not been evaluated', async () => {
    const { look, value } = counting();
    look({ atMs: START_MS, kept: [{ node: 'a-0', reason: 'NoPlaceToMovePods' }] });
    expect(await value('max_node_skip_eval_duration_seconds')).toBe(0);
    look({ atMs: START_MS + 10 * SECOND, kept: [{ node: 'a-0', reason: 'RecentlyUnremovable' }] });
    look({ atMs: START_MS + 20 * SECOND, kept: [{ node: 'a-0', reason: 'RecentlyUnremovable' }] });
    expect(await value('max_node_skip_eval_duration_seconds')).toBe(20);
    look({ atMs: START_MS + 30 * SECOND, kept: [{ node: 'a-0', reason: 'NotUnderutilized' }] });
    expect(await value('max_node_skip_eval_duration_seconds')).toBe(0);
  });
});
