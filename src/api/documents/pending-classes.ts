/** Pending pods in classes of equal pods: one owner, one set of requirements, one verdict. What waits, why, since when, and what helps. */
import { isReal, type Pod } from '../../domain/pod.ts';
import { createHash } from 'node:crypto';
import { podName } from '../../domain/ids.ts';
import type { FitReason, PodVerdict } from '../../domain/reasons.ts';
import { PODS } from '../../domain/resources.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import type { GroupWait } from '../../planning/explain/answers/group-waits.ts';
import { ownerKind, ownerName } from '../../planning/explain/pod-owners.ts';
import { answerPendingPod } from '../../planning/explain/answers/pod-answer.ts';
import { formatAmount } from '../../planning/explain/amounts.ts';
import type { Advice } from '../../planning/explain/advice/fix.ts';
import type { Change } from '../../planning/explain/changes/change-kinds.ts';
import type { FixStep } from '../../planning/explain/changes/change.ts';
import { asOneReason } from '../../planning/explain/obstacles.ts';
import { poolRows, type PoolRow } from '../../planning/explain/pool-rows.ts';
import { classifyVerdict, type Need, needOf, NEEDS, type Verdict } from '../../planning/explain/verdicts.ts';
import { type DocumentInput, knownTime, roundMoney } from './document-input.ts';

/** The one comparison that decides: of the pool that is nearest. */
interface DecisiveRule {
  readonly pool: string;
  readonly rule: string;
  /** In base units of `resource`: millicores, bytes or ones. */
  readonly needs?: number;
  readonly offers?: number;
  readonly resource?: string;
}

interface FixDocument {
  /** Only what was simulated and works is a fix. */
  readonly proved: boolean;
  readonly text: string;
  readonly simulated?: {
    readonly pods: number;
    readonly of: number;
    readonly others: number;
    readonly nodes: number;
    readonly perHour?: number;
  };
  readonly changes: readonly Change[];
  readonly steps: readonly FixStep[];
  /** Without a fix: the pool with the fewest obstacles. */
  readonly nearest?: string;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

export interface PendingClass {
  readonly id: string;
  readonly namespace: string;
  /** The name of the controller, without the hash of a ReplicaSet; of a bare pod its own. */
  readonly owner: string;
  readonly ownerKind: string;
  readonly pods: number;
  /** The first by name. */
  readonly sample: string;
  /** `1.5 CPU, 2 GiB memory`. */
  readonly requests: string;
  readonly verdict: Verdict;
  readonly need: Need;
  /** Complete, with a full stop. */
  readonly sentence: string;
  readonly decisive?: DecisiveRule;
  readonly oldestSince?: string;
  readonly expectedReadyAt?: string;
  readonly retryAt?: string;
  /** What Azure said, for pools that back off. */
  readonly azure?: GroupWait & { readonly correlationId?: string };
  readonly fix?: FixDocument;
  /** In how many rows the other pools are explained. */
  readonly obstacleRows?: number;
}

/** A class before it is put into words. */
export interface RawClass {
  readonly id: string;
  readonly pods: readonly Pod[];
  readonly sample: Pod;
  readonly verdict: PodVerdict;
  readonly kind: Verdict;
}

/** By the plan: every page asks for them, and there may be 20,000 pods. */
const known = new WeakMap<DocumentInput['pods']['scaleUp'], readonly RawClass[]>();

/** What needs a change comes first, then what waits for a pool, then the rest; inside, the most pods. */
export function rawClasses({ pods: { scaleUp } }: Pick<DocumentInput, 'pods'>): readonly RawClass[] {
  const classes = known.get(scaleUp) ?? classesOf(scaleUp);
  known.set(scaleUp, classes);
  return classes;
}

function classesOf(scaleUp: DocumentInput['pods']['scaleUp']): readonly RawClass[] {
  const classes = new Map<string, { readonly pods: Pod[]; readonly verdict: PodVerdict; readonly kind: Verdict }>();
  for (const [pod, verdict] of scaleUp.verdicts) {
    if (!isReal(pod)) continue;
    const kind = classifyVerdict(verdict);
    const key = [pod.controller?.kind ?? '', ownerName(pod), pod.shape.key, kind].join('\n');
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { pods: [pod], verdict, kind });
    else known.pods.push(pod);
  }
  return [...classes]
    .map(([key, { pods, verdict, kind }]) => ({ id: hashOf(key), pods, sample: firstByName(pods), verdict, kind }))
    .sort(byNeed);
}

function firstByName(pods: readonly Pod[]): Pod {
  return pods.reduce((first, pod) => (compareText(podName(pod), podName(first)) < 0 ? pod : first));
}

function byNeed(left: RawClass, right: RawClass): number {
  const rankOf = ({ kind }: RawClass): number => NEEDS.indexOf(needOf(kind));
  return rankOf(left) - rankOf(right) || right.pods.length - left.pods.length || compareText(podName(left.sample), podName(right.sample));
}

/** The same in every process, so that a link still works after a restart. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}

export function pendingClass(input: DocumentInput, raw: RawClass): PendingClass {
  const { sample, pods, verdict, kind } = raw;
  const advice = input.advice.get(verdict);
  const answer = answerPendingPod({ ...input.pods, advise: () => advice }, sample);
  // As arguments of one call, 150,000 times would exceed the stack.
  const oldestMs = pods.reduce((least, { unschedulable }) => Math.min(least, unschedulable?.sinceMs ?? least), Number.POSITIVE_INFINITY);
  const { waits } = answer;
  return {
    id: raw.id,
    namespace: sample.namespace,
    owner: ownerName(sample).slice(sample.namespace.length + 1),
    ownerKind: ownerKind(sample),
    pods: pods.length,
    sample: podName(sample),
    requests: requestsOf(sample, input),
    verdict: kind,
    need: needOf(kind),
    sentence: withoutSpan(answer.sentence, input),
    ...defined({
      decisive: decisiveRule(verdict, answer.pools),
      oldestSince: knownTime(oldestMs),
      expectedReadyAt: answer.expected?.readyAt ?? expectedReady(verdict, input),
      retryAt: waits.flatMap(({ until }) => until ?? []).sort(compareText)[0],
      azure: azureWords(verdict, waits),
      fix: advice === undefined ? undefined : fixDocument(advice),
      obstacleRows: verdict.kind === 'helpless' ? answer.pools.length : undefined,
    }),
  };
}

/** The page counts the time itself. The name of a pool keeps its letters. */
function withoutSpan(sentence: string, { pods: { input } }: DocumentInput): string {
  const text = sentence.replace(/^Pending(?: for [^:]+)?: /, '');
  const isName = input.observation.cloud.groups.some(({ id }) => text.startsWith(id));
  return isName ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function requestsOf({ shape: { requests } }: Pod, { pods: { input } }: Pick<DocumentInput, 'pods'>): string {
  const parts = [...requests].flatMap((value, index) => {
    if (value <= 0 || index === PODS) return [];
    const name = input.names.nameOf(index);
    return [`${formatAmount(name, value)} ${name === 'cpu' ? 'CPU' : name}`];
  });
  return parts.length === 0 ? 'no requests' : parts.join(', ');
}

function decisiveRule(verdict: PodVerdict, rows: readonly PoolRow[]): DecisiveRule | undefined {
  const pool = rows[0]?.pools[0];
  if (verdict.kind !== 'helpless' || pool === undefined) return undefined;
  const refusal = verdict.byGroup.find(({ group }) => group === pool);
  const reason: FitReason | undefined = refusal?.fit?.[0];
  if (reason?.kind === 'insufficient-resource') {
    const { resource, requested, free } = reason;
    return { pool, rule: reason.kind, needs: requested, offers: Math.max(0, free), resource };
  }
  return { pool, rule: reason?.kind ?? refusal?.skip?.kind ?? 'unknown' };
}

/** When the node that is on its way should be ready, by what the pool took before. */
function expectedReady(verdict: PodVerdict, { history }: DocumentInput): string | undefined {
  if (verdict.kind !== 'triggered' && verdict.kind !== 'fits-upcoming-node') return undefined;
  const running = history.scaleUps().filter(({ group, endedMs }) => group === verdict.group && endedMs === undefined);
  return knownTime(running.map(({ expectedReadyMs }) => expectedReadyMs ?? 0).reduce((latest, ms) => Math.max(latest, ms), 0));
}

function azureWords(verdict: PodVerdict, waits: readonly GroupWait[]): PendingClass['azure'] {
  const [wait] = waits;
  if (wait === undefined || verdict.kind !== 'helpless') return undefined;
  const skip = verdict.byGroup.find(({ group }) => group === wait.group)?.skip;
  const correlationId = skip?.kind === 'backoff' ? skip.correlationId : undefined;
  return { ...wait, ...defined({ correlationId }) };
}

/** undefined: nothing was tried, so nothing is known. */
function fixDocument({ fix, wait, nearest, tried }: Advice): FixDocument | undefined {
  if (fix !== undefined) {
    const { pods, of, others, nodes, perHour } = fix.proof;
    const simulated = { pods, of, others, nodes, ...defined({ perHour: roundMoney(perHour) }) };
    return { proved: true, text: fix.text, simulated, changes: fix.changes, steps: fix.steps, tried };
  }
  if (wait !== undefined || tried === 0) return undefined;
  return { proved: false, text: 'No single change helps', changes: [], steps: [], tried, ...defined({ nearest }) };
}

/** Every pool with all obstacles; pools with the same ones share a row. */
export interface ObstaclesDocument {
  readonly id: string;
  readonly rows: readonly PoolRow[];
}

/** undefined: there is no such class any more, or no pool was evaluated for it. */
export function obstaclesOf(input: DocumentInput, id: string): ObstaclesDocument | undefined {
  const raw = rawClasses(input).find((each) => each.id === id);
  if (raw?.verdict.kind !== 'helpless') return undefined;
  const groups = new Map(input.pods.input.observation.cloud.groups.map((group) => [group.id as string, group]));
  const rows = poolRows(raw.verdict.byGroup, groups);
  return { id, rows: rows.map((row) => ({ ...row, obstacles: row.obstacles.map(asOneReason) })) };
}
