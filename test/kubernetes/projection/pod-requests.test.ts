/** What a pod asks for, as the scheduler counts it. */
import { describe, expect, it } from 'vitest';
import type { PodJson, PodSpecJson } from '../../../src/kubernetes/api/core-json.ts';
import { effectiveRequest } from '../../../src/kubernetes/projection/pod-requests.ts';
import { projectShape } from '../../../src/kubernetes/projection/pod-shape.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';

const names = new ResourceNames();
const requests = (cpu: string, memory = '0') => ({ resources: { requests: { cpu, memory } } });
const sidecar = (cpu: string) => ({ ...requests(cpu), restartPolicy: 'Always' });

describe('effective request of a pod', () => {
  it.each<[string, PodSpecJson, number]>([
    ['containers add up', { containers: [requests('100m'), requests('200m')] }, 300],
    [
      'an init container counts only where it is larger',
      { containers: [requests('100m')], initContainers: [requests('150m'), requests('400m')] },
      400,
    ],
    ['a small init container does not count', { containers: [requests('500m')], initContainers: [requests('100m')] }, 500],
    ['a sidecar runs beside the containers', { containers: [requests('100m')], initContainers: [sidecar('50m')] }, 150],
    [
      'a sidecar runs beside later init containers',
      { containers: [requests('100m')], initContainers: [sidecar('50m'), requests('300m')] },
      350,
    ],
    [
      'a sidecar does not run beside earlier init containers',
      { containers: [requests('100m')], initContainers: [requests('300m'), sidecar('50m')] },
      300,
    ],
    ['overhead comes on top', { containers: [requests('100m')], initContainers: [requests('300m')], overhead: { cpu: '20m' } }, 320],
    [
      'an init container runs beside the sidecars before it',
      { containers: [requests('500m')], initContainers: [sidecar('100m'), sidecar('100m'), requests('800m')] },
      1000,
    ],
    [
      'a sidecar behind an init container does not run beside it',
      { containers: [requests('500m')], initContainers: [sidecar('100m'), requests('800m'), sidecar('100m')] },
      900,
    ],
    [
      'the sum of what keeps running, where that is more',
      { containers: [requests('500m')], initContainers: [sidecar('100m'), sidecar('100m'), requests('400m')] },
      700,
    ],
    [
      'two cores for the pod count, not the three of its containers',
      { containers: [requests('1500m'), requests('1500m')], resources: { requests: { cpu: '2' } } },
      2000,
    ],
    ['the pod-level number replaces the sum', { containers: [requests('100m')], resources: { requests: { cpu: '250m' } } }, 250],
    [
      'overhead comes on top of the pod level too',
      { containers: [], resources: { requests: { cpu: '1' } }, overhead: { cpu: '20m' } },
      1020,
    ],
    ['a limit alone is a request', { containers: [{ resources: { limits: { cpu: '300m' } } }] }, 300],
  ])('%s', (_rule, spec, cpuMillis) => {
    expect(names.toRecord(effectiveRequest({ spec }, names))).toMatchObject({ cpu: cpuMillis, pods: 1 });
  });

  it('overhead is added once, however many containers there are', () => {
    const containers = [requests('0', '100Mi'), requests('0', '100Mi'), requests('0', '100Mi')];
    const request = effectiveRequest(
      { spec: { containers, initContainers: [requests('0', '50Mi')], overhead: { memory: '120Mi' } } },
      names,
    );
    expect(names.toRecord(request)['memory']).toBe(420 * 2 ** 20);
  });

  it('keeps extended resources that no pod level names', () => {
    const spec = {
      containers: [{ resources: { requests: { cpu: '1', 'nvidia.com/gpu': '2' } } }],
      resources: { requests: { cpu: '500m' } },
    };
    expect(names.toRecord(effectiveRequest({ spec }, names))).toEqual({ cpu: 500, 'nvidia.com/gpu': 2, pods: 1 });
  });

  const asks = (cpu: string, restartPolicy?: string) => ({
    name: 'app',
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  const reports = { name: 'app', allocatedResources: { cpu: '500m' }, resources: { requests: { cpu: '400m' } } };
  const pending = (reason: string): Pick<NonNullable<PodJson['status']>, 'conditions'> => ({
    conditions: [{ type: 'PodResizePending', status: 'True', reason }],
  });
  it.each<[string, PodSpecJson, PodJson['status'], number]>([
    ['growing: what is wanted', { containers: [asks('800m')] }, { containerStatuses: [reports] }, 800],
    ['shrinking: what is held', { containers: [asks('100m')] }, { containerStatuses: [reports] }, 500],
    ['deferred: what is wanted', { containers: [asks('800m')] }, { containerStatuses: [reports], ...pending('Deferred') }, 800],
    [
      'refused as infeasible: what is held',
      { containers: [asks('800m')] },
      { containerStatuses: [reports], ...pending('Infeasible') },
      500,
    ],
    [
      'that says nothing of what is actual: what is wanted',
      { containers: [asks('100m')] },
      { containerStatuses: [{ name: 'app', allocatedResources: { cpu: '500m' }, resources: null }] },
      100,
    ],
    ['of a sidecar: what is held', { initContainers: [asks('100m', 'Always')] }, { initContainerStatuses: [reports] }, 500],
    ['of an init container that ends: what is wanted', { initContainers: [asks('100m')] }, { initContainerStatuses: [reports] }, 100],
    [
      'of the pod as a whole: what is held',
      { containers: [asks('50m')], resources: { requests: { cpu: '100m' } } },
      { allocatedResources: { cpu: '500m' }, resources: { requests: { cpu: '400m' } } },
      500,
    ],
    [
      'of the pod as a whole, refused: what is held',
      { containers: [asks('50m')], resources: { requests: { cpu: '900m' } } },
      { allocatedResources: { cpu: '500m' }, resources: { requests: { cpu: '400m' } }, ...pending('Infeasible') },
      500,
    ],
  ])('during an in-place resize, %s', (_rule, spec, status, cpuMillis) => {
    expect(names.toRecord(effectiveRequest({ spec, ...(status === undefined ? {} : { status }) }, names))['cpu']).toBe(cpuMillis);
  });
});

describe('what a pod requires of the kubelet', () => {
  it.each<[string, PodSpecJson, readonly string[]]>([
    [
      'that all containers restart together',
      { initContainers: [{ name: 'i', restartPolicyRules: [{ action: 'Restart' }, { action: 'RestartAllContainers' }] }] },
      ['RestartAllContainersOnContainerExits'],
    ],
    ['users of its own on the network of the host', { hostNetwork: true, hostUsers: false }, ['UserNamespacesHostNetworkSupport']],
    ['users of its own alone', { hostUsers: false }, []],
    [
      'a bind mount with options (1.37)',
      { initContainers: [{ name: 'i', volumeMounts: [{ bindMountOptions: ['ro'] }] }] },
      ['VolumeBindMountOptions'],
    ],
    ['mounts without options', { containers: [{ name: 'c', volumeMounts: [{ bindMountOptions: [] }, {}] }] }, []],
    ['rules of no such kind', { containers: [{ name: 'c', restartPolicyRules: [{ action: 'Restart' }] }] }, []],
  ])('%s', (_what, spec, features) => {
    expect(projectShape({ spec: { containers: [], ...spec } }, names).nodeFeatures).toEqual(features);
  });
});
