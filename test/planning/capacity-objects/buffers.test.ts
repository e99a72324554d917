/** Buffers: how large, when they count, and what their room does to scale-up and scale-down. */
import { describe, expect, it } from 'vitest';
import {
  type CapacityBuffer,
  type CapacityObjects,
  type CapacityStatus,
  NO_CAPACITY_OBJECTS,
  type StatusCondition,
} from '../../../src/domain/capacity-objects.ts';
import type { AssumedPod } from '../../../src/domain/plan.ts';
import { buffersWithoutScaleUpEvents } from '../../../src/planning/explain/scale-up-events.ts';
import { bufferPods, bufferSize, readyBuffers } from '../../../src/planning/capacity-objects/buffer-pods.ts';
import { bufferStatus } from '../../../src/planning/capacity-objects/buffer-status.ts';
import { withAssumedPods } from '../../../src/planning/state/assumed-pods.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import {
  START_MS,
  aCapacityBuffer,
  aGroup,
  aNode,
  aPod,
  aPodTemplate,
  aScalable,
  aShape,
  aTemplate,
  resourceNames,
} from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, observe, pool, sinceMinutes } from '../scale-down/world.ts';
import { growth, planFor } from '../scale-up/world.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { aState } from '../../support/state.ts';

const STRATEGY = 'buffer.x-k8s.io/active-capacity';
const condition = (type: string, status: StatusCondition['status']): StatusCondition => ({
  type,
  status,
  reason: 'r',
  message: 'm',
  sinceMs: 0,
});
const ready = (replicas: number, rest: Partial<CapacityStatus> = {}): CapacityStatus => ({
  conditions: [condition('ReadyForProvisioning', 'True')],
  replicas,
  podTemplate: 'shape',
  podTemplateGeneration: 1,
  ...rest,
});

function aBuffer(change: Partial<CapacityBuffer> = {}): CapacityBuffer {
  return aCapacityBuffer('spare', { strategy: STRATEGY, podTemplate: 'shape', ...change });
}

function objects(buffer: CapacityBuffer, { cpu = '1', generation = 1, replicas = 11 } = {}): CapacityObjects {
  const shape = aShape({ cpu, memory: '1Gi' });
  return {
    ...NO_CAPACITY_OBJECTS,
    buffers: [buffer],
    podTemplates: new Map([['default/shape', aPodTemplate('shape', shape, { generation })]]),
    scalables: new Map([['Deployment.apps/default/web', aScalable('web', shape, { replicas })]]),
  };
}

const after = { podTemplate: undefined, scalable: { apiGroup: 'apps', kind: 'Deployment', name: 'web' } };

describe('the size of a buffer', () => {
  const scaled = (change: Partial<CapacityBuffer>): CapacityBuffer => aBuffer({ ...after, ...change });
  const rows: readonly (readonly [string, CapacityBuffer, number | string])[] = [
    ['20 percent of 11', scaled({ percentage: 20 }), 3],
    ['and 5 at least', scaled({ percentage: 20, replicas: 5 }), 5],
    ['and limits for 2', scaled({ percentage: 20, replicas: 5, limits: { cpu: 2500 } }), 2],
    ['a percentage above the number', scaled({ percentage: 100, replicas: 5 }), 11],
    ['nothing of nothing', scaled({ percentage: 0 }), 0],
    ['limits alone: as many as fit, by the tightest', aBuffer({ limits: { cpu: 9000, memory: 4 * 2 ** 30 } }), 4],
    ['limits of what such a pod does not ask for', aBuffer({ limits: { 'example.com/x': 3 } }), 'limit on a resource'],
    ['a limit below one pod', aBuffer({ replicas: 3, limits: { cpu: 500 } }), 0],
    ['no such template', aBuffer({ podTemplate: 'gone', replicas: 1 }), 'default/gone was not found'],
    ['no such workload', scaled({ scalable: { apiGroup: 'apps', kind: 'Deployment', name: 'gone' }, replicas: 1 }), 'was not found'],
    ['a spec that is not valid', aBuffer({ problem: { reason: 'error', message: 'exactly one' } }), 'exactly one'],
  ];
  it.each(rows)('%s', (_what, buffer, expected) => {
    const size = bufferSize(buffer, objects(buffer), resourceNames);
    if (typeof expected === 'number') expect(size).toMatchObject({ replicas: expected });
    else expect('problem' in size ? size.problem : 'none').toContain(expected);
  });
});

describe('which buffers count', () => {
  const count = (status: CapacityStatus, rest: Parameters<typeof objects>[1] = {}, change: Partial<CapacityBuffer> = {}): number =>
    bufferPods(readyBuffers(objects(aBuffer({ status, ...change }), rest)), START_MS).length;

  it('one whose template was edited does not, until its status says so', () => {
    expect(count(ready(2))).toBe(2);
    expect(count(ready(2), { generation: 2 })).toBe(0);
    expect(count(ready(2, { podTemplateGeneration: 2 }), { generation: 2 })).toBe(2);
  });

  it.each([
    ['nobody has looked at it', { conditions: [] }, 0],
    ['not ready', ready(2, { conditions: [condition('ReadyForProvisioning', 'False')] }), 0],
    [
      'not ready any more, though its pods are there',
      ready(2, { conditions: [condition('ReadyForProvisioning', 'False'), condition('Provisioning', 'True')] }),
      0,
    ],
    ['provisioning, by another controller', ready(2, { conditions: [condition('Provisioning', 'True')] }), 2],
    ['its template is gone', ready(2, { podTemplate: 'gone' }), 0],
    ['empty', ready(0), 0],
  ] as const)('%s', (_what, status, expected) => {
    expect(count(status)).toBe(expected);
  });

  it('one of another strategy is not touched, nor is its status', () => {
    const buffer = aBuffer({ status: ready(2), strategy: 'other.example/cold' });
    expect(bufferPods(readyBuffers(objects(buffer)), START_MS)).toEqual([]);
    const input = { objects: objects(buffer), names: resourceNames, nowMs: START_MS, allowances: new Map(), controls: true, injects: true };
    expect(bufferStatus(buffer, input)).toBe(buffer.status);
  });
});

describe('the status of a buffer', () => {
  const say = (buffer: CapacityBuffer, rest: Parameters<typeof objects>[1] = {}) =>
    bufferStatus(buffer, {
      objects: objects(buffer, rest),
      names: resourceNames,
      nowMs: START_MS,
      allowances: new Map(),
      controls: true,
      injects: true,
    });
  const words = (status: CapacityStatus): readonly string[] =>
    status.conditions.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);

  it('a new one becomes ready, then provisioned, then nothing more is said', () => {
    const first = say(aBuffer({ replicas: 2 }));
    expect(words(first)).toEqual(['ReadyForProvisioning True AttributesSetSuccessfully']);
    expect(first).toMatchObject({ replicas: 2, podTemplate: 'shape', podTemplateGeneration: 1, provisioningStrategy: STRATEGY });
    const second = say(aBuffer({ replicas: 2, status: first }));
    expect(words(second)).toEqual(['ReadyForProvisioning True AttributesSetSuccessfully', 'Provisioning True FakePodsInjected']);
    expect(say(aBuffer({ replicas: 2, status: second }))).toBe(second);
    const edited = say(aBuffer({ replicas: 2, status: second }), { generation: 2 });
    expect(words(edited)[1]).toBe('Provisioning False NotReadyForProvisioning');
    expect(edited.podTemplateGeneration).toBe(2);
    expect(words(say(aBuffer({ replicas: 2, status: edited }), { generation: 2 }))[1]).toBe('Provisioning True FakePodsInjected');
  });

  it.each([
    ['an empty one', aBuffer({ replicas: 0, status: ready(0) }), 'Provisioning False BufferIsEmpty'],
    [
      'a template that is gone',
      aBuffer({ replicas: 1, podTemplate: 'gone', status: ready(1, { podTemplate: 'gone' }) }),
      'Provisioning False FailedToGetPodTemplate',
    ],
    ['a spec that is wrong', aBuffer({ problem: { reason: 'error', message: 'x' } }), 'ReadyForProvisioning False error'],
  ])('%s', (_what, buffer, expected) => {
    expect(words(say(buffer))).toContain(expected);
  });
});

describe('the room of buffers', () => {
  const on = { bufferInjection: true };

  it('is asked for where it is not there, after all pods, and within the limit of injected pods', () => {
    const capacity = objects(aBuffer({ status: ready(4) }), { cpu: '3' });
    const group = aGroup({ id: 'a', target: 1 });
    const world = { groups: [group], nodes: [aNode({ name: 'a-0' })], capacity };
    expect(growth(planFor(world))).toEqual([]);
    expect(growth(planFor({ ...world, capacityPolicy: on }))).toEqual(['a 1->4']);
    const urgent = aPod({ name: 'real', cpu: '3' });
    const plan = planFor({ ...world, pods: [urgent], capacityPolicy: on });
    expect(plan.verdicts.get(urgent)).toEqual({ kind: 'fits-present-node', node: 'a-0' });
    expect(growth(plan)).toEqual(['a 1->5']);
    expect(planFor({ ...world, capacityPolicy: on, policy: { podInjectionLimit: 2 } }).injection).toEqual({ injected: 2, skipped: 2 });
    const capped = planFor({
      ...world,
      groups: [aGroup({ id: 'a', target: 1, maxSize: 2 })],
      pods: [aPod({ cpu: '3' }), urgent],
      capacityPolicy: on,
    });
    const kinds = [...capped.verdicts].map(([pod, { kind }]) => `${pod.origin} ${kind}`).toSorted();
    expect(kinds).toEqual([...Array.from({ length: 4 }, () => 'buffer helpless'), 'cluster fits-present-node', 'cluster triggered']);
  });

  it('is requested in the same plan from another pool if pods need all nodes of the first', () => {
    const capacity = objects(aBuffer({ status: ready(1) }), { cpu: '3' });
    const small = Array.from({ length: 4 }, () => aPod({ cpu: '1', shape: { nodeSelector: { pool: 'a' } } }));
    const template = (id: string) => aTemplate({ cpu: '4', labels: { pool: id } });
    const groups = [
      aGroup({ id: 'a', target: 0, maxSize: 1, template: template('a') }),
      aGroup({ id: 'b', target: 0, template: template('b') }),
    ];
    const priorities = [{ priority: 5, patterns: ['a'] }];
    const plan = planFor({ groups, pods: small, capacity, capacityPolicy: on, policy: { expanders: ['priority'], priorities } });
    expect(growth(plan)).toEqual(['a 0->1', 'b 0->1']);
    expect(plan.increases.map(({ pods }) => pods.map(({ origin }) => origin))).toEqual([
      ['cluster', 'cluster', 'cluster', 'cluster'],
      ['buffer'],
    ]);
  });

  it('that claims devices is not made, and the status of the buffer names it', () => {
    const unsupported = [{ feature: 'dynamic-resource-allocation', detail: 'resource claim gpu' }];
    const shape = { ...aShape({ cpu: '1' }), key: 'claims', unsupported };
    const podTemplates = new Map([['default/shape', aPodTemplate('shape', shape)]]);
    const capacity = { ...objects(aBuffer({ status: ready(2) })), podTemplates };
    const groups = [aGroup({ id: 'a', target: 0 })];
    const plan = planFor({ groups, capacity, capacityPolicy: on });
    expect(growth(plan)).toEqual([]);
    expect(buffersWithoutScaleUpEvents({ plan, groups, advice: new Map() }).map(({ message }) => message)).toEqual([
      "capacity buffer didn't trigger scale-up: the only pool cannot take this pod now. a: unsupported dynamic-resource-allocation: resource claim gpu",
    ]);
  });

  const nodes = ['p-0', 'p-1'].map((name) => aNode({ name, cpu: '4', memory: '16Gi' }));
  const downWith = (held: readonly AssumedPod[], pods: readonly ReturnType<typeof aPod>[]) => {
    const observation = withAssumedPods(observe({ groups: [pool('p', 2)], nodes, pods }), held);
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = aState({ unneededSince: sinceMinutes(11, ['p-0', 'p-1']), lastScaleUpMs: 0 });
    return planScaleDown({
      ...REMOVALS_ALONE,
      observation,
      state,
      policy: aPolicy(),
      names: resourceNames,
      snapshot,
      scaleUpPlanned: false,
    });
  };
  const claims = (replicas: number, cpu: string, node: string): readonly AssumedPod[] =>
    bufferPods(readyBuffers(objects(aBuffer({ status: ready(replicas) }), { cpu })), START_MS).map((pod) => ({ pod, node }));

  it('a node with nothing but the room of a buffer goes when the room is elsewhere, as an empty one', () => {
    const busy = aPod({ name: 'busy', nodeName: 'p-1', cpu: '2500m' });
    const result = downWith(claims(1, '1', 'p-0'), [busy]);
    expect(result.removals).toMatchObject([{ node: 'p-0', cause: 'empty', pods: [], utilization: 0 }]);
  });

  it('and stays when it is not, whatever its timer', () => {
    const busy = aPod({ name: 'busy', nodeName: 'p-1', cpu: '2500m' });
    const result = downWith(claims(2, '1', 'p-0'), [busy]);
    expect(result.removals).toEqual([]);
    expect(keptReasons(result)['p-0']).toBe('RoomKeptFree');
  });

  it('a drain moves what is there and never the room', () => {
    const small = aPod({ name: 'small', nodeName: 'p-0', cpu: '100m' });
    const busy = aPod({ name: 'busy', nodeName: 'p-1', cpu: '2500m' });
    const result = downWith(claims(1, '1', 'p-0'), [small, busy]);
    expect(result.removals.map(({ node, pods }) => [node, pods.map(({ name }) => name)])).toEqual([['p-0', ['small']]]);
  });
});
