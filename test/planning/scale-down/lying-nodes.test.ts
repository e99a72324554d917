/** Nodes that name a wrong instance, or none: no instance is deleted whose pods are unknown. */
import { describe, expect, it } from 'vitest';
import { anInstance, keyOf, START_MS } from '../../support/builders.ts';
import { keptReasons, MINUTE, names, nodes, plan, pod, pool, removed, sinceMinutes } from './world.ts';

describe('two nodes with the same providerID', () => {
  const group = pool('p', 3, { instances: names(3).map((node) => anInstance({ node })) });
  const idle = sinceMinutes(30, names(3));
  const cloud = (instances: Readonly<Record<string, string>>) => ({
    groupOfNode: new Map(Object.keys(instances).map((node) => [node, group.id])),
    instanceOfNode: new Map(Object.entries(instances).map(([node, instance]) => [node, keyOf(instance)])),
  });

  it('are both kept, with the reason, although one is empty: the instance may run the pods of the other', () => {
    const result = plan({
      groups: [group],
      nodes: nodes(...names(3)),
      pods: [pod('p-1')],
      cloud: cloud({ 'p-0': 'p-1', 'p-1': 'p-1', 'p-2': 'p-2' }),
      state: { unneededSince: idle },
    });
    expect(removed(result)).toEqual(['p-2']);
    expect(keptReasons(result)).toMatchObject({ 'p-0': 'InstanceUnknown', 'p-1': 'InstanceUnknown' });
    expect(result.kept.find(({ node }) => node === 'p-0')?.detail).toBe('another node has the same providerID');
  });

  it('are removed as usual once each has its own', () => {
    const result = plan({
      groups: [group],
      nodes: nodes(...names(3)),
      cloud: cloud({ 'p-0': 'p-0', 'p-1': 'p-1', 'p-2': 'p-2' }),
      state: { unneededSince: idle },
    });
    expect(removed(result)).toEqual(names(3));
  });
});

describe('an instance that no node names, for longer than a node may take to join', () => {
  const overdue = (hostName: string) => anInstance({ node: 'p-1', firstSeenMs: START_MS - 60 * MINUTE, hostName });
  it.each([
    ['is deleted if there is no node of its name', 'aks-p-vmss000001', [keyOf('p-1')]],
    ['is kept if a node has its name', 'p-2', []],
    ['is kept if a node has its name in other letter case', 'P-2', []],
  ])('%s', (_what, hostName, deleted) => {
    const group = pool('p', 3, { instances: [anInstance({ node: 'p-0' }), overdue(hostName)] });
    const result = plan({ groups: [group], nodes: nodes('p-0', 'p-2') });
    expect(result.instanceRemovals.map(({ instance }) => instance)).toEqual(deleted);
  });
});

describe('a cluster without any node', () => {
  const deleted = (createdAtMs: number, sinceMs: number) => {
    const instance = anInstance({ node: 'p-0', firstSeenMs: createdAtMs, createdAtMs });
    const state = { unregisteredSince: new Map([[instance.key, sinceMs]]) };
    return plan({ groups: [pool('p', 1, { instances: [instance] })], nodes: [], state }).instanceRemovals.length;
  };

  it('keeps instances that may have been nodes: the list of nodes may be wrong', () => {
    expect(deleted(START_MS - 600 * MINUTE, START_MS - 60 * MINUTE)).toBe(0);
  });

  it('loses those that never can have been nodes', () => {
    expect(deleted(START_MS - 61 * MINUTE, START_MS - 60 * MINUTE)).toBe(1);
  });
});
