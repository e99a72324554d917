/** The annotations that say how a node or a pod wants to be disrupted, as they arrive from the API. */
import { describe, expect, it } from 'vitest';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import { createPodProjection, projectPod } from '../../../src/kubernetes/projection/pod.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';

describe('annotations of a node', () => {
  const project = (annotations: Readonly<Record<string, string>>) =>
    projectNode({ metadata: { name: 'n', annotations } }, createNodeProjection(new ResourceNames()));

  it.each([
    ['nothing asks for it', {}, undefined],
    ['another prefix', { 'cluster-autoscaler.kubernetes.io/delay-deletion': 'true' }, undefined],
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
    ['nothing said', {}, undefined, undefined],
    ['eviction wanted', { [EVICT]: 'true' }, true, undefined],
    ['any other word opts out', { [EVICT]: 'yes' }, false, undefined],
    ['a cost', { [COST]: '-100' }, undefined, -100],
    ['what is no integer counts as not set', { [COST]: '007' }, undefined, undefined],
  ])('%s', (_name, annotations, daemonEviction, deletionCost) => {
    const pod = projectPod({ metadata: { name: 'p', annotations } }, createPodProjection(new ResourceNames()));
    expect([pod.daemonEviction, pod.deletionCost]).toEqual([daemonEviction, deletionCost]);
  });
});
