/** What pods request once they are evicted and created again, by the VerticalPodAutoscaler of their workload. */
import { describe, expect, it } from 'vitest';
import type { Controller, Pod } from '../../../src/domain/pod.ts';
import { CPU, MEMORY, ResourceNames } from '../../../src/domain/resources.ts';
import type { ContainerTarget, VerticalPodAutoscaler } from '../../../src/domain/workloads.ts';
import type { PodJson } from '../../../src/kubernetes/api/core-json.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { allRecreated, asRecreated, comesBackWith, recreatedSize } from '../../../src/planning/facts/recreated-pods.ts';

const projection = createPodProjection(new ResourceNames(), { containers: true });
const WEB: Controller = { kind: 'ReplicaSet', apiVersion: '', name: 'web-7d4f', uid: 'r' };

function podOf(spec: PodJson['spec'], controller: Controller | undefined = WEB, status: PodJson['status'] = {}): Pod {
  return projectPod(
    {
      metadata: {
        name: 'web-0',
        namespace: 'shop',
        labels: { 'pod-template-hash': '7d4f' },
        ...(controller === undefined ? {} : { ownerReferences: [{ ...controller, controller: true }] }),
      },
      spec: { nodeName: 'n', ...spec },
      status,
    },
    projection,
  );
}

function autoscaler(containers: Readonly<Record<string, ContainerTarget>>, kind = 'Deployment', name = 'web') {
  const made: VerticalPodAutoscaler = { namespace: 'shop', name: 'vpa', createdAtMs: 0, target: { kind, name }, containers };
  return { verticalPodAutoscalers: new Map([[`shop/${kind}/${name}`, made]]) };
}

const container = (name: string, cpu: string, limit?: string) => ({
  name,
  resources: { requests: { cpu, memory: '1Gi' }, ...(limit === undefined ? {} : { limits: { cpu: limit } }) },
});
const app = container('app', '1');
const GIB = 2 ** 30;

describe('a pod that is created again requests', () => {
  it.each<readonly [string, PodJson['spec'], Readonly<Record<string, ContainerTarget>>, number, number]>([
    ['the target', { containers: [app] }, { app: { cpu: 3000, memory: 2 * GIB } }, 3000, 2],
    ['what it does now, if the target is less', { containers: [app] }, { app: { cpu: 500, memory: GIB / 2 } }, 1000, 1],
    ['of each resource the larger', { containers: [app] }, { app: { cpu: 2000, memory: GIB / 2 } }, 2000, 1],
    ['what it does now without a recommendation', { containers: [app] }, {}, 1000, 1],
    ['what it does now, if another container has the recommendation', { containers: [app] }, { other: { cpu: 9000 } }, 1000, 1],
    ['the sum of its containers', { containers: [app, container('log', '1')] }, { app: { cpu: 3000 } }, 4000, 2],
    [
      'no more than now, if one container grows as another shrinks',
      { containers: [app, container('log', '1')] },
      { app: { cpu: 1500 }, log: { cpu: 500 } },
      2000,
      2,
    ],
    [
      'no more than its limit, where that stays',
      { containers: [container('app', '1', '2')] },
      { app: { cpu: 3000, withinLimit: true } },
      2000,
      1,
    ],
    ['more than its limit, which follows', { containers: [container('app', '1', '2')] }, { app: { cpu: 3000 } }, 3000, 1],
    [
      'what its init container needs, if that is still more',
      { containers: [app], initContainers: [container('init', '4')] },
      { app: { cpu: 3000 } },
      4000,
      1,
    ],
    [
      'the target, if its init container needs less by then',
      { containers: [app], initContainers: [container('init', '2')] },
      { app: { cpu: 3000 } },
      3000,
      1,
    ],
    [
      'a side-car beside the target',
      { containers: [app], initContainers: [{ ...container('car', '500m'), restartPolicy: 'Always' }] },
      { app: { cpu: 3000 } },
      3500,
      2,
    ],
    [
      'what is stated for the pod as a whole',
      { containers: [app], resources: { requests: { cpu: '2' } } },
      { app: { cpu: 3000 } },
      2000,
      1,
    ],
  ])('%s', (_what, spec, targets, cpu, gibibytes) => {
    const cluster = autoscaler(targets);
    const once = asRecreated(podOf(spec), cluster);
    expect([once.shape.requests[CPU], (once.shape.requests[MEMORY] ?? 0) / GIB]).toEqual([cpu, gibibytes]);
    // A pod that was placed by an earlier simulation may have to move again.
    expect(asRecreated(once, cluster)).toBe(once);
  });

  it('the target, although its kubelet holds less: an infeasible resize to it is made so', () => {
    const status = {
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
      containerStatuses: [{ name: 'app', allocatedResources: { cpu: '1' }, resources: { requests: { cpu: '1' } } }],
    };
    const pod = podOf({ containers: [container('app', '5')] }, WEB, status);
    expect([pod.shape.requests[CPU], asRecreated(pod, autoscaler({ app: { cpu: 5000 } })).shape.requests[CPU]]).toEqual([1000, 5000]);
  });
});

it.each<readonly [string, PodJson['spec'], Readonly<Record<string, ContainerTarget>>, boolean]>([
  ['its target is that size', { containers: [app] }, { app: { cpu: 3000, memory: GIB } }, true],
  ['its target is more', { containers: [app] }, { app: { cpu: 4000, memory: GIB } }, true],
  ['its target is less', { containers: [app] }, { app: { cpu: 2999, memory: GIB } }, false],
  [
    'its limit stays and is less',
    { containers: [container('app', '1', '2')] },
    { app: { cpu: 3000, memory: GIB, withinLimit: true } },
    false,
  ],
  ['memory has no target: the template decides', { containers: [app] }, { app: { cpu: 3000 } }, false],
  ['a container has none', { containers: [app, container('log', '1')] }, { app: { cpu: 2500, memory: GIB } }, false],
  [
    'its side-car is counted',
    { containers: [app], initContainers: [{ ...app, restartPolicy: 'Always' }] },
    { app: { cpu: 2000, memory: GIB } },
    true,
  ],
  ['it requests as a whole', { containers: [app], resources: { requests: { cpu: '3' } } }, { app: { cpu: 3000, memory: GIB } }, false],
])('a pod comes back with 3 CPU and 1 GiB if %s: %#', (_what, spec, targets, expected) => {
  const wanted = Float64Array.of(3000, GIB);
  expect(comesBackWith(podOf(spec), wanted, autoscaler(targets))).toBe(expected);
});

it.each<readonly [string, Controller | undefined, string, string, number]>([
  ['a Deployment, by the hash in the name of its ReplicaSet', WEB, 'Deployment', 'web', 3000],
  ['not a Deployment whose name only begins so', { ...WEB, name: 'web-2-7d4f' }, 'Deployment', 'web', 1000],
  ['a StatefulSet', { ...WEB, kind: 'StatefulSet', name: 'web' }, 'StatefulSet', 'web', 3000],
  ['not another kind of the same name', { ...WEB, kind: 'StatefulSet', name: 'web' }, 'Deployment', 'web', 1000],
  ['not the ReplicaSet of a Deployment', WEB, 'ReplicaSet', 'web-7d4f', 1000],
  ['none: nothing creates the pod again', undefined, 'Deployment', 'web', 1000],
])('the target belongs to the pods of %s', (_what, controller, kind, name, cpu) => {
  const pod = { ...podOf({ containers: [app] }, WEB), controller };
  expect(asRecreated(pod, autoscaler({ app: { cpu: 3000 } }, kind, name)).shape.requests[CPU]).toBe(cpu);
});

it('pods of one class stay one class, and say what they request by then', () => {
  const cluster = autoscaler({ app: { cpu: 3000 } });
  const [first, second] = allRecreated([podOf({ containers: [app] }), podOf({ containers: [app] })], cluster);
  expect(first?.shape).toBe(second?.shape);
  expect(recreatedSize(first ?? podOf({}))).toBe(' with the 3 CPU and 1024 MiB memory that VerticalPodAutoscaler shop/vpa gives it');
  const pods = [podOf({ containers: [app] })];
  expect([allRecreated(pods, { verticalPodAutoscalers: undefined }) === pods, recreatedSize(podOf({ containers: [app] }))]).toEqual([
    true,
    '',
  ]);
});
