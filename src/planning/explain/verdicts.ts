/**
 * The verdicts on pending pods: the one vocabulary of `plan --json`, the API, the status, metrics, the page and the documents. The planner
 * keeps for each pod what it found (`PodVerdict`); the verdict sums that up.
 */
import type { GroupRefusal, PodVerdict, SkipReason } from '../../domain/reasons.ts';

/** What pods wait for. `change`: a person must change something. `azure`: only Azure, or time, helps. `coming`: a node is there or on its way. */
export type Need = 'change' | 'azure' | 'coming' | 'ignored';

/** In the order in which they are shown. */
export const NEEDS: readonly Need[] = ['change', 'azure', 'coming', 'ignored'];

interface VerdictText {
  readonly need: Need;
  /** For people who look at a page. */
  readonly label: string;
}

const TEXTS = {
  /** This plan adds a node for the pod. */
  helped: { need: 'coming', label: 'Node coming' },
  /** A node is there or on its way, or a later loop adds one. */
  coming: { need: 'coming', label: 'Room coming' },
  /** A node of some group would take the pod, but the group cannot grow. */
  'blocked-by-max': { need: 'change', label: 'At maximum' },
  'blocked-by-backoff': { need: 'azure', label: 'Waits for a pool' },
  'blocked-by-quota': { need: 'change', label: 'Quota or limit' },
  /** No node of any group would take the pod; the detail names what is unknown until a group has its first node. */
  impossible: { need: 'change', label: 'No pool fits' },
  /** The pod never causes a scale-up. */
  ignored: { need: 'ignored', label: 'Ignored' },
} as const satisfies Readonly<Record<string, VerdictText>>;

export type Verdict = keyof typeof TEXTS;

/** In the order in which documents and metrics list them. */
export const VERDICTS: readonly Verdict[] = Object.keys(TEXTS) as readonly Verdict[];

export function needOf(verdict: Verdict): Need {
  return TEXTS[verdict].need;
}

export function labelOf(verdict: Verdict): string {
  return TEXTS[verdict].label;
}

/** `3 pods pending: 1 needs a change, 2 wait for a pool`. `dryRun`: nothing is requested. */
export function describePending(
  byNeed: Readonly<Record<Need, number>>,
  { format = String, dryRun = false }: { readonly format?: (count: number) => string; readonly dryRun?: boolean } = {},
): string {
  const total = byNeed.change + byNeed.azure + byNeed.coming;
  if (total === 0) return 'No pods are pending';
  const coming = dryRun ? 'would have nodes coming' : byNeed.coming === 1 ? 'has a node coming' : 'have nodes coming';
  const parts = [
    [byNeed.change, byNeed.change === 1 ? 'needs a change' : 'need a change'],
    [byNeed.azure, byNeed.azure === 1 ? 'waits for a pool' : 'wait for a pool'],
    [byNeed.coming, coming],
  ] as const;
  const named = parts.filter(([count]) => count > 0).map(([count, what]) => `${format(count)} ${what}`);
  return `${format(total)} ${total === 1 ? 'pod' : 'pods'} pending: ${named.join(', ')}`;
}

type Blocked = Extract<Verdict, `blocked-by-${string}`>;

const SHORT_WAITS: ReadonlySet<SkipReason['kind']> = new Set(['ramp', 'probing', 'trial']);

/** The class of each reason that stops a whole group. The first class that any group gives is the pod's. */
const BLOCKED: readonly (readonly [Blocked, readonly SkipReason['kind'][]])[] = [
  ['blocked-by-max', ['max-size', 'pool-limit']],
  ['blocked-by-quota', ['cluster-limit', 'capacity-quota', 'atomic-limit', 'quota']],
  // A frozen group and one of unknown size count as backing off, too: only time helps.
  ['blocked-by-backoff', ['backoff', 'stockout', 'frozen', 'last-resort', 'unhealthy', 'target-unknown']],
];

export function classifyVerdict(verdict: PodVerdict): Verdict {
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
