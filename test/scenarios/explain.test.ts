/** `explain` on a daemon that runs, and its advice carried out in Azure. */
import { describe, expect, it } from 'vitest';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { systemClock } from '../../src/cli/process/process.ts';
import { openConnection } from '../../src/kubernetes/api/connection.ts';
import { createRest } from '../../src/kubernetes/api/rest.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, events, MINUTE, worldOf } from './support.ts';

/** What is explained is not how often the loop runs. */
const SLOW = ['--scan-interval=30s'];

interface SaidFix {
  readonly sentence: string;
  readonly advice: {
    readonly fix: {
      readonly text: string;
      readonly changes: readonly { readonly kind: string; readonly to: number }[];
      readonly steps: readonly { readonly where: string; readonly command?: string }[];
    };
  };
}

describe('explain on a running daemon', () => {
  it('gives advice that helps once it is followed: the tag of the pool is raised by the number, and all pods run', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 2 })]), flags: SLOW });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.advance(10 * MINUTE);
    expect(bound(world, 'web')).toBeLessThan(8);
    const pod = world.world.cluster.store.pendingPods()[0]?.metadata.name ?? '';
    const { code, out } = await runCommand(['explain', 'pod', `default/${pod}`, '--json', '--url', world.daemon.url ?? '']);
    expect(code).toBe(0);
    const { sentence, advice } = JSON.parse(out) as SaidFix;
    expect(sentence).toContain('fits and is at its maximum (2 of 2 nodes).');
    const [change] = advice.fix.changes;
    expect([advice.fix.changes.length, change?.kind]).toEqual([1, 'raise-maximum']);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain(`Fix that works: ${advice.fix.text}.`);
    // The limit lives in a tag, and no command works against the autoscaler.
    expect(advice.fix.steps.map(({ where }) => where.replace(/-\d+-vmss/, ''))).toEqual([
      'the tag max of agent pool general',
      'the tag max of scale set aks-general',
    ]);
    expect(advice.fix.steps[1]?.command).toMatch(/^az tag update --operation merge --tags max=4 /);
    // One node fewer would not do.
    expect(change?.to).toBe(4);

    expect(world.world.arm.control.raise({ retag: { pool: 'general', tags: { max: String(change?.to) } } })).toBeUndefined();
    await world.until('all pods run', () => bound(world, 'web') === 8, 20 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('--watch prints an answer when it changes, and ends with a signal', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 1 })]), flags: SLOW });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '1500m' }));
    await world.advance(2 * MINUTE);
    const pod = world.world.cluster.store.pendingPods()[0]?.metadata.name ?? '';
    const url = world.daemon.url ?? '';
    let turns = 0;
    const sleep = async (): Promise<void> => {
      turns += 1;
      if (turns === 3) world.world.arm.control.raise({ retag: { pool: 'general', tags: { max: '2' } } });
      await world.advance(MINUTE);
      if (turns === 12) throw new AutoscalerError({ kind: 'cancelled' }, 'A person ended it.');
    };
    const { code, out } = await runCommand(['explain', 'pod', `default/${pod}`, '--url', url, '--watch'], {
      clock: { now: () => world.clock.now(), sleep },
    });
    expect(code).toBe(0);
    const answers = out.split('\n').filter((line) => /^(Pending|Runs)/.test(line));
    expect(answers[0]).toMatch(/^Pending for \d+ \w+: aks-general\S+ fits and is at its maximum \(1 of 1 nodes\)/);
    expect(answers.at(-1)).toMatch(/^Runs on node aks-general/);
    // Twelve looks, and no answer twice.
    expect(new Set(answers.map((line) => line.replace(/for [^:]+/, ''))).size).toBe(answers.length);
    expect(answers.length).toBeLessThan(6);
  });

  it('the API shows the capacity writes that the rate limit of a pool allows, once one was made', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 5 })]) });
    const tokens = async (): Promise<unknown> => {
      const answer = await fetch(`${world.daemon.url ?? ''}/api/v1/pools?q=general`);
      const { items } = (await answer.json()) as { readonly items: readonly { readonly tokens?: unknown }[] };
      return items.map(({ tokens: shown }) => shown);
    };
    await world.advance(2 * MINUTE);
    expect(await tokens()).toEqual([undefined]);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '1500m' }));
    await world.advance(MINUTE);
    expect(await tokens()).toEqual([{ left: expect.any(Number), of: expect.any(Number) }]);
  });

  it('names who else changed a pool, where the activity log may be read', async () => {
    const env = { AZURE_ACTIVITY_LOG: 'true' };
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 5 })]), env, flags: SLOW });
    await world.advance(2 * MINUTE);
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    await world.advance(15 * MINUTE);
    const url = world.daemon.url ?? '';
    const { out } = await runCommand(['explain', 'pool', 'general', '--url', url]);
    expect(out).toMatch(/1 -> 3 +another writer: foreign-writer +not made by this autoscaler/);
    const timeline = await (await fetch(`${url}/api/v1/timeline`)).text();
    expect(timeline).toMatch(/"actorName":\s*"foreign-writer"/);
  });

  it('names who cordoned a node', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 5 })]) });
    await world.advance(2 * MINUTE);
    const node = world.world.cluster.store.list('nodes').find(({ metadata }) => metadata.name.includes('general'))?.metadata.name ?? '';
    const dir = temporaryFolder();
    await writeFile(join(dir, 'kubeconfig'), world.world.cluster.kubeconfig());
    const options = { kubeconfigPath: join(dir, 'kubeconfig'), namespace: 'x', leaseName: 'x', identity: 'x', leaderElect: false };
    const connection = await openConnection(options, systemClock);
    const rest = createRest({
      connection,
      clock: systemClock,
      metrics: createMetrics(),
      userAgent: 'kubectl-cordon/v1',
      timeoutMs: 120_000,
    });
    const contentType = 'application/merge-patch+json';
    await rest.json(
      { method: 'PATCH', path: `/api/v1/nodes/${node}`, contentType, body: { spec: { unschedulable: true } } },
      new AbortController().signal,
    );
    await connection.close();
    await world.advance(MINUTE);
    const { out } = await runCommand(['explain', 'node', node, '--url', world.daemon.url ?? '']);
    expect(out).toMatch(
      /Taints +node\.kubernetes\.io\/unschedulable:NoSchedule \(by the node controllers of Kubernetes\);\s+cordoned by\s+kubectl-cordon at\s+/,
    );
  });

  it('finds the leader by its Lease and asks it through the API server', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--leader-elect=true'] });
    await world.advance(MINUTE);
    const lease = world.world.cluster.store.get('leases', 'kube-system', 'aks-autoscaler') as unknown as {
      spec: { holderIdentity: string };
    };
    const leader = lease.spec.holderIdentity;
    const spec = { containers: [{ name: 'autoscaler', image: 'x' }] };
    world.world.cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: leader, namespace: 'kube-system' }, spec });
    world.world.cluster.control.listenInPod(`kube-system/${leader}`, 8085, Number(new URL(world.daemon.url ?? '').port));
    const dir = temporaryFolder();
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, world.world.cluster.kubeconfig());
    const { code, out, err } = await runCommand(['explain', 'pool', 'general', '--kubeconfig', kubeconfig]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^May grow, and does not: /);
    expect(out).toContain(`From the leader ${leader}, loop `);
  });
});
