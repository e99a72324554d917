/** The annotations that say how a node or a pod wants to be disrupted, as they arrive from the API. */
import { describe, expect, it } from 'vitest';
import { createNodeProjection, projectNode } from '../../../src/adapters/kubernetes/project-node.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';

describe('annotations of a node', () => {
  const project = (annotations: Readonly<Record<string, string>>) =>
    projectNode({ metadata: { name: 'n', annotations } }, createNodeProjection(new ResourceNames()));

  it.each([
    ['nobody asks', {}, undefined],
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
