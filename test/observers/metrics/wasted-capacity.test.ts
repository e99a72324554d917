import { describe, expect, it } from 'vitest';
import type { UnremovableNode, ScaleDownPlan } from '../../../src/domain/plan.ts';
import { wastedCapacity } from '../../../src/observers/metrics/wasted-capacity.ts';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { emptyLoopState } from '../../../src/planning/state/loop-state.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, START_MS } from '../../support/builders.ts';
import { valueOf } from '../../loop/support.ts';

const nodes = ['a-0', 'a-1', 'a-2', 'else'].map((name) => aNode({ name, cpu: '4', memory: '16Gi' }));
const pods = [aPod({ nodeName: 'a-0', cpu: '1', memory: '4Gi' }), aPod({ nodeName: 'a-1', cpu: '3', memory: '2Gi' })];
const observation = anObservation([aGroup({ id: 'a', target: 3, vmSize: 'Standard_D4s_v5' })], aCluster({ nodes, pods }));

function aReport(plan: Partial<ScaleDownPlan>): LoopReport {
  return {
    loopId: 1,
    trigger: 'scan',
    startedAtMs: START_MS,
    durationMs: 1,
    observation,
    rounds: [],
    scaleDown: { unneeded: new Map(), removals: [], instanceRemovals: [], kept: [], inhibited: undefined, summary: '', ...plan },
    replanSoon: false,
    removed: [],
    stepMs: {},
    failures: [],
    outcome: 'completed',
    state: emptyLoopState(START_MS),
  };
}

const blocker = { pod: 'default/web', reason: 'NotEnoughPdb', detail: 'web' } as const;
const kept: readonly UnremovableNode[] = [
  { node: 'a-0', reason: 'BlockedByPod', blocker },
  { node: 'a-1', reason: 'NotUnderutilized' },
  { node: 'a-2', reason: 'CurrentlyBeingDeleted' },
  { node: 'else', reason: 'NotAutoscaled' },
];

describe('waste by blocker', () => {
  it('is what no pod asks for on nodes that stay, in cores, bytes and money', async () => {
    const { waste } = createMetrics();
    wastedCapacity(waste)({ ...aReport({ kept }), prices: { prices: { standard_d4s_v5: 0.2 } } });
    const pdb = { reason: 'BlockedByPod', blocker: 'NotEnoughPdb' };
    expect(await valueOf(waste.cores, pdb)).toBe(3);
    expect(await valueOf(waste.memory, pdb)).toBe(12 * 2 ** 30);
    expect(await valueOf(waste.cost, pdb)).toBeCloseTo(0.15);
    const busy = { reason: 'NotUnderutilized', blocker: '' };
    expect([await valueOf(waste.cores, busy), await valueOf(waste.cost, busy)]).toEqual([1, expect.closeTo(0.05)]);
    // Nodes that go and nodes of others are nobody's saving.
    expect((await waste.cores.get()).values).toHaveLength(2);
  });

  it('has no price where none is known', async () => {
    const { waste } = createMetrics();
    wastedCapacity(waste)(aReport({ kept }));
    expect((await waste.cost.get()).values).toEqual([]);
  });

  it('a verdict that is only remembered stays with what led to it', async () => {
    const { waste } = createMetrics();
    const publish = wastedCapacity(waste);
    publish(aReport({ kept }));
    publish(aReport({ kept: [{ node: 'a-0', reason: 'RecentlyUnremovable' }] }));
    expect((await waste.cores.get()).values).toEqual([{ value: 3, labels: { reason: 'BlockedByPod', blocker: 'NotEnoughPdb' } }]);
    publish(aReport({ kept: [{ node: 'a-1', reason: 'RecentlyUnremovable' }] }));
    expect((await waste.cores.get()).values).toEqual([{ value: 1, labels: { reason: 'NotUnderutilized', blocker: '' } }]);
  });

  it('nodes that could go while nothing may are held by that', async () => {
    const { waste } = createMetrics();
    wastedCapacity(waste)(aReport({ kept: [], inhibited: 'cooling down' }));
    expect(await valueOf(waste.cores, { reason: 'Inhibited' })).toBe(3 + 1 + 4);
  });
});
