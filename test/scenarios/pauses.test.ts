/** Pools that a person pauses with kubectl: growing, shrinking or both, until a time that only the clock decides. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld, type VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10s', '--scan-interval=30s'];
const HOUR = 60 * MINUTE;

const configMap = (data: Readonly<Record<string, string>>): ObjectDraft => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'aks-autoscaler-pause', namespace: 'kube-system' },
  data,
});

const ahead = (world: VirtualRun, ms: number): string => new Date(world.clock.now() + ms).toISOString();
const pause = (world: VirtualRun, data: Readonly<Record<string, string>>) => world.world.cluster.apply(configMap(data));

/** Pods that only this pool can take. */
const podsOf = (pool: string, replicas: number) =>
  deployment({ name: `on-${pool}`, replicas, cpu: '3', spec: { nodeSelector: { agentpool: pool } } });

/** Two pools of two nodes, of which one is needed. Nothing was removed so far. */
async function twoPools(more: Partial<VirtualRunOptions> = {}): Promise<VirtualRun> {
  const pools = ['alpha', 'beta'].map((name) => aPool({ name, count: 2, min: 1 }));
  const world = await startedWorld({ spec: worldOf(pools), flags: FLAGS, ...more });
  await world.advance(SECOND);
  return world;
}

const sizes = (world: VirtualRun) => ['alpha', 'beta'].map((name) => capacity(world, name));
const keptInAlpha = (world: VirtualRun) =>
  (world.reports.at(-1)?.scaleDown?.kept ?? []).filter(({ node }) => node.includes('alpha')).map(({ detail }) => detail);

describe('a paused pool', () => {
  it('neither grows nor shrinks, says until when, by whom and why, holds up no other pool, and ends by itself', async () => {
    const world = await twoPools();
    const until = ahead(world, 40 * MINUTE);
    pause(world, { alpha: `until=${until} by=ann reason=move of the database` });
    await world.advance(6 * MINUTE);
    expect(sizes(world)).toEqual([2, 1]);
    const sentence = `paused until ${until.replace('.000Z', 'Z')} by ann: move of the database`;
    expect(keptInAlpha(world)).toEqual([sentence, sentence]);
    for (const pool of ['alpha', 'beta']) world.world.cluster.apply(podsOf(pool, 4));
    await world.until('the other pool has grown', () => bound(world, 'on-beta') === 4, 6 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(sizes(world)).toEqual([2, 4]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain(sentence);
    await world.until('the paused pool has grown', () => capacity(world, 'alpha') === 4, 2 * HOUR);
    expect(world.clock.now()).toBeGreaterThanOrEqual(Date.parse(until));
    expect(world.clock.now()).toBeLessThan(Date.parse(until) + MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it.each([
    ['scale-up', 'shrinks', [1, 1], [1, 4]],
    ['scale-down', 'grows', [2, 1], [4, 4]],
  ] as const)('in the direction %s alone still %s', async (direction, _, atRest, withPods) => {
    const world = await twoPools();
    pause(world, { alpha: `until=${ahead(world, 24 * HOUR)} direction=${direction}` });
    await world.advance(6 * MINUTE);
    expect(sizes(world)).toEqual(atRest);
    for (const pool of ['alpha', 'beta']) world.world.cluster.apply(podsOf(pool, 4));
    await world.until('the other pool has grown', () => bound(world, 'on-beta') === 4, 6 * MINUTE);
    expect(sizes(world)).toEqual(withPods);
    expect(world.world.violations()).toEqual([]);
  });

  it('stays paused over a restart and while the API server is away, and is free when the entry or the ConfigMap goes', async () => {
    const world = await twoPools();
    const entry = `until=${ahead(world, 24 * HOUR)}`;
    pause(world, { _cluster: entry });
    await world.advance(2 * MINUTE);
    world.killDaemon();
    await world.startDaemon();
    await world.advance(5 * MINUTE);
    world.world.cluster.control.pause();
    await world.advance(3 * MINUTE);
    world.world.cluster.control.resume();
    await world.advance(5 * MINUTE);
    expect([...sizes(world), world.writes().length]).toEqual([2, 2, 0]);
    pause(world, { alpha: entry });
    await world.until('the other pool is free', () => capacity(world, 'beta') === 1, 5 * MINUTE);
    expect(sizes(world)).toEqual([2, 1]);
    world.world.cluster.remove(configMap({}));
    await world.until('every pool is free', () => capacity(world, 'alpha') === 1, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('ends at the time that was written although the API server is away then', async () => {
    const world = await twoPools();
    pause(world, { alpha: `until=${ahead(world, 10 * MINUTE)} direction=scale-down` });
    await world.advance(9 * MINUTE);
    expect(sizes(world)).toEqual([2, 1]);
    world.world.cluster.control.pause();
    await world.advance(3 * MINUTE);
    world.world.cluster.control.resume();
    await world.until('it shrinks', () => capacity(world, 'alpha') === 1, 6 * MINUTE);
  });

  it('ends by the clock of the daemon, wherever that is', async () => {
    const world = await twoPools();
    pause(world, { alpha: `until=${ahead(world, 3 * HOUR)} direction=scale-down` });
    await world.advance(6 * MINUTE);
    expect(sizes(world)).toEqual([2, 1]);
    world.skewDaemon(4 * HOUR);
    await world.until('it shrinks', () => capacity(world, 'alpha') === 1, 6 * MINUTE);
  });

  it('that was over before the start has no effect', async () => {
    const world = await twoPools();
    await world.stopDaemon();
    pause(world, { alpha: `until=${ahead(world, -SECOND)}` });
    await world.startDaemon();
    await world.until('it shrinks', () => capacity(world, 'alpha') === 1, 5 * MINUTE);
  });

  it('is not touched from the first loop on', async () => {
    const world = await twoPools();
    await world.stopDaemon();
    pause(world, { alpha: `until=${ahead(world, HOUR)}` });
    world.world.cluster.apply(podsOf('alpha', 4));
    await world.startDaemon();
    await world.advance(2 * MINUTE);
    expect(world.writes().filter(({ pool }) => pool === 'alpha')).toEqual([]);
  });

  it('by an entry without a readable end keeps its nodes, and grows; no other entry is affected', async () => {
    const world = await twoPools();
    pause(world, { alpha: 'for=2h', beta: `until=${ahead(world, HOUR)} direction=scale-up` });
    await world.advance(6 * MINUTE);
    expect(sizes(world)).toEqual([2, 1]);
    expect(keptInAlpha(world)[0]).toBe('removals wait, since the pause "alpha" cannot be read: it has no "until="');
    for (const pool of ['alpha', 'beta']) world.world.cluster.apply(podsOf(pool, 4));
    await world.until('it has grown', () => bound(world, 'on-alpha') === 4, 6 * MINUTE);
    expect(sizes(world)).toEqual([4, 1]);
  });

  it('is unknown to a daemon that may not read the ConfigMap, which says so and starts all the same', async () => {
    const lines: string[] = [];
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'alpha', count: 2, min: 1 })]),
      flags: FLAGS,
      onLog: (line) => lines.push(line),
    });
    await world.stopDaemon();
    lines.length = 0;
    pause(world, { alpha: `until=${ahead(world, HOUR)}` });
    const refuse = (): void => world.world.cluster.control.failNext(1_000, 403, { resource: 'configmaps' });
    refuse();
    await world.startDaemon();
    await world.until('it shrinks', () => capacity(world, 'alpha') === 1, 6 * MINUTE);
    expect(lines.join()).toContain('ConfigMap could not be read and counts as absent');
  });
});

it('a removal that is under way when the pause begins is undone, and its node serves pods again', async () => {
  const world = await twoPools();
  const spec = { terminationGracePeriodSeconds: 120, nodeSelector: { agentpool: 'alpha' } };
  world.world.cluster.apply(deployment({ name: 'slow', replicas: 2, cpu: '200m', spec: { ...spec, topologySpreadConstraints: [SPREAD] } }));
  const tainted = () =>
    world.world.cluster.store.nodes().filter(({ spec: { taints = [] } }) => taints.some(({ key }) => key.includes('ToBeDeleted')));
  await world.until('a drain in alpha', () => tainted().some(({ metadata }) => metadata.name.includes('alpha')), 10 * MINUTE);
  pause(world, { alpha: `until=${ahead(world, HOUR)} by=ann` });
  await world.until('the drain is undone', () => tainted().length === 0, 5 * MINUTE);
  await world.advance(5 * MINUTE);
  expect(sizes(world)).toEqual([2, 1]);
  expect(events(world, 'ScaleDownFailed').join()).toMatch(/node not removed \(step recheck\): paused until .* by ann/);
  await world.until('bound again', () => bound(world, 'slow') === 2, 5 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});

const SPREAD = {
  maxSkew: 1,
  topologyKey: 'kubernetes.io/hostname',
  whenUnsatisfiable: 'ScheduleAnyway',
  labelSelector: { matchLabels: { app: 'slow' } },
};
