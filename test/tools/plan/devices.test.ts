/** `plan` on files that hold ResourceSlices, DeviceClasses, ResourceClaims and ResourceClaimTemplates. */
import { describe, expect, it } from 'vitest';
import {
  claimTemplate,
  deviceClass,
  GPU_DRIVER,
  gpus,
  gpuSlice,
  ownClaim,
  resourceClaim,
  sharedClaim,
} from '../../support/device-objects.ts';
import { listOf, nodeJson, plan, planAnswer, podJson, type PlanAnswer } from './support.ts';

type Json = Readonly<Record<string, unknown>>;

const POOLS = '- {name: gpu, vmSize: Standard_D4s_v5, min: 0, max: 9, allocatable: {cpu: "16", memory: 64Gi}}\n';
async function answerOf(cluster: readonly Json[], options: { readonly pools?: string; readonly add?: readonly Json[] } = {}) {
  const files = { 'c.json': listOf(...cluster), 'p.yaml': options.pools ?? POOLS, 'add.json': listOf(...(options.add ?? [])) };
  const add = options.add === undefined ? [] : ['--add-pods=add.json'];
  return planAnswer(['--cluster=c.json', '--pools=p.yaml', ...add], files);
}

const grown = ({ scaleUp }: PlanAnswer) => scaleUp.increases.map(({ group, from, to }) => `${group} ${from}->${to}`);
const whys = ({ scaleUp }: PlanAnswer) => scaleUp.helpless[0]?.groups.map(({ reason, detail }) => `${reason}: ${detail}`);
const fits = ({ scaleUp }: PlanAnswer) => scaleUp.fits.map(({ pod, node }) => `${pod} ${node}`);

/** A pod with a claim of its own that has its devices. */
function running(name: string, node: string, devices: readonly string[], cpu = '1'): readonly Json[] {
  const uid = `uid-${name}`;
  const pod = podJson(name, cpu, { on: node, metadata: { uid }, spec: ownClaim('one') });
  return [
    { ...pod, status: { phase: 'Running', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: `${name}-gpu` }] } },
    resourceClaim(`${name}-gpu`, { on: node, devices, owner: uid, reservedFor: [uid] }),
  ];
}

const NODE = nodeJson('n-1', 'gpu', { allocatable: { cpu: '16', memory: '64Gi' } });
const BASE = [NODE, gpuSlice('n-1', 4), deviceClass(), claimTemplate('one', [gpus(1)]), claimTemplate('two', [gpus(2)])];
const wanting = (name: string, template: string): Json => podJson(name, '1', { spec: ownClaim(template) });

describe('plan and devices', () => {
  it('a pod that needs two devices where one is free gets a new node', async () => {
    const answer = await answerOf([...BASE, ...running('a', 'n-1', ['gpu-0', 'gpu-1', 'gpu-2']), wanting('p', 'two')]);
    expect(grown(answer)).toEqual(['gpu 1->2']);
    expect(fits(await answerOf([...BASE, ...running('a', 'n-1', ['gpu-0', 'gpu-1']), wanting('p', 'two')]))).toEqual(['default/p n-1']);
  });

  it('a pod that needs more than any new node has gets none, and says what fell short', async () => {
    const answer = await answerOf([...BASE, claimTemplate('nine', [gpus(9)]), wanting('p', 'nine')]);
    expect(grown(answer)).toEqual([]);
    expect(whys(answer)).toEqual([
      'device: cannot allocate all claims: on a new node: claim gpu, request gpus: needs 9 devices, 4 of 4 that match are free',
    ]);
  });

  it('a pool without a seen node has no devices to count on', async () => {
    const other = nodeJson('x-1', 'other');
    const answer = await answerOf([other, gpuSlice('x-1', 0), ...BASE.slice(2), wanting('p', 'one')]);
    expect(grown(answer)).toEqual([]);
    expect(whys(answer)).toEqual([
      'device: cannot allocate all claims: no node of the group has published devices yet, so the devices of a new node are unknown',
    ]);
  });

  it('a pod may ask for devices by the name of a resource, and gets a node with devices or with an amount of its own', async () => {
    const named: Json = { ...deviceClass(), spec: { ...(deviceClass()['spec'] as Json), extendedResourceName: 'example.com/gpu' } };
    const base = [...BASE.filter(({ kind }) => kind !== 'DeviceClass'), named];
    const asking = (name: string, count: string, resource = 'example.com/gpu'): Json =>
      podJson(name, '1', { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1', [resource]: count } } }] } });
    expect(fits(await answerOf([...base, asking('p', '4')]))).toEqual(['default/p n-1']);
    expect(grown(await answerOf([...base, asking('p', '3'), asking('q', '2')]))).toEqual(['gpu 1->2']);
    expect(fits(await answerOf([...base, asking('p', '1', `deviceclass.resource.kubernetes.io/${GPU_DRIVER}`)]))).toEqual([
      'default/p n-1',
    ]);
    const much = await answerOf([...base, asking('p', '9')]);
    expect([grown(much), whys(much)?.[0]]).toEqual([
      [],
      expect.stringContaining('request example.com/gpu: needs 9 devices, 4 of 4 that match'),
    ]);
    // Two nodes: one has an amount of its own and no devices, one has devices.
    const own = nodeJson('own', 'other', { allocatable: { cpu: '16', memory: '64Gi', 'example.com/gpu': '2' } });
    const held = [asking('a', '3'), asking('b', '2')];
    expect(fits(await answerOf([own, ...base, ...held])).toSorted()).toEqual(['default/a n-1', 'default/b own']);
    // One that runs on the amount of its node keeps devices out of it.
    const runs = { ...asking('r', '1'), spec: { ...(asking('r', '1')['spec'] as Json), nodeName: 'own' } };
    expect(fits(await answerOf([own, ...base, runs, asking('b', '2')]))).toEqual(['default/b n-1']);
    const alone = [own, ...base.filter(({ kind }) => kind !== 'Node' && kind !== 'ResourceSlice')];
    expect(fits(await answerOf([...alone, asking('b', '2')]))).toEqual(['default/b own']);
    expect(fits(await answerOf([...alone, runs, asking('b', '2')]))).toEqual([]);
    // And one with a claim has its devices.
    const uid = 'uid-c';
    const claimed = {
      ...asking('c', '3'),
      metadata: { name: 'c', namespace: 'default', uid },
      spec: { ...(asking('c', '3')['spec'] as Json), nodeName: 'n-1' },
      status: { phase: 'Running', extendedResourceClaimStatus: { resourceClaimName: 'c-made' } },
    };
    const made = resourceClaim('c-made', { on: 'n-1', devices: ['gpu-0', 'gpu-1', 'gpu-2'], owner: uid, reservedFor: [uid] });
    expect(grown(await answerOf([...base, claimed, made, asking('p', '2')]))).toEqual(['gpu 1->2']);
    // Without such a name on any class the feature may be off: no node has the resource.
    const off = await answerOf([...BASE, asking('p', '1')]);
    expect([grown(off), whys(off)?.[0]]).toEqual([[], 'insufficient-resource: needs 1 example.com/gpu, the node offers 0']);
  });

  it('a device that is bound under conditions is one to be had, and a pod that waits for them keeps its node', async () => {
    const conditional = gpuSlice('n-1', 2, {
      spec: {
        devices: ['gpu-0', 'gpu-1'].map((name) => ({
          name,
          bindsToNode: true,
          bindingConditions: ['attached'],
          bindingFailureConditions: ['failed'],
        })),
      },
    });
    const base = [NODE, conditional, ...BASE.slice(2)];
    expect(fits(await answerOf([...base, wanting('p', 'two')]))).toEqual(['default/p n-1']);
    const uid = 'uid-p';
    const waiting = { ...wanting('p', 'one'), metadata: { name: 'p', namespace: 'default', uid } };
    const pod = {
      ...waiting,
      status: { ...(waiting as { status?: Json }).status, resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] },
    };
    const claim = resourceClaim('p-gpu', { on: 'n-1', devices: ['gpu-0'], owner: uid, reservedFor: [uid] });
    const other = nodeJson('n-2', 'gpu', { allocatable: { cpu: '16', memory: '64Gi' } });
    const answer = await answerOf([...base, other, gpuSlice('n-2', 4), pod, claim]);
    expect([fits(answer), grown(answer)]).toEqual([['default/p n-1'], []]);
    expect(answer.scaleDown.removals.map(({ node }) => node)).toEqual(['n-2']);
  });

  it('an empty pool has the devices that its tag or the configuration declares, until a node publishes others', async () => {
    const empty = [nodeJson('x-1', 'other'), gpuSlice('x-1', 0), ...BASE.slice(2), wanting('p', 'two')];
    const declared = POOLS.replace('}}', `}, tags: {k8s.io_cluster-autoscaler_node-template_devices_${GPU_DRIVER}: '{"count": 2}'}}`);
    const byTag = await answerOf(empty, { pools: declared });
    expect([grown(byTag), byTag.notes ?? []]).toEqual([['gpu 0->1'], []]);
    const config = `nodeGroupOptions: [{name: gpu, devices: [{driver: ${GPU_DRIVER}, count: 1}]}]`;
    const files = { 'c.json': listOf(...empty), 'p.yaml': POOLS, 'a.yaml': config };
    const byConfig = await planAnswer(['--cluster=c.json', '--pools=p.yaml', '--config=a.yaml'], files);
    expect([grown(byConfig), whys(byConfig)?.[0]]).toEqual([[], expect.stringContaining('needs 2 devices, 1 of 1 that match are free')]);
    const seen = await answerOf([...BASE, ...running('a', 'n-1', ['gpu-0', 'gpu-1', 'gpu-2']), wanting('p', 'two')], { pools: declared });
    expect(grown(seen)).toEqual(['gpu 1->2']);
    expect(seen.notes).toEqual([expect.stringContaining(`2 devices of ${GPU_DRIVER} are declared, and a node publishes 4`)]);
  });

  it.each([
    ['device.attributes["gpu.example.com"].model == "A100"', ['default/p n-1'], []],
    ['device.attributes["gpu.example.com"].model == "H100"', [], []],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', ['default/p n-1'], []],
    ['device.attributes["gpu.example.com"].index == 2', ['default/p n-1'], []],
  ])('a selector of the request counts: %s', async (expression, fit, growth) => {
    const picky = claimTemplate('picky', [gpus(1, { selectors: [{ cel: { expression } }] })]);
    const answer = await answerOf([...BASE, picky, wanting('p', 'picky')]);
    expect([fits(answer), grown(answer)]).toEqual([fit, growth]);
  });

  it.each([
    [
      'a selector that is not supported',
      { selectors: [{ cel: { expression: '[1].exists(x, x == 1)' } }] },
      '[1].exists(x, x == 1) is not supported: "x" is not supported',
    ],
    ['another allocation mode', { allocationMode: 'Most' }, 'the allocation mode Most is not supported'],
  ])('%s leaves the pod unsupported, by name', async (_, part, detail) => {
    const answer = await answerOf([...BASE, claimTemplate('odd', [gpus(1, part)]), wanting('p', 'odd')]);
    expect([fits(answer), grown(answer)]).toEqual([[], []]);
    expect(whys(answer)?.[0]).toContain(
      'unsupported: unsupported dynamic-resource-allocation: resource claim gpu (ResourceClaimTemplate odd)',
    );
    expect(whys(answer)?.[0]).toContain(detail);
  });

  it('claims share a device by parts of its capacity, rounded as its driver says, on present nodes and on new ones', async () => {
    const policy = { default: '20Gi', validRange: { min: '10Gi', step: '10Gi' } };
    const devices = [{ name: 'gpu-0', allowMultipleAllocations: true, capacity: { memory: { value: '80Gi', requestPolicy: policy } } }];
    const asking = (name: string, memory?: string) =>
      claimTemplate(name, [gpus(1, memory === undefined ? {} : { capacity: { requests: { memory } } })]);
    const templates = [asking('some', '35Gi'), asking('much', '90Gi'), asking('usual')];
    const [pod] = running('a', 'n-1', []);
    const claim = resourceClaim('a-gpu', {
      on: 'n-1',
      devices: ['gpu-0'],
      owner: 'uid-a',
      reservedFor: ['uid-a'],
      part: { memory: '40Gi' },
    });
    const base = [NODE, gpuSlice('n-1', 0, { spec: { devices } }), deviceClass(), ...templates, pod!, claim];
    const some = ['p', 'q', 'r', 's', 't'].map((name) => wanting(name, 'some'));
    const answer = await answerOf([...base, ...some]);
    // 40Gi each: one beside the pod that runs, two on each new node.
    expect([fits(answer), grown(answer)]).toEqual([['default/p n-1'], ['gpu 1->3']]);
    const usual = await answerOf([...base, wanting('u', 'usual'), wanting('v', 'usual'), wanting('w', 'usual')]);
    expect([fits(usual), grown(usual)]).toEqual([['default/u n-1', 'default/v n-1'], ['gpu 1->2']]);
    const much = await answerOf([...base, wanting('m', 'much')]);
    expect([grown(much), whys(much)]).toEqual([
      [],
      [
        'device: cannot allocate all claims: on a new node: claim gpu, request gpus: needs 1 devices with 90Gi of memory each, 0 of 0 that match are free',
      ],
    ]);
  });

  it('devices that several nodes reach are had once for all of them, and no node is bought for those that are taken', async () => {
    const net = gpuSlice('', 2, {
      name: 'net',
      spec: { nodeName: null, allNodes: true, pool: { name: 'net', generation: 1, resourceSliceCount: 1 } },
    });
    const [pod] = running('a', 'n-1', []);
    const claim = resourceClaim('a-gpu', { on: 'net', devices: ['gpu-0'], owner: 'uid-a', reservedFor: ['uid-a'] });
    const allocated = (pool: string, device: string): Json => ({
      allocation: { devices: { results: [{ request: 'gpus', driver: GPU_DRIVER, pool, device }] }, nodeSelector: null },
    });
    const everywhere = { ...claim, status: { ...allocated('net', 'gpu-0'), reservedFor: [{ resource: 'pods', uid: 'uid-a' }] } };
    const answer = await answerOf([NODE, net, ...BASE.slice(2), pod!, everywhere, wanting('p', 'one'), wanting('q', 'one')]);
    expect([fits(answer), grown(answer)]).toEqual([['default/p n-1'], []]);
    const lack = 'claim gpu, request gpus: needs 1 devices, 0 of 2 that match are free';
    expect(whys(answer)?.[0]).toBe(`device: cannot allocate all claims: ${lack}, they belong to several nodes, and a new node brings none`);
    // A claim that no pod uses keeps its device, too.
    const idle = { ...everywhere, metadata: { name: 'idle', namespace: 'default' }, status: allocated('net', 'gpu-1') };
    const taken = await answerOf([NODE, net, ...BASE.slice(2), pod!, everywhere, idle, wanting('p', 'one')]);
    expect([fits(taken), grown(taken), whys(taken)?.[0]]).toEqual([
      [],
      [],
      `device: cannot allocate all claims: on a new node: ${lack}, they belong to several nodes, and a new node brings none, the nodes of the group publish no devices`,
    ]);
  });

  it('a new node is judged by the devices that nodes with its labels reach', async () => {
    const selector = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.azure.com/agentpool', operator: 'In', values: ['gpu'] }] }],
    };
    const net = gpuSlice('', 2, {
      name: 'net',
      spec: { nodeName: null, nodeSelector: selector, pool: { name: 'net', generation: 1, resourceSliceCount: 1 } },
    });
    const other = nodeJson('x-1', 'other', { allocatable: { cpu: '16', memory: '64Gi' } });
    const pools = `${POOLS}${POOLS.replaceAll('gpu', 'other')}`;
    const wanted = ['p', 'q', 'r'].map((name) => podJson(name, '12', { spec: ownClaim('one') }));
    const answer = await answerOf([other, net, ...BASE.slice(2), ...wanted], { pools });
    expect([fits(answer), grown(answer)]).toEqual([[], ['gpu 0->2']]);
    expect(whys(answer)).toEqual([
      'device: cannot allocate all claims: claim gpu, request gpus: needs 1 devices, 0 of 2 that match are free, they belong to several nodes, and a new node brings none',
      'device: cannot allocate all claims: the nodes of the group publish no devices',
    ]);
  });

  it('says what is not there: the class, the template, the claim', async () => {
    const strange = claimTemplate('strange', [gpus(1, { deviceClassName: 'nobody' })]);
    expect(whys(await answerOf([...BASE, strange, wanting('p', 'strange')]))?.[0]).toBe(
      'device: request gpus: device class nobody does not exist: claim gpu',
    );
    expect(whys(await answerOf([...BASE, wanting('p', 'none')]))?.[0]).toContain('resourceclaimtemplate "none" not found');
    expect(whys(await answerOf([...BASE, podJson('p', '1', { spec: sharedClaim('none') })]))?.[0]).toContain(
      'resourceclaim "none" not found',
    );
    // kubectl was not asked for these kinds at all.
    expect(whys(await answerOf([NODE, wanting('p', 'one')]))?.[0]).toContain('the file contains no ResourceSlice');
  });

  it('a claim that has its devices keeps a new node from helping', async () => {
    const full = [...BASE, podJson('big', '16', { on: 'n-1' }), resourceClaim('team', { on: 'n-1', devices: ['gpu-0'] })];
    const answer = await answerOf([...full, podJson('p', '1', { spec: sharedClaim('team') })]);
    expect(grown(answer)).toEqual([]);
    expect(whys(answer)).toEqual(['device: resourceclaim not available on the node: the devices of claim gpu are on another node']);
  });

  it('asks for all devices, for those with the same attribute, and for the first that can be had', async () => {
    const all = claimTemplate('all', [gpus('all')]);
    expect(fits(await answerOf([...BASE, all, wanting('p', 'all')]))).toEqual(['default/p n-1']);
    expect(grown(await answerOf([...BASE, all, ...running('a', 'n-1', ['gpu-0']), wanting('p', 'all')]))).toEqual(['gpu 1->2']);
    const same = (attribute: string) =>
      claimTemplate('same', [gpus(2)], { constraints: [{ requests: ['gpus'], matchAttribute: attribute }] });
    expect(fits(await answerOf([...BASE, same(`${GPU_DRIVER}/model`), wanting('p', 'same')]))).toEqual(['default/p n-1']);
    expect(fits(await answerOf([...BASE, same(`${GPU_DRIVER}/uuid`), wanting('p', 'same')]))).toEqual([]);
    const distinct = (attribute: string) =>
      claimTemplate('distinct', [gpus(3)], { constraints: [{ requests: ['gpus'], distinctAttribute: attribute }] });
    const mixed = gpuSlice('n-1', 0, {
      spec: {
        devices: ['A', 'B', 'A', 'B'].map((model, at) => ({
          name: `gpu-${at}`,
          attributes: { model: { string: model }, index: { int: at } },
        })),
      },
    });
    const two = [NODE, mixed, ...BASE.slice(2)];
    expect(fits(await answerOf([...two, distinct(`${GPU_DRIVER}/index`), wanting('p', 'distinct')]))).toEqual(['default/p n-1']);
    expect(fits(await answerOf([...two, distinct(`${GPU_DRIVER}/model`), wanting('p', 'distinct')]))).toEqual([]);
    const large = { name: 'large', deviceClassName: GPU_DRIVER, count: 8 };
    const first = claimTemplate('first', [{ name: 'gpus', firstAvailable: [large, { ...large, name: 'small', count: 2 }] }]);
    expect(fits(await answerOf([...BASE, first, wanting('p', 'first')]))).toEqual(['default/p n-1']);
  });

  it('gives admin access no device, and tainted devices only to pods that tolerate the taint', async () => {
    const admin = claimTemplate('admin', [gpus('all', { adminAccess: true })]);
    const busy = [...BASE, admin, ...running('a', 'n-1', ['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3'])];
    expect(fits(await answerOf([...busy, wanting('p', 'admin')]))).toEqual(['default/p n-1']);
    const taints = [{ key: 'sick', effect: 'NoSchedule' }];
    const sick = gpuSlice('n-1', 0, { spec: { devices: [{ name: 'gpu-0', taints }] } });
    const cluster = [
      NODE,
      sick,
      ...BASE.slice(2),
      claimTemplate('brave', [gpus(1, { tolerations: [{ key: 'sick', operator: 'Exists' }] })]),
    ];
    expect(fits(await answerOf([...cluster, wanting('p', 'one')]))).toEqual([]);
    expect(fits(await answerOf([...cluster, wanting('p', 'brave')]))).toEqual(['default/p n-1']);
  });

  it('counts workloads that are still to be made by their templates', async () => {
    const spec = { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }], ...ownClaim('two') };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'train' },
      spec: { replicas: 7, template: { spec } },
    };
    const answer = await answerOf(BASE, { add: [deployment] });
    expect(fits(answer)).toHaveLength(2);
    expect(grown(answer)).toEqual(['gpu 1->4']);
  });

  it('the share of devices in use is what a node is judged by', async () => {
    const second = nodeJson('n-2', 'gpu', { allocatable: { cpu: '16', memory: '64Gi' } });
    const ten = [second, gpuSlice('n-2', 10), ...BASE, ...running('a', 'n-2', ['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3'], '15')];
    const answer = await answerOf(ten);
    expect(answer.scaleDown.removals).toMatchObject([{ node: 'n-1', kind: 'empty' }]);
    const six = await answerOf([
      second,
      gpuSlice('n-2', 10),
      ...BASE,
      ...running('a', 'n-2', ['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3', 'gpu-4', 'gpu-5']),
    ]);
    expect(six.scaleDown.unremovable).toContainEqual({
      node: 'n-2',
      reason: 'NotUnderutilized',
      detail: 'utilization 60 %, above the threshold of 50 %',
    });
  });

  it('a pool that is not complete is no number', async () => {
    const half = gpuSlice('n-2', 4, { spec: { pool: { name: 'n-2', generation: 2, resourceSliceCount: 2 } } });
    // An hour later: a node that has just come still waits for its drivers.
    const later = { kind: 'Namespace', metadata: { name: 'later', creationTimestamp: '2026-11-21T09:00:00Z' } };
    const answer = await answerOf([...BASE, nodeJson('n-2', 'gpu'), half, later]);
    expect(answer.scaleDown.unremovable).toContainEqual({
      node: 'n-2',
      reason: 'UnexpectedError',
      detail: `device pool ${GPU_DRIVER}/n-2 is incomplete`,
    });
  });

  it('moves a pod with a claim of its own to devices elsewhere, and keeps it if no devices are free', async () => {
    const second = nodeJson('n-2', 'gpu', { allocatable: { cpu: '16', memory: '64Gi' } });
    const loads = (devices: readonly string[]) => [
      ...BASE,
      second,
      gpuSlice('n-2', 4),
      ...running('a', 'n-1', ['gpu-0']),
      ...running('b', 'n-2', devices),
    ];
    const moved = await answerOf(loads(['gpu-0', 'gpu-1', 'gpu-2']));
    expect(moved.scaleDown.removals).toMatchObject([{ node: 'n-1', kind: 'drain' }]);
    const stuck = await answerOf(loads(['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3']));
    expect(stuck.scaleDown.removals).toEqual([]);
    expect(stuck.scaleDown.unremovable).toContainEqual(expect.objectContaining({ node: 'n-1', reason: 'NoPlaceToMovePods' }));
  });

  it('a shared claim that has its devices keeps its pods, and their node', async () => {
    const second = nodeJson('n-2', 'gpu', { allocatable: { cpu: '16', memory: '64Gi' } });
    const pod = podJson('a', '1', { on: 'n-1', metadata: { uid: 'uid-a' }, spec: sharedClaim('team') });
    const claim = resourceClaim('team', { on: 'n-1', devices: ['gpu-0'], reservedFor: ['uid-a'] });
    const answer = await answerOf([...BASE, second, gpuSlice('n-2', 4), ...running('b', 'n-2', ['gpu-0', 'gpu-1', 'gpu-2']), pod, claim]);
    expect(answer.scaleDown.removals).toEqual([]);
    expect(answer.scaleDown.unremovable).toContainEqual(expect.objectContaining({ node: 'n-1', reason: 'NoPlaceToMovePods' }));
  });

  it.each([
    ['spec.driver', { driver: 7 }],
    ['spec.devices', { devices: 'many' }],
    ['spec.pool.generation', { pool: { name: 'n-1', generation: -1 } }],
    ['spec.devices[0].capacity.memory.value', { devices: [{ name: 'g', capacity: { memory: { value: 'lots' } } }] }],
  ])('a slice whose %s is not what it should be is one sentence', async (field, spec) => {
    const { code, err } = await plan(['--cluster=c.json', '--pools=p.yaml'], {
      'c.json': listOf(NODE, gpuSlice('n-1', 1, { spec })),
      'p.yaml': POOLS,
    });
    expect(code).toBe(2);
    expect(err).toContain(`ResourceSlice n-1-gpus: ${field}`);
  });
});
