/** The user's order of pools in a ConfigMap, edited while the daemon runs. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const rules = (priorities: string): ObjectDraft => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'cluster-autoscaler-priority-expander', namespace: 'kube-system' },
  data: { priorities },
});

describe('the ConfigMap of the priority expander', () => {
  it('an edit holds without a restart, a bad one keeps the last good and warns, and one watch is all it costs', async () => {
    const pools = ['alpha', 'beta'].map((name) => aPool({ name, count: 0 }));
    const lines: string[] = [];
    const world = await startedWorld({
      spec: worldOf(pools),
      flags: ['--expander=priority,least-waste', '--scale-down-enabled=false'],
      onLog: (line) => lines.push(line),
    });
    const grow = async (name: string): Promise<void> => {
      world.world.cluster.apply(deployment({ name, replicas: 1, cpu: '3' }));
      await world.until(`${name} bound`, () => bound(world, name) === 1, 5 * MINUTE);
    };
    await grow('first');
    expect([capacity(world, 'alpha'), capacity(world, 'beta')]).toEqual([1, 0]);
    world.world.cluster.apply(rules('50: [beta, gamma]\n'));
    await world.advance(SECOND);
    await grow('second');
    expect([capacity(world, 'alpha'), capacity(world, 'beta')]).toEqual([1, 1]);
    expect(lines.filter((line) => line.includes('The pattern \\"gamma\\" of priority 50 matches no node group.'))).toHaveLength(1);
    expect(lines.join()).toMatch(/No priority rule covers the node group aks-alpha-\S+:/);
    world.world.cluster.apply(rules('50: [alpha\n'));
    await world.advance(SECOND);
    await grow('third');
    expect([capacity(world, 'alpha'), capacity(world, 'beta')]).toEqual([1, 2]);
    expect(events(world, 'PriorityConfigMapInvalid')).toHaveLength(1);
    expect(events(world, 'PriorityConfigMapNotMatchedGroup')[0]).toContain('alpha');
    world.world.cluster.apply(rules('50: [alpha]\n'));
    await world.advance(SECOND);
    await grow('fourth');
    expect([capacity(world, 'alpha'), capacity(world, 'beta')]).toEqual([2, 2]);
    expect(world.world.violations()).toEqual([]);
  });
});
