import { describe, expect, it } from 'vitest';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { projectWorkload, type WorkloadJson } from '../../../../src/kubernetes/projection/workloads.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import type { ReplicatedWorkload } from '../../../../src/domain/workloads.ts';
import { podsWithoutScaleUpEvents, increaseEvents } from '../../../../src/planning/explain/scale-up-events.ts';
import { publishVerdicts } from '../../../../src/observers/metrics/loop-metrics.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../../support/builders.ts';
import { aDevicePool, claiming, DRIVER } from '../../../support/devices.ts';
import { valueOf } from '../../../loop/support.ts';
import { growth, planFor } from '../world.ts';

const controller = { kind: 'ReplicaSet', name: 'web', uid: 'rs-web' };
const wants = (desired: number): readonly ReplicatedWorkload[] => [
  { kind: 'ReplicaSet', namespace: 'default', name: 'web', uid: 'rs-web', desired },
];
const groups = [aGroup({ id: 'a', target: 1, maxSize: 50 })];
const nodes = [aNode({ name: 'a-0' })];
const on = { proactive: true, podInjectionLimit: 5000 };
const injected = (plan: ReturnType<typeof planFor>): readonly Pod[] => [...plan.verdicts.keys()].filter((pod) => pod.origin === 'expected');
/** One bound, one refused, one gated: three known. */
const known = [
  aPod({ name: 'web-0', nodeName: 'a-0', cpu: '4', controller }),
  aPod({ name: 'web-1', cpu: '2', shape: { cpu: '2' }, controller }),
  aPod({ name: 'web-2', cpu: '2', shape: { cpu: '2' }, controller, unschedulable: undefined, createdAtMs: START_MS }),
];

describe('pods that controllers are about to make', () => {
  it('ten are wanted and three are known: seven copies of the newest ask for room, gated ones being known too', async () => {
    const plan = planFor({ groups, nodes, pods: known, workloads: wants(10), policy: on });
    const copies = injected(plan);
    expect(copies.map(({ name, uid }) => `${name} ${uid}`)).toEqual(
      Array.from({ length: 7 }, (_, at) => `web-2-copy-${at + 1} rs-web-${at + 1}`),
    );
    expect(copies.every((pod) => pod.nodeName === undefined && plan.verdicts.get(pod)?.kind === 'triggered')).toBe(true);
    expect(growth(plan)).toEqual(['a 1->5']);
    expect(plan.injection).toEqual({ injected: 7, skipped: 0 });
    const [increase] = plan.increases;
    if (increase === undefined) throw new Error('nothing grew');
    const events = increaseEvents(
      { increase, outcome: { kind: 'accepted', group: increase.group, target: 5 }, atMs: START_MS },
      groups[0],
      'kube-system',
      undefined,
    );
    expect(events.filter(({ reason }) => reason === 'TriggeredScaleUp').map(({ subject }) => subject.name)).toEqual(['web-1']);
    const metrics = createMetrics();
    publishVerdicts(plan, START_MS, metrics);
    expect(await valueOf(metrics.cluster.pods, { verdict: 'helped' })).toBe(1);
  });

  it('copies that nothing can help get no events', () => {
    const big = [aPod({ name: 'big', cpu: '99', shape: { cpu: '99' }, controller })];
    const plan = planFor({ groups, nodes, pods: big, workloads: wants(3), policy: on });
    expect(injected(plan)).toHaveLength(2);
    expect(finishAtOnce(podsWithoutScaleUpEvents({ plan, groups, advice: new Map() })).map(({ subject }) => subject.name)).toEqual(['big']);
  });

  it('copies of a pod that claims devices ask for devices of their own, or are refused by name as it is', () => {
    const unsupported = [{ feature: 'dynamic-resource-allocation', detail: 'resource claim gpu' }];
    const sample = [aPod({ name: 'claims', shape: { key: 'claims', unsupported }, controller })];
    const plan = planFor({ groups, nodes, pods: sample, workloads: wants(3), policy: on });
    expect([growth(plan), injected(plan).map((pod) => plan.verdicts.get(pod)?.kind)]).toEqual([[], ['helpless', 'helpless']]);
    const held = { devices: { pools: [aDevicePool('a-0', 4)], incomplete: [], held: [] } };
    const holder = aPod({
      name: 'holds',
      nodeName: 'a-0',
      heldDevices: [`${DRIVER}/a-0/d-0`],
      shape: { key: 'one', ...claiming(1) },
      controller,
    });
    const rich = [aGroup({ id: 'a', target: 1, template: { ...aTemplate(), devicePools: [aDevicePool('t', 4)] } })];
    const grown = planFor({ groups: rich, nodes: [aNode({ name: 'a-0', ...held })], pods: [holder], workloads: wants(6), policy: on });
    expect(injected(grown).map((pod) => grown.verdicts.get(pod)?.kind)).toEqual([
      ...Array.from({ length: 3 }, () => 'fits-present-node'),
      'triggered',
      'triggered',
    ]);
  });

  it('with 5,200 real pods and a limit of 5,000 every copy is left out, and no real one', () => {
    const real = Array.from({ length: 5200 }, (_, at) =>
      aPod({ name: `p-${at}`, cpu: '10m', memory: '1Mi', shape: { cpu: '10m', memory: '1Mi' }, controller }),
    );
    const plan = planFor({ groups, pods: real, workloads: wants(5210), policy: on });
    expect(injected(plan)).toEqual([]);
    expect(plan.injection).toEqual({ injected: 0, skipped: 10 });
    expect(plan.verdicts.size).toBe(5200);
  });

  it('the limit counts real pods and copies together', () => {
    const plan = planFor({ groups, nodes, pods: known, workloads: wants(10), policy: { ...on, podInjectionLimit: 4 } });
    expect(plan.injection).toEqual({ injected: 3, skipped: 4 });
  });

  it.each([
    ['it is off', wants(10), known, {}],
    ['the controller has made no pod yet', wants(10), [], on],
    ['it has all that it wants', wants(3), known, on],
    ['one pod more is there than it wants', wants(2), known, on],
  ])('none when %s', (_, workloads, pods, policy) => {
    expect(injected(planFor({ groups, nodes, pods, workloads, policy }))).toEqual([]);
  });

  it('a pod on its way out is not counted: its controller replaces it', () => {
    const leaving = { ...known[0]!, deletionAtMs: START_MS };
    expect(injected(planFor({ groups, nodes, pods: [leaving, ...known.slice(1)], workloads: wants(3), policy: on }))).toHaveLength(1);
  });

  it.each<[string, ReplicatedWorkload['kind'], WorkloadJson, number]>([
    ['a ReplicaSet', 'ReplicaSet', { spec: { replicas: 4 } }, 4],
    [
      'a ReplicaSet whose pods are refused',
      'ReplicaSet',
      { spec: { replicas: 4 }, status: { conditions: [{ type: 'ReplicaFailure', status: 'True' }] } },
      0,
    ],
    ['one that is being deleted', 'ReplicaSet', { metadata: { deletionTimestamp: '2026-11-21T00:00:00Z' }, spec: { replicas: 4 } }, 0],
    ['a StatefulSet that makes them in order', 'StatefulSet', { spec: { replicas: 4 } }, 0],
    ['a StatefulSet that makes them at once', 'StatefulSet', { spec: { replicas: 4, podManagementPolicy: 'Parallel' } }, 4],
    ['a Job that is almost done', 'Job', { spec: { parallelism: 5, completions: 8 }, status: { succeeded: 6 } }, 2],
    ['a Job that has begun', 'Job', { spec: { parallelism: 5, completions: 8 } }, 5],
    ['a work queue', 'Job', { spec: { parallelism: 5 } }, 5],
    ['a work queue that is emptied', 'Job', { spec: { parallelism: 5 }, status: { succeeded: 1 } }, 0],
    ['a Job on hold', 'Job', { spec: { parallelism: 5, suspend: true } }, 0],
  ])('wanted by %s', (_, kind, json, desired) => {
    expect(projectWorkload(kind, json).desired).toBe(desired);
  });
});
