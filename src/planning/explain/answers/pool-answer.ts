/** What a pool does and may do: its limits and counts, why it cannot grow, what Azure refused, and the node that it would add. */
import { type DurationSummary, summarizeDurations } from '../../../domain/history.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Node } from '../../../domain/node.ts';
import { describePauses } from '../../../domain/group-blocks.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { CloudQuota, RemainingWrites, ReservedCapacity } from '../../../domain/quotas-and-prices.ts';
import type { SkipReason } from '../../../domain/reasons.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import { taintText } from '../../../domain/taints.ts';
import { defined } from '../../../lib/defined.ts';
import { instanceListFacts } from '../../facts/instance-facts.ts';
import { paidUses } from '../../facts/paid-nodes.ts';
import { type NodePrice, nodePrice } from '../../expanders/node-price.ts';
import { reasonAgainstAnyIncrease } from '../../scale-up/groups/group-eligibility.ts';
import { reservedFor } from '../../scale-up/groups/quotas.ts';
import { isHeadroom } from '../../state/assumed-pods.ts';
import { countNodes } from '../../state/node-counts.ts';
import { isClosedFor } from '../../state/stockouts.ts';
import { type HeadroomRow, headroomRows } from '../headroom-rows.ts';
import { explainSkip } from '../refusals.ts';
import { describeSchedule, stepsAhead, type StepAhead } from '../schedule-text.ts';
import { describeStopped } from './stopped-words.ts';
import { describeRepacking } from '../repack-words.ts';
import { increasesOfGroup, type RememberedIncrease } from './accepted.ts';
import { describeWait, waitsOf, type GroupWait } from './group-waits.ts';
import { poolHealth } from './node-health.ts';
import { changesOfPool, type PastChange } from './past-changes.ts';
import { describeNextDevices } from './device-words.ts';
import type { AnswerInput } from './pod-answer.ts';

export interface PoolAnswer {
  readonly kind: 'pool';
  readonly name: string;
  readonly sentence: string;
  readonly min: number;
  readonly max: number;
  /** Absent if unknown. */
  readonly target?: number;
  readonly ready: number;
  readonly unready: number;
  /** Requested or starting. */
  readonly upcoming: number;
  /** Instances without a node for longer than a node may take to join. */
  readonly overdue: number;
  /** Instances that are deallocated: no VM runs, and their disks are billed. They count in the target. Absent if there are none. */
  readonly stopped?: number;
  /** What becomes of removed nodes where they are to be deallocated, as a sentence without a full stop. Absent if they are deleted, as usual. */
  readonly deallocation?: string;
  /** Nodes of the cluster that belong to it. */
  readonly registered: number;
  /** AKS's own count of its agent pool. Absent if unknown. */
  readonly aksCount?: number;
  /** Accepted increases that are remembered, the oldest first. */
  readonly increases: readonly RememberedIncrease[];
  readonly vmSize: string;
  readonly priority: string;
  readonly zones: readonly string[];
  /** How likely Azure says it is that new Spot VMs come and stay, in the best of the zones. Absent if it is not asked, or not known. */
  readonly placementScore?: NonNullable<NodeGroup['placementScore']>;
  /** In the currency of the price table, for one node. */
  readonly perHour?: number;
  /** What the configuration takes off the list price. Absent if it takes nothing off, or the price is not a list price. */
  readonly discount?: NodePrice['discount'];
  /** How the paid nodes of its size are used, by all pools. Absent if none are configured, and for Spot. */
  readonly paid?: { readonly count: number; readonly running: number; readonly idle: number };
  readonly waits: readonly GroupWait[];
  /** What a person paused. Absent if nothing is. */
  readonly paused?: string;
  /** What is wrong with its nodes: sick by its rules, or left aside by AKS. A sentence without a full stop. Absent if nothing is. */
  readonly health?: string;
  /** Why nodes on their way are hardly cancelled there, as a sentence without a full stop. Absent if they may be, or are not to be. */
  readonly cancelling?: string;
  /** What repacks do, as a sentence without a full stop. Absent if its nodes are not repacked. */
  readonly repacking?: string;
  readonly stockouts: readonly { readonly zone?: string; readonly code: string; readonly since: string; readonly until: string }[];
  /** `room`: how many more nodes the quota allows. */
  readonly quotas: readonly { readonly title: string; readonly used: number; readonly limit: number; readonly room: number }[];
  /** Reserved VMs that its next nodes may use without quota; `room`: how many nodes fit. Absent if it names no capacity reservation group. */
  readonly reservation?: Omit<ReservedCapacity, 'name'> & { readonly room: number };
  /** Pending pods that this plan gives a node of the pool. */
  readonly podsHelped: number;
  /** Pending pods that a node of the pool would take, but the pool cannot grow. */
  readonly podsWaiting: number;
  /** Room that it keeps free by configuration. Absent if none is configured for it. */
  readonly headroom?: readonly HeadroomRow[];
  readonly template?: TemplateAnswer;
  /** The last changes of its capacity, and who made them; the newest first. Empty if there were none, or if they are not known. */
  readonly changes: readonly PastChange[];
  /** Since when changes are known. Absent if they are not. */
  readonly changesSince?: string;
  /** Capacity writes that Azure's rate limit of the pool had left after the last one. Absent if that is not known. */
  readonly writeTokens?: { readonly left: number; readonly of: number; readonly at: string };
  /** What schedules say of it now; empty: nothing. Absent if no rule is about it. */
  readonly schedule?: readonly string[];
  /** What they change in the next day. Absent if nothing. */
  readonly ahead?: readonly StepAhead[];
  /** How long the last increases took until their nodes were ready. Absent if none was seen. */
  readonly readyTime?: DurationSummary;
}

const MOST_CHANGES = 10;

interface TemplateAnswer {
  readonly source: NodeTemplate['source'];
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly taints: readonly string[];
  /** The smallest real node less the template; 0 if they agree. Absent without a ready node. */
  readonly realLess?: { readonly cpuMillis: number; readonly memoryBytes: number };
  /** What may differ on a real node, as sentences. */
  readonly cautions: readonly string[];
  /** Devices of drivers, as a part of a sentence. Absent if none are known. */
  readonly devices?: string;
  /** By label: the value and where it is known from. */
  readonly labels: Readonly<Record<string, { readonly value: string; readonly origin?: string }>>;
}

/** undefined: no group has that name. A name matches in any letter case, and an agent pool's name matches its scale set. */
export function answerPool(answer: AnswerInput, name: string): PoolAnswer | undefined {
  const { input, scaleUp, history } = answer;
  const { observation, state } = input;
  const group = findGroup(observation.cloud.groups, name);
  if (group === undefined) return undefined;
  const increase = scaleUp.increases.find((each) => each.group === group.id);
  const skip = scaleUp.skipped.find((each) => each.group === group.id)?.reason ?? skipInVerdicts(answer, group) ?? skipAtRest(group, input);
  const waits = skip === undefined ? [] : waitsOf([{ group: group.id, skip }], input);
  return {
    kind: 'pool',
    name: group.id,
    sentence: sentenceOf({ group, skip, waits, nowMs: observation.nowMs }, increase),
    min: group.minSize,
    max: group.maxSize,
    ...countsOf(group, input),
    vmSize: group.vmSize,
    priority: group.priority,
    zones: group.zones,
    waits,
    increases: increasesOfGroup(group.id, state),
    changes: changesOfPool(history, group.id, MOST_CHANGES),
    stockouts: stockoutsOf(group, state, observation.nowMs),
    quotas: quotasOf(group, observation.cloud.quotas),
    ...defined({ reservation: reservedFor(observation.cloud.reservations, group.template) }),
    podsHelped: (increase?.pods ?? []).filter((pod) => !isHeadroom(pod)).length,
    podsWaiting: countWaiting(answer, group),
    ...headroomOf(answer, group),
    ...knownOf(answer, group),
  };
}

type MaybeKnown =
  | 'paused'
  | 'health'
  | 'stopped'
  | 'deallocation'
  | 'schedule'
  | 'ahead'
  | 'repacking'
  | 'cancelling'
  | 'changesSince'
  | 'readyTime'
  | 'target'
  | 'placementScore'
  | 'perHour'
  | 'discount'
  | 'paid'
  | 'aksCount'
  | 'writeTokens'
  | 'template';

function knownOf({ input, history, remainingWrites }: AnswerInput, group: NodeGroup): Pick<PoolAnswer, MaybeKnown> {
  const { observation, state, policy } = input;
  const [readyTime, started] = [state.readyTimes, state.startTimes].map((times) => summarizeDurations(times.get(group.id) ?? []));
  return defined({
    paused: describePauses(group.blocks),
    deallocation: describeStopped(group, { prices: policy.scaleUp, created: readyTime, started }),
    health: poolHealth({ observation, state, policy }).find((each) => each.group === group.id)?.sentence,
    stopped: instanceListFacts(group).deallocated.length || undefined,
    ...scheduleFacts(group, { observation, state }),
    repacking: describeRepacking(group, state, policy),
    cancelling: policy.scaleDown.cancelIncreases && group.kind === 'vms-pool' ? HARDLY_CANCELLED : undefined,
    changesSince: history === undefined ? undefined : new Date(history.sinceMs).toISOString(),
    readyTime,
    target: group.target.known ? group.target.value : undefined,
    placementScore: group.placementScore,
    ...nodePrice(policy.scaleUp, group),
    paid: paidOf(input, group),
    aksCount: group.kind === 'vms-pool' ? undefined : group.agentPool?.count,
    writeTokens: tokensOf(remainingWrites(group.id)),
    template:
      group.template === undefined
        ? undefined
        : templateOf(group.template, nodesOf(group, observation), describeNextDevices(group, observation.cluster)),
  });
}

const HARDLY_CANCELLED =
  'hardly any node on its way can be: AKS accepts no other request for the pool while it creates its machines, and they join meanwhile';

const AHEAD_MS = 24 * 3_600_000;

function scheduleFacts(group: NodeGroup, input: Parameters<typeof stepsAhead>[1]): Partial<Pick<PoolAnswer, 'schedule' | 'ahead'>> {
  if (group.schedule === undefined) return {};
  const ahead = stepsAhead(group, input, AHEAD_MS).slice(1);
  return defined({ schedule: describeSchedule(group.schedule, input.observation.nowMs), ahead: ahead.length === 0 ? undefined : ahead });
}

function paidOf({ observation, policy }: AnswerInput['input'], { vmSize, priority }: NodeGroup): PoolAnswer['paid'] {
  const paid = policy.scaleUp.paidNodes.filter(({ size }) => priority === 'Regular' && size === vmSize.toLowerCase());
  const [use] = paidUses(paid, observation);
  return use === undefined ? undefined : { count: use.count, running: use.running, idle: use.idle };
}

function tokensOf(writes: RemainingWrites | undefined): PoolAnswer['writeTokens'] {
  return writes === undefined ? undefined : { left: writes.left, of: writes.of, at: new Date(writes.atMs).toISOString() };
}

function countsOf(
  { id }: NodeGroup,
  input: AnswerInput['input'],
): Pick<PoolAnswer, 'ready' | 'unready' | 'upcoming' | 'overdue' | 'registered'> {
  const counts = countNodes(input).byGroup.get(id);
  if (counts === undefined) return { ready: 0, unready: 0, upcoming: 0, overdue: 0, registered: 0 };
  const { ready, unready, notStarted, unregistered, longUnregistered: overdue, registered } = counts;
  return { ready, unready, upcoming: notStarted + unregistered, overdue, registered };
}

function findGroup(groups: readonly NodeGroup[], name: string): NodeGroup | undefined {
  const wanted = name.toLowerCase();
  return (
    groups.find(({ id }) => id === name) ??
    groups.find(({ id }) => id.toLowerCase() === wanted) ??
    groups.find(({ template }) => template?.labels['kubernetes.azure.com/agentpool']?.toLowerCase() === wanted)
  );
}

/** Where no pod is pending, a plan asks no group. */
function skipAtRest(group: NodeGroup, { observation: { nowMs }, state }: AnswerInput['input']): SkipReason | undefined {
  return reasonAgainstAnyIncrease(group, { state, nowMs, exclude: new Set(), unhealthy: new Map() });
}

/** What stops a group that grew is in the verdicts. */
function skipInVerdicts({ scaleUp }: AnswerInput, { id }: NodeGroup): SkipReason | undefined {
  for (const verdict of scaleUp.verdicts.values()) {
    if (verdict.kind !== 'helpless') continue;
    const skip = verdict.byGroup.find(({ group }) => group === id)?.skip;
    if (skip !== undefined) return skip;
  }
  return undefined;
}

/** Reasons that say nothing about the pool itself. */
const AT_REST: ReadonlySet<SkipReason['kind']> = new Set(['no-pod-fits', 'not-chosen', 'not-judged', 'last-resort']);

interface SentenceInput {
  readonly group: NodeGroup;
  readonly skip: SkipReason | undefined;
  readonly waits: readonly GroupWait[];
  readonly nowMs: number;
}

function sentenceOf(
  { group, skip, waits, nowMs }: SentenceInput,
  increase: { readonly from: number; readonly to: number } | undefined,
): string {
  if (increase !== undefined) return `Grows from ${increase.from} to ${increase.to} nodes.`;
  const size = group.target.known ? `${group.target.value} of at most ${group.maxSize} nodes` : `size unknown: ${group.target.reason}`;
  if (skip === undefined || AT_REST.has(skip.kind)) {
    const why = skip === undefined ? 'no pending pod needs it' : explainSkip(skip, group).detail;
    return `May grow, and does not: ${why} (${size}).`;
  }
  const [wait] = waits;
  if (wait?.until !== undefined) return `Backs off ${describeWait(wait, nowMs)}.`;
  return `Cannot grow: ${explainSkip(skip, group).detail}.`;
}

function stockoutsOf(group: NodeGroup, { stockouts }: LoopState, nowMs: number): PoolAnswer['stockouts'] {
  return stockouts
    .filter((stockout) => isClosedFor(stockout, group, nowMs))
    .map(({ scope, code, sinceMs, untilMs }) => ({
      code,
      since: new Date(sinceMs).toISOString(),
      until: new Date(untilMs).toISOString(),
      ...defined({ zone: scope.zone }),
    }));
}

function quotasOf({ template }: NodeGroup, quotas: readonly CloudQuota[]): PoolAnswer['quotas'] {
  return (template?.draws ?? []).flatMap(({ quota, cores }) => {
    const known = quotas.find(({ name }) => name === quota);
    if (known === undefined || cores <= 0) return [];
    const { title, used, limit } = known;
    return [{ title, used, limit, room: Math.max(0, Math.floor((limit - used) / cores)) }];
  });
}

function countWaiting({ scaleUp }: AnswerInput, { id }: NodeGroup): number {
  return [...scaleUp.verdicts].filter(
    ([pod, verdict]) =>
      !isHeadroom(pod) &&
      verdict.kind === 'helpless' &&
      verdict.byGroup.some(({ group, fit = [], skip }) => group === id && fit.length === 0 && skip !== undefined),
  ).length;
}

function headroomOf({ input, scaleUp }: AnswerInput, { id, options }: NodeGroup): Pick<PoolAnswer, 'headroom'> {
  if ((options.headroom ?? []).length === 0) return {};
  return { headroom: headroomRows(input, scaleUp).filter(({ group }) => group === id) };
}

function nodesOf({ id }: NodeGroup, { cluster, cloud }: Observation): readonly Node[] {
  return [...cluster.nodes.values()].filter(({ name, readiness }) => readiness.ready && cloud.groupOfNode.get(name) === id);
}

function smallestLess(template: NodeTemplate, nodes: readonly Node[]): TemplateAnswer['realLess'] {
  if (nodes.length === 0) return undefined;
  const least = (index: number): number =>
    Math.min(...nodes.map(({ allocatable }) => allocatable[index] ?? 0)) - (template.allocatable[index] ?? 0);
  return { cpuMillis: least(CPU), memoryBytes: least(MEMORY) };
}

function templateOf(template: NodeTemplate, nodes: readonly Node[], devices: string | undefined): TemplateAnswer {
  const { source, allocatable, taints, cautions, labels, origins } = template;
  return {
    source,
    cpuMillis: allocatable[CPU] ?? 0,
    memoryBytes: allocatable[MEMORY] ?? 0,
    taints: taints.map(taintText),
    cautions: [...cautions, ...(template.declaredDiffer === '' ? [] : [template.declaredDiffer])],
    ...defined({ devices, realLess: smallestLess(template, nodes) }),
    labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, { value, ...defined({ origin: origins.labels[key] }) }])),
  };
}
