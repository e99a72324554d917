/**
 * One cluster of a subscription removes many nodes at once, while other clients leave few writes for all and the other clusters need nodes.
 * Only counts; nothing here decides what is good.
 */
import { aPool, deployment, MINUTE, SECOND } from '../../scenarios/support.ts';
import { FleetRun, type FleetCluster } from './fleet-run.ts';
import { firstWriteAfter, spreadOf, storeOptions, type FleetFigures } from './fleet-story.ts';
import { useUpLimit } from './other-clients.ts';

/** Azure's for all principals of a subscription. */
const WRITES_A_MINUTE = 9_000;
/** The node of each of these pools joins before the daemons start, and nothing runs on it. */
const idlePoolsOf = (clusters: number): number => 8 + clusters;
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1s'];
const UNTIL_REMOVALS_MS = 10 * SECOND;
/** The nodes are idle for long enough after the first of them. */
const MEASURED_MS = 2.5 * MINUTE;
const BETWEEN_PODS_MS = 20 * SECOND;
/** Writes a minute, beside what the other clusters need. */
const LEFT_FOR_GREEDY = 7;

export interface GreedyFigures {
  readonly clusters: number;
  readonly store: FleetFigures['store'];
  /** Of the cluster that removes a node of each of its idle pools, while writes are scarce: how many deletions Azure accepted. */
  readonly greedy: { readonly idlePools: number; readonly deletions: number; readonly refused: number; readonly postponed: number };
  /** Of the others, in the same time. */
  readonly others: {
    readonly increases: number;
    readonly refused: number;
    /** From a pod to the write that it needs, seconds. */
    readonly waits: { readonly median: number; readonly longest: number };
  };
  readonly violations: number;
}

/** @throws Error if the world does not come to rest. */
export async function liveWithGreedy(clusters: number, store: FleetFigures['store'], seed = 1): Promise<GreedyFigures> {
  const web = aPool({ name: 'web', count: 0, max: 30 });
  const idlePools = idlePoolsOf(clusters);
  const idle = Array.from({ length: idlePools }, (_, at) => aPool({ name: `idle${at}` }));
  const run = await FleetRun.start({
    clusters,
    seed,
    pools: [web],
    poolsOf: (at) => (at === 0 ? idle : []),
    flags: FLAGS,
    ...storeOptions(store),
  });
  try {
    await run.startDaemons();
    const [greedy, ...others] = run.clusters;
    if (greedy === undefined) throw new Error('a fleet has a cluster');
    await run.advance(UNTIL_REMOVALS_MS - clusters * SECOND);
    const left = (others.length * MINUTE) / BETWEEN_PODS_MS + LEFT_FOR_GREEDY;
    const stop = useUpLimit(run, { method: 'PUT', aMinute: WRITES_A_MINUTE - left });
    const sinceMs = run.clock.now();
    const waits = growInTurns(run, others);
    await run.advance(MEASURED_MS);
    stop();
    const untilMs = run.clock.now();
    const during = (each: FleetCluster) => each.calls.filter(({ method, at }) => method !== 'GET' && at >= sinceMs && at < untilMs);
    const deletions = during(greedy);
    const increases = others.flatMap(during);
    return {
      clusters,
      store,
      greedy: {
        idlePools,
        deletions: deletions.filter(({ status }) => status < 300).length,
        refused: deletions.filter(({ status }) => status === 429).length,
        postponed: greedy.lines.filter((line) => line.includes('Write postponed')).length,
      },
      others: {
        increases: increases.length,
        refused: increases.filter(({ status }) => status === 429).length,
        waits: spreadOf(waits.map(({ each, atMs }) => firstWriteAfter(each, 'web', atMs))),
      },
      violations: run.clusters.reduce((sum, { world }) => sum + world.violations().length, 0),
    };
  } finally {
    await run.stop();
  }
}

/** Each of the others needs one more node every half minute; they take turns. */
function growInTurns(run: FleetRun, others: readonly FleetCluster[]): readonly { readonly each: FleetCluster; readonly atMs: number }[] {
  const grown: { readonly each: FleetCluster; readonly atMs: number }[] = [];
  for (const [at, each] of others.entries())
    for (let turn = 1; turn * BETWEEN_PODS_MS < MEASURED_MS - BETWEEN_PODS_MS; turn++)
      run.clock.after((turn - 0.5 + at / others.length) * BETWEEN_PODS_MS, () => {
        each.world.cluster.apply(deployment({ name: 'work', replicas: turn, cpu: '3' }));
        grown.push({ each, atMs: run.clock.now() });
      });
  return grown;
}
