/** The document that the page paints first: may it act, what waits, what is on its way, every pool, what is wasted. Never single pods or nodes. */
import type { CapacityChange } from '../../domain/history.ts';
import { defined } from '../../lib/defined.ts';
import { savedByRemovals } from '../../planning/expanders/node-price.ts';
import { type Need, needOf, type Verdict, VERDICTS } from '../../planning/explain/verdicts.ts';
import { reasonNotToAct } from '../../planning/state/cluster-health.ts';
import { countNodes } from '../../planning/state/node-counts.ts';
import { type WasteDocument, wasteDocument } from './blockers.ts';
import { type CostDocument, costDocument, repackingDocument, type RepackingDocument } from './cost.ts';
import { type CommonFields, commonFields, type DocumentInput, knownTime, roundMoney } from './document-input.ts';
import { type MissingRight, missingRights } from './missing-rights.ts';
import { type PendingClass, pendingClass, rawClasses, type RawClass } from './pending-classes.ts';
import { type PoolRowDocument, poolDocuments } from './pools.ts';
import { type ScaleUpDocument, scaleUpsOnTheWay } from './scale-ups.ts';
import { isoTime } from '../../lib/duration.ts';

/** Rows per verdict, and of all of them. */
const MOST_PER_VERDICT = 8;
const MOST_CLASSES = 50;

interface ActDocument {
  readonly allowed: 'yes' | 'no' | 'dry-run';
  /** Why not. Absent if it may. */
  readonly because?: string;
  readonly clusterReadAt: string;
  readonly azureReadAt?: string;
  /** Rights that Azure or Kubernetes refuses for want of, with the rule that grants each. */
  readonly missingRights: readonly MissingRight[];
  /** Pools that it may not change, although it may act. */
  readonly exceptions: readonly { readonly pool: string; readonly reason: string; readonly until?: string }[];
}

interface PendingSummary {
  /** Without ignored pods. */
  readonly total: number;
  readonly byNeed: Readonly<Record<Need, number>>;
  readonly byVerdict: Readonly<Partial<Record<Verdict, number>>>;
  /** All classes, and how many pods are in those that are not in `classes`, by verdict. */
  readonly classes: number;
  readonly hidden: Readonly<Partial<Record<Verdict, { readonly classes: number; readonly pods: number }>>>;
  readonly oldestNeedingChangeSince?: string;
  /** The plan ended early: so many options were estimated until then. */
  readonly cutShortAfter?: number;
}

export interface RemovalsDocument {
  readonly enabled: boolean;
  /** Why nothing is removed now. */
  readonly inhibited?: string;
  readonly removing: number;
  readonly candidates: number;
  /** Of the candidates. Absent unless each has a price. */
  readonly perHour?: number;
  readonly last?: ChangeWords;
}

export interface Overview extends CommonFields {
  readonly cluster?: string;
  readonly location?: string;
  readonly version: string;
  readonly dryRun: boolean;
  readonly act: ActDocument;
  readonly leader: { readonly name: string; readonly since: string };
  readonly configuration: { readonly generation: number; readonly since: string };
  readonly loop: {
    readonly id: number;
    readonly startedAt: string;
    readonly durationMs: number;
    readonly intervalMs: number;
    readonly outcome: string;
    readonly failures: readonly { readonly step: string; readonly message: string }[];
  };
  readonly nodes: { readonly total: number; readonly ready: number; readonly unready: number; readonly upcoming: number };
  readonly pending: PendingSummary;
  readonly classes: readonly PendingClass[];
  readonly onTheWay: readonly ScaleUpDocument[];
  readonly removals: RemovalsDocument;
  readonly pools: readonly PoolRowDocument[];
  /** Absent until it was searched, unless a pool is repacked. */
  readonly repacking?: RepackingDocument;
  readonly waste?: WasteDocument;
  /** Absent if no price is known. */
  readonly cost?: CostDocument;
  /** Since when the public price list cannot be read. Absent if the last read succeeded, or the list is not read. */
  readonly pricesUnreachableSince?: string;
  /** The last increase that is remembered. */
  readonly lastChange?: ChangeWords;
  /** The id of the newest decision: another one means that there are newer decisions. */
  readonly newestDecision?: string;
}

function repackingOf({ report, policy, replica, repackEstimate: estimate }: DocumentInput): RepackingDocument | undefined {
  const { observation, state } = report;
  const { currency } = replica;
  const document = repackingDocument({ estimate, groups: observation.cloud.groups, policy, state, currency });
  return estimate === undefined && document.on.length === 0 ? undefined : document;
}

interface ChangeWords {
  readonly at: string;
  readonly pool: string;
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

export function overviewOf(input: DocumentInput): Overview {
  const { report, replica, policy } = input;
  const { observation, state } = report;
  const raw = rawClasses(input);
  const shown = shownClasses(raw);
  const pools = poolDocuments(input);
  const { total } = countNodes({ observation, state, policy });
  return {
    ...commonFields(input),
    version: replica.version,
    dryRun: replica.dryRun,
    act: actOf(input, pools),
    leader: { name: replica.name, since: isoTime(replica.leadsSinceMs) },
    configuration: { generation: replica.configuration.generation, since: isoTime(replica.configuration.sinceMs) },
    loop: {
      id: report.loopId,
      startedAt: isoTime(report.startedAtMs),
      durationMs: Math.round(report.durationMs),
      intervalMs: replica.scanIntervalMs,
      outcome: report.outcome,
      failures: report.failures.map(({ step, error }) => ({ step, message: error.message })),
    },
    nodes: {
      total: total.registered,
      ready: total.ready,
      unready: total.unready,
      upcoming: pools.reduce((sum, { upcoming = 0 }) => sum + upcoming, 0),
    },
    pending: summaryOf(input, raw, shown),
    classes: shown.map((each) => pendingClass(input, each)),
    onTheWay: scaleUpsOnTheWay(input),
    removals: removalsOf(input),
    pools,
    ...defined({
      cluster: replica.cluster,
      location: replica.location,
      repacking: repackingOf(input),
      waste: wasteDocument(input),
      cost: costDocument(input, pools),
      pricesUnreachableSince: knownTime(policy.scaleUp.listPrices?.unreachableSinceMs),
      lastChange: lastChangeOf(input),
      newestDecision: input.history.decisions({ limit: 1 })[0]?.id,
    }),
  };
}

function actOf(input: DocumentInput, pools: readonly PoolRowDocument[]): ActDocument {
  const { report, policy, replica, azureReadAtMs } = input;
  const { observation, state } = report;
  const rights = missingRights(input);
  const because = reasonNotToAct(observation, state, policy) ?? reasonOfRefusal(input, rights);
  return {
    allowed: because !== undefined ? 'no' : replica.dryRun ? 'dry-run' : 'yes',
    clusterReadAt: isoTime(observation.nowMs - observation.cluster.stalenessMs),
    missingRights: rights,
    exceptions: pools
      .filter(({ state: pool }) => EXCEPTIONS.has(pool))
      .map(({ name, sentence = '', until }) => ({ pool: name, reason: sentence, ...defined({ until }) })),
    ...defined({ because, azureReadAt: knownTime(azureReadAtMs) }),
  };
}

/**
 * A step of the loop is refused, or a write is and none has succeeded since. Where another pool's write did, only that pool needs the right: it
 * is an exception.
 */
function reasonOfRefusal({ report, history }: DocumentInput, [right]: readonly MissingRight[]): string | undefined {
  const { failures, state, observation } = report;
  if (right === undefined) return undefined;
  const refused = [...state.backoffs.values()].filter(({ kind, untilMs }) => kind === 'auth' && untilMs > observation.nowMs);
  const sinceMs = Math.min(...refused.map(({ lastFailureMs }) => lastFailureMs));
  const hasWritten = (): boolean =>
    history.changes({ fromMs: sinceMs }).some(({ actor, outcome }) => actor === 'autoscaler' && outcome === 'accepted');
  if ((refused.length === 0 || hasWritten()) && failures.every(({ error }) => error.kind !== 'auth')) return undefined;
  return `${right.side === 'azure' ? 'Azure' : 'Kubernetes'} refuses it the right ${right.action}`;
}

const EXCEPTIONS: ReadonlySet<string> = new Set(['backing-off', 'out-of-capacity', 'frozen', 'unhealthy', 'size-unknown']);

/** The first of each verdict: a long list of one must not hide the others. */
function shownClasses(raw: readonly RawClass[]): readonly RawClass[] {
  const counts = new Map<Verdict, number>();
  return raw
    .filter(({ kind }) => {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return count <= MOST_PER_VERDICT && kind !== 'ignored';
    })
    .slice(0, MOST_CLASSES);
}

function summaryOf(input: DocumentInput, raw: readonly RawClass[], shown: readonly RawClass[]): PendingSummary {
  const listed = new Set(shown);
  const byNeed: Record<Need, number> = { change: 0, azure: 0, coming: 0, ignored: 0 };
  const byVerdict: Partial<Record<Verdict, number>> = {};
  const hidden: Partial<Record<Verdict, { readonly classes: number; readonly pods: number }>> = {};
  for (const each of raw) {
    const { kind, pods } = each;
    byNeed[needOf(kind)] += pods.length;
    byVerdict[kind] = (byVerdict[kind] ?? 0) + pods.length;
    if (!listed.has(each)) hidden[kind] = { classes: (hidden[kind]?.classes ?? 0) + 1, pods: (hidden[kind]?.pods ?? 0) + pods.length };
  }
  return {
    total: byNeed.change + byNeed.azure + byNeed.coming,
    byNeed,
    byVerdict: Object.fromEntries(VERDICTS.flatMap((kind) => (byVerdict[kind] === undefined ? [] : [[kind, byVerdict[kind]]]))),
    classes: raw.length,
    hidden,
    ...defined({
      oldestNeedingChangeSince: knownTime(oldestMs(raw.filter(({ kind }) => needOf(kind) === 'change'))),
      cutShortAfter: input.pods.scaleUp.cutShortAfter,
    }),
  };
}

function oldestMs(classes: readonly RawClass[]): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { pods } of classes) for (const { unschedulable } of pods) oldest = Math.min(oldest, unschedulable?.sinceMs ?? oldest);
  return oldest;
}

function removalsOf(input: DocumentInput): RemovalsDocument {
  const { report, policy } = input;
  const { scaleDown, state, observation } = report;
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const candidates = [...(scaleDown?.unneeded.keys() ?? [])];
  const removed = candidates.map(
    (node) => groups.get(observation.cloud.groupOfNode.get(node) ?? ('' as never)) ?? { vmSize: '', priority: 'Regular' as const },
  );
  const prices = savedByRemovals(removed, policy.scaleUp, observation);
  const isPriced = prices.length > 0 && prices.every((price) => price !== undefined);
  return {
    enabled: policy.scaleDown.enabled,
    removing: state.deleting.size,
    candidates: candidates.length,
    ...defined({
      inhibited: scaleDown?.inhibited,
      perHour: isPriced ? roundMoney(prices.reduce<number>((sum, price) => sum + (price ?? 0), 0)) : undefined,
      last: changeWords(
        input.history.changes({}).find(({ actor, from, to, outcome }) => actor === 'autoscaler' && to < from && outcome === 'accepted'),
      ),
    }),
  };
}

function lastChangeOf({ history }: DocumentInput): ChangeWords | undefined {
  return changeWords(history.changes({}).find(({ outcome }) => outcome === 'accepted' || outcome === 'observed'));
}

function changeWords(change: CapacityChange | undefined): ChangeWords | undefined {
  if (change === undefined) return undefined;
  const { atMs, group, from, to, why } = change;
  return { at: isoTime(atMs), pool: group, from, to, why };
}
