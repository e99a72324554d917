/** Removals as a user asks for them. Each expectation was worked out by hand from the documented rules. */
import { describe, it } from 'vitest';
import { podJson } from '../support.ts';
import {
  check,
  CA,
  node,
  host,
  n1,
  on1,
  said,
  owned,
  born,
  containers,
  labels,
  budget,
  unready,
  keeps,
  type Case,
  type Json,
} from './rows.ts';

describe('budgets', () => {
  const db = (on: string) => podJson(`db-${on}`, '100m', { on, metadata: labels('db') });
  const wide = 'maxDrainParallelism: 5';
  const cases: readonly Case[] = [
    {
      name: 'spent',
      objects: [...host, n1, db('n-1'), budget('b', 0)],
      goes: [],
      stays: keeps('NotEnoughPdb (default/b: 2 of 2 required pods are healthy'),
    },
    { name: 'of another namespace', objects: [...host, n1, db('n-1'), budget('b', 0, { namespace: 'other' })], goes: ['n-1'] },
    {
      name: 'passed over by the word of the owner',
      objects: [...host, n1, on1(said({ [`${CA}safe-to-evict`]: 'true' }, labels('db'))), budget('b', 0)],
      goes: ['n-1'],
    },
    {
      name: 'not passed over by the word of the owner if it can never allow a disruption',
      objects: [
        ...host,
        n1,
        on1(said({ [`${CA}safe-to-evict`]: 'true' }, labels('db'))),
        { ...budget('b', 0), status: { disruptionsAllowed: 0, expectedPods: 3, currentHealthy: 3, desiredHealthy: 3 } },
      ],
      goes: [],
      stays: keeps('NotEnoughPdb (default/b: it can never allow a disruption'),
    },
    {
      name: 'two for one pod',
      objects: [...host, n1, db('n-1'), budget('a', 1), budget('b', 1)],
      goes: [],
      stays: keeps('default/a and default/b select the pod'),
    },
    {
      name: 'shared by two nodes, one disruption allowed',
      objects: [...host, node('n-1'), node('n-2'), db('n-1'), db('n-2'), budget('b', 1)],
      config: wide,
      goes: ['n-1'],
      stays: { 'n-2': ['BlockedByPod', 'NotEnoughPdb'] },
    },
    {
      name: 'more pods on one node than it allows at once',
      objects: [...host, n1, db('n-1'), podJson('db-2', '100m', { on: 'n-1', metadata: labels('db') }), budget('b', 1)],
      goes: ['n-1'],
    },
    {
      name: 'a young system pod without, beside one with',
      objects: [
        ...host,
        n1,
        on1({ metadata: { namespace: 'kube-system', ...born('2026-11-21T11:59:00Z') } }),
        budget('b', 1, { namespace: 'kube-system' }),
      ],
      goes: [],
      stays: keeps('UnmovableKubeSystemPod'),
    },
  ];
  it.each(cases)('$name', check);
});

describe('places for the pods', () => {
  const spread = (policy: string) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
        nodeTaintsPolicy: policy,
      },
    ],
  });
  const zoned = (name: string, zone: number, cpu = '4') =>
    node(name, { labels: { 'topology.kubernetes.io/zone': `westeurope-${zone}` }, allocatable: { cpu } });
  const web = (name: string, on: string, part: Json = {}) =>
    podJson(name, '100m', { on, metadata: labels('web'), spec: { containers: containers('100m'), ...part } });
  const apart = {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } },
        ],
      },
    },
  };
  const nowhere = { 'n-1': ['NoPlaceToMovePods', 'fits on no other node'] } as const;
  const cases: readonly Case[] = [
    {
      name: 'none that is large enough',
      objects: [node('n-0'), podJson('host', '3500m', { on: 'n-0' }), n1, on1({}, '1')],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none that the pod selects',
      objects: [...host, n1, on1({ spec: { containers: containers('100m'), nodeSelector: { 'kubernetes.io/hostname': 'n-1' } } })],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none that the pod tolerates',
      objects: [
        node('n-0', { spec: { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } }),
        podJson('host', '3', { on: 'n-0' }),
        n1,
        on1(),
      ],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'one that the pod tolerates',
      objects: [
        node('n-0', { spec: { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] } }),
        podJson('host', '3', { on: 'n-0' }),
        n1,
        on1({ spec: { containers: containers('100m'), tolerations: [{ key: 'a', operator: 'Exists' }] } }),
      ],
      goes: ['n-1'],
    },
    {
      name: 'none but one that is cordoned',
      objects: [node('n-0', { spec: { unschedulable: true } }), podJson('host', '3', { on: 'n-0' }), n1, on1()],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none but one that is not ready',
      objects: [unready('n-0', '2026-11-21T08:00:00Z'), podJson('host', '3', { on: 'n-0' }), n1, on1()],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none but one that is on its way',
      objects: [node('n-0'), podJson('host', '3900m', { on: 'n-0' }), n1, on1()],
      pool: ', targetSize: 3',
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none with a free port',
      objects: [
        node('n-0'),
        podJson('host', '3', { on: 'n-0', spec: { containers: [{ ...containers('3')[0], ports: [{ hostPort: 80 }] }] } }),
        n1,
        on1({ spec: { containers: [{ ...containers('100m')[0], ports: [{ hostPort: 80 }] }] } }),
      ],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none where a pod more may run',
      objects: [node('n-0', { allocatable: { pods: '1' } }), podJson('host', '3', { on: 'n-0' }), n1, on1()],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'none apart from their like',
      objects: [...host, web('w-0', 'n-0', apart), n1, web('w-1', 'n-1', apart)],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'one apart from their like',
      objects: [...host, web('w-0', 'n-0', apart), n1, web('w-1', 'n-1', apart), node('n-2'), podJson('h2', '3', { on: 'n-2' })],
      goes: ['n-1'],
    },
    {
      name: 'none without more skew, where the domain of the node counts',
      objects: [
        zoned('n-0', 1),
        podJson('host', '3', { on: 'n-0' }),
        web('w-0', 'n-0', spread('Ignore')),
        zoned('n-1', 2),
        web('w-1', 'n-1', spread('Ignore')),
      ],
      goes: [],
      stays: nowhere,
    },
    {
      name: 'one, where the tainted node no longer counts as a domain',
      objects: [
        zoned('n-0', 1),
        podJson('host', '3', { on: 'n-0' }),
        web('w-0', 'n-0', spread('Honor')),
        zoned('n-1', 2),
        web('w-1', 'n-1', spread('Honor')),
      ],
      goes: ['n-1'],
    },
    {
      name: 'for the pods of one of two nodes only',
      objects: [
        node('n-0'),
        podJson('host', '3', { on: 'n-0' }),
        node('n-1'),
        podJson('a', '1', { on: 'n-1' }),
        node('n-2'),
        podJson('b', '2', { on: 'n-2' }),
      ],
      config: 'maxDrainParallelism: 5, utilizationThreshold: 0.4',
      goes: ['n-1'],
      stays: { 'n-2': 'NotUnderutilized' },
    },
    {
      name: 'on a node that goes itself, and on from there',
      objects: [
        node('n-0', { allocatable: { cpu: '6' } }),
        podJson('host', '3500m', { on: 'n-0' }),
        node('n-1'),
        podJson('a', '1', { on: 'n-1' }),
        node('n-2'),
        podJson('b', '1500m', { on: 'n-2' }),
      ],
      config: 'maxDrainParallelism: 5',
      goes: ['n-1'],
    },
    { name: 'on another node, with nothing to move', objects: [...host, n1, on1({ metadata: owned('DaemonSet') })], goes: ['n-1'] },
  ];
  it.each(cases)('$name', check);
});
