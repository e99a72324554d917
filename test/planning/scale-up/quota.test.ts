import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { CloudQuota, ReservedCapacity } from '../../../src/domain/quotas-and-prices.ts';
import { aGroup, aPod, keyOf } from '../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf } from './world.ts';
import { describeSkip } from '../../../src/planning/explain/describe-reasons.ts';

const FAMILY = 'standarddsv5family';

function quota(used: number, limit: number): CloudQuota {
  return { name: FAMILY, title: 'family standardDSv5Family', used, limit };
}

function drawing(group: NodeGroup, cores = 8): NodeGroup {
  if (group.template === undefined) throw new Error('no template');
  return { ...group, template: { ...group.template, draws: [{ quota: FAMILY, cores }] } };
}

const pods = (count: number) => Array.from({ length: count }, (_, index) => aPod({ name: `p${index}`, cpu: '3' }));

function reserved(name: string, count: number, used: number): ReservedCapacity {
  return { name, group: 'crg', reserved: count, used };
}

/** Draws on the quota; its nodes may come in a zone of each of these reservations. */
function reserving(group: NodeGroup, ...reservations: readonly string[]): NodeGroup {
  const drawn = drawing(group);
  return drawn.template === undefined ? drawn : { ...drawn, template: { ...drawn.template, reservations } };
}

describe('planScaleUp: quotas of the cloud', () => {
  it('a group whose next node would not fit is skipped with the numbers, and its pod gets that reason', () => {
    const [pod] = pods(1);
    if (pod === undefined) throw new Error('no pod');
    const plan = planFor({ groups: [drawing(aGroup({ id: 'a' }))], pods: [pod], cloud: { quotas: [quota(96, 100)] } });
    const skip = { kind: 'quota', quota: 'family standardDSv5Family', used: 96, limit: 100, needs: 8 } as const;
    expect(plan.increases).toEqual([]);
    expect(skipOf(plan, 'a')).toEqual(skip);
    expect(verdictOf(plan, pod)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', skip }] });
    expect(describeSkip(skip)).toBe('quota reached: family standardDSv5Family has 96 of 100 cores in use, a new node needs 8');
  });

  it('a group grows as far as the quota reaches; what it took of it is gone for its siblings', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0 })), drawing(aGroup({ id: 'b', target: 0 }))];
    const all = pods(5);
    const plan = planFor({ groups, pods: all, cloud: { quotas: [quota(80, 100)] } });
    expect(growth(plan)).toEqual(['a 0->2']);
    const left = [...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless');
    expect(left).toHaveLength(3);
    expect(left[0]).toMatchObject({ byGroup: [{ skip: { kind: 'quota', used: 96 } }, { skip: { kind: 'quota', used: 96 } }] });
  });

  it.each([
    ['two stopped instances', undefined, ['a 0->2']],
    ['two that are not started now', { untilMs: Infinity, message: 'no' }, []],
  ])('a full quota leaves the start of %s, which count in it already', (_what, startsClosed, expected) => {
    const instances = [1, 2].map((n) => ({ key: keyOf(`a-${n}`), node: `a-${n}`, sinceMs: 0 }));
    const stopped = {
      kind: 'stops',
      instances,
      max: 5,
      diskGib: 128,
      diskTier: undefined,
      diskSku: undefined,
      startsClosed,
    } as const;
    const group = drawing(aGroup({ id: 'a', target: 0, stopped }));
    expect(growth(planFor({ groups: [group], pods: pods(5), cloud: { quotas: [quota(100, 100)] } }))).toEqual(expected);
  });

  it('another family serves the pod instead', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0 })), aGroup({ id: 'b', target: 0 })];
    expect(growth(planFor({ groups, pods: pods(1), cloud: { quotas: [quota(100, 100)] } }))).toEqual(['b 0->1']);
  });

  it.each([
    ['no quota is known', []],
    ['the quota of another family is exhausted', [{ ...quota(100, 100), name: 'other' }]],
  ])('nothing is held back when %s', (_, quotas) => {
    expect(growth(planFor({ groups: [drawing(aGroup({ id: 'a', target: 0 }))], pods: pods(1), cloud: { quotas } }))).toEqual(['a 0->1']);
  });

  it('a minimum size is enforced only as far as the quota reaches', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0, minSize: 3 }))];
    const world = { groups, policy: { enforceMinSize: true }, cloud: { quotas: [quota(84, 100)] } };
    expect(growth(planFor(world))).toEqual(['a 0->2']);
  });
});

describe('planScaleUp: reserved capacity', () => {
  const full = [quota(100, 100)];

  it('a node inside reserved capacity needs no quota, and the first one beyond it is refused with both numbers', () => {
    const all = pods(4);
    const groups = [reserving(aGroup({ id: 'a', target: 0 }), 'r/1')];
    const plan = planFor({ groups, pods: all, cloud: { quotas: full, reservations: [reserved('r/1', 3, 0)] } });
    expect(growth(plan)).toEqual(['a 0->3']);
    const [helpless] = [...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless');
    const skip = { kind: 'quota', used: 100, limit: 100, needs: 8, reservation: { group: 'crg', reserved: 3, used: 3 } } as const;
    expect(helpless).toMatchObject({ byGroup: [{ skip }] });
    expect(describeSkip({ ...skip, quota: 'family standardDSv5Family' })).toBe(
      'quota reached: family standardDSv5Family has 100 of 100 cores in use, a new node needs 8; ' +
        'of capacity reservation group crg, 3 of 3 reserved VMs are in use',
    );
  });

  it('quota counts beyond what is reserved and unused', () => {
    const groups = [reserving(aGroup({ id: 'a', target: 0 }), 'r/1')];
    const cloud = { quotas: [quota(84, 100)], reservations: [reserved('r/1', 3, 2)] };
    expect(growth(planFor({ groups, pods: pods(5), cloud }))).toEqual(['a 0->3']);
  });

  it('a quota that is exceeded takes nothing from reserved capacity', () => {
    const groups = [reserving(aGroup({ id: 'a', target: 0 }), 'r/1')];
    const cloud = { quotas: [quota(140, 100)], reservations: [reserved('r/1', 2, 0)] };
    expect(growth(planFor({ groups, pods: pods(5), cloud }))).toEqual(['a 0->2']);
  });

  it('is filled first if prices are compared: its nodes cost nothing more, and an option of them buys no others', () => {
    const groups = [
      aGroup({ id: 'cheap', target: 0, vmSize: 'cheap' }),
      reserving(aGroup({ id: 'reserved', target: 0, vmSize: 'dear' }), 'r/1'),
    ];
    const policy = { expanders: ['price'] as const, prices: { cheap: 0.1, dear: 9 } };
    const cloud = (left: number) => ({ reservations: [reserved('r/1', 3, 3 - left)] });
    expect(growth(planFor({ groups, pods: pods(4), policy, cloud: cloud(3) }))).toEqual(['cheap 0->1', 'reserved 0->3']);
    expect(growth(planFor({ groups, pods: pods(4), policy, cloud: cloud(0) }))).toEqual(['cheap 0->4']);
    const plan = planFor({ groups, pods: pods(2), policy, cloud: cloud(2) });
    expect(plan.options.find(({ group }) => group === 'reserved')?.cost?.perHour).toBe(0);
  });

  it('decides nothing if prices are not compared', () => {
    const groups = [aGroup({ id: 'a', target: 0 }), reserving(aGroup({ id: 'b', target: 0 }), 'r/1')];
    expect(growth(planFor({ groups, pods: pods(2), cloud: { reservations: [reserved('r/1', 3, 0)] } }))).toEqual(['a 0->2']);
  });

  it('two pools that share a group of reservations do not both use it', () => {
    const groups = ['a', 'b'].map((id) => reserving(aGroup({ id, target: 0, maxSize: 2 }), 'r/1'));
    const plan = planFor({ groups, pods: pods(5), cloud: { quotas: full, reservations: [reserved('r/1', 3, 0)] } });
    expect(growth(plan).map((step) => Number(step.at(-1)))).toEqual([2, 1]);
  });

  it('a node that may come in several zones fits only where each of them has unused capacity', () => {
    const groups = [reserving(aGroup({ id: 'a', target: 0 }), 'r/1', 'r/2')];
    const grown = (...reservations: readonly ReservedCapacity[]) =>
      growth(planFor({ groups, pods: pods(5), cloud: { quotas: full, reservations } }));
    expect(grown(reserved('r/1', 3, 0), reserved('r/2', 5, 4))).toEqual(['a 0->1']);
    expect(grown(reserved('r/1', 3, 0))).toEqual([]);
  });

  it('reserved capacity that is unknown leaves the quota as the limit, and the reason says why', () => {
    const unknown = { ...reserved('r/1', 0, 0), unknown: 'Azure returned 403' };
    const [pod] = pods(1);
    if (pod === undefined) throw new Error('no pod');
    const groups = [reserving(aGroup({ id: 'a', target: 0 }), 'r/1')];
    const plan = planFor({ groups, pods: [pod], cloud: { quotas: full, reservations: [unknown] } });
    const skip = skipOf(plan, 'a');
    expect(skip === undefined ? '' : describeSkip(skip)).toContain(
      'what capacity reservation group crg reserves is unknown: Azure returned 403',
    );
  });

  it('a minimum size is enforced as far as quota and reserved capacity reach', () => {
    const groups = [reserving(aGroup({ id: 'a', target: 0, minSize: 4 }), 'r/1')];
    const world = { groups, policy: { enforceMinSize: true }, cloud: { quotas: full, reservations: [reserved('r/1', 2, 0)] } };
    expect(growth(planFor(world))).toEqual(['a 0->2']);
  });
});
