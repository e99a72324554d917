/** Devices that drivers publish after a node has joined, and groups whose drivers do not. */
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { aDevice, aDeviceClaim, aDevicePool, claiming, DRIVER } from '../../support/devices.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import { growth, planFor } from './world.ts';
import { describeFit } from '../../../src/planning/explain/describe-reasons.ts';

const POOLS = [aDevicePool('template', 4)];
const published = (name: string) => ({ devices: { pools: [aDevicePool(name, 4)], incomplete: [], held: [] } });
const group = (target: number) =>
  aGroup({ id: 'a', target, maxSize: 20, template: { ...aTemplate(), devicePools: POOLS, source: 'live-node' } });
const pods = (count: number, each: number | 'all' = 1) =>
  Array.from({ length: count }, (_, at) => aPod({ name: `p-${at}`, shape: { key: `claims ${each}`, ...claiming(each) } }));
const young = (name: string, rest: Partial<Node> = {}) => aNode({ name, createdAtMs: START_MS - 60_000, ...rest });

const verdictOf = (plan: ScaleUpPlan, name: string) => [...plan.verdicts].find(([pod]) => pod.name === name)?.[1];
const reasonsOf = (plan: ScaleUpPlan, name: string): readonly string[] => {
  const verdict = verdictOf(plan, name);
  const fits = verdict?.kind === 'helpless' ? verdict.byGroup.flatMap(({ fit = [] }) => fit) : [];
  return fits.map((fit) => `${describeFit(fit)}: ${'detail' in fit ? fit.detail : ''}`);
};

describe('devices of new nodes', () => {
  it('pods are packed by devices, and what no node can hold buys none', () => {
    const nodes = [aNode({ name: 'a-0', ...published('a-0') })];
    expect(growth(planFor({ groups: [group(1)], nodes, pods: pods(13) }))).toEqual(['a 1->4']);
    const [pod] = pods(1, 5);
    const plan = planFor({ groups: [group(1)], nodes, pods: [pod!] });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, 'p-0')?.kind).toBe('helpless');
  });

  it('a ready node whose devices are not published yet is one to come, and serves the pods that wait', () => {
    const nodes = [aNode({ name: 'a-0', ...published('a-0') }), young('a-1')];
    const plan = planFor({ groups: [group(2)], nodes, pods: pods(8) });
    expect(growth(plan)).toEqual([]);
    expect(['p-3', 'p-4'].map((name) => verdictOf(plan, name)?.kind)).toEqual(['fits-present-node', 'fits-upcoming-node']);
  });

  it('one that has published one pool of two is still one to come', () => {
    const two = { ...group(1), template: { ...aTemplate(), devicePools: [...POOLS, aDevicePool('template-2', 4)] } };
    const plan = planFor({ groups: [two], nodes: [young('a-0', published('a-0'))], pods: pods(8) });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, 'p-7')?.kind).toBe('fits-upcoming-node');
  });

  it('a group whose newest node has had its time and got no devices is not tried again', () => {
    const late = aNode({ name: 'a-1', createdAtMs: START_MS - 1_800_000 });
    const nodes = [aNode({ name: 'a-0', ...published('a-0') }), late];
    const plan = planFor({ groups: [group(2)], nodes, pods: pods(8) });
    expect(growth(plan)).toEqual([]);
    expect(reasonsOf(plan, 'p-7')).toEqual([
      'cannot allocate all claims: node a-1, the newest of its group, has not published its devices',
    ]);
    // One that is older than a node that works tells nothing of the next one.
    const order = [aNode({ name: 'a-0', createdAtMs: START_MS - 1_200_000, ...published('a-0') }), late];
    expect(growth(planFor({ groups: [group(2)], nodes: order, pods: pods(8) }))).toEqual(['a 2->3']);
  });

  it('pods that share a claim are helped by one node or not at all', () => {
    const shared = ['x', 'y', 'z'].map((name) =>
      aPod({ name, cpu: '1500m', shape: { key: 'shared', cpu: '1500m', ...claiming(1, { shared: 'default/team' }) } }),
    );
    const plan = planFor({ groups: [group(0)], pods: shared });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(shared.map(({ name }) => verdictOf(plan, name)?.kind)).toEqual(['triggered', 'triggered', 'helpless']);
  });

  it('daemons have their devices first', () => {
    const shape = aPod({ shape: { key: 'daemon', ...claiming(1) } }).shape;
    const daemonSets = [{ uid: 'd', namespace: 'kube-system', name: 'd', shape }];
    expect(growth(planFor({ groups: [group(0)], pods: pods(6), daemonSets }))).toEqual(['a 0->2']);
  });

  it('4,000 pods fill 500 nodes of eight devices', () => {
    const eight = aGroup({
      id: 'a',
      target: 0,
      maxSize: 1_000,
      template: { ...aTemplate({ cpu: '64', memory: '512Gi' }), devicePools: [aDevicePool('t', 8)] },
    });
    const plan = planFor({ groups: [eight], pods: pods(4_000), policy: { maxNodesPerScaleUp: 1_000 } });
    expect(growth(plan)).toEqual(['a 0->500']);
  });
});

describe('claims that kube-scheduler fails on', () => {
  const rare = `device.attributes["${DRIVER}"].rare`;
  const ask = { name: 'r', selectors: [rare], count: 1, admin: false, tolerations: [] } as const;
  const asking = (part: Partial<typeof ask> | { readonly count: 'all' } = {}) =>
    aPod({ name: 'p', shape: { key: 'rare', ...claiming(1, { requests: [{ name: 'r', asks: [{ ...ask, ...part }] }] }) } });
  const withRare = (name: string, values: readonly (boolean | undefined)[]) =>
    aDevicePool(
      name,
      values.map((value, at) => aDevice(`d-${at}`, { attributes: value === undefined ? {} : { [DRIVER]: { rare: value } } })),
    );
  const having = (name: string, values: readonly (boolean | undefined)[], rest: Partial<Node> = {}) =>
    aNode({ name, devices: { pools: [withRare(name, values)], incomplete: [], held: [] }, ...rest });
  const rich = aGroup({ id: 'a', target: 0, maxSize: 9, template: { ...aTemplate(), devicePools: [withRare('t', [true])] } });
  const plan = (nodes: readonly Node[], pod = asking()) => planFor({ groups: [rich], nodes, pods: [pod] });

  it.each<[string, readonly (boolean | undefined)[], readonly string[]]>([
    ['one that lacks what the selector reads', [undefined], []],
    ['one behind another that does not match', [false, undefined], []],
    ['one behind a device that is enough', [true, undefined], []],
    ['only devices that do not match', [false, false], ['a 0->1']],
  ])('on a node with %s', (_what, values, growths) => {
    const found = plan([having('n', values)]);
    expect(growth(found)).toEqual(growths);
    const expected = values[0] === true ? 'fits-present-node' : growths.length > 0 ? 'triggered' : 'helpless';
    expect(verdictOf(found, 'p')?.kind).toBe(expected);
  });

  it('are reported with the words of the fault, and no group gets a node for them', () => {
    expect(reasonsOf(plan([having('n', [undefined])]), 'p')).toEqual([
      `kube-scheduler fails on node n: the selector ${rare} fails on ${DRIVER}/n/d-0: no such key: rare: until that is fixed, the pod cannot run on any node`,
    ]);
    // Also where another node that is there would have what it takes.
    expect(verdictOf(plan([having('m', [true]), having('n', [undefined])]), 'p')?.kind).toBe('helpless');
  });

  it('do no harm on a node that the pod does not come to', () => {
    const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }] as const;
    expect(growth(plan([having('n', [undefined], { taints })]))).toEqual(['a 0->1']);
    const held = [`${DRIVER}/n/d-0`];
    expect(growth(plan([aNode({ name: 'n', devices: { pools: [withRare('n', [undefined])], incomplete: [], held } })]))).toEqual([
      'a 0->1',
    ]);
  });

  it('are also those for all devices of a pool that is being published again, and those for more than a claim may have', () => {
    const anew = aNode({ name: 'n', devices: { pools: [withRare('n', [true])], incomplete: [`${DRIVER}/other`], held: [] } });
    expect(reasonsOf(plan([anew], asking({ count: 'all' })), 'p')[0]).toContain(`resource pool ${DRIVER}/other is currently being updated`);
    expect(verdictOf(plan([anew]), 'p')?.kind).toBe('fits-present-node');
    const many = aNode({ name: 'n', devices: { pools: [aDevicePool('n', 40)], incomplete: [], held: [] } });
    const greedy = aPod({ name: 'p', shape: { key: 'greedy', ...claiming(33) } });
    expect(reasonsOf(plan([many], greedy), 'p')[0]).toContain('number of requested devices 33 exceeds the claim limit of 32');
    expect(verdictOf(plan([many], aPod({ name: 'p', shape: { key: 'modest', ...claiming(32) } })), 'p')?.kind).toBe('fits-present-node');
  });

  it('do not include distinct devices: each must have another value of the attribute', () => {
    const numa = (values: readonly number[]) =>
      aDevicePool(
        'n',
        values.map((value, at) => aDevice(`d-${at}`, { attributes: { [DRIVER]: { numa: value } } })),
      );
    const distinct = [{ kind: 'distinct', attribute: `${DRIVER}/numa`, requests: [] }] as const;
    const pod = (count: number | 'all') =>
      aPod({
        name: 'p',
        shape: { key: `distinct ${count}`, devices: { claims: [aDeviceClaim(count, { rules: distinct })], pins: [], blockers: [] } },
      });
    const node = (values: readonly number[]) => aNode({ name: 'n', devices: { pools: [numa(values)], incomplete: [], held: [] } });
    expect(verdictOf(plan([node([0, 0, 1])], pod(2)), 'p')?.kind).toBe('fits-present-node');
    expect(verdictOf(plan([node([0, 0])], pod(2)), 'p')?.kind).not.toBe('fits-present-node');
    // All of them cannot be had at all, which is a fault of the claim.
    expect(reasonsOf(plan([node([0, 0])], pod('all')), 'p')[0]).toContain('a claim constraint would not be satisfied');
  });
});
