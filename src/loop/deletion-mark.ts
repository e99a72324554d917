/**
 * The mark that a node is being removed: the ToBeDeleted taint, with a cordon when the policy says so. The taint alone
 * cannot tell after a crash who cordoned the node; so a node that was cordoned before us gets a second, harmless taint
 * first. Who undoes the mark leaves the cordon of such a node alone.
 */
import { asAutoscalerError, type AutoscalerError } from '../domain/errors.ts';
import type { Clock } from '../domain/clock.ts';
import type { Node } from '../domain/node.ts';
import type { NodeName } from '../domain/ids.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../domain/taint.ts';
import type { NodeTainter } from '../ports/node-tainter.ts';

/** On nodes that somebody else had cordoned before we marked them. PreferNoSchedule. */
export const CORDONED_BEFORE_TAINT = 'aks-autoscaler/cordoned-before';

export interface DeletionMark {
  readonly node: NodeName;
  /** Whether undoing the mark un-cordons. */
  readonly uncordon: boolean;
  readonly cordonedBefore: boolean;
}

/** What undoing will mean if marking is cut short half-way: known before the first write. */
export function intendedMark(node: Node, cordon: boolean): DeletionMark {
  return { node: node.name, uncordon: cordon && !node.unschedulable, cordonedBefore: node.unschedulable };
}

/** Writes the mark. Throws as the tainter does; the caller then undoes the intended mark. */
export async function markForDeletion(
  intended: DeletionMark,
  options: { readonly tainter: NodeTainter; readonly cordon: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<DeletionMark> {
  const { tainter, cordon } = options;
  if (intended.cordonedBefore && cordon) {
    await tainter.taint(
      intended.node,
      { key: CORDONED_BEFORE_TAINT, value: 'true', effect: 'PreferNoSchedule' },
      { cordon: false },
      signal,
    );
  }
  const value = String(Math.floor(options.nowMs / 1000));
  const done = await tainter.taint(intended.node, { key: TO_BE_DELETED_TAINT, value, effect: 'NoSchedule' }, { cordon }, signal);
  return { ...intended, uncordon: done.uncordonLater };
}

/** Takes the mark off, the cordon first: a crash in between must leave the marker that says whose cordon it is. */
export async function unmark(mark: DeletionMark, tainter: NodeTainter, signal: AbortSignal): Promise<void> {
  await tainter.untaint(mark.node, TO_BE_DELETED_TAINT, { uncordon: mark.uncordon }, signal);
  if (mark.cordonedBefore) await tainter.untaint(mark.node, CORDONED_BEFORE_TAINT, { uncordon: false }, signal);
}

/** The mark that a node carries from an earlier run, or undefined. */
export function foundMark(node: Node, cordon: boolean): DeletionMark | undefined {
  const cordonedBefore = hasTaint(node.taints, CORDONED_BEFORE_TAINT);
  if (!hasTaint(node.taints, TO_BE_DELETED_TAINT) && !cordonedBefore) return undefined;
  return { node: node.name, uncordon: cordon && !cordonedBefore, cordonedBefore };
}

const UNMARK_ATTEMPTS = 3;
const UNMARK_RETRY_MS = 1_000;

/** Tries a few times; returns the last error, or undefined when the mark is off. What stays is a leftover for the next loop. */
export async function unmarkWithRetry(
  mark: DeletionMark,
  tools: { readonly tainter: NodeTainter; readonly clock: Clock },
  signal: AbortSignal,
): Promise<AutoscalerError | undefined> {
  let last: AutoscalerError | undefined;
  for (let attempt = 1; attempt <= UNMARK_ATTEMPTS; attempt++) {
    try {
      if (attempt > 1) await tools.clock.sleep(UNMARK_RETRY_MS, signal);
      await unmark(mark, tools.tainter, signal);
      return undefined;
    } catch (thrown) {
      last = asAutoscalerError(thrown);
      if (last.kind === 'not-found') return undefined;
      if (signal.aborted) return last;
    }
  }
  return last;
}
