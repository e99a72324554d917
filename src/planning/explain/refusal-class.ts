/** The class of a pending pod's verdict, as metrics and tables count it. */
import type { GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';

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

const SHORT_WAITS: ReadonlySet<SkipReason['kind']> = new Set(['ramp', 'probing', 'trial']);

/** The class of each reason that stops a whole group. The first class that any group gives is the pod's. */
const BLOCKED: readonly (readonly [Blocked, readonly SkipReason['kind'][]])[] = [
  ['blocked-by-max', ['max-size', 'pool-limit']],
  ['blocked-by-quota', ['cluster-limit', 'capacity-quota', 'atomic-limit', 'quota']],
  // A frozen group and one of unknown size count as backing off, too: only time helps.
  ['blocked-by-backoff', ['backoff', 'stockout', 'frozen', 'last-resort', 'unhealthy', 'target-unknown']],
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
      if (verdict.byGroup.some((refusal) => wouldFit(refusal) && refusal.skip !== undefined && SHORT_WAITS.has(refusal.skip.kind)))
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
