/** Objects that ask for more than any cluster has: they are skipped before anything is made for them, an event names them, others count. */
import { describe, expect, it } from 'vitest';
import {
  type CapacityBuffer,
  type CapacityObjects,
  NO_CAPACITY_OBJECTS,
  type ProvisioningRequest,
} from '../../../src/domain/capacity-objects.ts';
import type { AutoscalerEvent } from '../../../src/domain/ports/records.ts';
import { skippedObjectEvents } from '../../../src/observers/events/skipped-objects.ts';
import { bufferPods, bufferSize, readyBuffers } from '../../../src/planning/capacity-objects/buffer-pods.ts';
import { bookedPods, dueRequests, statusOverTime } from '../../../src/planning/capacity-objects/provisioning-requests.ts';
import {
  START_MS,
  aCapacityBuffer,
  aCluster,
  aGroup,
  aPod,
  aPodTemplate,
  aProvisioningRequest,
  aScalable,
  aShape,
  anObservation,
  resourceNames,
  type ClusterOptions,
} from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { aCapacityPolicy } from '../../support/policy.ts';
import { growth, planFor } from '../scale-up/world.ts';
import { aState } from '../../support/state.ts';

const shape = aShape({ cpu: '1m', memory: '1Mi' });
const podTemplates: NonNullable<CapacityObjects['podTemplates']> = new Map([['default/shape', aPodTemplate('shape', shape)]]);
const HUGE = 2_000_000_000;

function buffer(name: string, change: Partial<CapacityBuffer> = {}, replicas: number | undefined = 1): CapacityBuffer {
  return aCapacityBuffer(name, {
    podTemplate: 'shape',
    status: {
      conditions: [{ type: 'ReadyForProvisioning', status: 'True', reason: 'r', message: 'm', sinceMs: 0 }],
      podTemplate: 'shape',
      podTemplateGeneration: 1,
      ...(replicas === undefined ? {} : { replicas }),
    },
    ...change,
  });
}

function eventsOf(options: ClusterOptions): readonly string[] {
  const events: AutoscalerEvent[] = [];
  const observation = anObservation([], aCluster(options));
  skippedObjectEvents({ record: (event) => void events.push(event) })(aLoopReport({ observation }));
  return events.map(({ subject, type, reason, message }) => `${type} ${reason} ${subject.kind}/${subject.name}: ${message}`);
}

describe('a buffer whose status asks for 2,000,000,000 pods', () => {
  it.each([[HUGE], [150_001], [1e308], [Number.NaN], [-1], [1.5]])(
    'makes none for %d, and another buffer still gets its room',
    (replicas) => {
      const buffers = [buffer('huge', {}, replicas), buffer('small', {}, 2)];
      expect(bufferPods(readyBuffers({ ...NO_CAPACITY_OBJECTS, buffers, podTemplates }), START_MS).map(({ name }) => name)).toEqual([
        'capacity-buffer-small-0',
        'capacity-buffer-small-1',
      ]);
    },
  );

  it.each([
    ['by its replicas', { replicas: 150_001 }],
    ['by its limits', { limits: { cpu: HUGE } }],
    ['by a percentage of a workload', { percentage: 400, scalable: { apiGroup: 'apps', kind: 'Deployment', name: 'web' } }],
  ])('has no size %s', (_what, change) => {
    const scalables = new Map([['Deployment.apps/default/web', aScalable('web', shape, { replicas: HUGE })]]);
    const size = bufferSize(buffer('huge', change), { ...NO_CAPACITY_OBJECTS, podTemplates, scalables }, resourceNames);
    expect('problem' in size ? size.problem : 'none').toMatch(/^spec asks for \d+ pods, and a cluster has at most 150000$/);
  });

  it('gets an event, and the plan serves pods and the other buffer', () => {
    const capacity = { buffers: [buffer('huge', {}, HUGE), buffer('small', {}, 2)], podTemplates };
    const pods = [aPod({ name: 'web-0', cpu: '1' })];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods, capacity, capacityPolicy: { bufferInjection: true } });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(plan.injection).toEqual({ injected: 2, skipped: 0 });
    expect(eventsOf({ capacity })).toEqual([
      'Warning CapacityRequestSkipped CapacityBuffer/huge: Skipped: status.replicas is 2000000000; it must be a whole number from 0 to 150000',
    ]);
  });

  it.each([
    ['an invalid spec', buffer('bad', { problem: { reason: 'error', message: 'replicas is "3"' } }), 'replicas is "3"'],
    [
      "the finding of the buffer's controller",
      buffer('bad', {
        status: { conditions: [{ type: 'ReadyForProvisioning', status: 'False', reason: 'error', message: 'no', sinceMs: 0 }] },
      }),
      'no',
    ],
  ])('has its reason from %s, too', (_what, bad, reason) => {
    expect(eventsOf({ capacity: { buffers: [bad, buffer('other', { strategy: 'theirs' }, HUGE)], podTemplates } })).toEqual([
      `Warning CapacityRequestSkipped CapacityBuffer/bad: Skipped: ${reason}`,
    ]);
  });
});

describe('buffers that together ask for more than a cluster has', () => {
  it('get pods up to the limit of injection, and none is made beyond it', () => {
    const buffers = Array.from({ length: 2 }, (_none, at) => buffer(`b-${at}`, {}, 150_000));
    expect(bufferPods(readyBuffers({ ...NO_CAPACITY_OBJECTS, buffers, podTemplates }), START_MS, 3)).toHaveLength(3);
    expect(bufferPods(readyBuffers({ ...NO_CAPACITY_OBJECTS, buffers, podTemplates }), START_MS)).toHaveLength(150_000);
  });
});

describe('a ProvisioningRequest with a count that no cluster can have', () => {
  const request = (name: string, change: Partial<ProvisioningRequest> = {}): ProvisioningRequest =>
    aProvisioningRequest(name, {
      className: 'check-capacity.autoscaling.x-k8s.io',
      podSets: [{ podTemplate: 'shape', count: 2 }],
      ...change,
    });
  const problem = { reason: 'InvalidPodSets', message: 'spec.podSets: a count is 2000000000.' };
  const policy = aCapacityPolicy({ requests: true });
  const observe = (requests: readonly ProvisioningRequest[]) => anObservation([], aCluster({ capacity: { requests, podTemplates } }));

  it('is not served, fails with the reason, and gets an event; another one is served', () => {
    const bad = request('bad', { problem, podSets: [] });
    const observation = observe([bad, request('good')]);
    expect(dueRequests(observation, aState(), policy).map(({ ref }) => ref.name)).toEqual(['good']);
    expect(statusOverTime(bad, observation, policy, undefined).conditions).toMatchObject([
      { type: 'Failed', status: 'True', reason: 'InvalidPodSets', message: 'spec.podSets: a count is 2000000000.' },
    ]);
    expect(eventsOf({ capacity: { requests: [bad] } })).toEqual([
      'Warning CapacityRequestSkipped ProvisioningRequest/bad: Skipped: spec.podSets: a count is 2000000000.',
    ]);
  });

  it('bookings of many requests hold no more than the pods of one cluster', () => {
    const granted = [{ type: 'Provisioned', status: 'True', reason: 'r', message: 'm', sinceMs: START_MS }] as const;
    const podSets = Array.from({ length: 4 }, () => ({ podTemplate: 'shape', count: 16_384 }));
    const requests = Array.from({ length: 50 }, (_none, at) => request(`r-${at}`, { podSets, status: { conditions: granted } }));
    expect(bookedPods(observe(requests))).toHaveLength(2 * 4 * 16_384);
  });
});

describe('a controller that wants 2,000,000,000 pods', () => {
  const controller = (name: string) => ({ kind: 'ReplicaSet', name, uid: `rs-${name}` }) as const;
  const workload = (name: string, desired: number) =>
    ({ kind: 'ReplicaSet', namespace: 'default', name, uid: `rs-${name}`, desired }) as const;

  it('gets no room in advance and an event; another controller gets its room', () => {
    const pods = ['huge', 'web'].map((name) => aPod({ name: `${name}-0`, cpu: '1', controller: controller(name) }));
    const workloads = [workload('huge', HUGE), workload('web', 3)];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods, workloads, policy: { proactive: true } });
    expect(plan.injection).toEqual({ injected: 2, skipped: 0 });
    expect(eventsOf({ workloads })).toEqual([
      'Warning CapacityRequestSkipped ReplicaSet/huge: Skipped: it wants 2000000000 pods; it must be a whole number from 0 to 150000',
    ]);
  });

  it('is foreseen up to the limit of injection if a cluster can have its pods, and the rest is only counted', () => {
    const pods = [aPod({ name: 'web-0', cpu: '1m', controller: controller('web') })];
    const plan = planFor({
      groups: [aGroup({ id: 'a', target: 0 })],
      pods,
      workloads: [workload('web', 150_000)],
      policy: { proactive: true, podInjectionLimit: 4 },
    });
    expect(plan.injection).toEqual({ injected: 3, skipped: 149_996 });
  });
});
