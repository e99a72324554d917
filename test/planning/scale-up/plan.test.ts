import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { PodAffinityTerm, TopologySpreadConstraint } from '../../../src/domain/pod.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { classifyVerdict } from '../../../src/planning/explain/verdicts.ts';
import {
  aCluster,
  aGroup,
  aNode,
  anInstance,
  anObservation,
  aPod,
  aShape,
  aTemplate,
  resourceNames,
  START_MS,
} from '../../support/builders.ts';
import { aPolicy, growth, planFor, skipOf, verdictOf } from './world.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { aBackoff, aState } from '../../support/state.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const WEB = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;

function spread(topologyKey: string, maxSkew: number): TopologySpreadConstraint {
  return { topologyKey, maxSkew, minDomains: 1, selector: WEB, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' };
}
function term(topologyKey: string): PodAffinityTerm {
  return { topologyKey, selector: WEB, namespaces: [], namespaceSelector: undefined };
}
function pods(count: number, options: Parameters<typeof aPod>[0] = {}) {
  return Array.from({ length: count }, () => aPod(options));
}

describe('planScaleUp: pod selection', () => {
  it('a nominated pod causes no scale-up and holds its room', () => {
    const node = aNode({ name: 'a-0', cpu: '1' });
    const nominated = aPod({ cpu: '800m', nominatedNodeName: 'a-0' });
    const other = aPod({ cpu: '500m' });
    const plan = planFor({ groups: [aGroup({ id: 'a' })], nodes: [node], pods: [nominated, other] });
    expect(verdictOf(plan, nominated)).toEqual({ kind: 'ignored', reason: 'nominated' });
    expect(verdictOf(plan, other)).toEqual({ kind: 'triggered', group: 'a' });
  });

  it.each([
    ['gated', { unschedulable: undefined }, 'not-unschedulable'],
    ['being deleted', { deletionAtMs: START_MS }, 'not-unschedulable'],
    ['a DaemonSet pod', { daemonSet: true }, 'daemon-set'],
    ['an expendable pod', { shape: { priority: -11 } }, 'expendable'],
    ['younger than its own delay', { scaleUpDelayMs: 120_000 }, 'too-young'],
  ] as const)('%s is ignored', (_, options, reason) => {
    const pod = aPod(options);
    const plan = planFor({ groups: [aGroup({ id: 'a' })], pods: [pod] });
    expect(verdictOf(plan, pod)).toEqual({ kind: 'ignored', reason });
    expect(plan.increases).toEqual([]);
  });

  it('a pod may only raise the delay', () => {
    const pod = aPod({ createdAtMs: START_MS - 20_000, scaleUpDelayMs: 10_000 });
    const plan = planFor({ groups: [aGroup({ id: 'a' })], pods: [pod], policy: { newPodDelayMs: 30_000 } });
    expect(verdictOf(plan, pod)).toEqual({ kind: 'ignored', reason: 'too-young' });
  });

  it.each([
    ['asks for GPUs and is 20 s old: its fellows are waited for', 20_000, { 'nvidia.com/gpu': '1' }, false],
    ['asks for GPUs and is 31 s old', 31_000, { 'nvidia.com/gpu': '1' }, true],
    ['asks for none', 20_000, {}, true],
  ])('a pod that %s', (_, ageMs, resources, grows) => {
    const template = aTemplate({ resources: { 'nvidia.com/gpu': '4' } });
    const pod = aPod({ createdAtMs: START_MS - ageMs, shape: { resources } });
    const old = aPod({ createdAtMs: START_MS - 60_000, cpu: '2', shape: { cpu: '2', nodeSelector: { pool: 'cpu' } } });
    const cpu = aGroup({ id: 'cpu', target: 0, template: aTemplate({ labels: { pool: 'cpu' } }) });
    const groups = [cpu, aGroup({ id: 'gpu', target: 0, template })];
    const plan = planFor({ groups, pods: [pod, old], policy: { newGpuPodDelayMs: 30_000 } });
    expect(verdictOf(plan, pod)?.kind).toBe(grows ? 'triggered' : 'ignored');
    // Pods that need no GPU do not wait for those that do.
    expect(verdictOf(plan, old)).toEqual({ kind: 'triggered', group: 'cpu' });
  });

  it.each([
    ['of a bypassed scheduler, not looked at yet: at once', { unseen: true }, 'fast', {}, 'triggered'],
    ['the same while new pods are waited for', { unseen: true }, 'fast', { newPodDelayMs: 60_000 }, 'triggered'],
    ['of another scheduler, not looked at yet', { unseen: true }, 'default-scheduler', {}, 'ignored'],
    ['of a bypassed scheduler, gated', {}, 'fast', {}, 'ignored'],
  ] as const)('a pod %s', (_, part, schedulerName, policy, kind) => {
    const pod = aPod({ unschedulable: undefined, createdAtMs: START_MS, ...part, shape: { schedulerName } });
    const plan = planFor({ groups: [aGroup()], pods: [pod], policy: { bypassedSchedulers: ['fast'], ...policy } });
    expect(verdictOf(plan, pod)?.kind).toBe(kind);
  });

  it('pods of schedulers that are not allowed ask for nothing, and keep the room that they have', () => {
    const bound = aPod({ nodeName: 'a-0', cpu: '3', shape: { cpu: '3', schedulerName: 'b' } });
    const [own, other] = [aPod({ cpu: '2', shape: { cpu: '2', schedulerName: 'a' } }), aPod({ shape: { schedulerName: 'b' } })];
    const world = { groups: [aGroup({ id: 'a' })], nodes: [aNode({ name: 'a-0' })], pods: [bound, own, other] };
    const plan = planFor({ ...world, policy: { allowedSchedulers: ['a'] } });
    expect(verdictOf(plan, other)).toEqual({ kind: 'ignored', reason: 'other-scheduler' });
    expect(verdictOf(plan, own)).toEqual({ kind: 'triggered', group: 'a' });
  });

  it('bound expendable pods make way', () => {
    const filler = aPod({ cpu: '3900m', nodeName: 'a-0', shape: { priority: -20, cpu: '3900m' } });
    const pod = aPod({ cpu: '1' });
    const plan = planFor({ groups: [aGroup({ id: 'a' })], nodes: [aNode({ name: 'a-0' })], pods: [filler, pod] });
    expect(verdictOf(plan, pod)).toEqual({ kind: 'fits-present-node', node: 'a-0' });
  });

  it('pods of a draining node ask for room, save DaemonSet, mirror and leaving ones', () => {
    const on = { nodeName: 'a-0', cpu: '3' } as const;
    const moved = aPod(on);
    const rest = [aPod({ ...on, daemonSet: true }), aPod({ ...on, mirror: true }), aPod({ ...on, deletionAtMs: START_MS })];
    const deleting = new Map([
      ['a-0', { group: nodeGroupId('a'), instance: anInstance({ node: 'a-0' }).key, sinceMs: START_MS, sentAtMs: undefined }],
    ]);
    const plan = planFor({ groups: [aGroup({ id: 'a' })], nodes: [aNode({ name: 'a-0' })], pods: [moved, ...rest], state: { deleting } });
    expect([...plan.verdicts.keys()]).toEqual([moved]);
    expect(growth(plan)).toEqual(['a 1->2']);
  });

  it('says waiting of every pod while the cloud may not be grown', () => {
    const pod = aPod();
    const plan = planFor({ groups: [aGroup()], pods: [pod], cloud: { scaleUpBlocked: 'reads are too old' } });
    expect(verdictOf(plan, pod)).toEqual({ kind: 'waiting', detail: 'reads are too old' });
    expect(plan.increases).toEqual([]);
  });

  it.each([
    { name: 'asks for nothing on a view of the cluster that is too old', stalenessMs: 600_001, grows: false },
    { name: 'asks on one that is within the limit', stalenessMs: 600_000, grows: true },
  ])('$name', ({ stalenessMs, grows }) => {
    const pod = aPod();
    const plan = planFor({ groups: [aGroup()], pods: [pod], stalenessMs, policy: { maxClusterStalenessMs: 600_000 } });
    expect(verdictOf(plan, pod)?.kind).toBe(grows ? 'triggered' : 'waiting');
    expect(plan.increases).toHaveLength(grows ? 1 : 0);
  });

  it('does not send pods to nodes that are not ready or are being deleted', () => {
    const unready = aNode({ name: 'a-0', readiness: { ready: false, sinceMs: 0, reason: 'down' } });
    const plan = planFor({ groups: [aGroup({ id: 'a' })], nodes: [unready], pods: [aPod()] });
    expect(growth(plan)).toEqual(['a 1->2']);
  });
});

describe('planScaleUp: groups that may not grow', () => {
  const backoff = aBackoff({ untilMs: START_MS + 1, durationMs: 1, lastFailureMs: START_MS, cause: 'quota' });
  const stockout = { scope: { vmSize: 'standard_d4S_v5' }, code: 'AllocationFailed', sinceMs: START_MS, untilMs: START_MS + 1 };
  it('lets the sizes of one pool grow together up to the limit of the pool, and names it for the pods that are left', () => {
    const sharedPool = { name: 'pool', limit: 1_000, room: 4 };
    const size = (id: string, target: number, cpu: string) =>
      ({ ...aGroup({ id, target, maxSize: target + 4, template: aTemplate({ cpu }) }), sharedPool }) as const;
    const large = Array.from({ length: 3 }, () => aPod({ cpu: '7' }));
    const small = Array.from({ length: 3 }, () => aPod({ cpu: '3500m', shape: { nodeSelector: { size: 'small' } } }));
    const small4 = { ...size('small', 500, '4'), template: aTemplate({ cpu: '4', labels: { size: 'small' } }) };
    const plan = planFor({ groups: [size('large', 496, '8'), small4], pods: [...large, ...small] });
    expect(plan.increases.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(4);
    const left = [...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless');
    expect(left).toHaveLength(2);
    expect(JSON.stringify(left[0])).toContain('"kind":"pool-limit","limit":1000');
  });

  it.each([
    ['two sizes are lifted to their minimum', [4, 4], ['a 0->4', 'b 0->1']],
    ['a size grows beside one that is lifted to its minimum and maximum', [4, 0], ['a 0->4', 'b 0->1']],
    ['the sizes see different room: the least counts', [0, 0], ['a 0->4', 'b 0->1'], 9],
  ])('counts every node of a shared pool: %s', (_what, [minA = 0, minB = 0], grown, other = 5) => {
    const size = (id: string, minSize: number, room: number) => ({
      ...aGroup({ id, target: 0, minSize, maxSize: id === 'a' ? 4 : 8, template: aTemplate({ cpu: '4', labels: { size: id } }) }),
      sharedPool: { name: 'pool', limit: 1_000, room },
    });
    const want = (id: string, count: number) =>
      Array.from({ length: count }, () => aPod({ cpu: '3', shape: { nodeSelector: { size: id } } }));
    const groups = [size('a', minA, 5), size('b', minB, other)];
    expect(growth(planFor({ groups, pods: [...want('a', 4), ...want('b', 4)], policy: { enforceMinSize: true } }))).toEqual(grown);
  });

  it.each([
    ['frozen', aGroup({ id: 'a', frozen: 'upgrading' }), {}, { kind: 'frozen', detail: 'upgrading' }],
    ['target-unknown', aGroup({ id: 'a', target: { known: false, reason: '403' } }), {}, { kind: 'target-unknown', detail: '403' }],
    [
      'backoff',
      aGroup({ id: 'a' }),
      { backoffs: new Map([[nodeGroupId('a'), backoff]]) },
      { kind: 'backoff', untilMs: START_MS + 1, cause: 'quota' },
    ],
    ['stockout', aGroup({ id: 'a' }), { stockouts: [stockout] }, { kind: 'stockout', untilMs: START_MS + 1, code: 'AllocationFailed' }],
    ['max-size', aGroup({ id: 'a', target: 3, maxSize: 3 }), {}, { kind: 'max-size', max: 3 }],
    [
      'the limit of AKS on one pool',
      { ...aGroup({ id: 'a', target: 1_000, maxSize: 1_000 }), poolLimit: 1_000 },
      {},
      { kind: 'pool-limit', limit: 1_000, max: 1_000 },
    ],
    ['no-template', aGroup({ id: 'a', template: undefined }), {}, { kind: 'no-template' }],
  ])('%s is reported and the other group is chosen', (_, group, state, reason) => {
    const other = aGroup({ id: 'b', target: 0, vmSize: 'Standard_D64s_v5', template: aTemplate({ cpu: '64' }) });
    const pod = aPod({ cpu: '3' });
    const plan = planFor({ groups: [group, other], pods: [pod], state });
    expect(skipOf(plan, 'a')).toEqual(reason);
    expect(growth(plan)).toEqual(['b 0->1']);
    const alone = planFor({ groups: [group], pods: [pod], state });
    expect(verdictOf(alone, pod)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', skip: reason }] });
  });

  it('an expired backoff or stockout does not count, nor one of another size, priority or zone', () => {
    const scopes = [{ vmSize: 'Standard_D8s_v5' }, { priority: 'Spot' }, { zone: '1' }] as const;
    const stockouts = [...scopes.map((scope) => ({ ...stockout, scope })), { ...stockout, untilMs: START_MS }];
    const state = { stockouts, backoffs: new Map([[nodeGroupId('a'), { ...backoff, untilMs: START_MS }]]) };
    expect(growth(planFor({ groups: [aGroup({ id: 'a' })], pods: [aPod()], state }))).toEqual(['a 1->2']);
  });

  it('a group of several zones is out of stock when all of them are; a pod pinned to the empty one is not helped', () => {
    const group = aGroup({ id: 'a', target: 0, template: aTemplate({ zones: ['we-1', 'we-2'] }) });
    const out = (zone: string) => ({ ...stockout, scope: { zone } });
    const pinned = aPod({ shape: { nodeSelector: { [ZONE]: 'we-1' } } });
    const both = planFor({ groups: [group], pods: [pinned], state: { stockouts: [out('1'), out('we-2')] } });
    expect(skipOf(both, 'a')).toMatchObject({ kind: 'stockout' });
    const one = planFor({ groups: [group], pods: [pinned, aPod()], state: { stockouts: [out('1')] } });
    expect(growth(one)).toEqual(['a 0->1']);
    expect(verdictOf(one, pinned)).toMatchObject({ kind: 'helpless', byGroup: [{ fit: [{ kind: 'node-selector-mismatch' }] }] });
  });

  it('a group that this loop has already tried is skipped', () => {
    const plan = planFor({ groups: [aGroup({ id: 'a' }), aGroup({ id: 'b' })], pods: [aPod()], exclude: ['a'] });
    expect(growth(plan)).toEqual(['b 1->2']);
  });

  it('a pod that would not fit anyway gets that reason beside the full group', () => {
    const pod = aPod({ shape: { nodeSelector: { disk: 'ssd' } } });
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 1, maxSize: 1 })], pods: [pod] });
    expect(verdictOf(plan, pod)).toMatchObject({
      byGroup: [
        { skip: { kind: 'max-size' }, fit: [{ kind: 'node-selector-mismatch', detail: 'disk=ssd is required', gaps: [{ key: 'disk' }] }] },
      ],
    });
  });

  it('refusals carry the numbers', () => {
    const pod = aPod({ cpu: '6', memory: '64Gi' });
    const plan = planFor({ groups: [aGroup({ id: 'a' })], pods: [pod] });
    expect(verdictOf(plan, pod)).toEqual({
      kind: 'helpless',
      byGroup: [
        {
          group: 'a',
          fit: [
            { kind: 'insufficient-resource', resource: 'cpu', requested: 6000, free: 4000 },
            { kind: 'insufficient-resource', resource: 'memory', requested: 64 * 2 ** 30, free: 16 * 2 ** 30 },
          ],
        },
      ],
    });
    expect(skipOf(plan, 'a')).toEqual({ kind: 'no-pod-fits' });
  });
});

describe('planScaleUp: packing', () => {
  it('three per node need four nodes for ten', () => {
    const group = aGroup({ id: 'a', target: 0, template: aTemplate({ cpu: '1050m', memory: '8Gi' }) });
    expect(growth(planFor({ groups: [group], pods: pods(10, { cpu: '350m', memory: '500Mi' }) }))).toEqual(['a 0->4']);
  });

  it('a host port allows one per node', () => {
    const shape = { hostPorts: [{ port: 5555, protocol: 'TCP', hostIp: '0.0.0.0' }] } as const;
    expect(growth(planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(4, { shape }) }))).toEqual(['a 0->4']);
  });

  it('the big go first and the small fill the gaps', () => {
    const all = [...pods(4, { cpu: '1' }), ...pods(2, { cpu: '3' })];
    expect(growth(planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: all }))).toEqual(['a 0->3']);
  });

  it('a thousand equal pods, fifty per node, are twenty nodes', () => {
    const group = aGroup({ id: 'a', target: 0, maxSize: 100, template: aTemplate({ cpu: '5' }) });
    expect(growth(planFor({ groups: [group], pods: pods(1000, { cpu: '100m', memory: '1Mi' }) }))).toEqual(['a 0->20']);
  });

  it('DaemonSets take their part of a new node where they match', () => {
    const daemonSet = (name: string, nodeSelector: Record<string, string>) => ({
      namespace: 'kube-system',
      name,
      uid: name,
      shape: aShape({ cpu: '1', nodeSelector }),
    });
    const world = { groups: [aGroup({ id: 'a', target: 0 })], pods: pods(2, { cpu: '2' }) };
    expect(growth(planFor({ ...world, daemonSets: [daemonSet('no', { gpu: 'yes' })] }))).toEqual(['a 0->1']);
    expect(growth(planFor({ ...world, daemonSets: [daemonSet('yes', {})] }))).toEqual(['a 0->2']);
  });

  it('a full group spills over to the next in the same plan', () => {
    const groups = [aGroup({ id: 'a', target: 0, maxSize: 2 }), aGroup({ id: 'b', target: 0 })];
    const all = pods(5, { cpu: '4' });
    const plan = planFor({ groups, pods: all });
    expect(growth(plan)).toEqual(['a 0->2', 'b 0->3']);
    expect([...plan.verdicts.values()].every((verdict) => verdict.kind === 'triggered')).toBe(true);
    expect(plan.increases.flatMap((increase) => increase.pods)).toHaveLength(5);
  });

  it('pods that only fit another group get it in the same plan', () => {
    const groups = [
      aGroup({ id: 'a', target: 0 }),
      aGroup({ id: 'b', target: 0, template: aTemplate({ labels: { disk: 'ssd' }, cpu: '8' }) }),
    ];
    const plan = planFor({
      groups,
      pods: [...pods(2, { cpu: '4' }), aPod({ cpu: '7', shape: { nodeSelector: { disk: 'ssd' }, cpu: '7' } })],
    });
    expect(growth(plan)).toEqual(['a 0->2', 'b 0->1']);
  });

  it('memory-heavy pods go to the group with memory; the other is reported as not chosen', () => {
    const groups = [
      aGroup({ id: 'cpu', target: 0, template: aTemplate({ cpu: '16', memory: '32Gi' }) }),
      aGroup({ id: 'mem', target: 0, template: aTemplate({ cpu: '4', memory: '32Gi' }) }),
    ];
    const plan = planFor({ groups, pods: pods(2, { cpu: '1', memory: '14Gi' }) });
    expect(growth(plan)).toEqual(['mem 0->1']);
    expect(skipOf(plan, 'cpu')).toEqual({ kind: 'not-chosen', expander: 'least-waste' });
  });

  it('does not buy GPU nodes for pods without GPUs', () => {
    const groups = [
      aGroup({ id: 'gpu', target: 0, template: aTemplate({ cpu: '4', resources: { 'nvidia.com/gpu': '1' } }) }),
      aGroup({ id: 'plain', target: 0, template: aTemplate({ cpu: '16', memory: '64Gi' }) }),
    ];
    expect(growth(planFor({ groups, pods: [aPod({ cpu: '3' })] }))).toEqual(['plain 0->1']);
  });

  it('only groups that are there are options: none is made for pods that they would not take, at whatever price', () => {
    const shape = aShape({ cpu: '9', nodeSelector: { disk: 'fast' } });
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ shape })], policy: { expanders: ['price'] } });
    expect(plan).toMatchObject({ increases: [], options: [] });
    const verdict = plan.verdicts.values().next().value;
    expect(verdict).toMatchObject({ kind: 'helpless', byGroup: [{ group: 'a' }] });
    expect(verdict?.kind === 'helpless' ? classifyVerdict(verdict) : '').toBe('impossible');
  });

  it('a pod of an unsupported feature is refused by name', () => {
    const pod = aPod({ shape: { unsupported: [{ feature: 'volume', detail: 'pvc data' }] } });
    expect(verdictOf(planFor({ groups: [aGroup({ id: 'a' })], pods: [pod] }), pod)).toEqual({
      kind: 'helpless',
      byGroup: [{ group: 'a', fit: [{ kind: 'unsupported', feature: 'volume', detail: 'pvc data' }] }],
    });
  });

  it('pods pinned to two zones of one group do not share a node, and the plan says so', () => {
    const group = aGroup({ id: 'a', target: 0, template: aTemplate({ zones: ['we-1', 'we-2'] }) });
    const pinned = (zone: string) => aPod({ shape: { nodeSelector: { [ZONE]: zone } } });
    const plan = planFor({ groups: [group], pods: [pinned('we-1'), pinned('we-2')] });
    expect(growth(plan)).toEqual(['a 0->2']);
    expect(plan.summary).toContain('2 nodes help only if they land in the right zone');
    expect(growth(planFor({ groups: [group], pods: [pinned('we-3')] }))).toEqual([]);
  });
});

describe('planScaleUp: pods that look at each other', () => {
  const web = { labels: { app: 'web' } };
  /** A domain that stays empty. */
  const full = aNode({ name: 'x', cpu: '1m' });

  it('host spread of two packs two per node', () => {
    const group = aGroup({ id: 'a', target: 0 });
    const plan = planFor({ groups: [group], nodes: [full], pods: pods(8, { shape: { ...web, topologySpread: [spread(HOST, 2)] } }) });
    expect(growth(plan)).toEqual(['a 0->4']);
  });

  it('a zone that may not run ahead of an empty one takes maxSkew pods', () => {
    const group = aGroup({ id: 'a', target: 0, template: aTemplate({ zones: ['we-1'] }) });
    const present = aNode({ name: 'x', cpu: '1m', labels: { [ZONE]: 'we-2' } });
    const all = pods(5, { shape: { ...web, topologySpread: [spread(ZONE, 2)] } });
    const plan = planFor({ groups: [group], nodes: [present], pods: all });
    expect([...plan.verdicts.values()].filter(({ kind }) => kind === 'triggered')).toHaveLength(2);
    expect([...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless')).toHaveLength(3);
  });

  it('earlier nodes are tried again when the least domain has grown', () => {
    const all = [...pods(2, { cpu: '3' }), ...pods(6, { cpu: '1', shape: { ...web, cpu: '1', topologySpread: [spread(HOST, 1)] } })];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], nodes: [full], pods: all });
    expect(growth(plan)).toEqual(['a 0->6']);
  });

  it('zonal spread is balanced over zonal groups in one plan', () => {
    const groups = ['1', '2', '3'].map((zone) => aGroup({ id: `z${zone}`, target: 0, template: aTemplate({ zones: [`we-${zone}`] }) }));
    const plan = planFor({ groups, pods: pods(9, { cpu: '1', shape: { ...web, cpu: '1', topologySpread: [spread(ZONE, 1)] } }) });
    expect([...plan.verdicts.values()].every(({ kind }) => kind === 'triggered')).toBe(true);
    expect(plan.increases.flatMap((increase) => increase.pods)).toHaveLength(9);
  });

  it('host anti-affinity takes one node per pod', () => {
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: pods(5, { shape: { ...web, podAntiAffinity: [term(HOST)] } }) });
    expect(growth(plan)).toEqual(['a 0->5']);
  });

  it('affinity to itself bootstraps and stays in the first zone', () => {
    const groups = ['1', '2'].map((zone) => aGroup({ id: `z${zone}`, target: 0, template: aTemplate({ zones: [`we-${zone}`] }) }));
    const plan = planFor({ groups, pods: pods(8, { cpu: '1', shape: { ...web, cpu: '1', podAffinity: [term(ZONE)] } }) });
    expect(growth(plan)).toEqual(['z1 0->2']);
  });

  it("an existing pod's anti-affinity keeps the pod out of its zone", () => {
    const groups = ['1', '2'].map((zone) => aGroup({ id: `z${zone}`, target: 0, template: aTemplate({ zones: [`we-${zone}`] }) }));
    const hermit = aPod({ nodeName: 'x', shape: { labels: { app: 'db' }, podAntiAffinity: [term(ZONE)] } });
    const node = aNode({ name: 'x', labels: { [ZONE]: 'we-1' } });
    const plan = planFor({ groups, nodes: [node], pods: [hermit, aPod({ shape: web })] });
    expect(growth(plan)).toEqual(['z2 0->1']);
  });
});

describe('planScaleUp: as a value', () => {
  it('leaves the snapshot as it was, says the same twice, and does not depend on the order of its input', () => {
    const groups = [aGroup({ id: 'a', maxSize: 3 }), aGroup({ id: 'b' })];
    const shapes = [aShape({ cpu: '2' }), aShape({ cpu: '3', labels: { app: 'web' }, topologySpread: [spread(HOST, 1)] })];
    const pending = Array.from({ length: 12 }, (_, index) => aPod({ name: `p${index}`, shape: shapes[index % 2]! }));
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'b-0' })];
    const run = (pods: typeof pending, snapshot?: ClusterSnapshot) => {
      const cluster = aCluster({ nodes, pods });
      snapshot?.sync(cluster);
      const observation = anObservation(groups, cluster);
      const plan = planScaleUp({
        ...FIRST_PLAN,
        observation,
        state: aState(),
        policy: aPolicy(),
        names: resourceNames,
        ...(snapshot ? { snapshot } : {}),
      });
      return { ...plan, verdicts: new Map([...plan.verdicts].map(([pod, verdict]) => [pod.name, verdict] as const)) };
    };
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    const first = run(pending, snapshot);
    expect(snapshot.nodeNames()).toEqual(['a-0', 'b-0']);
    expect(snapshot.get('a-0')?.pods).toEqual([]);
    expect(run(pending, snapshot)).toEqual(first);
    expect(run([...pending].reverse())).toEqual(first);
    expect(first.increases.length).toBeGreaterThan(0);
  });
});
