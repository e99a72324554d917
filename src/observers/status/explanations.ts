/**
 * Why pods are pending and nodes are not removed, in a few lines for the status: the largest groups, at most ten of each and a number of
 * bytes, and how many more there are. Pure.
 */
import { isReal, type Pod } from '../../domain/pod.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { StatusValue } from '../../domain/ports/records.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { shownText } from '../../lib/shown-text.ts';
import { ownerName } from '../../planning/explain/pod-owners.ts';
import { describeShortfall } from '../../planning/explain/describe-reasons.ts';
import { namePools, poolRows } from '../../planning/explain/pool-rows.ts';
import { classifyVerdict, describePending, type Need, needOf, type Verdict } from '../../planning/explain/verdicts.ts';
import { totalsByBlocker } from '../../planning/explain/unremovable-nodes.ts';

/** The fix that was simulated for pods with this verdict. undefined: none is known. */
export type FixOf = (verdict: PodVerdict) => string | undefined;

type Row = { readonly [key: string]: StatusValue };

const MOST_ROWS = 10;
const MOST_BYTES = 8 * 1024;
const TEXT_BYTES = 300;

/** undefined: the loop made no plan. */
export function describeExplanations({ rounds, scaleDown, observation, prices }: LoopReport, fixOf: FixOf): Row | undefined {
  const plan = rounds.at(-1)?.plan;
  if (plan === undefined || observation === undefined) return undefined;
  const groups = new Map(observation.cloud.groups.map((group) => [group.id as string, group]));
  const classes = pendingClasses(plan.verdicts);
  const needChange = classes.filter(({ verdict }) => needOf(verdict) === 'change' || needOf(verdict) === 'azure');
  const pods = needChange.map(({ pods: [first], count, verdict, decisive, sinceMs }): Row => {
    const rows = decisive.kind === 'helpless' ? poolRows(decisive.byGroup, groups) : [];
    const [nearest] = rows;
    const pools = nearest === undefined ? 'no pool' : `${namePools(nearest.pools)}: ${nearest.obstacles.join(', and ')}`;
    const gang = decisive.kind === 'helpless' ? decisive.gang : undefined;
    const why = gang === undefined ? pools : `${describeShortfall(gang)}; ${pools}`;
    const since = sinceMs === undefined ? undefined : new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z');
    return {
      count,
      owner: first === undefined ? '' : ownerName(first),
      verdict,
      why: shownText(why, TEXT_BYTES),
      ...defined({ since, fix: shown(fixOf(decisive)) }),
    };
  });
  const totals = scaleDown === undefined ? [] : totalsByBlocker(scaleDown, observation, prices);
  const nodes = totals.map(({ reason, blockedBy, nodes: count, perHour, examples: [example] }): Row => {
    const money = perHour === undefined ? undefined : Math.round(perHour * 100) / 100;
    return { count, reason, ...defined({ blockedBy, perHour: money, example }) };
  });
  return bounded(summaryOf(classes), pods, nodes);
}

function shown(text: string | undefined): string | undefined {
  return text === undefined ? undefined : shownText(text, TEXT_BYTES);
}

/** The last rows go first: nodes, then pods. */
function bounded(summary: string, pods: readonly Row[], nodes: readonly Row[]): Row {
  let [shownPods, shownNodes] = [Math.min(pods.length, MOST_ROWS), Math.min(nodes.length, MOST_ROWS)];
  for (;;) {
    const more = { pods: pods.length - shownPods, nodes: nodes.length - shownNodes };
    const document = { summary, pods: pods.slice(0, shownPods), nodes: nodes.slice(0, shownNodes), more };
    if (Buffer.byteLength(JSON.stringify(document)) <= MOST_BYTES || shownPods + shownNodes === 0) return document;
    if (shownNodes >= shownPods) shownNodes -= 1;
    else shownPods -= 1;
  }
}

interface PendingClass {
  readonly pods: readonly Pod[];
  readonly count: number;
  readonly verdict: Verdict;
  readonly decisive: PodVerdict;
  /** Of the oldest. Absent if unknown. */
  readonly sinceMs: number | undefined;
}

/** Pods of one owner with one verdict; the most pods first. */
function pendingClasses(verdicts: ReadonlyMap<Pod, PodVerdict>): readonly PendingClass[] {
  const classes = new Map<string, { readonly pods: Pod[]; readonly decisive: PodVerdict }>();
  const numbers = new Map<PodVerdict, number>();
  for (const [pod, decisive] of verdicts) {
    if (!isReal(pod)) continue;
    if (!numbers.has(decisive)) numbers.set(decisive, numbers.size);
    const key = `${ownerName(pod)} ${decisive.kind === 'helpless' ? numbers.get(decisive) : decisive.kind}`;
    const known = classes.get(key) ?? { pods: [], decisive };
    classes.set(key, known);
    known.pods.push(pod);
  }
  const all = [...classes.values()].map(({ pods, decisive }): PendingClass => {
    const since = pods.flatMap(({ unschedulable }) => unschedulable?.sinceMs ?? []);
    return {
      pods,
      count: pods.length,
      verdict: classifyVerdict(decisive),
      decisive,
      sinceMs: since.length === 0 ? undefined : since.reduce((least, ms) => Math.min(least, ms)),
    };
  });
  return all.sort((one, other) => other.count - one.count || compareText(one.pods[0]?.name ?? '', other.pods[0]?.name ?? ''));
}

function summaryOf(classes: readonly PendingClass[]): string {
  const byNeed: Record<Need, number> = { change: 0, azure: 0, coming: 0, ignored: 0 };
  for (const { verdict, count } of classes) byNeed[needOf(verdict)] += count;
  return describePending(byNeed);
}
