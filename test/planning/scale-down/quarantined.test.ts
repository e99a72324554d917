import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { isQuarantined, type Node } from '../../../src/domain/node.ts';
import { describeNodeHealth, poolHealth, quarantinedNodes } from '../../../src/planning/explain/answers/node-health.ts';
import { brokenNodes } from '../../../src/planning/state/node-counts.ts';
import { aNode, anInstance, aPod } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { keptReasons, observe, plan, pool, removed, sinceMinutes, type World } from './world.ts';

const P = nodeGroupId('p');
const LABELS = { 'kubernetes.azure.com/upgrade-status': 'Quarantined' };

/** AKS cordoned p-0 at an upgrade, and p-3 took its place. The pool has a minimum of three. */
function worldOf({ cordoned = true, used = true, minSize = 3 } = {}): World {
  const nodes: readonly Node[] = [0, 1, 2, 3].map((at) =>
    aNode({ name: `p-${at}`, cpu: '4', memory: '16Gi', ...(at === 0 ? { labels: LABELS, unschedulable: cordoned } : {}) }),
  );
  return {
    groups: [pool('p', 4, { minSize, vmSize: 'Standard_D4s_v5', instances: nodes.map(({ name }) => anInstance({ node: name })) })],
    nodes,
    pods: used ? [aPod({ name: 'kept', nodeName: 'p-0', cpu: '3', memory: '1Gi', safeToEvict: 'false' })] : [],
    state: {
      unneededSince: sinceMinutes(
        30,
        nodes.map(({ name }) => name),
      ),
    },
    policy: aPolicy({ scaleUp: { prices: { standard_d4s_v5: 0.25 } } }),
  };
}

describe('a node that AKS quarantined', () => {
  it('is known by its label, while it is cordoned', () => {
    expect([isQuarantined({ labels: LABELS, unschedulable: true }), isQuarantined({ labels: LABELS, unschedulable: false })]).toEqual([
      true,
      false,
    ]);
    expect(isQuarantined({ labels: { 'kubernetes.azure.com/upgrade-status': 'Succeeded' }, unschedulable: true })).toBe(false);
  });

  it('does not count for the minimum of its pool: no working node is removed in its place', () => {
    const result = plan(worldOf());
    expect([removed(result), keptReasons(result)['p-1']]).toEqual([[], 'NodeGroupMinSizeReached']);
    expect(removed(plan(worldOf({ cordoned: false })))).toEqual(['p-1']);
    expect(removed(plan(worldOf({ minSize: 2 })))).toEqual(['p-1']);
  });

  it('is replaced where it is a part of the minimum, unless it is leaving', () => {
    const world = worldOf();
    const policy = aPolicy();
    expect([...brokenNodes(observe(world), aState(), policy)]).toEqual([[P, 1]]);
    const [instance] = world.groups[0]?.instances ?? [];
    if (instance === undefined) throw new Error('the pool has instances');
    const deleting = new Map([['p-0', { group: P, instance: instance.key, sinceMs: 0, sentAtMs: undefined }]]);
    expect(brokenNodes(observe(world), aState({ deleting }), policy).size).toBe(0);
  });

  it('is removed by the ordinary rules once no pod blocks it', () => {
    expect(keptReasons(plan(worldOf()))['p-0']).not.toBeUndefined();
    expect(removed(plan(worldOf({ used: false })))).toEqual(['p-0']);
  });

  it('is named with what it costs', () => {
    const observation = observe(worldOf());
    const priced = aPolicy({ scaleUp: { prices: { standard_d4s_v5: 0.25 } } });
    const prices = priced.scaleUp;
    const input = { observation, state: aState(), policy: priced, currency: 'EUR' };
    expect(quarantinedNodes(observation, prices).map(({ nodes, perHour }) => [nodes, perHour])).toEqual([[['p-0'], 0.25]]);
    expect(describeNodeHealth('p-0', input)).toBe(
      'AKS quarantined it: its drain failed at an upgrade. It takes no pods and is not counted as capacity. It costs 0.25 EUR/h.',
    );
    expect(describeNodeHealth('p-1', input)).toBeUndefined();
    expect(poolHealth(input).map(({ sentence }) => sentence)).toEqual([
      '1 node quarantined by AKS after a failed drain (p-0): no capacity, 0.25 EUR/h',
    ]);
  });
});
