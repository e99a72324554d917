/** What a daemon would remember, for a cluster that is seen for the first time. */
import { readPriceText } from '../../azure/prices/price-cache.ts';
import type { RetailPricesConfig } from '../../config/types/config.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import { isTaintedForDeletion } from '../../planning/scale-down/plan-context.ts';
import type { Terminal } from '../process/process.ts';

/** Before everything: what began then has lasted as long as it must. */
const LONG_AGO_MS = -1e15;

/** A file has no history: every node counts as long unneeded, and every rest as over. */
export function withoutHistory(observation: Observation): LoopState {
  return {
    unremovable: new Map(),
    backoffs: new Map(),
    stockouts: [],
    increases: new Map(),
    deleting: leavingNodes(observation),
    ...timersRunOut(observation),
  };
}

/** What a file shows of a removal that is under way: the mark. The daemon remembers its own. */
function leavingNodes({ cluster, cloud, nowMs }: Observation): LoopState['deleting'] {
  const marked = [...cluster.nodes.values()].filter((node) => isTaintedForDeletion(node, nowMs));
  return new Map(
    marked.flatMap(({ name }) => {
      const group = cloud.groupOfNode.get(name);
      const instance = cloud.instanceOfNode.get(name);
      return group === undefined || instance === undefined ? [] : [[name, { group, instance, sinceMs: nowMs }] as const];
    }),
  );
}

/** Of nodes that were looked at only now, too. */
export function timersRunOut(observation: Observation) {
  return {
    unneededSince: new Map([...observation.cluster.nodes.keys()].map((name) => [name, LONG_AGO_MS])),
    lastScaleUpMs: LONG_AGO_MS,
    lastScaleDownMs: LONG_AGO_MS,
    lastScaleDownFailureMs: LONG_AGO_MS,
    removals: [],
  };
}

// The list prices that a daemon kept: a question about files asks nobody.

/** Empty when the configuration names no list. That kept prices cannot be used is a remark of the plan, never a failure. */
export function keptPrices(
  settings: RetailPricesConfig | undefined,
  region: string,
  { readFile }: Pick<Terminal, 'readFile'>,
): Pick<ScaleUpPolicy, 'listPrices'> {
  if (settings === undefined) return {};
  const { file, currency } = settings;
  const without = (why: string) => ({ listPrices: { table: {}, remarks: [`List prices are not used: ${why}.`] } });
  if (file === undefined) return without('scaleUp.retailPrices.file names no file that keeps them');
  if (region === '') return without('no node says which region it is in');
  const text = attempt(() => readFile(file));
  if (text === undefined) return without(`"${file}" cannot be read`);
  const reading = readPriceText(text, { location: region, currency });
  return reading.ok ? { listPrices: { table: reading.table, remarks: [] } } : without(`of "${file}", ${reading.reason}`);
}

/** undefined: there is no such file, or it cannot be read: expected before a daemon has kept any. */
function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return undefined;
    throw thrown;
  }
}
