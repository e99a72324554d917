import { describe, expect, it } from 'vitest';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';

const AT = '2026-11-20T10:00:00Z';
const json = {
  metadata: { name: 'n', creationTimestamp: '2026-11-20T09:00:00Z' },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'XIDErrors', status: 'True', reason: 'XidErrorsPresent', lastTransitionTime: AT },
      { type: 'GPUMissing', status: 'False', reason: 'NoGPUMissing', lastTransitionTime: AT },
      { type: 'kubernetes.azure.com/NodeHealthy', status: 'False' },
    ],
  },
};
const kept = new Set(['XIDErrors=True', 'GPUMissing=True', 'kubernetes.azure.com/NodeHealthy=False']);

describe('conditions of a node', () => {
  it('are kept if a rule about sick nodes names them with this status', () => {
    const node = projectNode(json, createNodeProjection(new ResourceNames(), undefined, { conditions: kept }));
    expect(node.conditions).toEqual([
      { type: 'XIDErrors', status: 'True', reason: 'XidErrorsPresent', sinceMs: Date.parse(AT) },
      { type: 'kubernetes.azure.com/NodeHealthy', status: 'False', reason: '', sinceMs: Date.parse('2026-11-20T09:00:00Z') },
    ]);
  });

  it('are not kept without rules', () => {
    expect(projectNode(json, createNodeProjection(new ResourceNames()))).toMatchObject({ conditions: [] });
  });

  it('follow the rules while the process runs', () => {
    const rules = new Set<string>();
    const shared = createNodeProjection(new ResourceNames(), undefined, { conditions: rules });
    expect(projectNode(json, shared).conditions).toEqual([]);
    rules.add('XIDErrors=True');
    expect(projectNode(json, shared).conditions.length).toBe(1);
  });
});
