/** From the objects of `resource.k8s.io/v1` to nodes with devices and pods with claims. */
import { describe, expect, it } from 'vitest';
import type { ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import { ReflectedCluster, type Troubles } from '../../../src/kubernetes/views/cluster-tables.ts';
import { type DevicePool, usualPools } from '../../../src/domain/devices.ts';
import { UNREMARKABLE } from '../../../src/domain/node.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { claimTemplate, deviceClass, gpus, gpuSlice, ownClaim, resourceClaim, sharedClaim } from '../../support/device-objects.ts';

const GPU_LABEL = 'kubernetes.azure.com/accelerator';
const node = (name: string, labels: Readonly<Record<string, string>> = {}): ObjectJson =>
  ({
    metadata: { name, uid: `uid-${name}`, labels },
    status: {
      capacity: { cpu: '8', memory: '32Gi', pods: '110' },
      allocatable: { cpu: '8', memory: '32Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }) as ObjectJson;
const pod = (name: string, spec: object, status: object = {}): ObjectJson =>
  ({ metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { containers: [], ...spec }, status }) as ObjectJson;

function clusterOf(objects: Readonly<Record<string, readonly object[]>>) {
  const cluster = new ReflectedCluster(new ResourceNames());
  const tableOf = (resource: string) => cluster.sources().find((source) => source.resource === resource)?.table;
  const put = (resource: string, object: object): void => tableOf(resource)?.put(object);
  const drop = (resource: string, object: object): void => tableOf(resource)?.remove(object);
  for (const [resource, items] of Object.entries(objects)) for (const item of items) put(resource, item);
  const pending = (name: string, troubles: Troubles = {}) => cluster.views(troubles).pendingPods.find((each) => each.name === name);
  const devicesOf = (name: string) => cluster.views().nodes.get(name)?.devices;
  return { cluster, put, drop, pending, devicesOf, view: () => cluster.views() };
}

const IN_ZONE = { key: 'zone', operator: 'In', values: ['a'] };
const SELECTOR = { nodeSelectorTerms: [{ matchExpressions: [IN_ZONE] }] };
const KINDS = { deviceclasses: [deviceClass()], resourceclaimtemplates: [claimTemplate('one', [gpus(1)])] };

describe('devices that drivers publish', () => {
  it('are those of the newest generation, once all of its slices are there', () => {
    const part = (name: string, generation: number, count: number, devices: readonly string[]) =>
      gpuSlice('n-1', 0, {
        name,
        spec: { pool: { name: 'n-1', generation, resourceSliceCount: count }, devices: devices.map((device) => ({ name: device })) },
      });
    const { put, drop, devicesOf } = clusterOf({ nodes: [node('n-1')], resourceslices: [part('old', 1, 1, ['a', 'b', 'c'])] });
    const names = (): unknown => devicesOf('n-1')?.pools.map(({ devices }) => devices.map(({ name }) => name));
    expect(names()).toEqual([['a', 'b', 'c']]);
    put('resourceslices', part('new-1', 2, 2, ['b']));
    expect([names(), devicesOf('n-1')?.incomplete]).toEqual([[], ['gpu.example.com/n-1']]);
    put('resourceslices', part('new-2', 2, 2, ['a']));
    expect([names(), devicesOf('n-1')?.incomplete]).toEqual([[['b', 'a']], []]);
    // Neither claim gets a device that is listed twice.
    put('resourceslices', part('new-2', 2, 2, ['b']));
    expect(names()).toEqual([]);
    for (const name of ['old', 'new-1', 'new-2']) drop('resourceslices', part(name, 1, 1, []));
    expect(devicesOf('n-1')).toEqual(UNREMARKABLE.devices);
  });

  it.each<[string, object | null | undefined, readonly string[], readonly string[]]>([
    ['of its driver', { driver: 'gpu.example.com' }, ['n-1/a', 'n-1/b', 'n-2/a', 'n-2/b'], ['n-1/a', 'n-1/b', 'n-2/a', 'n-2/b']],
    ['of one pool', { driver: 'gpu.example.com', pool: 'n-1' }, ['n-1/a', 'n-1/b'], []],
    ['of one name', { device: 'b' }, ['n-1/b', 'n-2/b'], []],
    ['that are one', { driver: 'gpu.example.com', pool: 'n-2', device: 'a' }, ['n-2/a'], []],
    ['of all drivers', {}, ['n-1/a', 'n-1/b', 'n-2/a', 'n-2/b'], ['n-1/a', 'n-1/b', 'n-2/a', 'n-2/b']],
    ['of another driver: none', { driver: 'nic.example.com' }, [], []],
    ['without a selector: none', null, [], []],
  ])(
    'have the taint of a rule about those %s; the next node has it if the rule names neither pool nor device',
    (_what, selector, now, next) => {
      const two = (name: string) => gpuSlice(name, 0, { spec: { devices: [{ name: 'a' }, { name: 'b' }] } });
      const objects = { nodes: [node('n-1'), node('n-2')], resourceslices: [two('n-1'), two('n-2')] };
      const { put, drop, devicesOf } = clusterOf(objects);
      const before = devicesOf('n-1');
      const rule = { metadata: { name: 'sick' }, spec: { deviceSelector: selector, taint: { key: 'sick', effect: 'NoSchedule' } } };
      put('devicetaintrules', rule);
      const tainted = (pools: readonly DevicePool[]): readonly string[] =>
        pools.flatMap(({ name, devices }) => devices.filter(({ taints }) => taints.length > 0).map((device) => `${name}/${device.name}`));
      const published = ['n-1', 'n-2'].flatMap((name) => devicesOf(name)?.pools ?? []);
      expect(tainted(published)).toEqual(now);
      expect(tainted(usualPools(published))).toEqual(next);
      drop('devicetaintrules', rule);
      expect(devicesOf('n-1')).toEqual(before);
    },
  );

  it('are read with null for every list that is not given, as the API server writes it', () => {
    const slice = gpuSlice('n-1', 0, { spec: { devices: null, sharedCounters: null } });
    const empty = { ...claimTemplate('one', []), spec: { spec: { devices: { requests: null, constraints: null } } } };
    const pods = [pod('p', ownClaim('one'))];
    const { devicesOf, pending } = clusterOf({ nodes: [node('n-1')], resourceslices: [slice], resourceclaimtemplates: [empty], pods });
    expect(devicesOf('n-1')?.pools).toMatchObject([{ name: 'n-1', devices: [] }]);
    // Who asks for nothing is content everywhere, also where drivers have not published yet.
    expect(pending('p')?.shape).toMatchObject({ unsupported: [], devices: { claims: [], blockers: [] } });
  });

  it.each<[string, object, readonly (readonly unknown[] | 'every node')[]]>([
    ['of all nodes', { allNodes: true, devices: [{ name: 'a' }] }, ['every node']],
    ['of nodes with labels', { nodeSelector: SELECTOR, devices: [{ name: 'a' }] }, [[{ expressions: [IN_ZONE], fields: [] }]]],
    [
      'that name their nodes themselves',
      {
        perDeviceNodeSelection: true,
        devices: [
          { name: 'a', nodeName: 'n-2' },
          { name: 'b', nodeSelector: SELECTOR },
          { name: 'c', allNodes: true },
        ],
      },
      [
        [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: ['n-2'] }] }],
        [{ expressions: [IN_ZONE], fields: [] }],
        'every node',
      ],
    ],
    ['whose slice says nothing known of nodes', { devices: [{ name: 'a' }] }, [[]]],
  ])('are common ones if they are devices %s', (_what, part, reaches) => {
    const slice = gpuSlice('', 0, { spec: { nodeName: null, pool: { name: 'net', generation: 1, resourceSliceCount: 1 }, ...part } });
    const { devicesOf, view } = clusterOf({ nodes: [node('n-1')], resourceslices: [slice] });
    expect(devicesOf('n-1')).toEqual(UNREMARKABLE.devices);
    const [pool] = view().commonDevices ?? [];
    expect(pool?.devices.map(({ reach = 'every node' }) => reach)).toEqual(reaches);
  });

  it('are common ones also if slices of several nodes make one pool, and stay the same object while nothing of them changes', () => {
    const part = (name: string, slices: number) =>
      gpuSlice(name, 0, { spec: { devices: [{ name }], pool: { name: 'both', generation: 1, resourceSliceCount: slices } } });
    const { put, devicesOf, view } = clusterOf({ nodes: [node('n-1'), node('n-2')], resourceslices: [part('n-1', 2), part('n-2', 2)] });
    expect(devicesOf('n-1')).toEqual(UNREMARKABLE.devices);
    const before = view().commonDevices;
    expect(before).toMatchObject([{ name: 'both', devices: [{ name: 'n-1' }, { name: 'n-2' }], allocated: [], held: [] }]);
    put('resourceslices', gpuSlice('n-3', 1));
    expect(view().commonDevices).toBe(before);
    const results = [{ request: 'gpus', driver: 'gpu.example.com', pool: 'both', device: 'n-1' }];
    put('resourceclaims', { metadata: { name: 'c', namespace: 'default' }, spec: {}, status: { allocation: { devices: { results } } } });
    expect(view().commonDevices).toMatchObject([{ allocated: ['gpu.example.com/both/n-1'], held: ['gpu.example.com/both/n-1'] }]);
  });

  it('are tried in the order of their pools, those that are bound under conditions last', () => {
    const slices = ['a', 'b'].map((name) =>
      gpuSlice('n-1', 0, {
        name,
        spec: {
          pool: { name, generation: 1, resourceSliceCount: 1 },
          devices: [{ name, ...(name === 'a' ? { bindingConditions: ['ready'] } : {}) }],
        },
      }),
    );
    const { devicesOf } = clusterOf({ nodes: [node('n-1')], resourceslices: slices });
    expect(devicesOf('n-1')?.pools.map(({ name }) => name)).toEqual(['b', 'a']);
  });

  it('make a node ready whose labels promise GPUs that no device plugin reports', () => {
    const { cluster, put } = clusterOf({ nodes: [node('n-1', { [GPU_LABEL]: 'nvidia' })] });
    const readiness = () => cluster.views().nodes.get('n-1')?.readiness;
    expect(readiness()).toMatchObject({ ready: false, reason: 'cluster-autoscaler.kubernetes.io/resource-not-ready' });
    put('resourceslices', gpuSlice('n-1', 2));
    expect(readiness()).toMatchObject({ ready: true, reason: '' });
  });

  it('are held by claims, except if a pod of the node holds them itself or access is administrative', () => {
    const own = pod(
      'p',
      { nodeName: 'n-1', ...ownClaim('one') },
      { phase: 'Running', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] },
    );
    const { cluster, devicesOf } = clusterOf({
      ...KINDS,
      nodes: [node('n-1')],
      pods: [own],
      resourceslices: [gpuSlice('n-1', 4)],
      resourceclaims: [
        resourceClaim('p-gpu', { on: 'n-1', devices: ['gpu-0'], owner: 'uid-p' }),
        resourceClaim('team', { on: 'n-1', devices: ['gpu-2'] }),
        resourceClaim('watcher', { on: 'n-1', devices: ['gpu-3'], admin: true }),
      ],
    });
    expect(devicesOf('n-1')?.held).toEqual(['gpu.example.com/n-1/gpu-2']);
    expect(
      cluster
        .views()
        .podsByNode.get('n-1')
        ?.map(({ status }) => status.heldDevices),
    ).toEqual([['gpu.example.com/n-1/gpu-0']]);
  });

  it('are known of a bound pod once its claim shows them, also if it may only look at them', () => {
    const status = { phase: 'Running', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] };
    const claim = { on: 'n-1', owner: 'uid-p', devices: ['gpu-0'], admin: true };
    const { cluster, put } = clusterOf({
      ...KINDS,
      nodes: [node('n-1')],
      pods: [pod('p', { nodeName: 'n-1', ...ownClaim('one') }, status)],
      resourceslices: [gpuSlice('n-1', 4)],
      resourceclaims: [resourceClaim('p-gpu', { owner: 'uid-p' })],
    });
    const held = () => cluster.views().podsByNode.get('n-1')?.[0]?.status.heldDevices;
    expect(held()).toBeUndefined();
    put('resourceclaims', resourceClaim('p-gpu', claim));
    expect(held()).toEqual([]);
  });

  it('cost nothing where nothing changes: the same view comes out again', () => {
    const { cluster, put } = clusterOf({
      ...KINDS,
      nodes: [node('n-1')],
      pods: [pod('p', ownClaim('one'))],
      resourceslices: [gpuSlice('n-1', 4)],
    });
    const [before, again] = [cluster.views(), cluster.views()];
    expect(again.nodes).toBe(before.nodes);
    expect(again.pendingPods).toBe(before.pendingPods);
    put('resourceclaims', resourceClaim('elsewhere', { on: 'n-9', devices: ['gpu-0'] }));
    const after = cluster.views();
    expect(after.nodes.get('n-1')).toBe(before.nodes.get('n-1'));
    expect(after.pendingPods[0]).toBe(before.pendingPods[0]);
  });
});

describe('what device claims mean for a pod', () => {
  it('replicas with claims of their own have one shape', () => {
    const { cluster } = clusterOf({ ...KINDS, pods: [pod('a', ownClaim('one')), pod('b', ownClaim('one'))] });
    const [a, b] = cluster.views().pendingPods;
    expect(a?.shape).toBe(b?.shape);
    expect(a?.shape.unsupported).toEqual([]);
    expect(a?.shape.devices.claims).toHaveLength(1);
  });

  it.each([
    ['silent', { devices: 'no update of resourceslices was received for 400 s' }, ['no update of resourceslices was received']],
    ['fine, volumes are not', { volumes: 'trouble' }, []],
  ])('where devices are %s', (_, troubles, parts) => {
    const { pending } = clusterOf({ ...KINDS, pods: [pod('p', ownClaim('one'))] });
    const unsupported = pending('p', troubles)?.shape.unsupported ?? [];
    expect(unsupported.map(({ detail }) => detail).filter((detail) => !parts.some((part) => detail.includes(part)))).toEqual([]);
    expect(unsupported).toHaveLength(parts.length);
  });

  const status = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] };
  const users = Array.from({ length: 256 }, (_, at) => `uid-${at}`);
  it.each([
    [
      'was made for another pod',
      pod('p', ownClaim('one'), status),
      resourceClaim('p-gpu', { owner: 'uid-x' }),
      'pod is not owner',
      undefined,
    ],
    [
      'is being deleted',
      pod('p', sharedClaim('team')),
      deleting(resourceClaim('team')),
      'resourceclaim is being deleted',
      'await-deletion',
    ],
    ['is missing', pod('p', sharedClaim('team')), resourceClaim('other', {}), 'resourceclaim "team" not found', 'create'],
    [
      'has as many users as it may',
      pod('p', sharedClaim('team')),
      resourceClaim('team', { on: 'n-1', reservedFor: users }),
      'resourceclaim in use',
      'own-claim',
    ],
  ])('a claim that %s blocks it', (_, waiting, claim, message, repair) => {
    const { pending } = clusterOf({ ...KINDS, pods: [waiting], resourceclaims: [claim] });
    expect(pending('p')?.shape.devices.blockers.map((blocker) => blocker.repair?.kind)).toEqual([repair]);
    expect(
      pending('p')
        ?.shape.devices.blockers.map((blocker) => blocker.message)
        .join(),
    ).toContain(message);
  });

  it('a claim of its own that has devices already pins a pod that is not bound yet', () => {
    const { pending } = clusterOf({
      ...KINDS,
      pods: [pod('p', ownClaim('one'), status)],
      resourceclaims: [resourceClaim('p-gpu', { owner: 'uid-p', on: 'n-1', devices: ['gpu-0'] })],
    });
    expect(pending('p')?.shape.devices).toMatchObject({ claims: [], pins: [{ claim: 'gpu' }] });
  });

  it('a DaemonSet has devices on its nodes like any other pod', () => {
    const template = { metadata: { labels: {} }, spec: { containers: [], ...ownClaim('one') } };
    const { cluster } = clusterOf({
      ...KINDS,
      daemonsets: [{ metadata: { name: 'd', namespace: 'default', uid: 'd' }, spec: { template } }],
    });
    expect(cluster.views().daemonSets[0]?.shape).toMatchObject({ unsupported: [], devices: { claims: [{ name: 'gpu' }] } });
  });
});

describe('objects that are odd', () => {
  it('treats nulls as absent, and omits what cannot be read', () => {
    const nothing = { metadata: { name: 'x', namespace: 'default' }, spec: null, status: null };
    const hollow = { metadata: { name: 'y' }, spec: { driver: 'd', pool: null, nodeName: 'n-1', devices: null, sharedCounters: null } };
    const odd = gpuSlice('n-2', 0, {
      spec: {
        devices: [
          { name: 'gpu-0', attributes: null, capacity: { memory: { value: 'much' }, cores: null }, taints: null, consumesCounters: null },
        ],
      },
    });
    const claim = {
      metadata: { name: 'c', namespace: 'default' },
      spec: { devices: { requests: null, constraints: null } },
      status: { allocation: null, reservedFor: null },
    };
    const { cluster, devicesOf } = clusterOf({
      nodes: [node('n-1'), node('n-2')],
      pods: [pod('p', sharedClaim('c'))],
      resourceslices: [nothing, hollow, odd],
      deviceclasses: [nothing],
      resourceclaims: [nothing, claim],
      resourceclaimtemplates: [nothing],
    });
    expect(cluster.views().pendingPods[0]?.shape).toMatchObject({ unsupported: [], devices: { blockers: [], pins: [] } });
    expect(devicesOf('n-1')?.pools.map(({ devices }) => devices)).toEqual([[]]);
    expect(devicesOf('n-2')?.pools[0]?.devices[0]).toMatchObject({ name: 'gpu-0', attributes: {}, capacity: {}, taints: [] });
  });
});

function deleting(claim: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...claim, metadata: { ...(claim['metadata'] as object), deletionTimestamp: '2026-11-21T08:00:00Z' } };
}
