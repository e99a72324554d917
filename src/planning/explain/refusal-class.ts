/** The class of a pending pod's verdict, as metrics and tables count it, and the smallest change that would help the pod. */
import type { GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { explainRefusal } from './refusals.ts';
import { compareText } from '../../lib/comparison.ts';

/**
 * `helped`: this plan adds a node for the pod. `coming`: a node is there or on its way, or a later loop adds one. `blocked-by-*`:
 * a node of some group would take the pod, but the group cannot grow. `impossible`: no node of any group would take it; the
 * detail names what is unknown until a group has its first node. `ignored`: the pod never causes a scale-up.
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

/** The class of each reason that stops a whole group. The first class that any group gives is the pod's. */
const BLOCKED: readonly (readonly [Blocked, readonly SkipReason['kind'][]])[] = [
  ['blocked-by-max', ['max-size']],
  ['blocked-by-quota', ['cluster-limit', 'capacity-quota', 'atomic-limit', 'quota']],
  // A frozen group and one of unknown size count as backing off, too: only time helps.
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
      // The node may be requested within a minute or two.
      if (verdict.byGroup.some((refusal) => wouldFit(refusal) && (refusal.skip?.kind === 'ramp' || refusal.skip?.kind === 'probing')))
        return 'coming';
      return blockingClass(verdict.byGroup) ?? 'impossible';
  }
}

/** The class of the reasons that stop the groups whose nodes would take the pod. */
function blockingClass(refusals: readonly GroupRefusal[]): Blocked | undefined {
  const kinds = new Set(refusals.filter(wouldFit).map(({ skip }) => skip?.kind));
  return BLOCKED.find(([, reasons]) => reasons.some((kind) => kinds.has(kind)))?.[0];
}

function wouldFit({ fit = [] }: GroupRefusal): boolean {
  return fit.length === 0;
}

/**
 * The smallest change that would help. It is the limit of a group whose nodes would take the pod, if there is one; else what
 * the nodes of the nearest group lack. undefined if no change is known to help, or if waiting is all that helps.
 */
export function smallestFix(refusals: readonly GroupRefusal[]): string | undefined {
  // A frozen group would take the pod: waiting for it is a smaller change than new nodes of another group.
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

/** How large the change is: a limit of the group counts less than anything that its nodes lack. */
function distance({ skip, fit = [] }: GroupRefusal): number {
  const rank = BLOCKED.findIndex(([, kinds]) => skip !== undefined && kinds.includes(skip.kind));
  return fit.length * 10 + (skip === undefined ? 0 : 1 + Math.max(0, rank));
}
