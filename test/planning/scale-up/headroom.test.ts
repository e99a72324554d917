/** Headroom: which pods each amount stands for, and what they do to plans of growth and of removal. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from '../../../src/domain/capacity-objects.ts';
import { defaultPieces, type Headroom } from '../../../src/domain/headroom.ts';
import type { PodShape } from '../../../src/domain/pod.ts';
import { CPU, MEMORY } from '../../../src/domain/resources.ts';
import { allBuffers, headroomDemands } from '../../../src/planning/scale-up/groups/headroom.ts';
import { isHeadroom, planWithAssumedPods, withAssumedPods } from '../../../src/planning/state/assumed-pods.ts';
import { planScaleDownInSlices } from '../../../src/planning/scale-down/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import {
  aCapacityBuffer,
  aGroup,
  aNode,
  aPod,
  aScalable,
  aShape,
  aTemplate,
  resourceNames,
  type GroupOptions,
} from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { casesOf } from '../../support/property-runs.ts';
import { aState } from '../../support/state.ts';
import { keptReasons, sinceMinutes } from '../scale-down/world.ts';
import { anyBurst } from './random-burst.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { growth, inputFor, observationOf, planFor, type World } from './world.ts';

const GIB = 2 ** 30;
const ofPool = (id: string) => ({ agentpool: id, 'kubernetes.azure.com/agentpool': id, 'kubernetes.io/os': 'linux' });
const aDaemonSet = (requests: { readonly cpu?: string; readonly memory?: string }) => ({
  uid: 'd',
  namespace: 'kube-system',
  name: 'agent',
  shape: aShape({ cpu: '0', memory: '0', ...requests }),
});
const NODES: Headroom = { kind: 'nodes', nodes: 1 };
const amounts = (cpuMillis: number, memoryBytes = 0, pieces = defaultPieces({ cpuMillis, memoryBytes })): Headroom => ({
  kind: 'amounts',
  cpuMillis,
  memoryBytes,
  pieces,
});
const WEB = { kind: 'Deployment', apiGroup: 'apps', namespace: 'default', name: 'web' };
const copiesOfWeb = (count: number): Headroom => ({ kind: 'copies', of: WEB, count });

function pool(id: string, headroom: readonly Headroom[], rest: GroupOptions = {}) {
  const template = aTemplate({ cpu: '4', memory: '16Gi', labels: ofPool(id) });
  return aGroup({ id, template, options: { headroom }, ...rest });
}

const node = (name: string, of = 'a') => aNode({ name, cpu: '4', memory: '16Gi', labels: ofPool(of) });
const shape = aShape({ cpu: '2', memory: '1Gi' });
const web: CapacityObjects = {
  ...NO_CAPACITY_OBJECTS,
  scalables: new Map([['Deployment.apps/default/web', aScalable('web', shape, { replicas: 3 })]]),
};

function webPod(name: string, cpu: string, createdAtMs: number, of = 'web', more: Partial<PodShape> = {}) {
  const labels = { app: 'web', 'pod-template-hash': '7f9c' };
  const controller = { kind: 'ReplicaSet', name: `${of}-7f9c`, uid: of };
  return aPod({ name, nodeName: 'a-0', createdAtMs, controller, shape: { cpu, memory: '1Gi', labels, ...more } });
}

function buffersOf(world: World) {
  const input = inputFor(world);
  return allBuffers(input, headroomDemands(input));
}

describe('an amount of headroom', () => {
  it.each<readonly [string, World, readonly (readonly [number, number, number])[]]>([
    ['one node is nine tenths of what its pods may use', { groups: [pool('a', [NODES])] }, [[3600, 14.4, 1]]],
    [
      'what daemons use is not part of it',
      { groups: [pool('a', [NODES])], daemonSets: [aDaemonSet({ cpu: '1', memory: '6Gi' })] },
      [[2700, 9, 1]],
    ],
    ['8 CPU and 32 GiB are eight pieces', { groups: [pool('a', [amounts(8000, 32 * GIB)])] }, [[1000, 4, 8]]],
    ['two pieces are as large as is stated', { groups: [pool('a', [amounts(8000, 32 * GIB, 2)])] }, [[4000, 16, 2]]],
    ['no nodes are no room', { groups: [pool('a', [{ kind: 'nodes', nodes: 0 }])] }, []],
    ['no amount is no room', { groups: [pool('a', [amounts(0)])] }, []],
    [
      'ten percent of what pods request, rounded up to millicores and bytes',
      {
        groups: [pool('a', [{ kind: 'percent', percent: 10 }])],
        nodes: [node('a-0')],
        pods: [aPod({ nodeName: 'a-0', cpu: '3', memory: '5Gi' })],
      },
      [[300, 0.5, 1]],
    ],
    ['a share of nothing is nothing', { groups: [pool('a', [{ kind: 'percent', percent: 10 }])] }, []],
    ['copies of a workload look like its pods', { groups: [pool('a', [copiesOfWeb(3)])], capacity: web }, [[2000, 1, 3]]],
    [
      'copies look like the newest pod of their workload, with its side-car',
      {
        groups: [pool('a', [copiesOfWeb(3)])],
        nodes: [node('a-0')],
        pods: [webPod('old', '2', 1), webPod('new', '2500m', 2)],
        capacity: web,
      },
      [[2500, 1, 3]],
    ],
    [
      'but not a pod that goes, another workload, or a pod with a disk of its own',
      {
        groups: [pool('a', [copiesOfWeb(3)])],
        nodes: [node('a-0')],
        pods: [
          { ...webPod('going', '3', 9), deletionAtMs: 1 },
          webPod('other', '3', 9, 'web-2'),
          webPod('disk', '3', 9, 'web', { loneDisks: [{ kind: 'iscsi', ids: ['d'], readOnly: false }] }),
        ],
        capacity: web,
      },
      [[2000, 1, 3]],
    ],
    [
      'as a dry run shows the template, if it does',
      {
        groups: [pool('a', [copiesOfWeb(3)])],
        nodes: [node('a-0')],
        pods: [webPod('new', '2500m', 2)],
        capacity: { scalables: new Map([['Deployment.apps/default/web', aScalable('web', shape, { replicas: 3, admitted: true })]]) },
        capacityPolicy: { podDryRun: true },
      },
      [[2000, 1, 3]],
    ],
    [
      'as the newest pod, until a dry run has answered',
      {
        groups: [pool('a', [copiesOfWeb(3)])],
        nodes: [node('a-0')],
        pods: [webPod('new', '2500m', 2)],
        capacity: web,
        capacityPolicy: { podDryRun: true },
      },
      [[2500, 1, 3]],
    ],
    [
      'as the newest pod again, if the dry run is refused',
      {
        groups: [pool('a', [copiesOfWeb(3)])],
        nodes: [node('a-0')],
        pods: [webPod('new', '2500m', 2)],
        capacity: {
          scalables: new Map([['Deployment.apps/default/web', aScalable('web', shape, { replicas: 3, notAdmitted: 'forbidden' })]]),
        },
        capacityPolicy: { podDryRun: true },
      },
      [[2500, 1, 3]],
    ],
    [
      'several amounts add up',
      { groups: [pool('a', [NODES, amounts(500)])] },
      [
        [3600, 14.4, 1],
        [500, 0, 1],
      ],
    ],
  ])('%s', (_what, world, expected) => {
    const found = buffersOf(world).map(({ shape: { requests }, replicas }) => [
      requests[CPU],
      Math.round(((requests[MEMORY] ?? 0) / GIB) * 10) / 10,
      replicas,
    ]);
    expect(found).toEqual(expected);
  });

  it.each<readonly [string, World, string]>([
    ['a pool without a template', { groups: [pool('a', [NODES], { template: undefined })] }, 'is not known yet'],
    ['a pool whose nodes no label names', { groups: [pool('a', [NODES], { template: aTemplate() })] }, 'have no label'],
    ['a node that daemons fill', { groups: [pool('a', [NODES])], daemonSets: [aDaemonSet({ cpu: '4' })] }, 'daemon pods fill'],
    ['a workload that is gone', { groups: [pool('a', [copiesOfWeb(1)])], capacity: { scalables: new Map() } }, 'default/web was not found'],
    ['workloads that are not watched', { groups: [pool('a', [copiesOfWeb(1)])] }, 'a restart watches them'],
    [
      'pods for which no node is added',
      {
        groups: [pool('a', [copiesOfWeb(1)])],
        capacity: { scalables: new Map([['Deployment.apps/default/web', { ...WEB, replicas: 1, shape: { ...shape, priority: -20 } }]]) },
      },
      'no node is added',
    ],
  ])('%s stands for no room, and says why', (_what, world, problem) => {
    const input = inputFor(world);
    const [demand] = headroomDemands(input);
    expect(demand?.room).toEqual({ problem: expect.stringContaining(problem) as string });
    expect(allBuffers(input, headroomDemands(input))).toEqual([]);
    expect(growth(planFor(world))).toEqual([]);
  });

  it('of copies counts with CapacityBuffers of the same workload once, and the cluster takes what pools hold', () => {
    const conditions = [{ type: 'ReadyForProvisioning', status: 'True', reason: '', message: '', sinceMs: 0 }] as const;
    const scalable = { apiGroup: 'apps', kind: 'Deployment', name: 'web' };
    const buffer = aCapacityBuffer('spare', { status: { conditions, replicas: 4 }, scalable });
    const counts = (ofGroup: readonly Headroom[], ofCluster: readonly Headroom[]) =>
      buffersOf({
        groups: [pool('a', ofGroup)],
        capacity: { ...web, buffers: [buffer] },
        capacityPolicy: { bufferInjection: true, headroom: ofCluster },
      }).map(({ ref: { kind, name }, replicas }) => `${kind} ${name} ${replicas}`);
    expect(counts([], [copiesOfWeb(3)])).toEqual(['CapacityBuffer spare 4']);
    expect(counts([], [copiesOfWeb(6)])).toEqual(['CapacityBuffer spare 4', 'Headroom headroom of the cluster 2']);
    expect(counts([copiesOfWeb(3)], [])).toEqual(['CapacityBuffer spare 1', 'Headroom headroom of a 3']);
    expect(counts([copiesOfWeb(5)], [copiesOfWeb(6)])).toEqual(['Headroom headroom of a 5', 'Headroom headroom of the cluster 1']);
  });
});

const ZERO: readonly Headroom[] = [{ kind: 'nodes', nodes: 0 }, { kind: 'percent', percent: 0 }, amounts(0), copiesOfWeb(0)];

it('plans without headroom, and with headroom of nothing, are equal', () => {
  const shown = (world: World) => {
    const plan = planFor(world);
    return [growth(plan), [...plan.verdicts].map(([{ uid }, { kind }]) => [uid, kind]), plan.skipped.map(({ group }) => group)];
  };
  fc.assert(
    fc.property(anyBurst, ({ world }) => {
      const nothing = (headroom: readonly Headroom[]): World => ({
        ...world,
        groups: world.groups.map((group) => ({ ...group, options: { ...group.options, headroom } })),
        capacityPolicy: { headroom: headroom.filter(({ kind }) => kind !== 'nodes') },
        capacity: web,
      });
      const plain = shown(world);
      expect(shown(nothing([]))).toEqual(plain);
      expect(shown(nothing(ZERO))).toEqual(plain);
    }),
    casesOf(17, 40),
  );
});

describe('a plan with headroom', () => {
  it.each<readonly [string, World, readonly string[]]>([
    ['one node of a pool without nodes is requested', { groups: [pool('a', [NODES], { target: 0 })] }, ['a 0->1']],
    ['a free node is enough', { groups: [pool('a', [NODES])], nodes: [node('a-0')] }, []],
    [
      'a small pod on it is no reason for another node',
      { groups: [pool('a', [NODES])], nodes: [node('a-0')], pods: [aPod({ nodeName: 'a-0', cpu: '300m', memory: '1Gi' })] },
      [],
    ],
    [
      'a node that pods use is none',
      { groups: [pool('a', [NODES])], nodes: [node('a-0')], pods: [aPod({ nodeName: 'a-0', cpu: '1' })] },
      ['a 1->2'],
    ],
    ['two amounts need two nodes', { groups: [pool('a', [NODES, NODES])], nodes: [node('a-0')] }, ['a 1->2']],
    [
      'a free node of another pool does not count',
      { groups: [pool('a', [NODES], { target: 0 }), pool('b', [])], nodes: [node('b-0', 'b')] },
      ['a 0->1'],
    ],
    [
      'at the maximum nothing is requested',
      { groups: [pool('a', [NODES], { maxSize: 1 })], nodes: [node('a-0')], pods: [aPod({ nodeName: 'a-0', cpu: '3' })] },
      [],
    ],
    [
      'taints of the pool are tolerated',
      {
        groups: [
          pool('a', [NODES], {
            target: 0,
            template: aTemplate({ labels: ofPool('a'), taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
          }),
        ],
      },
      ['a 0->1'],
    ],
    [
      'room of the cluster is for pods without tolerations',
      {
        groups: [
          pool('a', [], {
            target: 0,
            template: aTemplate({ labels: ofPool('a'), taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
          }),
          pool('b', [], { target: 0 }),
        ],
        capacityPolicy: { headroom: [amounts(4000)] },
      },
      ['b 0->1'],
    ],
    [
      'and for Linux',
      {
        groups: [pool('w', [], { target: 0, template: aTemplate({ labels: { ...ofPool('w'), 'kubernetes.io/os': 'windows' } }) })],
        capacityPolicy: { headroom: [amounts(4000)] },
      },
      [],
    ],
    [
      'fragments of several nodes are room in pieces',
      {
        groups: [pool('a', [amounts(2000)], { target: 2 })],
        nodes: [node('a-0'), node('a-1')],
        pods: [aPod({ nodeName: 'a-0', cpu: '3' }), aPod({ nodeName: 'a-1', cpu: '3' })],
      },
      [],
    ],
  ])('%s', (_what, world, expected) => {
    expect(growth(planFor(world))).toEqual(expected);
  });

  it('gives way to a real pod at once, and requests the room again in the same plan', () => {
    const real = aPod({ cpu: '3' });
    const plan = planFor({ groups: [pool('a', [NODES])], nodes: [node('a-0')], pods: [real] });
    expect(plan.verdicts.get(real)).toEqual({ kind: 'fits-present-node', node: 'a-0' });
    expect(growth(plan)).toEqual(['a 1->2']);
    expect(plan.increases[0]?.pods.map(isHeadroom)).toEqual([true]);
    const capped = planFor({ groups: [pool('a', [NODES], { maxSize: 2 })], nodes: [node('a-0')], pods: [real, aPod({ cpu: '4' })] });
    expect(growth(capped)).toEqual(['a 1->2']);
    expect(capped.increases[0]?.pods.map(isHeadroom)).toEqual([false]);
  });

  const down = (world: World) => {
    const observation = observationOf(world);
    const { reserved } = planFor(world);
    const held = reserved === undefined || reserved === 'unknown' ? [] : reserved;
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = aState({ unneededSince: sinceMinutes(11, [...observation.cluster.nodes.keys()]), lastScaleUpMs: 0 });
    const input = {
      ...REMOVALS_ALONE,
      observation: withAssumedPods(observation, held),
      state,
      policy: aPolicy(),
      names: resourceNames,
      snapshot,
      scaleUpPlanned: false,
    };
    return finishAtOnce(planWithAssumedPods(held, snapshot, () => planScaleDownInSlices(input)));
  };

  it('keeps as many free nodes as it is for, and says whose room a kept one is', () => {
    const nodes = ['a-0', 'a-1', 'a-2'].map((name) => node(name));
    const plan = down({ groups: [pool('a', [NODES], { target: 3 })], nodes });
    expect(plan.removals.map((removal) => removal.node)).toEqual(['a-0', 'a-1']);
    expect(keptReasons(plan)).toEqual({ 'a-2': 'RoomKeptFree' });
    expect(plan.kept[0]?.detail).toBe('its room is kept free for headroom of a, and no other node has it');
    expect(down({ groups: [pool('a', [], { target: 3 })], nodes }).removals).toHaveLength(3);
  });
});
