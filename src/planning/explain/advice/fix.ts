/**
 * What helps pods or frees nodes, as data and in words. A fix is a set of changes that was simulated: with all of them the planner places
 * the pods, or removes the node.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { Observation } from '../../../domain/observation.ts';
import { defined } from '../../../lib/defined.ts';
import { formatPerHour } from '../amounts.ts';
import { type Change, describeChanges, stepsFor } from '../changes/change-kinds.ts';
import type { FixStep } from '../changes/change.ts';
import type { Workload } from '../changes/workload.ts';

/** What the simulation of a fix for pods showed. */
interface PlacementProof {
  /** Pods of the class that get a node. */
  readonly pods: number;
  /** Pods of the class. */
  readonly of: number;
  /** Other pods that get a node, too, and did not before. */
  readonly others: number;
  /** Nodes more than without the fix. */
  readonly nodes: number;
  /** The groups that get more nodes; for a new pool, the one that it is like. */
  readonly groups: readonly NodeGroupId[];
  /** What these nodes cost per hour, in the currency of the price table. Absent if a price is unknown. */
  readonly perHour?: number;
}

/** What the simulation of a fix for nodes showed: what is removed in time, and would not be removed without the fix. */
export interface RemovalProof {
  /** Nodes more than without the fix. */
  readonly nodes: number;
  /** The groups that get smaller. */
  readonly groups: readonly NodeGroupId[];
  readonly cores: number;
  readonly memoryGib: number;
  /** What these nodes cost per hour, in the currency of the price table. Absent if a price is unknown. */
  readonly perHour?: number;
}

export interface Fix<Proof = PlacementProof> {
  readonly changes: readonly Change[];
  readonly steps: readonly FixStep[];
  /** One sentence part without a full stop: `raise the maximum of gpu from 4 to 7`. */
  readonly text: string;
  readonly proof: Proof;
}

export interface RemovalFix extends Fix<RemovalProof> {
  /** Whose pod template the changes are about that do not name it. Absent if there are none. */
  readonly workload?: Workload;
}

/** What helps the pods of one class. */
export interface Advice {
  /** The smallest change that was simulated and works. Absent if none does. */
  readonly fix?: Fix;
  /** A group whose nodes fit and that only needs time. */
  readonly wait?: { readonly group: NodeGroupId; readonly untilMs?: number };
  /** Without a fix: the group with the fewest obstacles. */
  readonly nearest?: NodeGroupId;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

/** What frees a node. */
export interface RemovalAdvice {
  /** The smallest change that was simulated and works. Absent if none does. */
  readonly fix?: RemovalFix;
  /** No change is needed: what the removal waits for. */
  readonly wait?: string;
  /** Without a fix: what remains in the way. */
  readonly obstacle?: string;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

interface SimulatedChanges<Proof> {
  readonly changes: readonly Change[];
  readonly proof: Proof;
  /** Before the changes. */
  readonly observation: Observation;
  /** Whose pod template the changes are about that do not name it. */
  readonly workload: Workload | undefined;
}

export function fixOf<Proof extends { readonly nodes: number }>({
  changes,
  proof,
  observation,
  workload,
}: SimulatedChanges<Proof>): Fix<Proof> {
  const steps = stepsFor(changes, { observation, newNodes: proof.nodes, ...defined({ workload }) });
  return { changes, steps, text: describeChanges(changes), proof };
}

/** What frees a node, or that nothing is known to, in one sentence part. */
export function describeRemovalAdvice({ fix, wait, tried }: RemovalAdvice): string {
  if (fix !== undefined) return fix.text;
  if (wait !== undefined) return wait;
  return tried === 0 ? 'no change is known to free the node' : `no single change frees the node (${tried} tried)`;
}

/** `Frees 5 nodes; saves 2.30 per hour.` */
export function describeSavings({ nodes, perHour }: Pick<RemovalProof, 'nodes' | 'perHour'>, currency?: string): string {
  const money = perHour === undefined || perHour <= 0 ? '' : `; saves ${formatPerHour(perHour, currency)}`;
  return `Frees ${nodes} ${nodes === 1 ? 'node' : 'nodes'}${money}.`;
}

/** What helps, or that nothing is known to, in one sentence part. */
export function describeAdvice({ fix, wait, nearest, tried }: Advice): string {
  if (fix !== undefined) return fix.text;
  if (wait !== undefined)
    return wait.untilMs === undefined ? `wait for ${wait.group}` : `wait for ${wait.group} until ${new Date(wait.untilMs).toISOString()}`;
  const pool = nearest === undefined ? '' : `. Nearest pool: ${nearest}`;
  return tried === 0 ? `no change is known to help${pool}` : `no single change helps${pool} (${tried} tried)`;
}
