/** Two clusters whose daemons one Prometheus scrapes: a busy one, and one whose pool is out of stock. In virtual time. */
import { aPool, deployment, MINUTE, SECOND, worldOf } from '../../scenarios/support.ts';
import { VirtualRun } from '../../support/virtual-world.ts';
import { busyWorld } from '../busy-world.ts';
import type { Scrape } from './prometheus.ts';

const SCRAPE_MS = 30 * SECOND;
export const JOB = 'aks-autoscaler';

const WEST = worldOf([aPool({ name: 'web', count: 1, min: 1 }), aPool({ name: 'gpu', vmSize: 'Standard_NC4as_T4_v3', count: 0, max: 4 })], {
  stock: { 'Standard_NC4as_T4_v3/0': 0 },
});

/** Lets time pass, and notes what the daemon serves as often as a Prometheus asks. */
class Scraper {
  readonly scrapes: Scrape[] = [];
  readonly #labels: Scrape['labels'];

  constructor(cluster: string) {
    this.#labels = { cluster, namespace: 'kube-system', job: JOB, instance: `${cluster}-0` };
  }

  readonly advance = async (run: VirtualRun, ms: number): Promise<void> => {
    for (const end = run.clock.now() + ms; run.clock.now() < end;) {
      await run.advance(Math.min(SCRAPE_MS, end - run.clock.now()));
      this.scrapes.push({ atMs: run.clock.now(), text: await run.metrics.registry.metrics(), labels: this.#labels });
    }
  };
}

/** All that was scraped, and when the last was. The second cluster is watched for the last minutes only. */
export async function scrapedClusters(): Promise<{ readonly scrapes: readonly Scrape[]; readonly endMs: number }> {
  const [east, west] = [new Scraper('east'), new Scraper('west')];
  const busy = await busyWorld(east.advance);
  const endMs = busy.clock.now();
  await busy.stop();
  const run = await VirtualRun.start({ spec: WEST });
  await run.stopDaemon();
  await run.startDaemon(['--retail-prices', `--retail-prices-endpoint=${run.world.arm.url}/api/retail/prices`]);
  await west.advance(run, 2 * MINUTE);
  run.world.cluster.apply(deployment({ name: 'train', replicas: 2, cpu: '3', spec: { nodeSelector: { agentpool: 'gpu' } } }));
  run.world.cluster.apply(deployment({ name: 'shop', replicas: 9, cpu: '1', spec: { nodeSelector: { agentpool: 'web' } } }));
  await west.advance(run, 18 * MINUTE);
  const laterMs = endMs - run.clock.now();
  await run.stop();
  return { scrapes: [...east.scrapes, ...west.scrapes.map((scrape) => ({ ...scrape, atMs: scrape.atMs + laterMs }))], endMs };
}
