import { describe, expect, it } from 'vitest';
import type { FieldWriter } from '../../../../src/domain/node.ts';
import { cordonWriter, taintWriter } from '../../../../src/planning/explain/answers/taint-writers.ts';
import { aGroup, aTemplate, START_MS } from '../../../support/builders.ts';

const NO_SCHEDULE = { value: '', effect: 'NoSchedule' } as const;
const group = aGroup({ id: 'general', template: aTemplate({ cpu: '4', taints: [{ key: 'team', ...NO_SCHEDULE }] }) });
const last: FieldWriter = { manager: 'kubectl-taint', atMs: START_MS };
const at = '2026-11-21T00:00:00.000Z';

describe('who put a taint on a node', () => {
  it.each<[string, FieldWriter | undefined, object]>([
    ['ToBeDeletedByClusterAutoscaler', last, { by: 'autoscaler' }],
    ['DeletionCandidateOfClusterAutoscaler', last, { by: 'autoscaler' }],
    ['team', last, { by: 'pool general' }],
    ['node.kubernetes.io/unreachable', last, { by: 'the node controllers of Kubernetes' }],
    ['node.cloudprovider.kubernetes.io/shutdown', last, { by: 'the cloud controller manager' }],
    ['remediator.kubernetes.azure.com/unschedulable', last, { by: "AKS's automatic repair of nodes" }],
    ['kubernetes.azure.com/upgrade', last, { by: 'AKS' }],
    ['notkubernetes.azure.com/x', last, { by: 'kubectl-taint', at }],
    ['maintenance', last, { by: 'kubectl-taint', at }],
    ['maintenance', { manager: 'other', atMs: undefined }, { by: 'other' }],
    // Our own write of another taint says nothing about this one.
    ['maintenance', { manager: 'aks-autoscaler', atMs: START_MS }, { by: 'another writer' }],
    ['maintenance', undefined, { by: 'another writer' }],
  ])('%s, last written by %j', (key, writer, expected) => {
    expect(taintWriter({ key, ...NO_SCHEDULE }, { group, last: writer })).toEqual(expected);
  });

  it('a cordon has the client that wrote it', () => {
    const writers = [{ manager: 'kubectl-cordon', atMs: START_MS }, undefined, { manager: 'aks-autoscaler', atMs: START_MS }];
    expect(writers.map(cordonWriter)).toEqual([{ by: 'kubectl-cordon', at }, { by: 'another writer' }, { by: 'autoscaler' }]);
  });
});
