/** `npm run soak -- --fleet N`: the same story with a shared store and without one, and what the store is expected to save. */
import { liveWithGreedy, type GreedyFigures } from './greedy-story.ts';
import { liveAsFleet, type FleetFigures } from './fleet-story.ts';

/** Of all reads. */
const FEW_REFUSED = 0.02;
/** A list of scale sets is due every minute; others delay it by a minute at most, and few remaining calls double it. */
const LONGEST_WITHOUT_LIST_SECONDS = 180;
/** Of a cluster that keeps to its share, within two and a half minutes. */
const FEWEST_DELETIONS = 12;
/** From a pod to the write that it needs, while another cluster removes its nodes. */
const LONGEST_WAIT_SECONDS = 2;

export interface FleetOrder {
  readonly clusters: number;
  /** Of the worlds: ids, latencies and phases differ. */
  readonly seed: number;
  readonly json: boolean;
}

/** Prints the figures, as JSON if asked to. Returns the exit code: 1 if the store does not do what it is for. */
export async function runFleet({ clusters, seed, json }: FleetOrder, print: (line: string) => void): Promise<number> {
  const alone = await liveAsFleet(clusters, 'none', seed);
  print(json ? JSON.stringify(alone) : describe(alone));
  const shared = await liveAsFleet(clusters, 'memory', seed);
  print(json ? JSON.stringify(shared) : describe(shared));
  const greedyAlone = await liveWithGreedy(clusters, 'none', seed);
  print(json ? JSON.stringify(greedyAlone) : describeGreedy(greedyAlone));
  const greedy = await liveWithGreedy(clusters, 'memory', seed);
  print(json ? JSON.stringify(greedy) : describeGreedy(greedy));
  const wrong = [...disappointments(shared, alone), ...unfairness(greedy)];
  print(JSON.stringify({ clusters, seed, wrong }));
  return wrong.length > 0 ? 1 : 0;
}

/** What is not as it should be, in sentences. */
function disappointments(shared: FleetFigures, alone: FleetFigures): readonly string[] {
  const { clusters, pressure } = shared;
  const fair = Math.ceil(alone.sharedCalls / clusters) + 1;
  const rules: readonly (readonly [boolean, string])[] = [
    [
      shared.sharedCalls <= fair,
      `sizes and usages were read ${shared.sharedCalls} times, not ${fair}: ${alone.sharedCalls} without a store`,
    ],
    [
      shared.handOver.seconds < alone.handOver.seconds && shared.handOver.calls < alone.handOver.calls,
      `a hand-over took ${shared.handOver.seconds} s and ${shared.handOver.calls} calls; ${alone.handOver.seconds} s and ${alone.handOver.calls} without a store`,
    ],
    [shared.askedForStockout <= 1, `${shared.askedForStockout} clusters asked for the size that is out of stock`],
    // One may probe, and one may ask before it has heard of the stockout.
    [shared.fellBackAtOnce >= clusters - 3, `${shared.fellBackAtOnce} clusters of ${clusters - 1} chose the other pool in the same loop`],
    [pressure.refused <= FEW_REFUSED * pressure.reads, `${pressure.refused} of ${pressure.reads} reads were refused`],
    [pressure.writesRefused === 0, `${pressure.writesRefused} writes were refused`],
    [Number.isFinite(pressure.slowestWrite), 'a cluster with waiting pods wrote nothing'],
    [shared.writePressure.served === clusters, `${shared.writePressure.served} of ${clusters} clusters wrote while writes were scarce`],
    [
      pressure.longestWithoutList <= LONGEST_WITHOUT_LIST_SECONDS,
      `a cluster got no list of its scale sets for ${pressure.longestWithoutList} s`,
    ],
    [shared.violations + alone.violations === 0, 'a write was not safe'],
    [shared.failedLoops === 0, `${shared.failedLoops} loops did not complete`],
  ];
  return rules.flatMap(([holds, sentence]) => (holds ? [] : [sentence]));
}

/** What a cluster that removes many nodes took from the others, in sentences. */
function unfairness({ greedy, others, violations }: GreedyFigures): readonly string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [others.refused === 0, `${others.refused} increases were refused while another cluster removed nodes`],
    [others.waits.longest <= LONGEST_WAIT_SECONDS, `an increase took ${others.waits.longest} s while another cluster removed nodes`],
    [
      greedy.deletions >= FEWEST_DELETIONS,
      `${greedy.deletions} of ${greedy.idlePools} deletions were accepted within two and a half minutes`,
    ],
    [violations === 0, 'a write was not safe'],
  ];
  return rules.flatMap(([holds, sentence]) => (holds ? [] : [sentence]));
}

function describeGreedy({ clusters, store, greedy, others }: GreedyFigures): string {
  return [
    `${clusters} clusters, ${store === 'none' ? 'without a store' : 'with a store in memory'}, one of which removes ${greedy.idlePools} nodes of as many pools`,
    `  its deletions in two and a half minutes: ${greedy.deletions} accepted, ${greedy.refused} refused, ${greedy.postponed} postponed`,
    `  increases of the others: ${others.increases}, ${others.refused} refused, median ${others.waits.median} s, longest ${others.waits.longest} s`,
  ].join('\n');
}

function describe({ clusters, store, sharedCalls, calls, pressure, ...rest }: FleetFigures): string {
  return [
    `${clusters} clusters, ${store === 'none' ? 'without a store' : 'with a store in memory'}`,
    `  reads of sizes and usages in 6 minutes: ${sharedCalls}, of ${calls} calls`,
    `  a hand-over until the first decision: ${rest.handOver.seconds} s, ${rest.handOver.calls} calls`,
    `  clusters that asked for the size out of stock: ${rest.askedForStockout}; chose the other pool at once: ${rest.fellBackAtOnce}`,
    `  pods to write of the other pool: median ${rest.fallbackSeconds.median} s, longest ${rest.fallbackSeconds.longest} s`,
    `  while others used up the limit: ${pressure.refused} of ${pressure.reads} reads refused, ${pressure.writesRefused} writes refused`,
    `  longest time without a list ${pressure.longestWithoutList} s, slowest write ${pressure.slowestWrite} s`,
    `  while writes were scarce: ${rest.writePressure.served} clusters served, median ${rest.writePressure.waits.median} s, longest ${rest.writePressure.waits.longest} s, ${rest.writePressure.refused} refused`,
    `  ${rest.violations} violations, ${rest.failedLoops} failed loops, ${rest.cpuSeconds} s of processor time for ${rest.virtualSeconds} s`,
  ].join('\n');
}
