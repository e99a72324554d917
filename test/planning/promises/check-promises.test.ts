import { NO_VOLUME_RULES } from '../../../src/domain/volumes.ts';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { AcceptedIncrease, BrokenPromise, LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { DevicePool } from '../../../src/domain/devices.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { attachResource } from '../../../src/domain/resources.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { checkPromises } from '../../../src/planning/promises/check-promises.ts';
import { withCorrectedTemplates } from '../../../src/planning/promises/corrected-templates.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { rememberAccepted } from '../../../src/planning/state/accepted-increases.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const G = nodeGroupId('g');
const POLICY = aPolicy({ scaleUp: { enforceMinSize: false } });
const wide = aPod({ name: 'wide', cpu: '3200m' });
/** Created with its node. */
const AGENT = {
  namespace: 'kube-system',
  name: 'agent-g-0',
  nodeName: 'g-0',
  cpu: '1',
  controller: undefined,
  createdAtMs: START_MS + MINUTE + 5_000,
} as const;
const EVERYTHING = [{ key: '', operator: 'Exists', value: '', effect: undefined }] as const;
const PINNED = [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: ['g-0'] }] }] as const;
/** It waited for any node. */
const WAITED = { createdAtMs: START_MS - 60 * MINUTE };
const agent = aPod(AGENT);

const DRIVER = 'disk.csi.azure.com';
const disks = aPod({ name: 'wide', shape: { resources: { [attachResource(DRIVER)]: '2' } } });
const needing = aPod({ name: 'wide', shape: { volumes: { ...NO_VOLUME_RULES, drivers: [DRIVER] } } });
const featured = aPod({ name: 'wide', shape: { nodeFeatures: ['B'] } });
const gpus = (count: number): DevicePool => ({
  driver: 'gpu.example.com',
  name: 'pool',
  devices: Array.from({ length: count }, (_, at) => ({
    driver: 'gpu.example.com',
    pool: 'pool',
    name: `gpu-${at}`,
    attributes: {},
    capacity: {},
    taints: [],
    consumes: [],
  })),
  counters: {},
});
const ask = { name: '', selectors: [], count: 2, admin: false, tolerations: [] };
const claiming = aPod({
  name: 'wide',
  shape: { devices: { claims: [{ name: 'both', requests: [{ name: 'r', asks: [ask] }], rules: [] }], pins: [], blockers: [] } },
});

interface World {
  /** Minutes after the increase. */
  readonly at?: number;
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly group?: Partial<NodeGroup>;
  readonly pending?: readonly Pod[];
  readonly broken?: BrokenPromise | undefined;
  /** Pods of the increase; none: no increase is known. */
  readonly asked?: readonly Pod[];
}

const fresh = (change: Parameters<typeof aNode>[0] = {}): Node =>
  aNode({ name: 'g-0', createdAtMs: START_MS + MINUTE, readiness: { ready: true, sinceMs: START_MS + 2 * MINUTE, reason: '' }, ...change });

function look({ at = 3, nodes = [fresh()], pods = [agent], group = {}, pending = [wide] }: World): Observation {
  const own = aGroup({ id: 'g', target: nodes.length, template: aTemplate(), ...group });
  return { ...anObservation([own], aCluster({ nodes, pods: [...pods, ...pending] })), nowMs: START_MS + at * MINUTE };
}

function stateOf({ broken, asked = [wide] }: World): LoopState {
  const increases: LoopState['increases'] =
    asked.length === 0
      ? new Map<typeof G, readonly AcceptedIncrease[]>()
      : rememberAccepted(new Map(), { group: G, nodes: 1, pods: asked, expectedByMs: START_MS, started: 0, followed: undefined }, START_MS);
  return aState({ increases, knowsAccepted: true, ...(broken === undefined ? {} : { broken: new Map([[G, broken]]) }) });
}

function check(world: World): LoopState {
  return finishAtOnce(
    checkPromises({ state: stateOf(world), before: aState(), observation: look(world), policy: POLICY, names: resourceNames }),
  );
}

function brokenIn(world: World): BrokenPromise | undefined {
  return check(world).broken.get(G);
}

describe('a promise is broken if a ready node does not fit the pods of its increase', () => {
  const short = (offered: number, more: object = {}): object => ({ resources: [{ resource: 'cpu', promised: 4000, offered, ...more }] });

  it.each<{ name: string; world: World; difference: object }>([
    {
      name: 'a pod without an owner, named like the node, takes room',
      world: {},
      difference: {
        node: 'g-0',
        resources: expect.arrayContaining([{ resource: 'cpu', promised: 4000, offered: 3000, pod: 'kube-system/agent-g-0', uses: 1000 }]),
      },
    },
    {
      name: 'a pod of an unknown kind of owner, named like the node, takes room',
      world: { pods: [aPod({ ...AGENT, controller: { kind: 'NodeAgent', apiVersion: 'example.com/v1', name: 'agent', uid: 'u' } })] },
      difference: { resources: expect.arrayContaining([expect.objectContaining({ offered: 3000, pod: 'kube-system/agent-g-0' })]) },
    },
    {
      name: 'a pod without an owner tolerates everything',
      world: {
        pods: [aPod({ ...AGENT, name: 'x', shape: { cpu: '1', tolerations: EVERYTHING } })],
      },
      difference: { resources: expect.arrayContaining([expect.objectContaining({ offered: 3000, pod: 'kube-system/x' })]) },
    },
    {
      name: 'a pod is pinned to the node by affinity',
      world: {
        pods: [aPod({ name: 'y', nodeName: 'g-0', createdAtMs: START_MS + 2 * MINUTE, shape: { cpu: '1', nodeAffinity: PINNED } })],
      },
      difference: { resources: expect.arrayContaining([expect.objectContaining({ pod: 'default/y' })]) },
    },
    { name: 'the kubelet reserves more', world: { pods: [], nodes: [fresh({ cpu: '3' })] }, difference: short(3000) },
    {
      name: 'an extended resource never appears',
      world: {
        pods: [],
        pending: [aPod({ name: 'wide', shape: { resources: { 'example.com/fpga': '1' } } })],
        asked: [aPod({ name: 'wide', shape: { resources: { 'example.com/fpga': '1' } } })],
        group: { template: aTemplate({ resources: { 'example.com/fpga': '2' } }) },
      },
      difference: { resources: [{ resource: 'example.com/fpga', promised: 2, offered: 0 }] },
    },
    {
      name: 'a label has another value',
      world: {
        pods: [],
        nodes: [fresh({ labels: { disk: 'slow' } })],
        pending: [aPod({ name: 'wide', shape: { nodeSelector: { disk: 'fast' } } })],
        asked: [aPod({ name: 'wide', shape: { nodeSelector: { disk: 'fast' } } })],
        group: { template: aTemplate({ labels: { disk: 'fast' } }) },
      },
      difference: { resources: [], labels: [{ key: 'disk', promised: 'fast', found: 'slow' }] },
    },
    {
      name: 'a taint is not in the template',
      world: { pods: [], nodes: [fresh({ taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] })] },
      difference: { resources: [], taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] },
    },
    {
      name: 'a port is taken',
      world: {
        pods: [aPod({ ...AGENT, shape: { hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] } })],
        pending: [aPod({ name: 'wide', shape: { hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] } })],
        asked: [aPod({ name: 'wide', shape: { hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] } })],
      },
      difference: { resources: [], ports: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] },
    },
    {
      name: 'the storage driver attaches fewer volumes',
      world: {
        pods: [],
        nodes: [{ ...fresh(), attachLimits: { [DRIVER]: 1 } }],
        pending: [disks],
        asked: [disks],
        group: { template: { ...aTemplate(), attachLimits: { [DRIVER]: 8 } } },
      },
      difference: { resources: [{ resource: attachResource(DRIVER), promised: 8, offered: 1 }] },
    },
    {
      name: 'the kubelet declares fewer features',
      world: {
        pods: [],
        pending: [featured],
        asked: [featured],
        group: { template: { ...aTemplate(), source: 'live-node', declaredFeatures: ['A', 'B'] } },
        nodes: [{ ...fresh(), declaredFeatures: ['A'] }],
      },
      difference: { resources: [], features: ['B'] },
    },
    {
      name: 'a CSI driver that must be there does not come',
      world: {
        at: 20,
        pods: [],
        pending: [needing],
        asked: [needing],
        nodes: [{ ...fresh(), missingDrivers: [DRIVER] }],
      },
      difference: { resources: [], drivers: [DRIVER] },
    },
    {
      name: 'a driver publishes fewer devices',
      world: {
        pods: [],
        pending: [claiming],
        asked: [claiming],
        group: { template: { ...aTemplate(), source: 'live-node', devicePools: [gpus(2)] } },
        nodes: [{ ...fresh(), devices: { pools: [gpus(1)], incomplete: [], held: [] } }],
      },
      difference: { resources: [], devices: [{ driver: 'gpu.example.com', promised: 2, offered: 1 }] },
    },
    {
      name: 'a startup taint stays beyond the start',
      world: {
        at: 20,
        pods: [],
        nodes: [
          fresh({
            taints: [{ key: 'late', value: '', effect: 'NoSchedule' }],
            readiness: { ready: false, sinceMs: START_MS, reason: 'taint late' },
          }),
        ],
      },
      difference: { taints: [{ key: 'late', value: '', effect: 'NoSchedule' }] },
    },
  ])('$name', ({ world, difference }) => {
    expect(brokenIn(world)).toMatchObject({ difference, nodes: ['g-0'], untilMs: START_MS + ((world.at ?? 3) + 30) * MINUTE });
    // The correction says what the node said: the plan requests nothing, and the same pods are refused by the template.
    const state = check(world);
    const observation = withCorrectedTemplates(look(world), state, resourceNames);
    expect(planScaleUp({ ...FIRST_PLAN, observation, state, policy: POLICY, names: resourceNames }).increases).toEqual([]);
    const corrected = { ...world, group: observation.cloud.groups[0] ?? {} };
    expect(brokenIn(corrected)).toBeUndefined();
  });
});

describe('what runs on every node of the group', () => {
  /** A pod without an owner, with a random name and without tolerations. */
  const task = (node: string, change: Partial<Pod> = {}): Pod => ({
    ...aPod({
      name: `task-${node === 'g-0' ? 'x7' : 'q2'}`,
      nodeName: node,
      cpu: '1',
      controller: undefined,
      createdAtMs: START_MS + MINUTE + 5_000,
    }),
    ...change,
  });
  const nodes = [fresh(), fresh({ name: 'g-1' })];
  const both = [task('g-0'), task('g-1')];

  it.each<{ name: string; world: World; breaks: boolean }>([
    { name: 'is a pod of the same kind on each node, created with it', world: { pods: both }, breaks: true },
    {
      name: 'has custom owners, one for each node, too',
      world: { pods: both.map((pod) => ({ ...pod, controller: { kind: 'NodeTask', apiVersion: 'x/v1', name: pod.name, uid: pod.name } })) },
      breaks: true,
    },
    {
      name: 'is none of a ReplicaSet',
      world: { pods: both.map((pod) => ({ ...pod, controller: { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 'r', uid: 'r' } })) },
      breaks: false,
    },
    { name: 'is not seen on one node', world: { nodes: [fresh()], pods: [task('g-0')] }, breaks: false },
    {
      name: 'lacks what one node does not have',
      world: { pods: both, nodes: [...nodes, fresh({ name: 'g-2', cpu: '3100m' })] },
      breaks: false,
    },
    {
      name: 'is one pod each: tasks that happen to be on all nodes are more than one somewhere',
      world: { pods: [...both, task('g-1', { uid: 'more', name: 'task-r3' })] },
      breaks: false,
    },
    { name: 'was not there before its node', world: { pods: both.map((pod) => ({ ...pod, createdAtMs: START_MS })) }, breaks: false },
    {
      name: 'did not come long after its node',
      world: { pods: both.map((pod) => ({ ...pod, createdAtMs: START_MS + 9 * MINUTE })) },
      breaks: false,
    },
    {
      name: 'does not wait for a node',
      world: { pods: both, pending: [wide, aPod({ name: 'task-z1', cpu: '1', controller: undefined })] },
      breaks: false,
    },
  ])('$name', ({ world, breaks }) => expect(brokenIn({ nodes, at: 12, ...world }) !== undefined).toBe(breaks));
});

describe('a promise is not broken', () => {
  const zonal = { 'topology.kubernetes.io/zone': 'westeurope-1', image: '2' };

  it.each<{ name: string; world: World }>([
    { name: 'if other pods took the room', world: { pods: [aPod({ name: 'web-1', nodeName: 'g-0', cpu: '1' })] } },
    {
      name: 'if a pod without an owner took the room, which kube-scheduler placed',
      world: { pods: [aPod({ name: 'task-1', nodeName: 'g-0', cpu: '1', controller: undefined })] },
    },
    {
      name: 'if a pod without an owner that tolerates everything waited for any node, and took the room of this one',
      world: { pods: [aPod({ ...AGENT, ...WAITED, name: 'task-1', shape: { cpu: '1', tolerations: EVERYTHING } })] },
    },
    {
      name: 'if such a pod came long after the node',
      world: {
        at: 12,
        pods: [aPod({ ...AGENT, name: 'task-1', createdAtMs: START_MS + 9 * MINUTE, shape: { cpu: '1', tolerations: EVERYTHING } })],
      },
    },
    {
      name: 'if such a pod says that it is a daemon pod',
      world: { pods: [aPod({ ...AGENT, ...WAITED, name: 'task-1', daemonSet: true, shape: { cpu: '1', tolerations: EVERYTHING } })] },
    },
    { name: 'if a pod that is named like the node is older than the node', world: { pods: [aPod({ ...AGENT, ...WAITED })] } },
    {
      name: 'if a pod that is pinned to the node is older than the node',
      world: { pods: [aPod({ ...AGENT, ...WAITED, name: 'task-1', shape: { cpu: '1', nodeAffinity: PINNED } })] },
    },
    { name: 'if the node fits the pods', world: { pods: [] } },
    { name: 'by a node that was there before the increase', world: { nodes: [fresh({ createdAtMs: START_MS - 1 })] } },
    { name: 'by a node that starts', world: { nodes: [fresh({ readiness: { ready: false, sinceMs: START_MS, reason: 'taint late' } })] } },
    {
      name: 'by a node that is broken',
      world: { at: 20, nodes: [fresh({ readiness: { ready: false, sinceMs: START_MS, reason: 'Ready=False: x' } })] },
    },
    { name: 'by a node that is cordoned', world: { nodes: [fresh({ unschedulable: true })] } },
    {
      name: 'by a condition of one node',
      world: { pods: [], nodes: [fresh({ taints: [{ key: 'node.kubernetes.io/memory-pressure', value: '', effect: 'NoSchedule' }] })] },
    },
    { name: 'if the pods are gone', world: { pending: [] } },
    { name: 'if no increase was made for the pods', world: { asked: [aPod({ name: 'other', cpu: '3100m' })] } },
    { name: 'if the template does not promise it any more', world: { group: { template: aTemplate({ cpu: '3' }) } } },
    { name: 'if one of its nodes fits', world: { nodes: [fresh(), fresh({ name: 'g-1' })] } },
    {
      name: 'by the zone in which Azure put the node',
      world: {
        pods: [],
        nodes: [fresh({ labels: zonal })],
        pending: [aPod({ name: 'wide', shape: { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-2' } } })],
        asked: [aPod({ name: 'wide', shape: { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-2' } } })],
        group: { template: aTemplate({ zones: ['westeurope-1', 'westeurope-2'], labels: { image: '1' } }) },
      },
    },
  ])('$name', ({ world }) => expect(brokenIn(world)).toBeUndefined());
});

describe('a broken promise', () => {
  const first = brokenIn({});
  const known = (at: number, world: World = {}): BrokenPromise | undefined => brokenIn({ asked: [], broken: first, at, ...world });

  it('is reported once, a minute later', () => {
    expect([known(3.9)?.reportedAtMs, known(4)?.reportedAtMs]).toEqual([undefined, START_MS + 4 * MINUTE]);
    expect(brokenIn({ asked: [], at: 9, broken: known(4) })?.reportedAtMs).toBe(START_MS + 4 * MINUTE);
  });

  it.each<{ name: string; at: number; world?: World; remembered: boolean; corrected: boolean }>([
    { name: 'holds while the node shows it', at: 20, remembered: true, corrected: true },
    { name: 'holds when the node is gone', at: 20, world: { nodes: [], pods: [] }, remembered: true, corrected: true },
    {
      name: 'holds whatever else changes in the template, while the node shows it',
      at: 20,
      world: { group: { template: aTemplate({ labels: { a: 'b' } }) } },
      remembered: true,
      corrected: true,
    },
    {
      name: 'is tried again after a change of the template',
      at: 20,
      world: { nodes: [], pods: [], group: { template: aTemplate({ labels: { a: 'b' } }) } },
      remembered: true,
      corrected: false,
    },
    {
      name: 'is tried again after a change of the model',
      at: 20,
      world: { nodes: [], pods: [], group: { vmSize: 'Standard_D8s_v5' } },
      remembered: true,
      corrected: false,
    },
    {
      name: 'is tried again after a change of what can be attached',
      at: 20,
      world: { nodes: [], pods: [], group: { template: { ...aTemplate(), attachLimits: { [DRIVER]: 8 } } } },
      remembered: true,
      corrected: false,
    },
    { name: 'is tried again after 30 minutes', at: 34, remembered: true, corrected: false },
    {
      name: 'is tried by nothing as long as two nodes show it',
      at: 34,
      world: {
        nodes: [fresh(), fresh({ name: 'g-1' })],
        pods: [agent, aPod({ ...AGENT, name: 'agent-g-1', nodeName: 'g-1' })],
        asked: [wide],
      },
      remembered: true,
      corrected: true,
    },
    { name: 'is forgotten after an hour', at: 63, world: { nodes: [], pods: [] }, remembered: false, corrected: false },
    { name: 'ends when the other pod is gone', at: 5, world: { pods: [], pending: [] }, remembered: false, corrected: false },
    {
      name: 'ends when a later node fits',
      at: 5,
      world: { nodes: [fresh(), fresh({ name: 'g-1' })], asked: [wide] },
      remembered: false,
      corrected: false,
    },
    {
      name: 'does not end because its node fits smaller pods, while no other waits',
      at: 5,
      world: { pending: [aPod({ name: 'small' })], asked: [aPod({ name: 'small' })] },
      remembered: true,
      corrected: true,
    },
    {
      name: 'does not end because a later node fits smaller pods',
      at: 5,
      world: { nodes: [fresh()], pending: [wide, aPod({ name: 'small' })], asked: [aPod({ name: 'small' })] },
      remembered: true,
      corrected: true,
    },
  ])('$name', ({ at, world = {}, remembered, corrected }) => {
    const next = known(at, world);
    expect(next !== undefined).toBe(remembered);
    const observation = look({ ...world, at });
    const [group] = withCorrectedTemplates(
      observation,
      { broken: next === undefined ? new Map() : new Map([[G, next]]), brokenZones: new Map() },
      resourceNames,
    ).cloud.groups;
    expect(group?.template?.corrected !== undefined).toBe(corrected);
  });

  it('one node is requested to try it again, and pods of other sizes do not wait for it', () => {
    const increases = (pending: readonly Pod[]): readonly string[] => {
      const world: World = { at: 40, nodes: [], pods: [], pending, asked: [] };
      const state = { ...stateOf(world), ...(first === undefined ? {} : { broken: new Map([[G, first]]) }) };
      const plan = planScaleUp({ ...FIRST_PLAN, observation: look(world), state, policy: POLICY, names: resourceNames });
      return plan.increases.map(({ from, to }) => `${from}->${to}`);
    };
    const many = (cpu: string): readonly Pod[] => [1, 2, 3].map((index) => aPod({ name: `${cpu}-${index}`, cpu }));
    expect(increases([wide, ...many('3200m')])).toEqual(['0->1']);
    expect(increases(many('2500m'))).toEqual(['0->3']);
  });
});
