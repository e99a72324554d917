/** What pods waited and nodes cost in the real world, summed over five minutes at a time. Pure. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { RecordedPool, ShadowLine } from './record.ts';

const SAMPLE_MS = 300_000;
const HOUR_MS = 3_600_000;
/** A longer gap between two loops is not counted: nothing was seen meanwhile. */
const LONGEST_GAP_MS = 600_000;

export interface RunningSample {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly seenMs: number;
  readonly waitedMs: number;
  readonly longestMs: number;
  /** undefined: no size has a price. */
  readonly cost: number | undefined;
}

export function emptySample(atMs: number): RunningSample {
  return { sinceMs: atMs, lastMs: atMs, seenMs: 0, waitedMs: 0, longestMs: 0, cost: undefined };
}

interface SampleInput {
  readonly observation: Observation;
  readonly sizes: ReadonlyMap<NodeGroupId, number>;
  readonly pools: readonly RecordedPool[];
}

/** Adds the time since the last loop. A full sample becomes a line. */
export function addSample(
  sample: RunningSample,
  input: SampleInput,
): { readonly sample: RunningSample; readonly lines: readonly ShadowLine[] } {
  const { nowMs, cluster } = input.observation;
  const passedMs = Math.max(0, nowMs - sample.lastMs);
  const forMs = passedMs > LONGEST_GAP_MS ? 0 : passedMs;
  const waits = cluster.pendingPods.flatMap(({ unschedulable }) =>
    unschedulable === undefined ? [] : [Math.max(0, nowMs - unschedulable.sinceMs)],
  );
  const cost = costOf(input, forMs);
  const next = {
    ...sample,
    lastMs: nowMs,
    seenMs: sample.seenMs + forMs,
    waitedMs: sample.waitedMs + waits.reduce((sum, wait) => sum + Math.min(wait, forMs), 0),
    longestMs: Math.max(sample.longestMs, ...waits),
    cost: cost === undefined ? sample.cost : (sample.cost ?? 0) + cost,
  };
  if (nowMs - sample.sinceMs < SAMPLE_MS) return { sample: next, lines: [] };
  return { sample: emptySample(nowMs), lines: sampleLines(next) };
}

/** The sample so far. Empty if nothing was seen. */
export function sampleLines({ lastMs: atMs, seenMs: forMs, waitedMs, longestMs, cost }: RunningSample): readonly ShadowLine[] {
  return forMs === 0 ? [] : [{ kind: 'sample', atMs, forMs, waitedMs, longestMs, ...(cost === undefined ? {} : { cost }) }];
}

function costOf({ sizes, pools }: SampleInput, forMs: number): number | undefined {
  const priced = pools.flatMap(({ pool, perHour }) => (perHour === undefined ? [] : [(sizes.get(pool as NodeGroupId) ?? 0) * perHour]));
  return priced.length === 0 ? undefined : (priced.reduce((sum, each) => sum + each, 0) * forMs) / HOUR_MS;
}
