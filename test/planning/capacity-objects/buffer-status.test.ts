/** ResourceQuotas of a namespace are shared by its buffers: room for pods that no quota lets in helps nobody. */
import { describe, expect, it } from 'vitest';
import { projectBuffer, projectPodTemplate } from '../../../src/kubernetes/projection/capacity-objects.ts';
import { projectResourceQuota, quotaUseOf, type ResourceQuotaJson } from '../../../src/kubernetes/projection/resource-quotas.ts';
import { Shapes } from '../../../src/kubernetes/projection/pod-shape.ts';
import type { PodSpecJson } from '../../../src/kubernetes/api/core-json.ts';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from '../../../src/domain/capacity-objects.ts';
import { quotaAllowances, bufferStatus } from '../../../src/planning/capacity-objects/buffer-status.ts';
import { resourceNames as names, START_MS } from '../../support/builders.ts';

const SPEC: PodSpecJson = {
  priorityClassName: 'high',
  containers: [{ name: 'c', resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '1', memory: '2Gi' } } }],
};
const buffer = (name: string, replicas: number, at: number, namespace = 'team') =>
  projectBuffer(
    {
      metadata: { name, namespace, uid: `uid-${name}`, creationTimestamp: new Date(START_MS + at * 1000).toISOString() },
      spec: { podTemplateRef: { name: 'web' }, replicas },
    },
    names,
  );
const quota = (spec: NonNullable<ResourceQuotaJson['spec']>, used: Readonly<Record<string, string>> = {}) =>
  projectResourceQuota({ metadata: { name: 'q', namespace: 'team' }, spec, status: { hard: spec.hard ?? {}, used } });

function objects(
  buffers: CapacityObjects['buffers'] & object,
  quotas: CapacityObjects['resourceQuotas'] & object,
  spec = SPEC,
): CapacityObjects {
  const shapes = new Shapes(names);
  const template = (namespace: string) =>
    projectPodTemplate({ metadata: { name: 'web', namespace, generation: 1 }, template: { spec } }, shapes, names);
  return {
    ...NO_CAPACITY_OBJECTS,
    buffers,
    resourceQuotas: quotas,
    podTemplates: new Map(['team', 'other'].map((namespace) => [`${namespace}/web`, template(namespace)])),
  };
}
const left = (...given: Parameters<typeof objects>) =>
  Object.fromEntries([...quotaAllowances(objects(...given), names)].map(([uid, { replicas }]) => [uid.slice(4), replicas]));

describe('what quotas leave to buffers', () => {
  it('the oldest buffer has its share first, then by name, and only of its own namespace', () => {
    const buffers = [buffer('young', 4, 9), buffer('b', 4, 1), buffer('a', 4, 1), buffer('far', 9, 0, 'other')];
    expect(left(buffers, [quota({ hard: { pods: '10' } }, { pods: '1' })])).toEqual({ a: 4, b: 4, young: 1 });
  });

  it.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, number]>([
    ['pods', { pods: '3' }, {}, 3],
    ['pods that are there', { pods: '3' }, { pods: '2' }, 1],
    ['the other name of pods', { 'count/pods': '2' }, {}, 2],
    ['requests by their full name', { 'requests.cpu': '2' }, { 'requests.cpu': '900m' }, 2],
    ['requests by their bare name', { cpu: '1300m' }, { cpu: '0' }, 2],
    ['tenths that add up', { 'requests.cpu': '1' }, { 'requests.cpu': '500m' }, 1],
    ['limits', { 'limits.memory': '5Gi' }, {}, 2],
    ['the shortest of several', { pods: '9', 'requests.memory': '4Gi', 'limits.cpu': '3' }, {}, 3],
    ['one that is overdrawn', { pods: '2' }, { pods: '5' }, 0],
    ['things that are no pods', { 'count/services': '0', persistentvolumeclaims: '0' }, {}, 5],
  ])('%s', (_, hard, used, expected) => {
    expect(left([buffer('a', 5, 0)], [quota({ hard }, used)])).toEqual({ a: expected });
  });

  it.each<[string, NonNullable<ResourceQuotaJson['spec']>, PodSpecJson, boolean]>([
    ['NotTerminating', { scopes: ['NotTerminating'] }, SPEC, true],
    ['Terminating', { scopes: ['Terminating'] }, SPEC, false],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, SPEC, true],
    ['BestEffort', { scopes: ['BestEffort'] }, SPEC, false],
    ['BestEffort of a pod that asks for nothing', { scopes: ['BestEffort'] }, { containers: [{ name: 'c' }] }, true],
    ['its priority class', classScope('In', ['high', 'low']), SPEC, true],
    ['another priority class', classScope('In', ['low']), SPEC, false],
    ['not that priority class', classScope('NotIn', ['high']), SPEC, false],
    ['any priority class', classScope('Exists'), SPEC, true],
    ['no priority class', classScope('DoesNotExist'), SPEC, false],
    ['two of which one does not match', { scopes: ['NotTerminating', 'BestEffort'] }, SPEC, false],
    ['a scope that nobody knows', { scopes: ['Wednesday'] }, SPEC, false],
  ])('the scope %s', (_, scope, spec, applies) => {
    expect(left([buffer('a', 5, 0)], [quota({ ...scope, hard: { pods: '1' } })], spec)).toEqual(applies ? { a: 1 } : {});
  });

  it('the status says how many are left, by which quota, and takes it back', () => {
    const say = (quotas: CapacityObjects['resourceQuotas'] & object, status = buffer('a', 5, 0).status) => {
      const one = { ...buffer('a', 5, 0), status };
      const all = objects([one], quotas);
      return bufferStatus(one, {
        objects: all,
        names,
        nowMs: START_MS,
        controls: true,
        injects: false,
        allowances: quotaAllowances(all, names),
      });
    };
    const words = ({ conditions, replicas }: ReturnType<typeof say>) => [
      replicas,
      conditions.filter(({ type }) => type === 'LimitedByQuotas').map(({ status, reason, message }) => `${status} ${reason}: ${message}`),
    ];
    const limited = say([quota({ hard: { pods: '2' } })]);
    expect(words(limited)).toEqual([2, ['True ResourceQuotasAllocated: 2 of 5 replicas are allowed by pods of ResourceQuota q']]);
    expect(say([quota({ hard: { pods: '2' } })], limited)).toBe(limited);
    expect(words(say([], limited))).toEqual([5, ['False ResourceQuotasAllocated: all replicas are within the resource quotas']]);
    expect(words(say([]))).toEqual([5, []]);
  });
});

describe('what a pod takes of quotas', () => {
  it('is counted as the scheduler counts requests, limits likewise', () => {
    const spec: PodSpecJson = {
      overhead: { cpu: '100m' },
      containers: [{ name: 'c', resources: { limits: { cpu: '1', 'nvidia.com/gpu': '2' } } }],
      initContainers: [{ name: 'i', resources: { requests: { cpu: '3' }, limits: { cpu: '4' } } }],
    };
    expect(quotaUseOf(spec, names)?.amounts).toMatchObject({
      pods: 1,
      cpu: 3_100,
      'requests.cpu': 3_100,
      'limits.cpu': 4_100,
      'requests.nvidia.com/gpu': 2,
    });
    expect(quotaUseOf({ containers: [{ name: 'c', resources: { requests: { cpu: 'much' } } }] }, names)).toBeUndefined();
  });
});

function classScope(operator: string, values?: readonly string[]): NonNullable<ResourceQuotaJson['spec']> {
  return { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator, ...(values === undefined ? {} : { values }) }] } };
}
