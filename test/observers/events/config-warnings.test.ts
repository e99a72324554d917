import { describe, expect, it } from 'vitest';
import { podShapeOverflow } from '../../../src/observers/cluster-autoscaler-metrics/plans.ts';
import { publishClusterAutoscalerGauges } from '../../../src/observers/cluster-autoscaler-metrics/gauges.ts';
import { createCompatibleMetrics } from '../../../src/telemetry/cluster-autoscaler-metrics.ts';
import { aGroup, aPod } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage, valueOf } from '../../loop/support.ts';

describe('what a plan says of the configuration', () => {
  it('is reported once, and again only if something is new', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, expanders: ['price'], prices: { standard_d4s_v5: 0.2 } } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0, vmSize: 'Standard_X' })], policy });
    await stage.runOnce();
    await stage.runOnce();
    const notes = () => stage.lines.filter(({ note }) => note !== undefined).map(({ level, note }) => `${level}: ${String(note)}`);
    expect(notes()).toEqual([
      'warn: The VM size Standard_X has no price: its node groups grow only if no node group with a price can help.',
    ]);
    stage.cloud.groups.set(aGroup({ id: 'c' }).id, aGroup({ id: 'c', target: 0, vmSize: 'Standard_Y' }));
    await stage.runOnce();
    await stage.runOnce();
    expect(notes()).toHaveLength(2);
    expect(notes()[1]).toContain('Standard_Y');
  });
});

describe('controllers of many shapes', () => {
  it.each([
    ['eleven shapes that nothing can place', 11, '100', 1],
    ['ten', 10, '100', 0],
    ['eleven that are helped', 11, '1', 0],
  ])('%s', async (_, count, cpu, expected) => {
    const pods = Array.from({ length: count }, (_none, at) => aPod({ cpu, memory: `${100 + at}Mi` }));
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods });
    const report = await stage.runOnce();
    expect(podShapeOverflow(report.rounds[0]!.plan)).toBe(expected);
    const metrics = createCompatibleMetrics(stage.metrics);
    publishClusterAutoscalerGauges(report, stage.deps.policy, metrics);
    expect(await valueOf(metrics.overflowingControllers)).toBe(expected);
  });
});
