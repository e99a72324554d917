import { expect, it } from 'vitest';
import { NO_ANNOTATIONS, PROTECTED } from '../../../src/domain/annotations.ts';
import { NO_MOUNTS, NO_REQUIREMENTS, USUAL_STATUS } from '../../../src/domain/pod.ts';
import { storedPod, storedShape, totalPod, totalShape, type StoredPod } from '../../../src/loop/replay/stored-pod.ts';
import { aPod, aShape, type PodOptions, resourceNames } from '../../support/builders.ts';

const resize = { kind: 'deferred', message: 'full', wanted: resourceNames.parse({ cpu: '2' }) } as const;
const minOnDemand = { percent: 30, text: '30%' };

it.each<readonly [string, PodOptions, object]>([
  ['says nothing', {}, { doNotDisrupt: false }],
  ['is protected', { protection: PROTECTED }, { doNotDisrupt: true }],
  [
    'is protected for a time',
    { protection: { protectedBy: '4h', protectedUntilMs: 5 } },
    { doNotDisrupt: true, protectedBy: '4h', protectedUntilMs: 5 },
  ],
  [
    'has annotations',
    { safeToEvict: 'true', deletionCost: -3, minOnDemand },
    { doNotDisrupt: false, safeToEvict: 'true', deletionCost: -3, minOnDemand },
  ],
  [
    'mounts claims',
    { claims: [{ name: 'data', ephemeral: undefined }], disks: ['d'] },
    { doNotDisrupt: false, claims: [{ name: 'data' }], disks: ['d'] },
  ],
  ['has a rare status', { unseen: true, resize, heldDevices: [] }, { doNotDisrupt: false, unseen: true, resize, heldDevices: [] }],
])('a pod that %s is flat in a dump, without what is usual, and is read whole', (_what, options, flat) => {
  const pod = aPod(options);
  const { annotations: _annotations, mounts: _mounts, status: _status, origin: _origin, ...plain } = pod;
  expect(storedPod(pod)).toEqual({ ...plain, ...flat });
  expect(totalPod(storedPod(pod))).toEqual(pod);
});

it('a pod of a version that wrote some of what is usual is read whole', () => {
  const former = { safeToEvictVolumes: [], localVolumes: [], doNotDisrupt: false };
  const controller = { kind: 'ReplicaSet', name: 'web', uid: 'rs-web' };
  const pod = totalPod({ ...storedPod(aPod()), ...former, controller } satisfies StoredPod);
  expect(pod.controller).toEqual({ ...controller, apiVersion: '' });
  expect(pod).toMatchObject({ origin: 'cluster', annotations: NO_ANNOTATIONS, mounts: NO_MOUNTS, status: USUAL_STATUS });
  expect(Object.keys(pod)).not.toContain('localVolumes');
});

it('a shape is without what it does not require in a dump, and is read whole', () => {
  const shape = aShape({ namespace: 'shop', schedulerName: '' });
  const { key, namespace, requests } = shape;
  expect(storedShape(shape)).toEqual({ key, namespace, requests });
  expect(totalShape({ key, namespace, requests })).toEqual({ ...NO_REQUIREMENTS, key, namespace, requests });
  const volumes = { places: [], blockers: [{ message: 'not bound', detail: 'claim data', repair: undefined }] };
  expect(totalShape({ key, namespace, requests, volumes }).volumes).toEqual({ ...volumes, drivers: [] });
});
