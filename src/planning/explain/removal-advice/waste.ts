/** What keeps nodes, in sums, each with the largest fix that was seen to work. For people who want to know where money is lost. */
import type { NodeName } from '../../../domain/ids.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import type { LoopRecord } from '../../../domain/ports/records.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { finishAtOnce, type SlicedWork } from '../../../lib/slices.ts';
import type { RemovalFix } from '../advice/fix.ts';
import { type BlockerTotal, explainNodes, totalsByBlocker } from '../unremovable-nodes.ts';
import { blockerKey } from './related-nodes.ts';
import { RemovalAdviser } from './removal-advice.ts';

export interface WasteRow extends BlockerTotal {
  /** Of the fixes that were tried for its nodes, the one that frees most. Absent if none works, or time alone removes them. */
  readonly fix?: RemovalFix;
}

interface WasteLimits {
  /** Sets of changes that are simulated for all rows together. */
  readonly mostTried?: number;
}

const MOST_TRIED = 24;
/** Each simulation takes longer then. */
const MOST_TRIED_OF_MANY_NODES = 6;
const MANY_NODES = 300;
const MOST_PER_NODE = 6;
/** Blockers of one kind that are tried: those of the most nodes. */
const MOST_BLOCKERS = 2;

/** The kinds of blockers of a recorded decision about removals; the one with the most cores comes first. Empty without such a decision. */
export function wasteRows(record: LoopRecord, names: ResourceNames, limits: WasteLimits = {}): readonly WasteRow[] {
  return finishAtOnce(wasteRowsInSlices(record, names, limits));
}

/** The same, a bit at a time. */
export function* wasteRowsInSlices(
  record: LoopRecord,
  names: ResourceNames,
  { mostTried }: WasteLimits = {},
): SlicedWork<readonly WasteRow[]> {
  const { observation, stateBefore: state, policy, scaleDown, fullGroups } = record;
  if (scaleDown === undefined) return [];
  const totals = totalsByBlocker(scaleDown, observation, policy.scaleUp);
  const input = { observation, state, policy, names, fullGroups };
  const adviser = new RemovalAdviser(input, { kept: scaleDown.kept });
  const subjects = subjectsByRow(record);
  let left = mostTried ?? (observation.cluster.nodes.size > MANY_NODES ? MOST_TRIED_OF_MANY_NODES : MOST_TRIED);
  const rows: WasteRow[] = [];
  for (const total of totals) {
    const { fixes, tried } = yield* fixesFor(subjects.get(rowKey(total)) ?? [], adviser, left);
    left -= tried;
    const [fix] = fixes.toSorted((one, other) => valueOf(other) - valueOf(one));
    rows.push(fix === undefined ? total : { ...total, fix });
  }
  return rows;
}

function* fixesFor(
  nodes: readonly NodeName[],
  adviser: RemovalAdviser,
  mostTried: number,
): SlicedWork<{ readonly fixes: readonly RemovalFix[]; readonly tried: number }> {
  const fixes: RemovalFix[] = [];
  let tried = 0;
  for (const node of nodes) {
    if (tried >= mostTried) break;
    const advice = yield* adviser.advise(node, Math.min(mostTried - tried, MOST_PER_NODE));
    tried += advice?.tried ?? 0;
    if (advice?.fix !== undefined) fixes.push(advice.fix);
  }
  return { fixes, tried };
}

function valueOf({ proof: { perHour, cores } }: RemovalFix): number {
  return perHour ?? cores;
}

/** The same for nodes that are kept for the same kind of reason. */
export function rowKey({ reason, blockedBy }: Pick<BlockerTotal, 'reason' | 'blockedBy'>): string {
  return `${reason} ${blockedBy ?? ''}`;
}

/** A node for each of the blockers with the most nodes. */
function subjectsByRow({ scaleDown, observation }: LoopRecord): ReadonlyMap<string, readonly NodeName[]> {
  const rows = new Map<string, Map<string, NodeName[]>>();
  if (scaleDown === undefined) return new Map();
  const kept = new Map(scaleDown.kept.map((entry) => [entry.node, entry]));
  for (const { node, group, reason, blocker } of explainNodes(scaleDown, observation)) {
    if (reason === undefined || group === undefined) continue;
    const row = rowKey({ reason: kept.get(node)?.cause ?? reason, blockedBy: blocker?.reason });
    const blockers = rows.get(row) ?? new Map<string, NodeName[]>();
    const key = keyOf(kept.get(node), observation);
    rows.set(row, blockers.set(key, [...(blockers.get(key) ?? []), node]));
  }
  return new Map([...rows].map(([row, blockers]) => [row, largest([...blockers.values()])]));
}

function keyOf(entry: UnremovableNode | undefined, observation: LoopRecord['observation']): string {
  return entry === undefined ? '' : blockerKey(entry, observation);
}

function largest(blockers: readonly (readonly NodeName[])[]): readonly NodeName[] {
  return [...blockers]
    .sort((one, other) => other.length - one.length)
    .slice(0, MOST_BLOCKERS)
    .flatMap(([first]) => first ?? []);
}
