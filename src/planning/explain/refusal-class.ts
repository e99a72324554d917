/** The few words in which a pending pod's verdict is counted and shown, and the one change that would help it most easily. */
import type { GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { explainRefusal } from './refusals.ts';
import { compareText } from '../../lib/comparison.ts';

/**
 * `helped`: this plan adds the node it needs. `coming`: room is there or on its way, or a later loop helps. `blocked-by-*`:
 * a group would take it and may not grow. `impossible`: no node of any group would take it, as far as anybody can tell; what
 * only a group's first node would tell is said in the detail. `ignored`: it asks for nothing.
 */
export const VERDICT_CLASSES = [
  'helped',
  'coming',
  'blocked-by-max',
  'blocked-by-backoff',
  'blocked-by-quota',
  'impossible',
  'ignored',
] as const;
export type VerdictClass = (typeof VERDICT_CLASSES)[number];

type Blocked = Extract<VerdictClass, `blocked-by-${string}`>;

/** Which class a reason that keeps a whole group from growing belongs to; the first that any group gives is the pod's. */
const BLOCKED: readonly (readonly [Blocked, readonly SkipReason['kind'][]])[] = [
  ['blocked-by-max', ['max-size']],
  ['blocked-by-quota', ['cluster-limit', 'capacity-quota', 'atomic-limit', 'quota']],
  // A group that is held for an upgrade or whose size is unknown rests too: time helps, and nothing else.
  ['blocked-by-backoff', ['backoff', 'stockout', 'frozen', 'unhealthy', 'target-unknown']],
];

export function classifyVerdict(verdict: PodVerdict): VerdictClass {
  switch (verdict.kind) {
    case 'triggered':
      return 'helped';
    case 'fits-present-node':
    case 'fits-upcoming-node':
    case 'waiting':
      return 'coming';
    case 'ignored':
      return 'ignored';
    case 'helpless':
      // Within a minute or two it may be asked for.
      if (verdict.byGroup.some((refusal) => wouldFit(refusal) && (refusal.skip?.kind === 'ramp' || refusal.skip?.kind === 'probing')))
        return 'coming';
      return blockingClass(verdict.byGroup) ?? 'impossible';
  }
}

/** What stands between the pod and the groups whose nodes would take it. */
function blockingClass(refusals: readonly GroupRefusal[]): Blocked | undefined {
  const kinds = new Set(refusals.filter(wouldFit).map(({ skip }) => skip?.kind));
  return BLOCKED.find(([, reasons]) => reasons.some((kind) => kinds.has(kind)))?.[0];
}

function wouldFit({ fit = [] }: GroupRefusal): boolean {
  return fit.length === 0;
}

/**
 * The smallest change that would help: of a group that would take the pod the limit in its way, else what the nearest
 * group lacks. undefined: nothing that a person could change is known to help, or only what a group is waiting for.
 */
export function smallestFix(refusals: readonly GroupRefusal[]): string | undefined {
  // A group that is left alone for now would take the pod: what another one lacks is no smaller change than its rest.
  const isHeld = refusals.some(
    (refusal) => wouldFit(refusal) && (refusal.skip?.kind === 'frozen' || refusal.skip?.kind === 'target-unknown'),
  );
  const ranked = refusals
    .filter((refusal) => !isHeld || wouldFit(refusal))
    .map((refusal) => ({ refusal, fix: explainRefusal(refusal, undefined).fix }))
    .filter(({ fix }) => fix !== '')
    .sort((left, right) => distance(left.refusal) - distance(right.refusal) || compareText(left.refusal.group, right.refusal.group));
  const [nearest] = ranked;
  if (nearest === undefined) return undefined;
  return wouldFit(nearest.refusal) ? nearest.fix : `for ${nearest.refusal.group}: ${nearest.fix}`;
}

/** How much is in the way: a limit of the group is nearer than anything its nodes lack. */
function distance({ skip, fit = [] }: GroupRefusal): number {
  const rank = BLOCKED.findIndex(([, kinds]) => skip !== undefined && kinds.includes(skip.kind));
  return fit.length * 10 + (skip === undefined ? 0 : 1 + Math.max(0, rank));
}
