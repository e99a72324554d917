/**
 * Answers to "why" about one pod, node, pool or decision, as documents: what `explain --json` prints. Each has one sentence, the
 * evidence, and what was simulated to help. Pure. Must not know where the input comes from, or how an answer is printed.
 */
import { isReal, type Pod } from '../../../domain/pod.ts';
import type { HistoryReader } from '../../../domain/history.ts';
import { type NodeGroupId, podName } from '../../../domain/ids.ts';
import type { NodeWriters } from '../../../domain/node.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../../domain/plan.ts';
import type { RemainingWrites } from '../../../domain/quotas-and-prices.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { adviseClass, type HelplessClass, helplessClasses } from '../advice/advice.ts';
import { type Advice, describeAdvice, type RemovalAdvice } from '../advice/fix.ts';
import { describeShortfall } from '../describe-reasons.ts';
import { explainIgnored } from '../ignored-pods.ts';
import { namePools, poolRows, type PoolRow } from '../pool-rows.ts';
import { classifyVerdict, type Verdict } from '../verdicts.ts';
import { formatSpan } from '../spans.ts';
import { increasesForPod, type RememberedIncrease } from './accepted.ts';
import { daemonWaits } from './daemon-waits.ts';
import { expectedNode, type ExpectedNode } from './expected-node.ts';
import { describeWait, waitsOf, type GroupWait } from './group-waits.ts';
import { changesForPod, type PastChange } from './past-changes.ts';
import { ownerKind, ownerName } from '../pod-owners.ts';
import { describeResize } from './resizes.ts';

/** One decision with its input: of a loop, of a recorded loop, or of a what-if. */
export interface AnswerInput {
  readonly input: ScaleUpInput;
  /** What `planScaleUp` returned for the input. */
  readonly scaleUp: ScaleUpPlan;
  /** undefined: removals were not decided. */
  readonly scaleDown: ScaleDownPlan | undefined;
  /** What happened before. undefined: it is not known. */
  readonly history: HistoryReader | undefined;
  /** How many changes are simulated at most. If undefined, as many as a person can wait for. */
  readonly mostTried: number | undefined;
  /** Who wrote the node that is asked about. undefined: it is not known. */
  readonly nodeWriters: NodeWriters | undefined;
  /** undefined: they are not known. */
  readonly remainingWrites: (group: NodeGroupId) => RemainingWrites | undefined;
  /** Returns what is known to help, instead of a simulation for this answer. */
  readonly advise: ((helpless: HelplessClass) => Advice | undefined) | undefined;
  /** The same for the node that is asked about. */
  readonly adviseNode: (() => RemovalAdvice | undefined) | undefined;
}

/** Nothing but the decision is known, and advice is simulated for the answer. */
export const ONLY_DECIDED: Omit<AnswerInput, 'input' | 'scaleUp'> = {
  scaleDown: undefined,
  history: undefined,
  mostTried: undefined,
  nodeWriters: undefined,
  remainingWrites: () => undefined,
  advise: undefined,
  adviseNode: undefined,
};

export interface PodAnswer {
  readonly kind: 'pod';
  readonly name: string;
  readonly verdict: Verdict | 'running';
  /** Complete, with a full stop. */
  readonly sentence: string;
  /** Since when kube-scheduler refuses the pod. */
  readonly unschedulableSince?: string;
  /** Kind and `namespace/name` of its workload. */
  readonly owner?: string;
  /** Pods that wait for the same reasons, without this one. */
  readonly equalPods: number;
  readonly advice?: Advice & { readonly text: string };
  /** Every pool with all obstacles; empty unless the pod is pending and no pool helps. */
  readonly pools: readonly PoolRow[];
  /** What the pools that would take the pod wait for. */
  readonly waits: readonly GroupWait[];
  /** Increases made for it that the loop follows. */
  readonly increases: readonly RememberedIncrease[];
  /** The node that is on its way for it. Absent if none is. */
  readonly expected?: ExpectedNode;
  /** What was done for it before; else the last change of the nearest pool. The newest first. */
  readonly before: readonly PastChange[];
}

/** undefined: the cluster has no such pod. `name` is `namespace/name`. */
export function answerPod(answer: AnswerInput, name: string): PodAnswer | undefined {
  const { pendingPods, podsByNode } = answer.input.observation.cluster;
  const pending = podNamed(name, [pendingPods]);
  if (pending !== undefined) return answerPendingPod(answer, pending);
  const bound = podNamed(name, podsByNode.values());
  if (bound === undefined) return undefined;
  const { resize: resizing } = bound.status;
  const resize = resizing === undefined ? '' : ` ${describeResize(bound, resizing, answer.input)}`;
  const sentence = `Runs on node ${bound.nodeName ?? 'unknown'}.${resize}`;
  return {
    kind: 'pod',
    name,
    verdict: 'running',
    sentence,
    ...ownerOf(bound),
    equalPods: 0,
    pools: [],
    waits: [],
    increases: [],
    before: [],
  };
}

/** Of 150,000 pods: without a text for each. */
function podNamed(name: string, lists: Iterable<readonly Pod[]>): Pod | undefined {
  for (const pods of lists) {
    const found = pods.find((pod) => name.endsWith(pod.name) && podName(pod) === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The pods that wait for the same reasons as this one. undefined: it is not pending, or something is done for it. */
export function helplessClassOf({ input, scaleUp }: AnswerInput, name: string): HelplessClass | undefined {
  const pod = podNamed(name, [input.observation.cluster.pendingPods]);
  const verdict = pod === undefined ? undefined : verdictOf(scaleUp, pod);
  return helplessClasses(scaleUp).find((each) => each.verdict === verdict);
}

function verdictOf({ verdicts }: ScaleUpPlan, pod: Pod): PodVerdict | undefined {
  return verdicts.get(pod) ?? [...verdicts].find(([each]) => each.uid === pod.uid)?.[1];
}

/** Of a pod that the decision is about. */
export function answerPendingPod(answer: AnswerInput, pod: Pod): PodAnswer {
  const { input } = answer;
  const verdict = verdictOf(answer.scaleUp, pod);
  const sinceMs = refusedSinceMs(pod);
  const common = {
    kind: 'pod' as const,
    name: podName(pod),
    ...defined({ unschedulableSince: sinceMs === undefined ? undefined : new Date(sinceMs).toISOString() }),
    ...ownerOf(pod),
    increases: increasesForPod(pod.uid, input.state),
  };
  if (verdict === undefined)
    return { ...common, verdict: 'coming', sentence: 'Not evaluated yet: the last loop did not see it.', ...NOTHING };
  const since = sinceMs === undefined ? 'Pending' : `Pending for ${formatSpan(input.observation.nowMs - sinceMs)}`;
  const known = { ...common, verdict: classifyVerdict(verdict) };
  const rest = verdict.kind === 'helpless' ? answerHelpless(answer, pod, verdict) : answerComing(answer, pod, verdict);
  return { ...known, ...rest, sentence: `${since}: ${rest.sentence}.` };
}

type Coming = Exclude<PodVerdict, { readonly kind: 'helpless' }>;
type Helpless = Extract<PodVerdict, { readonly kind: 'helpless' }>;
type AnswerPart = Pick<PodAnswer, 'sentence' | 'equalPods' | 'advice' | 'pools' | 'waits' | 'expected' | 'before'>;

function answerComing(answer: AnswerInput, pod: Pod, verdict: Coming): AnswerPart {
  const group = verdict.kind === 'triggered' || verdict.kind === 'fits-upcoming-node' ? verdict.group : undefined;
  return {
    ...NOTHING,
    sentence: describeComing(verdict, { pod, ...answer }),
    ...defined({ expected: group === undefined ? undefined : expectedNode(pod.uid, group, answer.input) }),
    before: changesForPod(answer.history, podName(pod), group),
  };
}

function answerHelpless(answer: AnswerInput, pod: Pod, verdict: Helpless): AnswerPart {
  const { input, scaleUp, history } = answer;
  const { nowMs, cloud } = input.observation;
  const groups = new Map(cloud.groups.map((group) => [group.id as string, group]));
  const pools = poolRows(verdict.byGroup, groups);
  const waits = waitsOf(verdict.byGroup, input);
  const helpless = helplessClasses(scaleUp).find((each) => each.verdict === verdict);
  const advice = helpless === undefined ? undefined : adviceFor(answer, helpless);
  const grown = advice?.fix?.proof.groups[0];
  const obstacles = describeObstacles({ rows: pools, groups, verdict, waits, nowMs }, grown);
  return {
    sentence: verdict.gang === undefined ? obstacles : `${describeShortfall(verdict.gang)}; for the others, ${obstacles}`,
    equalPods: Math.max(0, (helpless?.pods ?? []).filter(isReal).length - 1),
    ...(advice === undefined ? {} : { advice: { ...advice, text: describeAdvice(advice) } }),
    pools,
    waits,
    before: changesForPod(history, podName(pod), groups.get(nearestPool(pools, grown) ?? '')?.id),
  };
}

function adviceFor({ input, scaleUp, mostTried, advise }: AnswerInput, helpless: HelplessClass): Advice | undefined {
  return advise === undefined ? adviseClass({ input, plan: scaleUp, ...defined({ mostTried }) }, helpless) : advise(helpless);
}

/** The condition may lack its time: then the pod's own age is the longest that it can be. undefined: neither is known. */
function refusedSinceMs({ unschedulable, createdAtMs }: Pod): number | undefined {
  const sinceMs = unschedulable?.sinceMs;
  return [sinceMs, sinceMs === undefined ? undefined : createdAtMs].find((ms) => ms !== undefined && ms > 0);
}

const NOTHING = { equalPods: 0, pools: [], waits: [], before: [] } as const;

function ownerOf(pod: Pod): Pick<PodAnswer, 'owner'> {
  return pod.controller === undefined ? {} : { owner: `${ownerKind(pod)} ${ownerName(pod)}` };
}

function describeComing(verdict: Coming, { pod, scaleUp, input }: { readonly pod: Pod } & Pick<AnswerInput, 'scaleUp' | 'input'>): string {
  switch (verdict.kind) {
    case 'triggered': {
      const increase = scaleUp.increases.find(({ group }) => group === verdict.group);
      return increase === undefined
        ? `a new node of ${verdict.group} is planned for it`
        : `a new node of ${verdict.group} is requested for it (${increase.from} to ${increase.to} nodes)`;
    }
    case 'fits-present-node':
      return `it fits on node ${verdict.node} now, and kube-scheduler has yet to bind it`;
    case 'fits-upcoming-node':
      return verdict.node === undefined
        ? `a node of ${verdict.group} that is on its way takes it`
        : `node ${verdict.node} of ${verdict.group} takes it once it is ready, and is named in the pod's status meanwhile`;
    case 'waiting':
      return verdict.detail;
    case 'ignored': {
      const why = explainIgnored(verdict, pod, input.policy.scaleUp).replace(/^[^:]*: /, '');
      const waits = verdict.reason === 'daemon-set' ? daemonWaits(input)(pod) : undefined;
      return `it causes no scale-up, ${why}${waits === undefined ? '' : `; ${waits}`}`;
    }
  }
}

interface ObstaclesInput {
  readonly rows: readonly PoolRow[];
  readonly groups: ReadonlyMap<string, NodeGroup>;
  readonly verdict: Helpless;
  readonly waits: readonly GroupWait[];
  readonly nowMs: number;
}

/** `grown`: the pool that the fix makes grow; it is the nearest one unless a pool fits. */
function nearestRow(rows: readonly PoolRow[], grown: string | undefined): PoolRow | undefined {
  const ofFix = grown === undefined ? undefined : rows.find(({ pools }) => pools.includes(grown));
  return rows.find(({ fits }) => fits) ?? ofFix ?? rows[0];
}

function nearestPool(rows: readonly PoolRow[], grown: string | undefined): string | undefined {
  const { pools = [] } = nearestRow(rows, grown) ?? {};
  return grown !== undefined && pools.includes(grown) ? grown : pools[0];
}

function describeObstacles({ rows, groups, ...input }: ObstaclesInput, grown: string | undefined): string {
  const nearest = nearestRow(rows, grown);
  if (nearest === undefined) return 'there is no node group';
  if (nearest.fits) return describeStop(nearest, input);
  const names = grown !== undefined && nearest.pools.includes(grown) ? grown : namePools(nearest.pools);
  const count = groups.size === 1 ? 'the only pool does not fit' : `none of ${groups.size} pools fits`;
  return `${count}, nearest ${names}: ${nearest.obstacles.join(', and ')}`;
}

/** Why pools that would take the pod do not grow. */
function describeStop(
  { pools, obstacles }: PoolRow,
  { verdict, waits, nowMs }: Pick<ObstaclesInput, 'verdict' | 'waits' | 'nowMs'>,
): string {
  const [first = ''] = pools;
  const names = namePools(pools);
  const isOne = pools.length === 1;
  const wait = waits.find(({ group }) => group === first);
  if (wait?.until !== undefined) return `${names} ${isOne ? 'fits and backs' : 'fit and back'} off ${describeWait(wait, nowMs)}`;
  const why = obstacles.join(', and ');
  const skip = verdict.byGroup.find(({ group }) => group === first)?.skip;
  if (skip?.kind === 'max-size') return `${names} ${isOne ? 'fits and is' : 'fit and are'} ${why}`;
  return `${names} ${isOne ? 'fits' : 'fit'} but cannot grow: ${why}`;
}
