/** Nominated pods count for pods of lower or equal priority, and try their own node first. */
import { expect, it } from 'vitest';
import { usageOf } from '../../../simulator/cluster/scheduler/node-filters.ts';
import { decideBesideNominated } from '../../../simulator/cluster/scheduler/nominations.ts';
import type { NodeObject, PodObject } from '../../../simulator/cluster/store/objects.ts';

const META = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };

const node = (name: string): NodeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { ...META, name },
  spec: {},
  status: { allocatable: { cpu: '4', memory: '16Gi', pods: '110' } },
});

const pod = (name: string, cpu: string, nominated?: string, priority?: number): PodObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...META, name, namespace: 'default' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...(priority === undefined ? {} : { priority }) },
  status: { phase: 'Pending', ...(nominated === undefined ? {} : { nominatedNodeName: nominated }) },
});

it.each<readonly [string, PodObject, readonly PodObject[], string | undefined]>([
  ['an equal one leaves the room to it', pod('p', '2'), [pod('big', '3', 'a')], 'refused'],
  ['a lower one, too', pod('p', '2', undefined, -1), [pod('big', '3', 'a')], 'refused'],
  ['a higher one is asked as if there were none', pod('p', '2', undefined, 1), [pod('big', '3', 'a')], undefined],
  ['what is left beside it is free', pod('p', '1'), [pod('big', '3', 'a')], 'a'],
  ['a nomination for a node that is gone holds nothing', pod('p', '2'), [pod('big', '3', 'gone')], 'a'],
])('%s', (_what, candidate, nominated, expected) => {
  const view = { nodes: [usageOf(node('a'), [])], namespaceLabels: () => ({}), stored: EMPTY };
  const decision = decideBesideNominated(candidate, nominated, view);
  expect(decision === undefined ? undefined : decision.kind === 'bind' ? decision.usage.node.metadata.name : 'refused').toBe(expected);
});

const EMPTY = { get: () => undefined, list: () => [], values: () => [] };

it('a nominated pod takes its own node, also if another one is emptier, and counts nowhere twice', () => {
  const [empty, own] = [usageOf(node('a'), []), usageOf(node('b'), [pod('x', '1')])];
  const big = pod('big', '3', 'b');
  const decision = decideBesideNominated(big, [big], { nodes: [empty, own], namespaceLabels: () => ({}), stored: EMPTY });
  expect(decision).toEqual({ kind: 'bind', usage: own });
  expect(own.pods.length).toBe(1);
});
