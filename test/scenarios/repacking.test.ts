/** Repacking in virtual time: sets of nodes make way for fewer or cheaper ones, each step is checked, and what is undone waits longer. */
import { describe, expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const HOUR = 60 * MINUTE;
const SPOT_KEY = 'kubernetes.azure.com/scalesetpriority';

/** The daemon's settings beside the flags: prices of the user, and short times. */
function repackFile(repack: string): string {
  const prices = 'Standard_D2s_v5: 0.1, Standard_D4s_v5: 0.2, Standard_D8s_v5: 0.3, Standard_D8s_v5/Spot: 0.1, Standard_D4s_v5/Spot: 0.04';
  return configFile(`scaleUp: { prices: { ${prices} } }\nrepack: { confirmAfter: 2m, searchEvery: 1m, minPodAge: 10m, ${repack} }\n`);
}

const FLAGS = ['--scale-down-unneeded-time=3m', '--scale-down-delay-after-add=1m', '--scan-interval=1m'];

async function worldWith(stock: Readonly<Record<string, number>> = {}): Promise<VirtualRun> {
  const run = await startedWorld({
    spec: worldOf([small, large], { stock }),
    flags: [...FLAGS, `--config=${repackFile('enabled: true, minScore: 0.5')}`],
  });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '1700m' }));
  await run.until('the pods run', () => bound(run, 'web') === 4, 10 * MINUTE);
  return run;
}

const small = aPool({ name: 'small', vmSize: 'Standard_D2s_v5', count: 4, min: 0 });
const large = aPool({ name: 'large', vmSize: 'Standard_D8s_v5', count: 0, min: 0 });
const sizes = (run: VirtualRun) => [capacity(run, 'small'), capacity(run, 'large')];
/** When the pods that run were created, milliseconds since the epoch. */
const births = (run: VirtualRun) =>
  run.world.cluster.store
    .boundPods()
    .filter((pod) => pod.metadata.labels?.['app'] === 'web')
    .map((pod) => Date.parse(pod.metadata.creationTimestamp ?? ''));
const nodeOf = (run: VirtualRun, name: string) =>
  run.world.cluster.store.boundPods().find((pod) => pod.metadata.labels?.['app'] === name)?.spec.nodeName;

describe('repacking', () => {
  it('replaces four nodes by one that costs less and is ready before, over a restart, and then leaves its pods alone', async () => {
    const run = await worldWith();
    await run.until('the large node is requested', () => capacity(run, 'large') === 1, HOUR);
    expect([sizes(run), bound(run, 'web')]).toEqual([[4, 1], 4]);
    run.killDaemon();
    await run.startDaemon();
    await run.until('the small nodes are gone', () => capacity(run, 'small') === 0, HOUR);
    expect([bound(run, 'web'), pending(run), sizes(run)]).toEqual([4, 0, [0, 1]]);
    await run.until('it says so', () => events(run, 'RepackEnded').length > 0, 10 * MINUTE);
    expect(events(run, 'RepackBegun').length).toBe(1);
    expect(events(run, 'RepackEnded').join()).toMatch(/^A repack is done: /);
    const moved = births(run);
    await run.advance(2 * HOUR);
    expect([births(run), sizes(run)]).toEqual([moved, [0, 1]]);
    expect(run.world.violations()).toEqual([]);
  });

  it('removes several nodes at once whose pods fit on the others, and puts a cheaper Spot node in the place of a Spot node', async () => {
    const plain = aPool({ name: 'plain', vmSize: 'Standard_D4s_v5', count: 5, min: 0 });
    const spots = ['Standard_D8s_v5', 'Standard_D4s_v5'].map((vmSize, at) =>
      aPool({ name: `spot${at}`, vmSize, count: 1 - at, priority: 'Spot', taints: [`${SPOT_KEY}=spot:NoSchedule`] }),
    );
    const run = await startedWorld({
      spec: worldOf([plain, ...spots]),
      flags: [...FLAGS, `--config=${repackFile('enabled: true, minScore: 0.5')}`],
    });
    run.world.cluster.apply(deployment({ name: 'web', replicas: 15, cpu: '700m' }));
    const onSpot = {
      nodeSelector: { [SPOT_KEY]: 'spot' },
      tolerations: [{ key: SPOT_KEY, operator: 'Equal', value: 'spot', effect: 'NoSchedule' }],
    };
    run.world.cluster.apply(deployment({ name: 'work', replicas: 1, cpu: '3000m', spec: onSpot }));
    const sizesNow = () => ['plain', 'spot0', 'spot1'].map((pool) => capacity(run, pool));
    await run.until('the pods run', () => bound(run, 'web') + bound(run, 'work') === 16, 10 * MINUTE);
    expect(sizesNow()).toEqual([5, 1, 0]);
    await run.until('both are repacked', () => sizesNow().join() === '3,0,1', 2 * HOUR);
    expect([bound(run, 'web'), bound(run, 'work'), pending(run)]).toEqual([15, 1, 0]);
    await run.until('it says so', () => events(run, 'RepackEnded').length === 2, 10 * MINUTE);
    const begun = events(run, 'RepackBegun').join(' ');
    expect(begun).toMatch(/vmss00000. and [^ ]+ go: /);
    expect(begun).toMatch(/makes way for 1 new node of aks-spot1-\d+-vmss: /);
    expect(run.world.violations()).toEqual([]);
  });

  it('is undone if Azure has no new node, and is tried again later each time', async () => {
    const run = await worldWith({ 'Standard_D8s_v5/0': 0 });
    const undone = () => events(run, 'RepackUndone');
    await run.until('it is undone', () => undone().length === 1, HOUR);
    expect(undone()[0]).toMatch(/^A repack was undone: Azure /);
    await run.advance(25 * MINUTE);
    expect([undone().length, sizes(run), bound(run, 'web')]).toEqual([1, [4, 0], 4]);
    await run.until('it is tried again', () => run.reports.at(-1)?.state.repacks.running.length === 1, HOUR);
  });

  it('is undone if a budget forbids the moves in between, and its new node goes again', async () => {
    const run = await worldWith();
    await run.until('the large node is requested', () => capacity(run, 'large') === 1, HOUR);
    run.world.cluster.apply(budget('web', 0));
    await run.until('it is undone', () => events(run, 'RepackUndone').length === 1, HOUR);
    expect(events(run, 'RepackUndone').join()).toContain('NotEnoughPdb');
    await run.until('the new node is gone', () => capacity(run, 'large') === 0, HOUR);
    expect([sizes(run), bound(run, 'web')]).toEqual([[4, 0], 4]);
    expect(run.world.violations()).toEqual([]);
  });

  it('lets no ordinary removal move a pod again that one has moved, over a restart', async () => {
    const run = await startedWorld({
      spec: worldOf([aPool({ name: 'p', count: 3, min: 0 })]),
      flags: [...FLAGS, `--config=${repackFile('enabled: true, minScore: 1000')}`],
    });
    // One pod that fills half of a node on each node, then the one that moves.
    for (const name of ['one', 'two', 'three']) {
      run.world.cluster.apply(deployment({ name, replicas: 1, cpu: '2500m' }));
      await run.until(`${name} runs`, () => bound(run, name) === 1, 10 * MINUTE);
    }
    run.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '500m' }));
    await run.until('web runs', () => bound(run, 'web') === 1, 10 * MINUTE);
    const neighbour = () => ['one', 'two', 'three'].find((name) => nodeOf(run, name) === nodeOf(run, 'web'));
    const leave = () => run.world.cluster.apply(deployment({ name: neighbour() ?? '', replicas: 0, cpu: '2500m' }));
    const [born] = births(run);
    leave();
    await run.until('its node was removed', () => capacity(run, 'p') === 2, HOUR);
    expect(births(run)[0]).toBeGreaterThan(born ?? 0);
    const [moved = 0] = births(run);
    leave();
    await run.advance(2 * MINUTE);
    run.killDaemon();
    await run.startDaemon();
    await run.advance(moved + 9 * MINUTE - run.world.clock.now());
    const node = nodeOf(run, 'web');
    const kept = run.reports.at(-1)?.scaleDown?.kept.find((entry) => entry.node === node);
    expect([capacity(run, 'p'), births(run), kept]).toEqual([2, [moved], expect.objectContaining({ reason: 'RepackInProgress' })]);
    await run.until('it goes once the pod is old enough', () => capacity(run, 'p') === 1, 10 * MINUTE);
    expect(births(run)[0]).toBeGreaterThanOrEqual(moved + 10 * MINUTE);
    expect(run.world.violations()).toEqual([]);
  });
});
