import { describe, expect, it } from 'vitest';
import { planDeadlineEvents } from '../../../src/observers/events/plan-events.ts';
import { aGroup, aPod } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage } from '../../loop/support.ts';

describe('plans that are cut short', () => {
  it('a partial plan is carried out and reported once at its start and once at its end; removals are evaluated all the while', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxPlanningMs: 0 } });
    const groups = ['a', 'b'].map((id) => aGroup({ id, target: 0 }));
    const stage = aStage({ groups, pods: [aPod({ cpu: '3' }), aPod({ cpu: '99' })], policy });
    const reports = [await stage.runOnce(), await stage.runOnce(), await stage.runOnce(), await stage.runOnce()];
    expect(reports[0]?.rounds[0]?.increases).toHaveLength(1);
    for (const report of reports) expect(report.scaleDown).toBeDefined();
    const told = () => stage.cluster.events.filter(({ reason }) => reason.startsWith('GracefulDegradation'));
    expect(told()).toMatchObject([
      { type: 'Warning', reason: 'GracefulDegradationStarted', subject: { name: 'cluster-autoscaler-status' } },
    ]);
    const listen = planDeadlineEvents(stage.cluster, 'kube-system');
    const [first] = reports;
    if (first === undefined) throw new Error('no loop ran');
    const whole = await aStage({ groups }).runOnce();
    for (const report of [whole, first, first, { ...first, rounds: [] }, whole, whole]) listen(report);
    expect(told().map(({ reason }) => reason)).toEqual([
      'GracefulDegradationStarted',
      'GracefulDegradationStarted',
      'GracefulDegradationStopped',
    ]);
  });
});
