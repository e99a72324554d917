/** What says how a node or a pod wants to be disrupted, and what a move would end, as it arrives from the API. */
import { describe, expect, it } from 'vitest';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';

describe('annotations of a node', () => {
  const project = (annotations: Readonly<Record<string, string>>) =>
    projectNode({ metadata: { name: 'n', annotations } }, createNodeProjection(new ResourceNames()));

  it.each([
    ['nothing asks for it', {}, []],
    ['another prefix', { 'cluster-autoscaler.kubernetes.io/delay-deletion': 'true' }, []],
    [
      'any value counts, in a stable order',
      { 'delay-deletion.cluster-autoscaler.kubernetes.io/log': '', 'delay-deletion.cluster-autoscaler.kubernetes.io/csi': 'false' },
      ['csi', 'log'],
    ],
  ])('delay-deletion: %s', (_name, annotations, expected) => {
    expect(project(annotations).delayDeletion).toEqual(expected);
  });
});

describe('annotations of a pod', () => {
  const EVICT = 'cluster-autoscaler.kubernetes.io/enable-ds-eviction';
  const COST = 'controller.kubernetes.io/pod-deletion-cost';
  it.each([
    ['nothing said', {}, undefined, 0],
    ['eviction wanted', { [EVICT]: 'true' }, true, 0],
    ['any other word opts out', { [EVICT]: 'yes' }, false, 0],
    ['a cost', { [COST]: '-100' }, undefined, -100],
    ['what is no integer counts as not set', { [COST]: '007' }, undefined, 0],
  ])('%s', (_name, annotations, daemonEviction, deletionCost) => {
    const pod = projectPod({ metadata: { name: 'p', annotations } }, createPodProjection(new ResourceNames()));
    expect([pod.annotations.daemonEviction, pod.annotations.deletionCost]).toEqual([daemonEviction, deletionCost]);
  });
});

describe('restarts of a pod', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 3, minute)).toISOString();
  const runs = (restartCount: number, minute: number) => ({ restartCount, state: { running: { startedAt: at(minute) } } });
  it.each([
    ['no status', undefined, undefined],
    ['the first start is no restart', [runs(0, 1)], undefined],
    ['the last one of all containers counts', [runs(2, 7), runs(1, 3), runs(0, 9)], at(7)],
    [
      'one that waits for its next start ended then',
      [{ restartCount: 4, state: {}, lastState: { terminated: { finishedAt: at(8) } } }],
      at(8),
    ],
    ['a kubelet that says no time', [{ restartCount: 1 }], undefined],
  ])('%s', (_name, containerStatuses, expected) => {
    const json = { metadata: { name: 'p' }, status: containerStatuses === undefined ? {} : { containerStatuses } };
    const { status } = projectPod(json, createPodProjection(new ResourceNames()));
    expect(status.restartedAtMs).toBe(expected === undefined ? undefined : Date.parse(expected));
  });
});
