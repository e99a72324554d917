/**
 * What is remembered of repacks beside the steps: what came of a request for new nodes, which nodes are left out after a repack was undone, and
 * when all of that is forgotten. Pure.
 */
import type { IncreaseRecord } from '../../../domain/loop-report.ts';
import type { Observation } from '../../../domain/observation.ts';
import { isForSickNodes, type EndedRepack, type RepackMemory, type RepackPolicy, type RunningRepack } from '../../../domain/repack.ts';
import { nextDurationMs } from '../../../lib/closure.ts';
import { withoutOldMoves } from '../repacked-nodes.ts';

const HOUR_MS = 3_600_000;

/** What came of the request for new nodes, in the memory and as an end. */
export function noteRepackIncrease(
  memory: RepackMemory,
  { increase, outcome }: Pick<IncreaseRecord, 'increase' | 'outcome'>,
  rules: RepackPolicy,
  nowMs: number,
): { readonly memory: RepackMemory; readonly ended: readonly EndedRepack[] } {
  const repack = memory.running.find(({ stage, set }) => stage === 'adding' && set.add?.group === increase.group);
  if (repack === undefined || outcome.kind === 'accepted' || outcome.kind === 'sent') return { memory, ended: [] };
  const others = memory.running.filter((one) => one !== repack);
  if (outcome.kind === 'conflict' || outcome.kind === 'refused') {
    const again: RunningRepack = { ...repack, stage: 'checked', stageSinceMs: repack.sinceMs, before: [] };
    return { memory: { ...memory, running: [...others, again] }, ended: [] };
  }
  const { set, stage, sinceMs } = repack;
  const isWithheld = outcome.kind === 'withheld';
  const ended: EndedRepack = {
    set,
    outcome: isWithheld ? 'withheld' : 'undone',
    stage,
    sinceMs,
    atMs: nowMs,
    why: isWithheld ? undefined : `Azure refused the new nodes of pool ${increase.group}: ${outcome.error.message}`,
  };
  const left = { ...memory, running: others };
  // A dry run would find the same sick node again each minute.
  const stays = isWithheld && !isForSickNodes(set);
  // guard: a refused node of a repack undoes it, and its nodes are left out for a while
  return { memory: stays ? left : withClosed(left, ended, rules, nowMs), ended: [ended] };
}

/** Without hours that are over, nodes that are gone, and closures that ended long ago. The same object if nothing is forgotten. */
export function withoutForgotten(memory: RepackMemory, { nowMs, cluster }: Observation, rules: RepackPolicy): RepackMemory {
  const { retryAfterAtMostMs } = rules;
  const begunMs = memory.begunMs.filter((atMs) => atMs > nowMs - HOUR_MS);
  const closures = [...memory.closures].filter(([node, { untilMs }]) => cluster.nodes.has(node) && untilMs + retryAfterAtMostMs > nowMs);
  const replaced = [...memory.replaced].filter(
    ([, { sinceMs, closure }]) => Math.max(sinceMs, closure?.untilMs ?? 0) + retryAfterAtMostMs > nowMs,
  );
  const moved = withoutOldMoves(memory.moved, rules, nowMs);
  const isSame =
    moved === memory.moved &&
    begunMs.length === memory.begunMs.length &&
    closures.length === memory.closures.size &&
    replaced.length === memory.replaced.size;
  return isSame ? memory : { ...memory, begunMs, moved, closures: new Map(closures), replaced: new Map(replaced) };
}

/** The nodes of an undone repack are left out for a while, which grows. */
export function withClosed(memory: RepackMemory, { set }: EndedRepack, rules: RepackPolicy, nowMs: number): RepackMemory {
  const closures = new Map(memory.closures);
  const times = { firstMs: rules.retryAfterMs, longestMs: rules.retryAfterAtMostMs };
  for (const { node } of set.remove) {
    // guard: an undone repack is tried again only after a time that grows
    const durationMs = nextDurationMs(times, closures.get(node));
    closures.set(node, { durationMs, untilMs: nowMs + durationMs });
  }
  return { ...memory, closures };
}
