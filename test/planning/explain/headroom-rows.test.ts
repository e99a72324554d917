/** What people read of headroom: rows of plans and answers, events of its increases, and the metric. */
import { describe, expect, it } from 'vitest';
import type { Headroom } from '../../../src/domain/headroom.ts';
import { answerPool } from '../../../src/planning/explain/answers/pool-answer.ts';
import { headroomRows } from '../../../src/planning/explain/headroom-rows.ts';
import { buffersWithoutScaleUpEvents, increaseEvents } from '../../../src/planning/explain/scale-up-events.ts';
import { publishHeadroom, publishVerdicts } from '../../../src/observers/metrics/loop-metrics.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { inputFor, planFor, type World } from '../scale-up/world.ts';
import { ONLY_DECIDED } from '../../../src/planning/explain/answers/pod-answer.ts';

const labels = { agentpool: 'a', 'kubernetes.io/os': 'linux' };
const NODES: Headroom = { kind: 'nodes', nodes: 2 };
const CPUS: Headroom = { kind: 'amounts', cpuMillis: 3000, memoryBytes: 0, pieces: 3 };
const pool = (headroom: readonly Headroom[], target = 1, maxSize = 2) =>
  aGroup({ id: 'a', target, maxSize, options: { headroom }, template: aTemplate({ cpu: '4', memory: '16Gi', labels }) });
const free = aNode({ name: 'a-0', cpu: '4', memory: '16Gi', labels });
const world = (headroom: readonly Headroom[], rest: Partial<World> = {}): World => ({ groups: [pool(headroom)], nodes: [free], ...rest });

describe('a row of headroom', () => {
  it.each<readonly [string, World, string]>([
    ['that is there', world([CPUS]), '3 CPU in 3 pieces: 3 of 3 kept free on a-0'],
    ['of which a part is coming', world([NODES]), '2 free nodes: 1 of 2 kept free on a-0; 1 of 2 coming'],
    [
      'that finds no place',
      world([NODES], { groups: [pool([NODES], 1, 1)] }),
      '2 free nodes: 1 of 2 kept free on a-0; 1 of 2 missing: a: at its maximum (1 of 1 nodes)',
    ],
    [
      'of a share of nothing',
      world([{ kind: 'percent', percent: 10 }]),
      '10 % of what pods request: nothing is kept free, since no pod requests anything there',
    ],
    ['of no room', world([{ kind: 'nodes', nodes: 0 }]), '0 free nodes: nothing is kept free'],
    [
      'of a workload that is gone',
      world([{ kind: 'copies', of: { kind: 'Deployment', apiGroup: 'apps', namespace: 'shop', name: 'web' }, count: 1 }], {
        capacity: { scalables: new Map() },
      }),
      '1 copy of Deployment shop/web: nothing is kept free, since Deployment shop/web was not found',
    ],
    [
      'beyond the limit of one plan',
      world([CPUS], { policy: { podInjectionLimit: 2 } }),
      '3 CPU in 3 pieces: 2 of 3 kept free on a-0; 1 of 3 missing: one plan has no place for more pods (scaleUp.podInjectionLimit)',
    ],
  ])('%s', (_what, given, sentence) => {
    const [row] = headroomRows(inputFor(given), planFor(given));
    expect(row).toMatchObject({ group: 'a', sentence });
  });

  it('of the cluster names no pool, and the answer about a pool has its own rows alone', () => {
    const given = world([CPUS], { capacityPolicy: { headroom: [CPUS] } });
    const [input, scaleUp] = [inputFor(given), planFor(given)];
    expect(headroomRows(input, scaleUp).map(({ group = 'cluster', kept }) => `${group} ${kept}`)).toEqual(['a 3', 'cluster 1']);
    const answer = answerPool({ ...ONLY_DECIDED, input, scaleUp }, 'a');
    expect(answer).toMatchObject({ podsHelped: 0, podsWaiting: 0, headroom: [{ kept: 3 }] });
  });
});

describe('what the world hears of headroom', () => {
  const refused = new AutoscalerError({ kind: 'out-of-capacity', scope: {} }, 'No stock');

  it('an increase for it alone is an event that is no warning; one for pods, too, names the pods as always', () => {
    const plan = planFor(world([NODES]));
    const [increase] = plan.increases;
    if (increase === undefined) throw new Error('no increase');
    expect(plan.summary).toBe('a 1 -> 2 (headroom)');
    const texts = (change: object, outcome: Parameters<typeof increaseEvents>[0]['outcome']) =>
      increaseEvents({ increase: { ...increase, ...change }, outcome, atMs: START_MS }, pool([]), 'kube-system', undefined).map(
        ({ type, subject, reason }) => `${type} ${subject.kind} ${reason}`,
      );
    const { group } = increase;
    expect(texts({}, { kind: 'accepted', group, target: 2 })).toEqual([
      'Normal ConfigMap HeadroomRequested',
      'Normal ConfigMap ScaledUpGroup',
    ]);
    expect(texts({}, { kind: 'failed', group, error: refused })).toEqual(['Normal ConfigMap HeadroomNotAdded']);
    const both = { pods: [...increase.pods, aPod({ name: 'real' })] };
    expect(texts(both, { kind: 'failed', group, error: refused })).toEqual(['Warning ConfigMap FailedToScaleUpGroup']);
  });

  it('headroom without a place is no event and no pending pod, and the metric has it as missing', async () => {
    const plan = planFor(world([NODES], { groups: [pool([NODES], 1, 1)] }));
    expect(buffersWithoutScaleUpEvents({ plan, groups: [], advice: new Map() })).toEqual([]);
    const metrics = createMetrics();
    publishVerdicts(plan, START_MS, metrics);
    publishHeadroom(plan, metrics);
    const text = await metrics.registry.metrics();
    expect(
      text.split('\n').filter((line) => /^aks_autoscaler_(?:headroom|unschedulable_pods)\{/.test(line) && !line.endsWith(' 0')),
    ).toEqual(['aks_autoscaler_headroom{node_group="a",state="kept"} 1', 'aks_autoscaler_headroom{node_group="a",state="missing"} 1']);
    publishHeadroom(planFor(world([])), metrics);
    expect(await metrics.registry.metrics()).not.toContain('headroom{');
  });
});
