/** The report on increases and on every pod that has no node. */
import { podName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import { compareBy } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { type Advice, describeAdvice } from '../../../planning/explain/advice/fix.ts';
import { describeShortfall } from '../../../planning/explain/describe-reasons.ts';
import { explainIgnored } from '../../../planning/explain/ignored-pods.ts';
import { classifyVerdict, type Verdict } from '../../../planning/explain/verdicts.ts';
import { explainRefusal, explainSkip } from '../../../planning/explain/refusals.ts';
import { costOfNew } from '../../../planning/facts/paid-nodes.ts';
import { freeAmong, type FreeRoom, takeFree } from '../../../planning/scale-up/groups/quotas.ts';
import { priceOf } from '../../../planning/expanders/node-price.ts';
import { isHeadroom, roomOwner } from '../../../planning/state/assumed-pods.ts';
import { type PoolRow, poolRows } from '../../../planning/explain/pool-rows.ts';
import { poolNames } from './pool-names.ts';
import type { OptionReport } from './option-scores.ts';

export interface IncreaseReport {
  readonly group: string;
  readonly from: number;
  readonly to: number;
  readonly pods: readonly string[];
  /** Whose headroom it is for, too. Absent if it is for none. */
  readonly headroom?: readonly string[];
  /** Of the new nodes together, in the currency of the prices. Absent if the price is unknown. */
  readonly perHour?: number;
}

export interface PendingReport {
  readonly pod: string;
  readonly verdict: Verdict;
  readonly detail?: string;
  /** The nearest pools and their obstacles. Absent if no pool was evaluated. */
  readonly why?: string;
  /** `fix` is the advice, if it makes this group grow. */
  readonly groups: readonly { readonly group: string; readonly reason: string; readonly detail: string; readonly fix: string }[];
  /** What helps, as far as it was simulated. Absent for pods that need no change, and for small classes beyond the first. */
  readonly advice?: Advice & { readonly text: string };
}

export interface ScaleUpReport {
  readonly increases: readonly IncreaseReport[];
  /** The expander that chose among the options. */
  readonly expander?: string;
  readonly options: readonly OptionReport[];
  readonly skipped: readonly { readonly group: string; readonly reason: string; readonly detail: string }[];
  readonly helpless: readonly PendingReport[];
  readonly fits: readonly { readonly pod: string; readonly node: string }[];
}

interface ReportContext {
  readonly groups: ReadonlyMap<string, NodeGroup>;
  readonly policy: ScaleUpPolicy;
  /** Before the plan: further nodes that cost nothing. */
  readonly free: FreeRoom;
  readonly advice: ReadonlyMap<PodVerdict, Advice>;
  /** Why a pod of a DaemonSet waits on its node, if that is known. */
  readonly daemonWait: (pod: Pod) => string | undefined;
  readonly refusals: (verdict: Helpless) => Refusals;
}

type Helpless = Extract<PodVerdict, { readonly kind: 'helpless' }>;

export function reportScaleUp(plan: ScaleUpPlan, given: Omit<ReportContext, 'refusals'>): Omit<ScaleUpReport, 'options' | 'expander'> {
  const context = { ...given, refusals: rememberedRefusals(given) };
  const verdicts = [...plan.verdicts]
    .filter(([pod]) => pod.nodeName === undefined && !isHeadroom(pod))
    .map(([pod, verdict]) => ({ pod, name: podName(pod), verdict }));
  let { free } = given;
  const increases = plan.increases.map(({ group: id, from, to, pods }) => {
    const group = context.groups.get(id);
    const newNode = group === undefined ? undefined : { group, template: group.template };
    const cost =
      newNode === undefined ? undefined : costOfNew(to - from, freeAmong(free, newNode, to - from), priceOf(context.policy, newNode.group));
    if (newNode !== undefined) free = takeFree(free, newNode, to - from);
    const perHour = cost === undefined ? undefined : Math.round(cost * 10_000) / 10_000;
    const owners = new Set(pods.filter(isHeadroom).map(roomOwner));
    const headroom = owners.size === 0 ? undefined : [...owners].sort();
    const named = pods.filter((pod) => !isHeadroom(pod)).map(podName);
    return { group: id, from, to, pods: named.sort(), ...defined({ headroom, perHour }) };
  });
  const skipped = plan.skipped.map(({ group, reason }) => {
    const { reason: kind, detail } = explainSkip(reason, context.groups.get(group));
    return { group, reason: kind, detail };
  });
  return {
    increases: sortedBy(increases, ({ group }) => group),
    skipped: sortedBy(skipped, ({ group }) => group),
    helpless: sortedBy(
      verdicts.flatMap((entry) => reportPending(entry, context)),
      ({ pod }) => pod,
    ),
    fits: sortedBy(
      verdicts.flatMap(({ name, verdict }) => reportFit(name, verdict)),
      ({ pod }) => pod,
    ),
  };
}

function reportFit(pod: string, verdict: PodVerdict): ScaleUpReport['fits'] {
  if (verdict.kind === 'fits-present-node') return [{ pod, node: verdict.node }];
  return verdict.kind === 'fits-upcoming-node' ? [{ pod, node: verdict.node ?? `(coming in ${verdict.group})` }] : [];
}

interface NamedVerdict {
  readonly pod: Pod;
  readonly name: string;
  readonly verdict: PodVerdict;
}

function reportPending({ pod, name, verdict }: NamedVerdict, context: ReportContext): readonly PendingReport[] {
  const known = { pod: name };
  if (verdict.kind === 'ignored') return [{ ...known, verdict: 'ignored', detail: explainPod(verdict, pod, context), groups: [] }];
  if (verdict.kind === 'waiting') return [{ ...known, verdict: 'coming', detail: verdict.detail, groups: [] }];
  return verdict.kind === 'helpless' ? [{ ...known, ...context.refusals(verdict) }] : [];
}

function explainPod(verdict: Extract<PodVerdict, { readonly kind: 'ignored' }>, pod: Pod, { policy, daemonWait }: ReportContext): string {
  const why = explainIgnored(verdict, pod, policy);
  const waits = verdict.reason === 'daemon-set' ? daemonWait(pod) : undefined;
  return waits === undefined ? why : `${why}; ${waits}`;
}

type Refusals = Pick<PendingReport, 'verdict' | 'why' | 'groups' | 'advice'>;

/** Equal pods share a verdict: there may be thousands. */
function rememberedRefusals(context: Omit<ReportContext, 'refusals'>): ReportContext['refusals'] {
  const known = new Map<Helpless, Refusals>();
  return (verdict) => {
    const found = known.get(verdict) ?? refusalsOf(verdict, context);
    known.set(verdict, found);
    return found;
  };
}

function refusalsOf(verdict: Helpless, { groups, advice }: Omit<ReportContext, 'refusals'>): Refusals {
  const advised = advice.get(verdict);
  const refusals = verdict.byGroup.map((refusal) => {
    const { reason, detail } = explainRefusal(refusal, groups.get(refusal.group));
    const fix = advised?.fix?.proof.groups.includes(refusal.group) === true ? advised.fix.text : '';
    return { group: refusal.group, reason, detail, fix };
  });
  const told = advised === undefined ? {} : { advice: { ...advised, text: describeAdvice(advised) } };
  const nearest = nearestPools(poolRows(verdict.byGroup, groups), refusals.length);
  const why = verdict.gang === undefined ? nearest : `${describeShortfall(verdict.gang)}; ${nearest}`;
  return { verdict: classifyVerdict(verdict), why, groups: sortedBy(refusals, ({ group }) => group), ...told };
}

/** A longer list of names follows the obstacles, which say more. */
const SHORT_NAMES = 20;

/** Of the pools that would take the pod, or else of those with the fewest obstacles; and how many others there are. */
function nearestPools([row]: readonly PoolRow[], all: number): string {
  if (row === undefined) return 'there is no pool';
  const names = poolNames(row.pools, 2);
  const obstacles = row.obstacles.join('; ');
  const left = all - row.pools.length;
  const others = left === 0 ? '' : `; ${left} ${left === 1 ? 'other refuses' : 'others refuse'}`;
  return names.length > SHORT_NAMES ? `${obstacles} (${names})${others}` : `${names}: ${obstacles}${others}`;
}

/** The ending that a Deployment gives its ReplicaSets. */
const TEMPLATE_HASH = /-[bcdfghjklmnpqrstvwxz2456789]{6,10}$/;

/** The workload of the pod, as people name it; the pod's own name if it has none. */
export function ownerName({ namespace, name, controller }: Pod): string {
  if (controller === undefined) return `${namespace}/${name}`;
  return `${namespace}/${controller.kind === 'ReplicaSet' ? controller.name.replace(TEMPLATE_HASH, '') : controller.name}`;
}

function sortedBy<Item>(items: readonly Item[], textOf: (item: Item) => string): readonly Item[] {
  return [...items].sort(compareBy(textOf));
}
