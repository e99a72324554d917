/** The times of the emulated Azure against those that recordings of the real one show. */
import { expect, it } from 'vitest';
import { DEFAULT_LATENCIES } from '../../../simulator/arm/state/latencies.ts';
import { seededRandomOf, type Latency } from '../../../simulator/arm/state/seeded-random.ts';

const SEEDS = 2_001;
const KNOBS = DEFAULT_LATENCIES;

/** Seconds: the median, over many worlds, of the slowest of `count` draws. */
function medianOfSlowest(count: number, latency: Latency): number {
  const slowest = Array.from({ length: SEEDS }, (_, seed) => {
    const draws = seededRandomOf(seed);
    return Math.max(...Array.from({ length: count }, (_none, at) => draws.latency(`vm-${at}`, latency))) / 1_000;
  });
  return slowest.toSorted((a, b) => a - b)[(SEEDS - 1) / 2] ?? 0;
}

const growthEnd = medianOfSlowest(1, KNOBS.aksGrowthEnd);

it.each<[what: string, seconds: number, recorded: readonly [least: number, most: number]]>([
  ['AKS answers a PUT', medianOfSlowest(1, KNOBS.aksAnswerLatency), [7, 11]],
  ['two VMs of a scale set are created', medianOfSlowest(2, KNOBS.provisioned), [39, 45]],
  ['four nodes are added to an agent pool', medianOfSlowest(4, KNOBS.provisioned) + growthEnd, [133, 150]],
  ['two nodes of a stopped agent pool are started, as new VMs', medianOfSlowest(2, KNOBS.provisioned) + growthEnd, [118, 130]],
  ['the limits of an agent pool change, or its autoscaler is switched off', medianOfSlowest(1, KNOBS.aksModelUpdate), [19, 21]],
  ['two machines are deleted', medianOfSlowest(2, KNOBS.deleteGraceful), [30, 60]],
  ['two VMs are deallocated', medianOfSlowest(2, KNOBS.deallocate), [33, 37]],
  ['two VMs are stopped', medianOfSlowest(2, KNOBS.powerOff), [8, 10]],
  ['two VMs stop and start again', medianOfSlowest(2, KNOBS.restart), [53, 57]],
  ['a VM without stock is refused', medianOfSlowest(1, KNOBS.allocationRefused), [5, 20]],
])('%s in the recorded time', (_what, seconds, [least, most]) => {
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThanOrEqual(most);
});
