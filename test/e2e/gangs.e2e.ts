/**
 * Pods that start together: the real kube-scheduler, the scheduler of the simulated world and the planner give the same number of them a
 * place. The API is that of 1.36 or of 1.37, which must be enabled.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scheduleGang } from '../../world/simulator/cluster/scheduler/gangs.ts';
import { usageOf } from '../../world/simulator/cluster/scheduler/node-filters.ts';
import type { NodeObject, PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { startControlPlane, type ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { planFor } from '../planning/scale-up/world.ts';
import { aNode, aPod, somePodGroups } from '../support/builders.ts';
import { givenBinaries, planeOf } from './given.ts';
import { servedPodGroups } from './pod-group-api.ts';
import { stateOf } from './pod-state.ts';
import { until } from './until.ts';

const SERVED = servedPodGroups();
const { api: API, gates: GATES } = SERVED ?? { api: '', gates: '' };
/** What the cases are not about. */
const NOT_ADMITTED = 'ServiceAccount,TaintNodesByCondition';
const LIMIT_MS = 600_000;

interface Case {
  readonly name: string;
  /** CPU of each node. */
  readonly nodes: readonly number[];
  /** CPU of each pod of the group. */
  readonly pods: readonly number[];
  readonly minCount: number;
  /** How many of them get a place; `untried`: none, and the scheduler says nothing. */
  readonly placed: number | 'untried';
}

const CASES: readonly Case[] = [
  { name: 'all have room', nodes: [2, 2], pods: [1, 1, 1], minCount: 3, placed: 3 },
  { name: 'one of them has no room', nodes: [2], pods: [1, 1, 1], minCount: 3, placed: 0 },
  { name: 'the minimum has room, the others do not', nodes: [2], pods: [1, 1, 1], minCount: 2, placed: 2 },
  { name: 'one is larger than every node', nodes: [2, 2], pods: [1, 1, 3], minCount: 3, placed: 0 },
  { name: 'one is larger than every node, and is not needed', nodes: [2, 2], pods: [1, 1, 3], minCount: 2, placed: 2 },
  { name: 'a minimum of one', nodes: [1], pods: [1, 1], minCount: 1, placed: 1 },
  { name: 'fewer exist than must start together', nodes: [4], pods: [1, 1], minCount: 3, placed: 'untried' },
];

const group = (name: string, minCount: number) => ({
  apiVersion: API,
  kind: 'PodGroup',
  metadata: { name, namespace: 'default' },
  spec: { schedulingPolicy: { gang: { minCount } } },
});

const node = (name: string, cpu: number) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { case: name.replace(/-\d+$/, '') } },
  status: { allocatable: { cpu: String(cpu), memory: '8Gi', pods: '20' }, capacity: { cpu: String(cpu), memory: '8Gi', pods: '20' } },
});

const pod = (name: string, cpu: number, of: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { case: of } },
  spec: {
    containers: [{ name: 'c', image: 'none', resources: { requests: { cpu: String(cpu) } } }],
    nodeSelector: { case: of },
    schedulingGroup: { podGroupName: of },
  },
});

describe.skipIf(SERVED === undefined)('pods that start together', () => {
  let plane: ControlPlane | undefined;
  beforeAll(async () => {
    plane = await startControlPlane({
      ...planeOf(givenBinaries()),
      parts: ['kube-scheduler'],
      args: {
        'kube-apiserver': [`--feature-gates=${GATES}`, `--runtime-config=${API}=true`, `--disable-admission-plugins=${NOT_ADMITTED}`],
        'kube-scheduler': [`--feature-gates=${GATES}`],
      },
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await plane?.stop();
  });

  let tries = 0;
  it.each(CASES)(
    '$name: $placed of them',
    async ({ nodes, pods, minCount, placed }) => {
      // A test that is tried again does not meet what the first try left.
      const id = `case${++tries}`;
      const { admin } = plane ?? expect.fail('no control plane');
      for (const [at, cpu] of nodes.entries()) await admin.must('POST', '/api/v1/nodes', node(`${id}-${at}`, cpu));
      await admin.must('POST', `/apis/${API}/namespaces/default/podgroups`, group(id, minCount));
      for (const [at, cpu] of pods.entries()) await admin.must('POST', '/api/v1/namespaces/default/pods', pod(`${id}-${at}`, cpu, id));
      const mine = () => admin.list(`/api/v1/namespaces/default/pods?labelSelector=case%3D${id}`);
      if (placed === 'untried') {
        // A pod that came later and belongs to no group was looked at: so were these.
        const { schedulingGroup: _group, ...alone } = pod('x', 1, id).spec;
        const later = { ...pod(`${id}-later`, 1, id), spec: alone };
        await admin.must('POST', '/api/v1/namespaces/default/pods', { ...later, metadata: { ...later.metadata, labels: {} } });
        await until('the later pod is bound', async () => {
          const seen = await admin.must('GET', `/api/v1/namespaces/default/pods/${id}-later`);
          return (seen['spec'] as PodObject['spec']).nodeName !== undefined;
        });
        expect((await mine()).map(stateOf)).toEqual(pods.map(() => 'untried'));
      } else {
        const states = await until('the scheduler decided on each pod', async () => {
          const found = (await mine()).map(stateOf);
          return !found.includes('untried') && found.filter((state) => state === 'bound').length >= placed ? found : undefined;
        });
        expect(states.filter((state) => state === 'bound')).toHaveLength(placed);
      }
      const expected = placed === 'untried' ? 0 : placed;
      expect(placedByTheWorld({ id, nodes, pods, minCount })).toBe(expected);
      expect(placedByThePlan({ nodes, pods, minCount })).toBe(expected);
    },
    LIMIT_MS,
  );
});

function placedByTheWorld({ id, nodes, pods, minCount }: Omit<Case, 'name' | 'placed'> & { readonly id: string }): number {
  const meta = { uid: '', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };
  const all = pods.map((cpu, at): PodObject => {
    const { metadata, ...rest } = pod(`${id}-${at}`, cpu, id);
    return { ...rest, metadata: { ...meta, ...metadata }, status: { phase: 'Pending' } };
  });
  const usages = nodes.map((cpu, at) => {
    const { metadata, ...rest } = node(`${id}-${at}`, cpu);
    const made: NodeObject = { ...rest, metadata: { ...meta, ...metadata }, spec: {} };
    return usageOf(made, []);
  });
  const groups = { ...group(id, minCount), metadata: { ...meta, name: id, namespace: 'default' } };
  const stored = { get: () => groups, list: () => [], values: () => all };
  const decisions = scheduleGang(`default/${id}`, all, { nodes: usages, namespaceLabels: () => ({}), stored }, stored);
  return [...(decisions?.values() ?? [])].filter(({ kind }) => kind === 'bind').length;
}

function placedByThePlan({ nodes, pods, minCount }: Omit<Case, 'name' | 'placed'>): number {
  const members = pods.map((cpu) => aPod({ cpu: String(cpu), shape: { gang: 'pod group train' } }));
  const present = nodes.map((cpu, at) => aNode({ name: `n-${at}`, cpu: String(cpu) }));
  const { verdicts } = planFor({ groups: [], nodes: present, pods: members, podGroups: somePodGroups({ train: minCount }) });
  return members.filter((member) => verdicts.get(member)?.kind === 'fits-present-node').length;
}
