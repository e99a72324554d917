/** Devices that drivers publish after a node has joined, and groups whose drivers do not. */
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { aDevicePool, claiming } from '../../support/devices.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import { describeFit } from '../../../src/domain/reasons.ts';
import { growth, planFor } from './world.ts';

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
  it('QX16: pods are packed by devices, and what no node can hold buys none', () => {
    const nodes = [aNode({ name: 'a-0', ...published('a-0') })];
    expect(growth(planFor({ groups: [group(1)], nodes, pods: pods(13) }))).toEqual(['a 1->4']);
    const [pod] = pods(1, 5);
    const plan = planFor({ groups: [group(1)], nodes, pods: [pod!] });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, 'p-0')?.kind).toBe('helpless');
  });

  it('QX17: a ready node whose devices are not published yet is one to come, and serves the pods that wait', () => {
    const nodes = [aNode({ name: 'a-0', ...published('a-0') }), young('a-1')];
    const plan = planFor({ groups: [group(2)], nodes, pods: pods(8) });
    expect(growth(plan)).toEqual([]);
    expect(['p-3', 'p-4'].map((name) => verdictOf(plan, name)?.kind)).toEqual(['fits-present-node', 'fits-upcoming-node']);
  });

  it('QX17: one that has published one pool of two is still one to come', () => {
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
      'cannot allocate all claims: node a-1, the newest of the group, has not published its devices',
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
