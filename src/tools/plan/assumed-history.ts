/** The state that a daemon would have, for a cluster that is seen for the first time. */
import { defined } from '../../lib/defined.ts';
import { readPriceText } from '../../azure/prices/price-text.ts';
import type { RetailPricesConfig } from '../../config/schema/retail-prices.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import { isTaintedForDeletion } from '../../planning/state/deletions.ts';
import { emptyLoopState } from '../../planning/state/loop-state.ts';
import type { Terminal } from '../../cli/process/process.ts';

/** Longer ago than any timer lasts. */
const LONG_AGO_MS = -1e15;

/** A file has no history: every node counts as unneeded for long, and every back-off as expired. */
export function stateWithoutHistory(observation: Observation): LoopState {
  return { ...emptyLoopState(observation.nowMs), deleting: nodesInDeletion(observation), ...expiredTimers(observation) };
}

/** A file shows a removal in progress by the deletion taint only. The daemon remembers its removals. */
function nodesInDeletion({ cluster, cloud, nowMs }: Observation): LoopState['deleting'] {
  const tainted = [...cluster.nodes.values()].filter((node) => isTaintedForDeletion(node, nowMs));
  return new Map(
    tainted.flatMap(({ name }) => {
      const group = cloud.groupOfNode.get(name);
      const instance = cloud.instanceOfNode.get(name);
      return group === undefined || instance === undefined
        ? []
        : [[name, { group, instance, sinceMs: nowMs, sentAtMs: undefined }] as const];
    }),
  );
}

/** Timers of nodes that were first seen now count as expired as well. */
export function expiredTimers(observation: Observation) {
  return {
    unneededSince: new Map([...observation.cluster.nodes.keys()].map((name) => [name, LONG_AGO_MS])),
    lastScaleUpMs: LONG_AGO_MS,
    lastScaleDownMs: LONG_AGO_MS,
    lastScaleDownFailureMs: LONG_AGO_MS,
    removals: [],
  };
}

/**
 * Returns the list prices that a daemon stored: a plan from files reads nothing from Azure. If absent, the configuration
 * has no list prices. Prices that cannot be used are a remark of the plan, never a failure.
 */
export function storedPrices(
  settings: RetailPricesConfig | undefined,
  region: string,
  { readFile }: Pick<Terminal, 'readFile'>,
): Pick<ScaleUpPolicy, 'listPrices'> {
  if (settings === undefined) return { listPrices: undefined };
  const { file, currency, byDefault: onlyShown } = settings;
  const without = (why: string) => ({
    listPrices: { table: {}, remarks: [`List prices are not used: ${why}.`], ...defined({ onlyShown }) },
  });
  if (file === undefined) return without('scaleUp.retailPrices.file is not set');
  if (region === '') return without('the region is unknown: no node has the label topology.kubernetes.io/region');
  const text = readIfPresent(() => readFile(file));
  if (text === undefined) return without(`"${file}" cannot be read`);
  // A plan for a moment in the past uses today's prices.
  const reading = readPriceText(text, { location: region, currency }, Number.POSITIVE_INFINITY);
  return reading.ok
    ? { listPrices: { table: reading.value, remarks: [], ...defined({ onlyShown }) } }
    : without(`"${file}": ${reading.reason}`);
}

/** undefined: the file does not exist or cannot be read, as before a daemon has stored any prices. */
function readIfPresent(read: () => string): string | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return undefined;
    throw thrown;
  }
}
