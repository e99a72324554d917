/** Removals as a user asks for them. Each expectation was worked out by hand from the documented rules. */
import { describe, it } from 'vitest';
import { nodeJson, podJson } from '../support.ts';
import { check, NOW, CA, node, host, n1, on1, said, bare, owned, containers, unready, nodeJsonWith, type Case } from './rows.ts';

describe('use of a node', () => {
  const cases: readonly Case[] = [
    {
      name: 'half is little enough',
      objects: [node('n-0', { allocatable: { cpu: '8' } }), podJson('h', '5', { on: 'n-0' }), n1, on1({}, '2')],
      goes: ['n-1'],
    },
    { name: 'a millicore more is not', objects: [...host, n1, on1({}, '2001m')], goes: [], stays: { 'n-1': ['NotUnderutilized', '50'] } },
    {
      name: 'the larger of cores and memory counts',
      objects: [...host, n1, on1({ spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m', memory: '9Gi' } } }] } })],
      goes: [],
      stays: { 'n-1': ['NotUnderutilized', '56.3 %'] },
    },
    {
      name: 'a large init container counts',
      objects: [...host, n1, on1({ spec: { containers: containers('100m'), initContainers: containers('3') } })],
      goes: [],
      stays: { 'n-1': 'NotUnderutilized' },
    },
    {
      name: 'sidecars add up',
      objects: [
        ...host,
        n1,
        on1({ spec: { containers: containers('1'), initContainers: [{ ...containers('1500m')[0], restartPolicy: 'Always' }] } }),
      ],
      goes: [],
      stays: { 'n-1': ['NotUnderutilized', '62.5 %'] },
    },
    {
      name: 'overhead counts',
      objects: [...host, n1, on1({ spec: { containers: containers('500m'), overhead: { cpu: '2' } } })],
      goes: [],
      stays: { 'n-1': ['NotUnderutilized', '62.5 %'] },
    },
    {
      name: 'what a pod asks for as a whole counts',
      objects: [...host, n1, on1({ spec: { containers: containers('500m'), resources: { requests: { cpu: '3' } } } })],
      goes: [],
      stays: { 'n-1': ['NotUnderutilized', '75 %'] },
    },
    {
      name: "a pool's own threshold, as a tag",
      objects: [node('n-0', { allocatable: { cpu: '8' } }), podJson('h', '5', { on: 'n-0' }), n1, on1({}, '2500m')],
      pool: ', tags: {"k8s.io_cluster-autoscaler_node-template_autoscaling-options_scaledownutilizationthreshold": "0.63"}',
      goes: ['n-1'],
    },
    {
      name: 'DaemonSet pods count',
      objects: [...host, n1, on1({ metadata: owned('DaemonSet') }, '3')],
      goes: [],
      stays: { 'n-1': 'NotUnderutilized' },
    },
    {
      name: 'DaemonSet pods may be left out',
      objects: [...host, n1, on1({ metadata: owned('DaemonSet') }, '3')],
      config: 'ignoreDaemonSetsUtilization: true',
      goes: ['n-1'],
    },
    {
      name: 'mirror pods count',
      objects: [...host, n1, on1(said({ 'kubernetes.io/config.mirror': 'x' }, bare), '3')],
      goes: [],
      stays: { 'n-1': 'NotUnderutilized' },
    },
    {
      name: 'mirror pods may be left out',
      objects: [...host, n1, on1(said({ 'kubernetes.io/config.mirror': 'x' }, bare), '3')],
      config: 'ignoreMirrorPodsUtilization: true',
      goes: ['n-1'],
    },
    {
      name: 'a node without a size is not guessed about',
      objects: [...host, node('n-1', { allocatable: { cpu: '0' } })],
      goes: [],
      stays: { 'n-1': 'UnexpectedError' },
    },
    {
      name: 'idle GPUs',
      objects: [...host, node('n-1', { allocatable: { 'nvidia.com/gpu': '2' }, labels: { accelerator: 'nvidia' } }), on1({}, '900m')],
      goes: ['n-1'],
    },
    {
      name: 'a pod that others are pushed aside for counts there',
      objects: [...host, n1, { ...podJson('w', '3500m'), status: { phase: 'Pending', nominatedNodeName: 'n-1' } }],
      goes: [],
      stays: { 'n-1': 'NotUnderutilized' },
    },
  ];
  it.each(cases)('$name', check);
});

describe('nodes that annotations exclude', () => {
  const cases: readonly Case[] = [
    {
      name: 'an annotation to the letter',
      objects: [...host, nodeJsonWith('n-1', { [`${CA}scale-down-disabled`]: 'true' })],
      goes: [],
      stays: { 'n-1': 'ScaleDownDisabledAnnotation' },
    },
    { name: 'another spelling of it', objects: [...host, nodeJsonWith('n-1', { [`${CA}scale-down-disabled`]: 'yes' })], goes: ['n-1'] },
    {
      name: "Karpenter's word",
      objects: [...host, nodeJsonWith('n-1', { 'karpenter.sh/do-not-disrupt': 'true' })],
      goes: [],
      stays: { 'n-1': ['ScaleDownDisabledAnnotation', 'karpenter.sh'] },
    },
    { name: 'of another pool', objects: [...host, nodeJson('n-1', 'stranger')], goes: [], stays: { 'n-1': 'NotAutoscaled' } },
    {
      name: 'marked two minutes ago',
      objects: [
        ...host,
        node('n-1', {
          spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: String(Date.parse(NOW) / 1000 - 120), effect: 'NoSchedule' }] },
        }),
      ],
      goes: [],
      stays: { 'n-1': 'CurrentlyBeingDeleted' },
    },
    {
      name: 'marked eleven minutes ago and left',
      objects: [
        ...host,
        node('n-1', {
          spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: String(Date.parse(NOW) / 1000 - 660), effect: 'NoSchedule' }] },
        }),
      ],
      goes: ['n-1'],
    },
    {
      name: 'marked softly',
      objects: [
        ...host,
        node('n-1', { spec: { taints: [{ key: 'DeletionCandidateOfClusterAutoscaler', value: '1', effect: 'PreferNoSchedule' }] } }),
      ],
      goes: ['n-1'],
    },
    { name: 'cordoned by a person, and empty', objects: [...host, node('n-1', { spec: { unschedulable: true } })], goes: ['n-1'] },
    { name: 'not ready for hours', objects: [...host, unready('n-1', '2026-11-21T08:00:00Z')], goes: ['n-1'] },
    {
      name: 'not ready, and starting',
      objects: [...host, unready('n-1', '2026-11-21T11:50:00Z')],
      goes: [],
      stays: { 'n-1': 'NotUnreadyLongEnough' },
    },
    {
      name: 'not ready, where such nodes stay',
      objects: [...host, unready('n-1', '2026-11-21T08:00:00Z')],
      config: 'unreadyEnabled: false',
      goes: [],
      stays: { 'n-1': 'ScaleDownUnreadyDisabled' },
    },
  ];
  it.each(cases)('$name', check);
});
