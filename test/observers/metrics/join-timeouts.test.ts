import { describe, expect, it } from 'vitest';
import { aGroup, anInstance, aPod, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage, valueOf } from '../../loop/support.ts';

describe('machines that never become nodes', () => {
  it('are one failure of their order, with the reason timeout', async () => {
    const policy = aPolicy({ scaleUp: { enforceMinSize: false, maxProvisionMs: 600_000 } });
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ cpu: '1' })], policy });
    const timeouts = () => valueOf(stage.metrics.scaleUp.failures, { node_group: 'a', reason: 'timeout' });
    await stage.runOnce();
    expect(stage.cloud.increases).toHaveLength(1);
    const group = [...stage.cloud.groups.values()][0]!;
    // Azure made the machine, and its node does not come.
    stage.cloud.groups.set(group.id, { ...group, instances: [anInstance({ node: 'never', state: 'running', firstSeenMs: START_MS })] });
    await stage.clock.advance(590_000);
    await stage.runOnce();
    expect(await timeouts()).toBe(0);
    await stage.clock.advance(20_000);
    await stage.runOnce();
    expect(await timeouts()).toBe(1);
    await stage.clock.advance(10_000);
    await stage.runOnce();
    expect(await timeouts()).toBe(1);
  });
});
