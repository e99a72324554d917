/** Beside the autoscaler that AKS runs: a dry run decides over its pools, and no process ever writes them. */
import { describeBlock } from '../../src/domain/group-blocks.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Overview } from '../../src/api/documents/overview.ts';
import type { ShadowReport } from '../../src/planning/shadow/report.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { differencesFromApi } from '../api/schema-check.ts';
import { runCommand } from '../support/run-command.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const ofAks = (change: Partial<PoolSpec> & { readonly name: string }): PoolSpec => aPool({ ...change, managedAutoscaler: true });

/** No tags, no flags: only the subscription, the resource groups and the cluster name, from the environment. */
function withoutSettings(pools: readonly PoolSpec[], flags: readonly string[], managedAutoscaler = false): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf(pools, { discoveryTags: {} }), discovery: [], flags, managedAutoscaler });
}

function groupOf(world: VirtualRun, pool: string) {
  return world.reports.at(-1)?.observation?.cloud.groups.find(({ agentPool }) => agentPool?.name === pool);
}

function wanted(world: VirtualRun): readonly string[] {
  return world.reports.flatMap(({ rounds }) =>
    rounds.flatMap(({ increases }) =>
      increases.map(({ increase: { group, from, to } }) => `${group.split('-')[1] ?? group} ${from} -> ${to}`),
    ),
  );
}

describe('a pool that the autoscaler of AKS scales', () => {
  const KINDS = { uniform: 'vmss-uniform', flexible: 'vmss-flexible', vms: 'vms-pool' } as const;
  const poolsOfAllKinds = (min: number) => Object.entries(KINDS).map(([name, kind]) => ofAks({ name, kind, count: 2, min, max: 4 }));

  it('is ours in a dry run, of whatever kind, within the limits of its agent pool, without tags and flags', async () => {
    const world = await withoutSettings(poolsOfAllKinds(1), ['--dry-run']);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 60, cpu: '1' }));
    await world.advance(2 * MINUTE);
    const increases = world.reports.flatMap(({ rounds }) => rounds.flatMap((round) => round.increases));
    for (const pool of Object.keys(KINDS)) {
      const group = groupOf(world, pool);
      expect(group, pool).toMatchObject({ minSize: 1, maxSize: 4, maxFrom: 'agent-pool', blocks: { change: undefined } });
      const own = increases.filter(({ increase }) => increase.group === group?.id);
      expect(own.map(({ increase: { from, to }, outcome }) => [from, to, outcome.kind])).toContainEqual([2, 4, 'withheld']);
    }
    expect(increases.every(({ outcome }) => outcome.kind === 'withheld')).toBe(true);
    expect(world.writes()).toEqual([]);
  });

  it('is frozen without a dry run, of whatever kind: it is never written, whatever is pending or idle', async () => {
    const world = await withoutSettings(poolsOfAllKinds(0), ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10s']);
    await world.advance(5 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 60, cpu: '1' }));
    await world.advance(5 * MINUTE);
    for (const pool of Object.keys(KINDS))
      expect(describeBlock(groupOf(world, pool)?.blocks.change), pool).toContain('AKS runs its own autoscaler over its agent pool');
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('AKS runs its own autoscaler');
    expect(world.writes()).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });

  it('is used first in a dry run where it fits best, beside a pool of our own', async () => {
    const world = await withoutSettings(
      [ofAks({ name: 'general', count: 1, min: 1, max: 4 }), ofAks({ name: 'big', vmSize: 'Standard_D16s_v5', count: 0 })],
      ['--dry-run'],
    );
    world.world.cluster.apply(deployment({ name: 'web', replicas: 6, cpu: '1' }));
    await world.advance(MINUTE);
    expect(wanted(world)).toContain('general 1 -> 2');
    expect(capacity(world, 'general')).toBe(1);
  });
});

function removed(world: VirtualRun): readonly string[] {
  return world.reports.flatMap(({ scaleDown }) => scaleDown?.removals.map(({ node }) => node) ?? []);
}

describe("a dry run beside AKS's own autoscaler", () => {
  const idle = ofAks({ name: 'idle', count: 3, min: 3, labels: { idle: 'yes' }, taints: ['idle=yes:NoSchedule'] });
  const busy = ofAks({ name: 'busy', count: 1, min: 1, max: 5 });

  it('wants nothing more once the other autoscaler has requested the nodes, although its own increase was withheld', async () => {
    const world = await withoutSettings([idle, busy], ['--dry-run'], true);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1' }));
    await world.until('AKS increases the pool', () => capacity(world, 'busy') === 3, MINUTE);
    expect(wanted(world)).toContain('busy 1 -> 3');
    await world.advance(90 * SECOND);
    const after = world.reports.length;
    await world.advance(5 * MINUTE);
    const late = world.reports.slice(after).flatMap(({ rounds }) => rounds.flatMap(({ increases }) => increases));
    expect(late).toEqual([]);
  });

  it("removes nothing for as long after the other's increase as after its own", async () => {
    const world = await withoutSettings(
      [{ ...idle, min: 0, managedAutoscaler: true }, busy],
      ['--dry-run', '--scale-down-unneeded-time=10m', '--scale-down-delay-after-add=10m'],
      true,
    );
    world.world.cluster.apply(
      deployment({ name: 'pinned', replicas: 1, cpu: '100m', annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } }),
    );
    await world.advance(8 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1' }));
    await world.advance(8 * MINUTE);
    expect(capacity(world, 'busy')).toBe(3);
    expect(removed(world)).toEqual([]);
    expect(world.writes()).toEqual([]);
  });
});

describe('the report about a dry run', () => {
  it('has no disagreement where both sides remove the same idle nodes by the same timers', async () => {
    const idle = ofAks({ name: 'idle', count: 3, min: 1, labels: { idle: 'yes' }, taints: ['idle=yes:NoSchedule'] });
    const world = await withoutSettings([idle], ['--dry-run', '--scan-interval=30s', '--scale-down-unneeded-time=10m'], true);
    await world.advance(30 * MINUTE);
    expect(capacity(world, 'idle')).toBe(1);
    const answer = await fetch(`${world.daemon.url}/api/v1/report?since=1h`);
    const report = (await answer.json()) as ShadowReport;
    expect(report.disagreements).toEqual([]);
    expect([report.theirs.nodesRemoved, report.ours.nodesRemoved]).toEqual([2, 2]);
  });

  it("names a removal that AKS's own autoscaler does not make, and the increases of both, with numbers of the real sizes", async () => {
    const directory = mkdtempSync(join(tmpdir(), 'aks-autoscaler-shadow-'));
    try {
      const world = await withoutSettings(
        [
          ofAks({ name: 'general', count: 1, min: 1, max: 6 }),
          ofAks({ name: 'logs', count: 2, min: 0, max: 4, labels: { logs: 'yes' }, taints: ['logs=yes:NoSchedule'] }),
        ],
        [
          '--dry-run',
          '--scan-interval=30s',
          `--history-directory=${directory}`,
          '--skip-nodes-with-local-storage=false',
          '--config',
          pricesIn(directory),
        ],
        true,
      );
      const onLogs = { nodeSelector: { logs: 'yes' }, tolerations: [{ key: 'logs', operator: 'Exists' }] };
      world.world.cluster.apply(
        deployment({ name: 'agent', replicas: 2, cpu: '500m', spec: { ...onLogs, volumes: [{ name: 'data', emptyDir: {} }] } }),
      );
      await world.advance(2 * MINUTE);
      // The report says what the page says: both have it of one search.
      const page = (await (await fetch(`${world.daemon.url}/api/v1/overview`)).json()) as Overview;
      const early = (await (await fetch(`${world.daemon.url}/api/v1/report?since=7d`)).json()) as ShadowReport;
      expect(early.repacking?.text).toMatch(/^3 nodes, \d would do: \d+ a week less$/);
      expect(page.repacking?.text).toBe(early.repacking?.text);
      world.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1' }));
      await world.advance(58 * MINUTE);
      expect([capacity(world, 'general'), capacity(world, 'logs')]).toEqual([3, 2]);

      const answer = await fetch(`${world.daemon.url}/api/v1/report?since=7d`);
      const report = (await answer.json()) as ShadowReport;
      expect(differencesFromApi('report', report)).toEqual([]);
      expect(report).toMatchObject({
        isPartial: true,
        pools: 2,
        theirs: { nodesAdded: 2, nodesRemoved: 0 },
        ours: { nodesAdded: 2, nodesRemoved: 1 },
      });
      expect(report.disagreements.map(({ kind, pools }) => [kind, pools.map((pool) => pool.split('-')[1])])).toEqual([
        ['removal only here', ['logs']],
      ]);
      const [removal] = report.disagreements;
      expect(removal).toMatchObject({ nodes: 1, theirs: 'kept; its events give no reason' });
      expect(removal?.ours).toMatch(/^aks-logs-\S+ removed: underutilized, its pod fits elsewhere$/);
      // Three nodes of general for most of the hour and two of logs, at 1 USD each.
      expect(report.theirs.cost).toBeGreaterThan(4);
      expect(report.theirs.cost).toBeLessThan(5);
      const idleMs = report.toMs - (removal?.atMs ?? 0);
      expect(removal?.cost).toBeCloseTo(-idleMs / 3_600_000, 1);
      expect(report.theirs.podMinutes).toBeGreaterThan(2);

      await world.stopDaemon();
      const shown = await runCommand(['report', '--since', '7d', '--directory', directory, '--all']);
      expect(shown.code).toBe(0);
      expect(shown.out).toMatch(/^aks-autoscaler would have saved \d\.\d\d of cost \(\d+\.\d %\)\.\n/);
      expect(shown.out).toContain('node removed that the AKS autoscaler kept');
      expect(shown.out.replaceAll('\n', ' ')).toMatch(/Repacking at 20\d\d-\S+ \S+ UTC: \d nodes, .*, with what is removed anyway\./);
      expect(world.writes()).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

function pricesIn(directory: string): string {
  const file = join(directory, 'config.yaml');
  writeFileSync(file, 'scaleUp: { prices: { Standard_D4s_v5: 1 } }\n');
  return file;
}
