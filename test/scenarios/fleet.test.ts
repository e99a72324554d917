/** Three clusters of one subscription that share a store in memory. The fleet of thirty, with figures, is `npm run soak -- --fleet 30`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentsDocument } from '../../src/api/documents/agents.ts';
import { differencesFromApi } from '../api/schema-check.ts';
import { FleetRun, type FleetCluster } from '../soak/fleet/fleet-run.ts';
import { storeOptions, writesOf } from '../soak/fleet/fleet-story.ts';
import { aPool, deployment, MINUTE, SECOND } from './support.ts';

const RARE = 'Standard_F8s_v2';
const POOLS = [aPool({ name: 'rare', vmSize: RARE, count: 0 }), aPool({ name: 'plenty', vmSize: 'Standard_D16s_v5', count: 0 })];

let run: FleetRun;
let clusters: readonly [FleetCluster, FleetCluster, FleetCluster];
beforeAll(async () => {
  run = await FleetRun.start({ clusters: 3, pools: POOLS, stock: { [`${RARE}/0`]: 0 }, ...storeOptions('memory') });
  await run.startDaemons();
  await run.advance(5 * SECOND);
  const [one, two, three] = run.clusters;
  if (one === undefined || two === undefined || three === undefined) throw new Error('there are three clusters');
  clusters = [one, two, three];
});
afterAll(() => run.stop());

function calls(each: FleetCluster, route: string, sinceMs = 0): number {
  return each.calls.filter((entry) => entry.route === route && entry.at >= sinceMs).length;
}

async function readFrom({ daemon }: FleetCluster, path: string): Promise<unknown> {
  return (await fetch(`${daemon?.url ?? ''}${path}`)).json();
}

const SIZES = 'GET skus';
const USAGES = 'GET locations/{location}/usages';
const SETS = 'GET virtualMachineScaleSets';

describe('clusters of one subscription that share a store', () => {
  it('read sizes and usages once for all, and scale sets each for itself', () => {
    expect(clusters.map((each) => [calls(each, SIZES), calls(each, USAGES), calls(each, SETS)])).toEqual([
      [1, 1, 1],
      [0, 0, 1],
      [0, 0, 1],
    ]);
  });

  it('show who read for whom: as a document, on /debug/agents, and as the page names it', async () => {
    const [, two] = clusters;
    await run.advance(10 * SECOND);
    const read = (path: string): Promise<unknown> => readFrom(two, path);
    const skus = expect.objectContaining({ id: 'skus', readBy: 'c01/one' });
    const sets = expect.not.objectContaining({ readBy: expect.anything() });
    const { agents, store } = (await read('/api/v1/agents')) as AgentsDocument;
    expect(agents).toContainEqual(skus);
    expect(agents.filter(({ kind }) => kind === 'scaleSets')).toEqual([sets]);
    expect(store?.clusters.map(({ cluster, reads, isThis }) => [cluster, reads, isThis])).toEqual([
      ['c01', ['skus', 'usage'], undefined],
      ['c02', [], true],
      ['c03', [], undefined],
    ]);
    expect(await read('/debug/agents?view=clusters')).toMatchObject({
      clusters: [{ cluster: 'c01' }, { cluster: 'c02' }, { cluster: 'c03' }],
    });
    expect(await read('/debug/agents')).toContainEqual(
      expect.objectContaining({ id: 'skus', lastCommit: expect.objectContaining({ readBy: 'c01/one' }) }),
    );
  });

  it('choose the other pool in the same loop after one of them met a stockout', async () => {
    const [one, two, three] = clusters;
    one.world.cluster.apply(deployment({ name: 'work', replicas: 4, cpu: '7' }));
    await run.advance(MINUTE, () => writesOf(one, 'plenty').length > 0);
    expect(writesOf(one, 'rare')).toHaveLength(1);
    await run.advance(6 * SECOND);
    const document = await readFrom(two, '/api/v1/agents');
    const { store } = document as AgentsDocument;
    expect(differencesFromApi('agents', document)).toEqual([]);
    expect(store?.hints.find(({ kind }) => kind === 'stockout')).toMatchObject({ about: 'standard_f8s_v2/regular/*', by: 'c01/one' });
    for (const each of [two, three]) each.world.cluster.apply(deployment({ name: 'work', replicas: 2, cpu: '7' }));
    await run.advance(2 * SECOND);
    expect([two, three].map((each) => [writesOf(each, 'rare').length, writesOf(each, 'plenty').length])).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('ask Azure themselves if no other pool can take the pods: what another cluster reports keeps no pod pending', async () => {
    const [, two, three] = clusters;
    const sinceMs = run.clock.now();
    const only = { spec: { nodeSelector: { 'kubernetes.azure.com/agentpool': 'rare' } } };
    for (const each of [two, three]) each.world.cluster.apply(deployment({ name: 'picky', replicas: 1, cpu: '7', ...only }));
    await run.advance(2 * SECOND);
    const asked = (): readonly number[] => [two, three].map((each) => writesOf(each, 'rare').filter(({ at }) => at >= sinceMs).length);
    expect(asked()).toEqual([1, 1]);
    // Then their own back-off decides, as without a store.
    await run.advance(2 * MINUTE);
    expect(asked()).toEqual([1, 1]);
    for (const each of [two, three]) each.world.cluster.apply(deployment({ name: 'picky', replicas: 0, cpu: '7', ...only }));
  });

  it('hand over to a process that takes sizes and usages from the store, and reads its scale sets and instances itself', async () => {
    const [, , three] = clusters;
    await run.advance(10 * SECOND);
    await run.stopDaemon(three);
    // The list of sizes is more than a megabyte (caching 2.1).
    three.world.arm.control.addFault({ id: 'slow', match: { pathGlob: '**/skus' }, effect: { kind: 'delay', ms: 3 * SECOND } });
    const sinceMs = run.clock.now();
    const loops = three.loops.length;
    await run.startDaemon(three);
    await run.advance(MINUTE, () => three.loops.length > loops);
    expect([SIZES, USAGES].map((route) => calls(three, route, sinceMs))).toEqual([0, 0]);
    expect(calls(three, SETS, sinceMs)).toBe(1);
    expect(calls(three, 'GET virtualMachineScaleSets/{name}/virtualMachines', sinceMs)).toBe(3);
    expect(run.clock.now() - sinceMs).toBeLessThan(SECOND);
    expect(three.loops.at(-1)?.outcome).toBe('completed');
  });

  it('break no rule of safe writes', () => {
    expect(clusters.flatMap(({ world }) => world.violations())).toEqual([]);
  });
});
