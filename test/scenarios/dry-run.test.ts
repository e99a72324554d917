import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, worldOf } from './support.ts';

/** Requests that change something in the cluster, by resource, but for those of the simulated world itself. */
function clusterWrites(world: VirtualRun): readonly string[] {
  return world.world.cluster
    .journal()
    .filter(({ userAgent }) => userAgent.startsWith('aks-autoscaler'))
    .filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name ?? ''}`.trim());
}

async function withheld(world: VirtualRun): Promise<readonly { kind: string; subject: string; detail: string; times: number }[]> {
  const answer = await fetch(`${world.daemon.url}/debug/withheld`);
  return (await answer.json()) as readonly { kind: string; subject: string; detail: string; times: number }[];
}

describe('a dry run', () => {
  it('decides as usual and writes nothing, neither to Azure nor to the cluster, except its own Lease', async () => {
    const lines: { readonly msg: string; readonly dryRun?: boolean; readonly [fact: string]: unknown }[] = [];
    const world = await startedWorld({
      spec: worldOf([
        aPool({ name: 'general' }),
        aPool({ name: 'idle', count: 3, min: 1, labels: { idle: 'true' }, taints: ['idle=true:NoSchedule'] }),
      ]),
      flags: ['--dry-run', '--leader-elect=true', '--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=0s'],
      onLog: (line) => lines.push(JSON.parse(line)),
    });
    const selector = { nodeSelector: { idle: 'true' }, tolerations: [{ key: 'idle', operator: 'Exists' }] };
    world.world.cluster.apply(deployment({ name: 'lonely', replicas: 1, cpu: '100m', spec: selector }));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.advance(20 * MINUTE);

    expect(world.writes()).toEqual([]);
    expect(new Set(clusterWrites(world))).toEqual(new Set(['create leases', 'update leases aks-autoscaler-dry-run']));
    expect(bound(world, 'web')).toBeLessThan(20);
    expect(pending(world)).toBeGreaterThan(0);
    expect([capacity(world, 'general'), capacity(world, 'idle')]).toEqual([1, 3]);
    expect(world.world.violations()).toEqual([]);

    const wishes = await withheld(world);
    const increases = wishes.filter(({ kind }) => kind === 'increase');
    expect(increases.map(({ subject, detail }) => [subject.includes('general'), detail])).toEqual([[true, 'capacity from 1 to 4']]);
    expect(increases[0]?.times).toBeGreaterThan(50);
    expect(wishes.some(({ kind, subject }) => kind === 'delete-instances' && subject.includes('idle'))).toBe(true);
    expect(wishes.some(({ kind, detail }) => kind === 'event' && detail.startsWith('TriggeredScaleUp'))).toBe(false);

    // The same wish in a hundred loops is one piece of news.
    expect(lines.every(({ dryRun }) => dryRun === true)).toBe(true);
    expect(lines.filter(({ msg }) => msg === 'Scale-up withheld by the dry run')).toHaveLength(1);
    const removed = lines.filter(({ msg }) => msg === 'Node removal started').map((line) => line['node']);
    expect(new Set(removed).size).toBe(removed.length);
    expect(lines.length).toBeLessThan(40);
  });
});
