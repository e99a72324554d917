import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UnremovableNode, ScaleDownPlan } from '../../../src/domain/plan.ts';
import { wastedCapacity } from '../../../src/observers/metrics/wasted-capacity.ts';
import { totalsByBlocker } from '../../../src/planning/explain/unremovable-nodes.ts';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, aNode, anObservation, aPod } from '../../support/builders.ts';
import { aLoopReport, aScaleDownPlan } from '../../support/loop-report.ts';
import { valueOf } from '../../loop/support.ts';
import { NO_PRICES } from '../../../src/domain/policy.ts';

const nodes = ['a-0', 'a-1', 'a-2', 'else'].map((name) => aNode({ name, cpu: '4', memory: '16Gi' }));
const pods = [aPod({ nodeName: 'a-0', cpu: '1', memory: '4Gi' }), aPod({ nodeName: 'a-1', cpu: '3', memory: '2Gi' })];
const observation = anObservation([aGroup({ id: 'a', target: 3, vmSize: 'Standard_D4s_v5' })], aCluster({ nodes, pods }));

function aReport(plan: Partial<ScaleDownPlan>): LoopReport {
  return aLoopReport({ observation, scaleDown: aScaleDownPlan(plan) });
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
    const metrics = createMetrics();
    const { waste } = metrics;
    wastedCapacity(metrics)({ ...aReport({ kept }), prices: { ...NO_PRICES, prices: { standard_d4s_v5: 0.2 } } });
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
    const metrics = createMetrics();
    const { waste } = metrics;
    wastedCapacity(metrics)(aReport({ kept }));
    expect((await waste.cost.get()).values).toEqual([]);
  });

  it('a verdict that is only remembered stays with what led to it', async () => {
    const metrics = createMetrics();
    const { waste } = metrics;
    const publish = wastedCapacity(metrics);
    publish(aReport({ kept }));
    publish(aReport({ kept: [{ node: 'a-0', reason: 'RecentlyUnremovable', cause: 'BlockedByPod', blocker }] }));
    expect((await waste.cores.get()).values).toEqual([{ value: 3, labels: { reason: 'BlockedByPod', blocker: 'NotEnoughPdb' } }]);
    publish(aReport({ kept: [{ node: 'a-1', reason: 'RecentlyUnremovable', cause: 'NoPlaceToMovePods' }] }));
    expect((await waste.cores.get()).values).toEqual([{ value: 1, labels: { reason: 'NoPlaceToMovePods', blocker: '' } }]);
  });

  it('nodes that could go while nothing may are held by that', async () => {
    const metrics = createMetrics();
    const { waste } = metrics;
    wastedCapacity(metrics)(aReport({ kept: [], inhibited: 'cooling down' }));
    expect(await valueOf(waste.cores, { reason: 'Inhibited' })).toBe(3 + 1 + 4);
  });
});

type Rows = Readonly<Record<string, unknown>>;

async function rowsOfMetrics({ waste }: ReturnType<typeof createMetrics>): Promise<Rows> {
  const { values } = await waste.cost.get();
  return Object.fromEntries(values.map(({ labels, value }) => [`${String(labels.reason)} ${String(labels.blocker)}`, value]));
}

/** What the documents of the API, the status and `plan` say of the same loop. */
function rowsOfDocument({ observation: seen, scaleDown, prices }: LoopReport): Rows {
  const totals = seen === undefined || scaleDown === undefined ? [] : totalsByBlocker(scaleDown, seen, prices);
  const ours = totals.filter(({ reason }) => reason !== 'CurrentlyBeingDeleted' && reason !== 'NotAutoscaled');
  return Object.fromEntries(ours.map(({ reason, blockedBy = '', wastedPerHour }) => [`${reason} ${blockedBy}`, wastedPerHour]));
}

describe('the numbers of kept nodes and of waste', () => {
  const reasons = [
    'BlockedByPod',
    'NotUnderutilized',
    'RecentlyUnremovable',
    'NoPlaceToMovePods',
    'CurrentlyBeingDeleted',
    'NotAutoscaled',
  ] as const;
  const blockers = [undefined, 'NotEnoughPdb', 'LocalStorageRequested'] as const;
  const entry = fc.record({ reason: fc.constantFrom(...reasons), blockedBy: fc.constantFrom(...blockers) });
  const plan = fc.record({
    entries: fc.array(fc.option(entry), { minLength: 3, maxLength: 3 }),
    inhibited: fc.constantFrom(undefined, 'x'),
  });

  it('add up: every node is removed or counted once, and the waste of a reason is that of its nodes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 4 }), async (plans) => {
        const metrics = createMetrics();
        const observe = wastedCapacity(metrics);
        for (const { entries, inhibited } of plans) {
          const found = entries.flatMap((each, at): readonly UnremovableNode[] =>
            each === null
              ? []
              : [
                  {
                    node: `a-${at}`,
                    reason: each.reason,
                    ...(each.blockedBy === undefined ? {} : { blocker: { ...blocker, reason: each.blockedBy } }),
                  },
                ],
          );
          const report = { ...aReport({ kept: found, inhibited }), prices: { ...NO_PRICES, prices: { standard_d4s_v5: 0.2 } } };
          observe(report);
          if (inhibited !== undefined || found.length === 3) expect(await rowsOfMetrics(metrics)).toEqual(rowsOfDocument(report));
          const counts = (await metrics.scaleDown.kept.get()).values;
          const total = counts.reduce((sum, { value }) => sum + value, 0);
          // The three nodes of the group; without an inhibition, those that the plan does not name are removed.
          expect(total).toBe(inhibited === undefined ? found.length : 3);
          const cores = (await metrics.waste.cores.get()).values;
          const ofReason = (reason: unknown): number =>
            cores.filter(({ labels }) => labels.reason === reason).reduce((sum, { value }) => sum + value, 0);
          for (const { labels } of cores) expect(counts.map((each) => each.labels.reason)).toContain(labels.reason);
          for (const { labels, value } of counts) {
            const isOurs = labels.reason !== 'CurrentlyBeingDeleted' && labels.reason !== 'NotAutoscaled';
            // Each of the three has at least one free core and at most four.
            expect(ofReason(labels.reason) >= (isOurs ? value : 0) && ofReason(labels.reason) <= (isOurs ? 4 * value : 0)).toBe(true);
          }
        }
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});
